/* What can't be done within constructors and destructors, since a hook for it may wait for a lock
 * that another thread holds while it waits for the loader's: the lock of Python. It is put off
 * until nobody of this thread is in the loader. Everything here needs the lock unless it says
 * otherwise. */
#ifndef PD__DEFERRED_H
#define PD__DEFERRED_H

#include "registry.h"

/* One thing that was put off. */
typedef struct pd__deferred {
  pd_flag *flag;
  pd_hook watcher;   /* to be notified of the flag; 0: values wait for the flag */
  const void *owner; /* that settles it; NULL: pd_deferred_run */
  struct pd__deferred *next;
} pd__deferred;

/* Put it off, for whoever settles what this thread does in the loader. False: memory is out. */
bool pd__deferred_add(pd__operation *operation, pd_flag *flag, pd_hook watcher);

/* The next one that `owner` settles (NULL: pd_deferred_run) into *out; false: there is none. */
bool pd__deferred_take(const void *owner, pd__deferred *out);

/* Somebody else settles it from now on; NULL: pd_deferred_run. */
void pd__deferred_hand_over(pd__operation *operation, const void *owner, const void *heir);

/* In the child of a fork: the threads of other owners are gone. */
void pd__deferred_in_child(void);

/* Whether a validator of the flag can't be asked by this operation. */
bool pd__deferred_validator(const pd_flag *flag);

/* No lock: tell the handler that something waits for pd_deferred_run. */
void pd__deferred_tell(pd__operation *operation);

#endif /* PD__DEFERRED_H */
