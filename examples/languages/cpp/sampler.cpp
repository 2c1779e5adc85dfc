// A plugin in C++ whose flags are objects, one of them of an enum. It does not link paddle_flags.
//
//     c++ -std=c++11 -shared -fPIC -fvisibility=hidden \
//         $(python -m paddle_flags config --cflags) sampler.cpp -o libsampler.so
#include <pd_flags.hpp>

#include <string>

namespace sampling {

enum class scale { linear, log };

inline pd::names<scale> pd_names(scale) {
  static const pd::name<scale> all[] = {{"linear", scale::linear}, {"log", scale::log}};
  return all;
}

}  // namespace sampling

static pd::flag<int> points{"cpp_points", 32, "Points to take", pd::range(2, 4096),
                            pd::validate([](int n) { return n % 2 == 0; },
                                         "expected an even number")};
static pd::flag<sampling::scale> scale{"cpp_scale", sampling::scale::linear,
                                       "How they are spread", pd::category("Sampling")};

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int number() { return points; }
EXPORT const char *text() { return scale == sampling::scale::log ? "log" : "linear"; }
