/* Where this thread is: within constructors and destructors of modules it has the loader's lock.
 * Everything here needs no lock. */
#ifndef PD__LOADER_H
#define PD__LOADER_H

#include <stdbool.h>

typedef struct pd__loader_stay {
  const void *owner; /* whoever settles what is put off meanwhile; NULL: pd_deferred_run */
  bool within;       /* constructors and destructors may run */
} pd__loader_stay;

/* Of this thread, now. */
extern _Thread_local pd__loader_stay pd__loader_now;

/* From now on constructors and destructors may run, and `owner` settles; as before. */
pd__loader_stay pd__loader_enter(const void *owner);
void pd__loader_exit(pd__loader_stay *before);

/* Until the end of the block, which may be left in any way. */
#define PD__IN_LOADER(owner)                                                                       \
  pd__loader_stay loader_before __attribute__((cleanup(pd__loader_exit), unused)) =                \
      pd__loader_enter(owner)

/* Give a reference of the loader back: destructors may run. */
void pd__loader_close(void *handle);

#endif /* PD__LOADER_H */
