/* Validators and watchers: code of modules that is called around a change, never while the lock is
 * held. The caller of these functions holds the lock unless a function says otherwise. */
#ifndef PD__HOOK_H
#define PD__HOOK_H

#include "registry.h"

/* A callback of any type, with its context. */
typedef void pd__function(void);
typedef struct pd__handler {
  pd__function *function; /* NULL: there is none */
  void *context;
  pd_module *module; /* that contains the function; NULL if unknown */
} pd__handler;

/* Returns the next hook in the order of addition; NULL gives the first. `previous` may have been
 * removed, but not freed. */
pd__hook *pd__hooks_next(const pd__hook *previous);

/* How many validators have ever been added. */
extern uint64_t pd__validators_added;

/* Returns whether a change of the flag may call a validator or a watcher. */
bool pd__flag_has_hooks(const pd_flag *flag);

/* Returns whether a whole command line must be validated: a definition is required, has a
 * validator or is assignable and may get one, or there is a hook. pd__hooks_adjust_definition_count
 * adds `change`, 1 or -1, to the number of such definitions. */
bool pd__hooks_can_have_validators(void);
void pd__hooks_adjust_definition_count(const pd_flag_def *def, int change);

/* A reference that an operation has to a hook. */
struct pd__hook_reference {
  pd__hook *hook;
  pd__hook_reference *next;
};

/* Retains a hook until the operation ends. `reference` must live as long as the operation. */
void pd__hook_retain(pd__operation *operation, pd__hook *hook, pd__hook_reference *reference);
void pd__hooks_release_retained(pd__operation *operation);

/* In the child of a fork, recounts the calls: only those of this thread are left. */
void pd__hooks_reset_in_child(void);

/* Handlers, one of each kind per process. */
typedef enum pd__handling { PD__HANDLE_WARNINGS, PD__HANDLE_DEFERRED, PD__HANDLINGS } pd__handling;
extern pd__handler pd__handlers[PD__HANDLINGS];

/* Replaces a handler. */
void pd__handler_set(pd__operation *operation, pd__handling what, pd__handler fresh);

/* Returns a copy of `from` with its module pinned; its function is NULL if there is none to call.
 * May release the lock meanwhile. */
pd__handler pd__handler_pin_module(pd__operation *operation, const pd__handler *from);

/* Removes the hooks and handlers whose code is between the addresses of a module that leaves. */
void pd__hooks_remove_for_module(pd__operation *operation, const pd_module *module);

/* Releases the contexts of removed hooks that no call needs any more. The caller must not hold the
 * lock. */
void pd__hooks_release_removed(pd__operation *operation);

/* Returns PD_ERR_DEPTH if calls of hooks are nested too deeply on this thread. */
pd_status pd__hooks_check_depth(pd_error *err);

/* Returns whether this thread is in a hook that this operation calls, further up its stack. */
bool pd__hook_is_called_here(const pd__active_operation *active);

/* Before the first call of a hook by the operation: lists it. If memory runs out, the calls don't
 * count. */
void pd__hooks_prepare_call(pd__operation *operation);

/* A call of a hook. */
typedef struct pd__hook_call {
  pd__active_operation *active;
  pd__fork_state fork_state;
} pd__hook_call;
void pd__hooks_enter_call(pd__hook_call *call, const pd__operation *operation);
void pd__hooks_exit_call(const pd__hook_call *call);

/* Declare this around a call of a hook, after pd__hooks_prepare_call, without the lock: it keeps
 * the depth right however the call ends. */
#define PD__IN_HOOK(operation)                                                                     \
  pd__hook_call in_hook __attribute__((cleanup(pd__hooks_exit_call)));                             \
  pd__hooks_enter_call(&in_hook, operation)

/* Size of the buffer for a validator's reason. */
#define PD__WHY_SIZE 512

/* The validator of groups (group.c): `context` is the group; for the rules see PD_GROUP_MAP. Needs
 * no lock. */
bool pd__group_check(const pd_flag_entry *const *entries, void *context, char *why, size_t size);

/* An iterator over the validators added to a flag. Start with zeros. */
typedef struct pd__validator_walk {
  struct pd__target *at;
  pd__hook *hook;
} pd__validator_walk;
bool pd__validators_next(pd__validator_walk *walk, const pd_flag *flag);

/* Returns the flag at `index` of those that a validator is asked about, and the type that it had
 * when the validator was added; NULL after the last one. */
pd_flag *pd__hook_get_flag(const pd__hook *hook, size_t index, pd_type *type);

/* Returns NULL if the hook has been removed. */
pd__hook *pd__hook_find(pd_hook number);
void pd__hook_remove(pd__hook *hook);
void pd__hooks_remove_for_flag(const pd_flag *flag);

/* Adds a copy of `like`, whose modules the caller has registered. */
pd_status pd__hook_add(const pd__hook *like, pd_flag *const *flags, size_t count, pd_hook *out,
                       pd_error *err);

#endif /* PD__HOOK_H */
