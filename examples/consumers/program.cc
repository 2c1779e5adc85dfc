// A program that was written for gflags. Its source doesn't mention paddle_flags.
#include <gflags/gflags.h>

#include <iostream>

DEFINE_int32(program_level, 6, "How hard to try");
DEFINE_string(program_mode, "fast", "How to try");

int main(int argc, char **argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  std::cout << FLAGS_program_level << " " << FLAGS_program_mode << "\n";
}
