// A Python extension module with two flags, using nanobind. It does not link paddle_flags.
// In CMake, use nanobind_add_module(planner planner.cpp) and link paddle_flags::headers.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <pd_flags.h>

PD_DEFINE_int32 (nanobind_steps,  12,      "Steps to look ahead", .min = 1);
PD_DEFINE_string(nanobind_order,  "depth", "Which to try first", .choices = "depth|breadth");

NB_MODULE(planner, module) {
  module.def("number", [] { return int(FLAGS_nanobind_steps); });
  module.def("text", [] { return std::string(FLAGS_nanobind_order); });
}
