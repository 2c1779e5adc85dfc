/* Calls again and again, with the first, the second, ... allocation failing, alone or with all that
 * follow. In the end as many blocks are allocated as if none had failed. For programs that are
 * built with -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=free. */
#ifndef FAILING_H
#define FAILING_H

#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int left = -1;   /* allocations that succeed before one fails; -1: all */
static bool to_the_end; /* all later ones fail too */
static bool failed;
static long blocks; /* that are allocated */

static bool fails(void) {
  if (left < 0) return false;
  if (left > 0) {
    left--;
    return false;
  }
  if (!to_the_end) left = -1;
  failed = true;
  return true;
}

static void *counted(void *made) {
  blocks += made != NULL;
  return made;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void __real_free(void *old);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *old);
void *__wrap_malloc(size_t size) { return fails() ? NULL : counted(__real_malloc(size)); }
void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : counted(__real_calloc(count, size));
}
void *__wrap_realloc(void *old, size_t size) {
  if (!old) return __wrap_malloc(size);
  return fails() ? NULL : __real_realloc(old, size);
}
void __wrap_free(void *old) {
  blocks -= old != NULL;
  __real_free(old);
}

typedef struct scenario {
  void (*prepare)(void);
  pd_status (*act)(void);
  void (*check_nothing_done)(void);
  void (*check_done)(void);
} scenario;

/* In a child: whether an allocation failed. A failure of a later one than the
 * call needs shows that the end is reached. What each failure leaves behind adds up. */
static bool run_failing(const scenario *tried, int number) {
  bool any = false;
  tried->prepare();
  for (int i = 0; i < 3; i++) {
    failed = false;
    left = number;
    pd_status status = tried->act();
    left = -1;
    any |= failed;
    if (status == PD_OK) break;
    CHECK(failed && status == PD_ERR_MEMORY && err.status == PD_ERR_MEMORY);
    CHECK_STR(err.message, "out of memory");
    tried->check_nothing_done();
    if (i == 2) CHECK_OK(tried->act());
  }
  tried->check_done();
  return any;
}

/* Returns whether an allocation failed, and how many blocks are allocated then. */
static bool run_in_child(const scenario *tried, int number, long *allocated) {
  int status, ends[2];
  CHECK(pipe(ends) == 0);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    bool more = run_failing(tried, number);
    CHECK(write(ends[1], &blocks, sizeof blocks) == sizeof blocks);
    exit(more ? 0 : 7);
  }
  CHECK(waitpid(child, &status, 0) == child);
  if (!WIFEXITED(status) || (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 7)) {
    check_fail(__FILE__, __LINE__, "with allocation %d failing", number);
  }
  CHECK(read(ends[0], allocated, sizeof *allocated) == sizeof *allocated);
  close(ends[0]);
  close(ends[1]);
  return WEXITSTATUS(status) == 0;
}

static void run_all(const scenario *tried, int least) {
  int number = 0;
  long without, with;
  CHECK(!run_in_child(tried, 1000000, &without));
  while (run_in_child(tried, number, &with)) {
    if (with > without + 2) { /* some may be room for what is stored for good */
      check_fail(__FILE__, __LINE__, "with allocation %d failing, %ld blocks are left", number,
                 with - without);
    }
    number++;
  }
  if (number < least) check_fail(__FILE__, __LINE__, "only %d allocations were tried", number);
}

__attribute__((unused)) static void run(const scenario *tried, int least) {
  to_the_end = false;
  run_all(tried, least);
  to_the_end = true;
  run_all(tried, least);
}

__attribute__((unused)) static void nothing(void) {}

#endif /* FAILING_H */
