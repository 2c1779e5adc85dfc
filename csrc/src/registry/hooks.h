/* Validators and watchers: functions of others that are called around a change,
 * never with the lock held. All functions here need the lock, unless they say
 * otherwise. */
#ifndef PD__HOOKS_H
#define PD__HOOKS_H

#include "registry.h"

/* ---- Those that were added (hooks.c) ---- */

typedef struct pd__hook pd__hook;

/* A flag of a hook. */
struct pd__target {
  pd__hook *hook;
  pd_flag *flag;
  pd_type type;     /* when it was added */
  pd__target *next; /* for the same flag */
};

/* It stays while calls of it are due. */
struct pd__hook {
  pd_hook number;
  pd_validator validate; /* one of these two */
  pd_watcher watch;
  void *context;
  void (*release)(void *);
  size_t due;     /* calls that are prepared or under way */
  uint64_t round; /* the last question that it was asked in */
  bool removed;
  pd__hook *next; /* the one added after it */
  size_t count;   /* 0: a watcher of every flag */
  pd__target targets[];
};

/* The one added first; the others follow. */
pd__hook *pd__hooks_first(void);

/* Whether somebody is to be asked, or told, of a change of the flag; or to be warned. */
extern size_t pd__general_watchers; /* of every flag */
static inline bool pd__hooks_concern(const pd_flag *flag) {
  return !PD__LACKS_HOOKS &&
         (flag->special || pd__general_watchers > 0 || pd__flag_extra(flag)->targets);
}

pd_status pd__hook_add(const pd__hook *like, pd_flag *const *flags, size_t count, pd_hook *out,
                       pd_error *err);

/* A call is due, and is no longer. */
void pd__hook_take(pd__hook *hook);
void pd__hook_drop(pd__hook *hook);

/* Drop the hooks whose function lies between two addresses, and wait for the calls
 * of such functions, of definitions too, that other threads are in. */
void pd__hooks_forget_between(uintptr_t low, uintptr_t high);

/* No lock: release the contexts that no call needs any more. */
void pd__hooks_release(void);

/* ---- Calls under way (call.c) ---- */

/* A forked child has the list, but not the other threads: hence the process. */
typedef struct pd__call {
  uintptr_t function;
  uintptr_t thread;
  uint64_t process;
  unsigned depth;
  struct pd__call *newer, *older;
} pd__call;

/* PD_ERR_DEPTH where this thread is in too many calls, one inside the other. */
pd_status pd__call_check(pd_error *err);
void pd__call_begin(pd__call *call, uintptr_t function);
void pd__call_end(pd__call *call);

/* Let go of the lock until no other thread is in a function between two addresses. */
void pd__call_wait(uintptr_t low, uintptr_t high);

/* ---- Validators (validate.c) ---- */

/* Room for what a validator writes. */
#define PD__WHY_SIZE 512

/* Ask the validators whether the changes may be made; refusals go to the report.
 * Lets go of the lock while they run, and asks again if the values that they saw
 * are others by then. */
void pd__validators_ask(pd__changes *changes);

/* hooks.c: what PD_GROUP_MAP says of `context`, a group. No lock. */
bool pd__group_check(const pd_flag_entry *const *entries, void *context, char *why, size_t size);

/* ---- Watchers (watch.c) ---- */

typedef struct pd__notice pd__notice;

/* Gather the watchers that the changes are to be told to, before the commit, which
 * can't fail. */
pd_status pd__notices_prepare(pd__changes *changes, pd__notice **out, pd_error *err);

/* After the commit: leave those whose flag did change its value to pd__tell. */
void pd__notices_post(pd__notice *notices);

/* No lock: tell what this thread has changed. */
void pd__notices_tell(void);

/* ---- Warnings (warning.c) ---- */

/* No lock: hand out warnings. */
void pd__warnings_tell(void);

#endif /* PD__HOOKS_H */
