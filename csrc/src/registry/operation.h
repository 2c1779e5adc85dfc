/* One call of the library: what it holds, and how it ends. The caller holds the registry's lock
 * unless a function says otherwise. */
#ifndef PD__OPERATION_H
#define PD__OPERATION_H

#include "../base/arena.h"
#include "../platform/platform.h"

typedef struct pd__operation pd__operation;

/* ---- Operations (operation.c) ---- */

typedef struct pd__notice pd__notice;                 /* notify.c */
typedef struct pd__pin pd__pin;                       /* pin.c */
typedef struct pd__hook_reference pd__hook_reference; /* hook.c */
typedef struct pd__closing pd__closing;
typedef struct pd__active_operation pd__active_operation;

/* One call of the library. All memory that it allocates is in its arena, and everything that it
 * keeps in the process is listed here. So it can be ended in the same way on success, on an error,
 * and when a callback doesn't return because its thread is cancelled or an exception passes
 * through. */
struct pd__operation {
  pd__arena arena;
  pd__pin *pins;                      /* images kept loaded while their code is called */
  pd__hook_reference *retained_hooks; /* hooks kept while they are called */
  pd__notice *notices;                /* watchers to notify once the lock is released */
  pd__notice **notices_end;
  pd__closing *closing;         /* handles to close without the lock */
  pd__active_operation *active; /* NULL: it is not among them */
  bool locked;
  bool deferred; /* it has left work to pd_deferred_run */
};

/* Ends the operation: releases the lock, notifies watchers, delivers warnings, releases contexts,
 * and closes modules. */
void pd__operation_end(pd__operation *operation);

static inline pd_status pd__operation_return(pd__operation *operation, pd_status status) {
  pd__operation_end(operation);
  return status;
}

static inline void pd__operation_lock(pd__operation *operation) {
  pd__platform_lock();
  operation->locked = true;
}

static inline void pd__operation_unlock(pd__operation *operation) {
  operation->locked = false;
  pd__platform_unlock();
}

/* Releases everything that the operation holds, without calling any callback. All of it is in the
 * arena, so there is nothing to do if that is empty. */
void pd__operation_end_without_callbacks(pd__operation *operation);

static inline void pd__operation_clean_up(pd__operation *operation) {
  if (operation->locked || operation->arena.blocks) pd__operation_end_without_callbacks(operation);
}

/* Work that the next operation to end does for others (operation_stack.c): bits, changed under the
 * lock. */
enum { PD__WORK_NOTICES = 1, PD__WORK_WARNINGS = 2, PD__WORK_RELEASES = 4, PD__WORK_ANY = 7 };
extern uint8_t pd__pending_work;
void pd__set_pending_work(uint8_t what, bool is_due);

static inline bool pd__has_pending_work(uint8_t what) {
  return __atomic_load_n(&pd__pending_work, __ATOMIC_ACQUIRE) & what;
}

/* In the child of a fork, drops what other threads kept: only this thread is left. */
void pd__operations_reset_in_child(void);

/* Declares an operation that ends properly however the function is left. */
#define PD__OPERATION(name)                                                                        \
  pd__operation name __attribute__((cleanup(pd__operation_clean_up))) = {.locked = false}

/* Declares one and acquires the lock. */
#define PD__LOCKED_OPERATION(name)                                                                 \
  PD__OPERATION(name);                                                                             \
  pd__operation_lock(&(name))

/* What the list of active operations knows of one (operation_stack.c). It is in the operation's
 * arena, not on a stack: a callback that leaves by longjmp leaves it behind, and one on a fiber may
 * continue in another thread. */
struct pd__active_operation {
  pd__pin *pins;
  pd__hook_reference *retained_hooks;
  uintptr_t thread;                 /* that was the last to run it */
  uintptr_t frame;                  /* where it calls hooks: an address in its stack */
  bool calling;                     /* a hook */
  bool lost;                        /* it belongs to the parent of this process */
  pd__active_operation *next, **at; /* *at points here */
};

/* Lists an operation that keeps something in the process until it ends as active, or renews what is
 * listed. If memory runs out, it isn't listed: a forked child doesn't know what it keeps. */
void pd__operation_mark_active(pd__operation *operation);
void pd__active_operation_remove(pd__active_operation *active);

/* Iterates over the list; NULL gives the first. */
pd__active_operation *pd__active_operation_next(const pd__active_operation *previous);

/* In the child of a fork, removes the operations of other threads. */
void pd__active_operations_reset_in_child(void);

/* Returns whether what the operation keeps is that of the parent of this process. */
static inline bool pd__operation_is_lost(const pd__operation *operation) {
  return operation->active && operation->active->lost;
}

/* ---- Pins (pin.c) ---- */

typedef enum pd__pinning {
  PD__PINNED,   /* the image stays loaded until the operation ends */
  PD__UNPINNED, /* call pd__pins_acquire, then look everything up again */
  PD__LEAVING   /* it can't be kept loaded: don't call anything in it */
} pd__pinning;

/* Keeps an image loaded while its code is called, or while a change that its code must validate is
 * prepared. A `module` that is NULL, for code in no known image, counts as pinned: the owner of the
 * code keeps it valid. */
pd__pinning pd__pin_module(pd__operation *operation, pd_module *module);

/* Gets references from the loader to the images that pd__pin_module couldn't pin. Releases the lock
 * meanwhile. */
void pd__pins_acquire(pd__operation *operation);

#endif /* PD__OPERATION_H */
