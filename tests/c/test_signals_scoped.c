/* Reads of scoped flags in a signal handler, with the library opened by dlopen: a thread's first
 * read must not allocate its thread-local storage, since the handler may have interrupted malloc.
 *
 * Built with: -DPD_HEADER_ONLY -Wl,--as-needed -ldl
 */
#include <signal.h>

#define CHECK_DEFINES_FLAGS
#include "plugged.h"

#define ROUNDS 1000

PD_DEFINE_SCOPED_int32(level, 6, "Compression level");

static volatile sig_atomic_t stop, wrong;

/* This thread has no scope, and has never called the library. */
static void read_level(int signal) {
  int32_t value = 0;
  (void)signal;
  wrong |= PD_SCOPED(level) != 6;
  wrong |= pd_flag_get_int32(PD_SCOPED_FLAG(level), &value, NULL) != PD_OK || value != 6;
}

static void *allocate(void *unused) {
  while (!stop) {
    void *volatile first = malloc(3000), *volatile second = malloc(3000);
    free(first);
    free(second);
  }
  return unused;
}

TEST(a_first_read_of_a_scoped_flag_in_a_signal_handler_needs_no_memory) {
  alarm(240);
  CHECK(!dlsym(RTLD_DEFAULT, "pd_version")); /* not yet loaded */
  CHECK(dlopen(getenv("LIBRARY"), RTLD_NOW));
  pd_scope scope;
  pd_assignment item = {PD_SCOPED_FLAG(level), "9", 0, {0}};
  CHECK_OK(pd_scope_push(&item, 1, NULL, NULL, &scope, &err));
  CHECK(signal(SIGUSR1, read_level) != SIG_ERR);
  for (int i = 0; i < ROUNDS; i++) {
    stop = 0;
    pthread_t thread = start(allocate, NULL);
    usleep((useconds_t)(100 + i % 7 * 37));
    CHECK(!pthread_kill(thread, SIGUSR1));
    usleep(50);
    stop = 1;
    finish(thread);
  }
  CHECK(!wrong);
  CHECK(PD_SCOPED(level) == 9);
}
