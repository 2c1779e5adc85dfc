/* The memory that is allocated now: for tests that nothing is kept which nobody can reach. */
#ifndef USED_H
#define USED_H

#include <malloc.h>
#include <stddef.h>

#include "check.h"

/* AddressSanitizer's, where it is in the program. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static inline size_t used(void) {
  if (__sanitizer_get_current_allocated_bytes) return __sanitizer_get_current_allocated_bytes();
#ifdef __GLIBC__
  struct mallinfo2 all = mallinfo2();
  return all.uordblks + all.hblkhd;
#else
  return 0; /* musl doesn't tell */
#endif
}

/* Do it twice as often: what is needed once is there after the first half. `slack` is for tables
 * that are just about to grow. */
static inline void check_released(void (*act)(int), int rounds, size_t slack) {
  for (int i = 0; i < rounds; i++) act(i);
  size_t before = used();
  for (int i = rounds; i < 2 * rounds; i++) act(i);
  size_t after = used();
  if (after > before + slack) {
    check_fail(__FILE__, __LINE__, "%zu bytes more after %d rounds", after - before, rounds);
  }
}

#endif /* USED_H */
