/* cc -O2 threads.c -lpd_flags -pthread */
#define LIBRARY "paddle_flags"
#include "threads.h"

#include <pd_flags.h>

PD_DEFINE_string(threads_it, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Is read");
PD_DEFINE_string(threads_next, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "Stands beside it");

static unsigned read_it(void) { return ends_of(FLAGS_threads_it); }

static void set(const char *name, pd_flag **flag, const char *text) {
  if (!*flag && pd_flag_find(name, flag, NULL) != PD_OK) abort();
  if (pd_flag_set_string(*flag, text, NULL) != PD_OK) abort();
}

static void set_it(const char *text) {
  static pd_flag *flag;
  set("threads_it", &flag, text);
}

static void set_next(const char *text) {
  static pd_flag *flag;
  set("threads_next", &flag, text);
}
