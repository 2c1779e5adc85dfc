// What went wrong, and with which operator. It never leaves the library: fluid.cc catches it.
#ifndef FLUID_FAILURE_H
#define FLUID_FAILURE_H

#include <cstdint>
#include <string>

namespace fluid {

struct Failure {
  explicit Failure(std::string text) : message(std::move(text)) {}

  std::string message;
  bool not_finite = false;  // found by check_nan_inf: then all below is known
  bool of_host = false;     // a function of the host failed, which knows why
  int32_t op = -1;          // in its block
  std::string variable;
  int64_t row = -1, column = -1;
};

}  // namespace fluid

#endif  // FLUID_FAILURE_H
