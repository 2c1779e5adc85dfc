/* Work deferred while this thread runs constructors or destructors of modules. A hook may wait for
 * a lock, such as Python's GIL, held by a thread that waits for the loader's lock. Such a hook is
 * called only when this thread has left the loader. The caller holds the registry's lock unless a
 * function says otherwise. */
#ifndef PD__DEFERRED_H
#define PD__DEFERRED_H

#include "registry.h"

/* One piece of deferred work. */
typedef struct pd__deferred {
  pd_flag *flag;
  pd_hook watcher;   /* the watcher to notify; 0: pending values are to be applied */
  const void *owner; /* does the work, as in pd__loader_state; never dereferenced */
  struct pd__deferred *next;
} pd__deferred;

/* Defers work to the current owner of this thread. Returns false if memory runs out. */
bool pd__deferred_add(pd__operation *operation, pd_flag *flag, pd_hook watcher);

/* Takes the first piece of work of `owner` (NULL: pd_deferred_run) from the list into *out. Returns
 * false if there is none. */
bool pd__deferred_pop(const void *owner, pd__deferred *out);

/* Hands the work of `owner` over to `heir`; NULL: pd_deferred_run. */
void pd__deferred_hand_over(pd__operation *operation, const void *owner, const void *heir);

/* In the child of a fork, leaves all work to pd_deferred_run: threads of other owners are gone. */
void pd__deferred_clear_owners_in_child(void);

/* Returns whether the flag has a validator that can't be called now. */
bool pd__flag_is_validation_deferred(const pd_flag *flag);

/* Calls the handler that announces work for pd_deferred_run. The caller must not hold the lock. */
void pd__deferred_notify_handler(pd__operation *operation);

#endif /* PD__DEFERRED_H */
