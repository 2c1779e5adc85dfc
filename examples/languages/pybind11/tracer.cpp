// A Python extension module with two flags, using pybind11. It does not link paddle_flags.
//
//     c++ -std=c++17 -shared -fPIC -fvisibility=hidden $(python -m pybind11 --includes) \
//         $(python -m paddle_flags config --cflags) tracer.cpp -o tracer.so
#include <pybind11/pybind11.h>
#include <pd_flags.h>

#include <string>

PD_DEFINE_int32 (pybind_depth, 8,      "Frames to show", .min = 1, .max = 99);
PD_DEFINE_string(pybind_style, "tree", "How to show them", .choices = "tree|list");

PYBIND11_MODULE(tracer, module) {
  module.def("number", [] { return int(FLAGS_pybind_depth); });
  module.def("text", [] { return std::string(FLAGS_pybind_style); });
}
