/* Validators and watchers: code of modules that is called around a change, never with the lock
 * held. Everything here needs the lock, unless it says otherwise. */
#ifndef PD__HOOK_H
#define PD__HOOK_H

#include "registry.h"

/* A function of others, of any type, and what it is called with. */
typedef void pd__function(void);
typedef struct pd__handler {
  pd__function *function; /* NULL: nobody */
  void *context;
  pd_module *module; /* that the function is in; NULL: none is known */
} pd__handler;

/* It stays in memory while it is called. */
struct pd__hook {
  pd_hook number;
  bool watches; /* `call` is a pd_watcher; else it is a pd_validator */
  pd__handler call;
  pd__handler release; /* takes the context alone */
  size_t calls;        /* of operations that hold it */
  uint64_t round;      /* the last question that it was asked in */
  bool waits;          /* by pd_hook_defer: it isn't called within constructors and destructors */
  bool removed;
  pd__hook *next_removed;
  size_t count; /* of targets */
  pd__target targets[];
};

/* In the order in which they were added; NULL gives the first. `previous` may be removed. */
pd__hook *pd__hooks_next(const pd__hook *previous);

/* How often a validator was added. */
extern uint64_t pd__validators_added;

/* Watchers of every flag. */
extern pd__targets pd__general_watchers;

static inline pd__target *pd__hooks_of(const pd_flag *flag) {
  return flag->extra ? flag->extra->hooks.first : NULL;
}

/* Whether somebody is to be asked, or notified, of a change of the flag. */
static inline bool pd__hooks_concern(const pd_flag *flag) {
  return flag->hooked || pd__general_watchers.first || pd__hooks_of(flag);
}

/* Whether anything must be asked about a whole command line: a definition is required or has a
 * validator, or a hook was added. */
bool pd__hooks_ask(void);
void pd__hooks_count_definition(const pd_flag_def *def, int change);

/* An operation's hold of a hook. */
struct pd__held {
  pd__hook *hook;
  pd__held *next;
};

/* Hold a hook while the operation goes on, whose memory `held` is. */
void pd__hook_hold(pd__operation *operation, pd__hook *hook, pd__held *held);
void pd__hooks_let_go(pd__operation *operation);

/* In the child of a fork: count the calls again, which are those of its thread. */
void pd__hooks_in_child(void);

/* Functions of hosts that there is one of. */
typedef enum pd__handling { PD__HANDLE_WARNINGS, PD__HANDLE_DEFERRED, PD__HANDLINGS } pd__handling;
extern pd__handler pd__handlers[PD__HANDLINGS];

/* `fresh` handles that from now on. */
void pd__handler_set(pd__operation *operation, pd__handling what, pd__handler fresh);

/* What `from` is once its image is pinned; no function: nobody is to be called. The lock may be let
 * go meanwhile. */
pd__handler pd__handler_pinned(pd__operation *operation, const pd__handler *from);

/* The module leaves, or the code between its addresses does: so do its hooks and handlers. */
void pd__hooks_leave(pd__operation *operation, const pd_module *module);

/* No lock: release the contexts that no call needs any more. */
void pd__hooks_release(pd__operation *operation);

/* PD_ERR_DEPTH where this thread is in too many calls of hooks, one inside the other. No lock. */
pd_status pd__hooks_check_depth(pd_error *err);
void pd__hooks_enter(void);
void pd__hooks_exit(const int *unused);

/* Around a call of a hook: the depth is right however it ends. */
#define PD__IN_HOOK()                                                                              \
  int in_hook __attribute__((cleanup(pd__hooks_exit), unused)) = (pd__hooks_enter(), 0)

/* Room for what a validator writes. */
#define PD__WHY_SIZE 512

/* group.c: what PD_GROUP_MAP says of `context`, a group. No lock. */
bool pd__group_check(const pd_flag_entry *const *entries, void *context, char *why, size_t size);

/* NULL: it is removed. */
pd__hook *pd__hook_find(pd_hook number);
void pd__hook_remove(pd__hook *hook);

/* Add a hook that is like another one, whose modules are found. */
pd_status pd__hook_add(const pd__hook *like, pd_flag *const *flags, size_t count, pd_hook *out,
                       pd_error *err);

#endif /* PD__HOOK_H */
