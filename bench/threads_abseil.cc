// c++ -O2 threads_abseil.cc $(pkg-config --libs absl_flags absl_synchronization) -pthread
#define LIBRARY "abseil"
#include "threads.h"

#include <absl/flags/flag.h>
#include <string>

#include "native/abseil.h"

ABSL_FLAG(std::string, threads_it, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Is read");
ABSL_FLAG(std::string, threads_next, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Stands beside it");

static unsigned read_it() { return ends_of(absl::GetFlag(FLAGS_threads_it).c_str()); }
static void set_it(const char *text) { absl::SetFlag(&FLAGS_threads_it, std::string(text)); }
static void set_next(const char *text) { absl::SetFlag(&FLAGS_threads_next, std::string(text)); }
