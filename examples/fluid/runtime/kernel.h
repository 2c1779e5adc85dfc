// A kernel of an operator: found by name and signature, chosen by the flag impl.<name>.
#ifndef FLUID_KERNEL_H
#define FLUID_KERNEL_H

#include "framework.h"

namespace fluid {

using Function = void (*)();

class Kernel {
 public:
  // Throws Failure, which lists the signatures that there are, if none takes these arrays here.
  Kernel(const OpDesc &op, const std::string &dtype);
  ~Kernel();
  Kernel(const Kernel &) = delete;
  Kernel &operator=(const Kernel &) = delete;

  // Run what the flag chooses now. `tensors` are the outputs and the inputs; nullptr: not wanted.
  void run(const std::vector<Tensor *> &tensors, const std::vector<double> &attributes) const;

 private:
  Function slot_ = nullptr;  // the registry stores the chosen implementation here
  uint64_t number_ = 0;      // of this import in the registry
  size_t shape_;             // index of the caller for these numbers of parameters
  bool is_f64_;
  std::string type_;
};

}  // namespace fluid

#endif  // FLUID_KERNEL_H
