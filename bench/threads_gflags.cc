// c++ -O2 threads_gflags.cc -lgflags -pthread
#define LIBRARY "gflags"
#include "threads.h"

#include <gflags/gflags.h>

DEFINE_string(threads_it, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Is read");
DEFINE_string(threads_next, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Stands beside it");

// A race, as in every program that reads a flag beside a writer; all texts have one
// length, so that the buffer stays where it is. The barrier is there because nothing
// else makes the compiler read the flag more than once.
static unsigned read_it() {
  __asm__ volatile("" ::: "memory");
  return ends_of(FLAGS_threads_it.c_str());
}

static void set_it(const char *text) { gflags::SetCommandLineOption("threads_it", text); }
static void set_next(const char *text) { gflags::SetCommandLineOption("threads_next", text); }
