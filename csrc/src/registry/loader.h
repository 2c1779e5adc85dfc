/* Whether this thread is in the loader: it may then run constructors and destructors of modules
 * while it holds the loader's lock. These functions don't need the registry's lock. */
#ifndef PD__LOADER_H
#define PD__LOADER_H

#include <stdbool.h>

typedef struct pd__loader_state {
  const void *owner; /* will do the work deferred meanwhile; NULL: pd_deferred_run */
  bool within;       /* constructors and destructors may run */
} pd__loader_state;

/* The state of this thread. */
extern _Thread_local pd__loader_state pd__loader_now;

/* Enter the loader, with an owner for deferred work; returns the previous state. pd__loader_exit
 * restores it. */
pd__loader_state pd__loader_enter(const void *owner);
void pd__loader_exit(pd__loader_state *before);

/* Stays in the loader until the end of the block, however it is left. */
#define PD__IN_LOADER(owner)                                                                       \
  pd__loader_state loader_before __attribute__((cleanup(pd__loader_exit), unused)) =               \
      pd__loader_enter(owner)

/* Closes a handle; destructors may run. */
void pd__loader_close(void *handle);

#endif /* PD__LOADER_H */
