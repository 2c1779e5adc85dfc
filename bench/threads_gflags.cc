// c++ -O2 threads_gflags.cc -lgflags -pthread
#define LIBRARY "gflags"
#include "threads.h"

#include <gflags/gflags.h>

DEFINE_string(threads_it, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Is read");
DEFINE_string(threads_next, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Stands beside it");

// A data race, as in every program that reads such a flag while another thread sets it. All texts
// have the same length, so that the buffer stays where it is. Without the barrier the compiler
// would read the flag only once.
static unsigned read_it() {
  __asm__ volatile("" ::: "memory");
  return ends_of(FLAGS_threads_it.c_str());
}

static void set_it(const char *text) { gflags::SetCommandLineOption("threads_it", text); }
static void set_next(const char *text) { gflags::SetCommandLineOption("threads_next", text); }
