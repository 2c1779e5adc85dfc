/* Whether this thread is in the loader: it may then run constructors and destructors of modules
 * while it holds the loader's lock. These functions don't need the registry's lock.
 *
 * Stacks grow down. A frame that isn't above the caller's was left by longjmp, or is on the stack
 * of a suspended fiber: this thread isn't within it. */
#ifndef PD__LOADER_H
#define PD__LOADER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct pd__loader_state {
  const void *defer_to; /* will do the work deferred meanwhile; NULL: pd_deferred_run */
  uintptr_t frame;      /* where it was entered; 0: it wasn't */
} pd__loader_state;

static inline bool pd__is_frame_above(uintptr_t frame) {
  return frame > (uintptr_t)__builtin_frame_address(0);
}

/* Returns whether this thread is in the loader. */
bool pd__loader_is_entered(void);

/* Returns who does what is deferred now. */
const void *pd__loader_get_deferred_owner(void);

/* Enter the loader, which leaves deferred work to `defer_to`; returns the previous state.
 * pd__loader_exit restores it. */
pd__loader_state pd__loader_enter(const void *defer_to);
void pd__loader_exit(pd__loader_state *before);

/* Stays in the loader until the end of the block, however it is left. */
#define PD__IN_LOADER(defer_to)                                                                    \
  pd__loader_state loader_before __attribute__((cleanup(pd__loader_exit), unused)) =               \
      pd__loader_enter(defer_to)

/* Closes a handle; destructors may run. */
void pd__loader_close_library(void *handle);

#endif /* PD__LOADER_H */
