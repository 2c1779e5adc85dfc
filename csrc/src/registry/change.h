/* The only way to change a value: resolve the name (resolve.c), parse and check the value
 * (prepare.c), convert texts (convert.c), call the validators (validate.c), commit (commit.c),
 * notify the watchers (notify.c).
 * Changes that are made together go through each stage together, so either all of them take effect
 * or none does.
 *
 * The caller holds the lock unless a function says otherwise. */
#ifndef PD__CHANGE_H
#define PD__CHANGE_H

#include "refusal.h"

typedef struct pd__override_entry pd__override_entry;

typedef enum pd__action {
  PD__ASSIGN, /* assign a value */
  PD__RESET,  /* drop all values but the default */
  PD__DROP,   /* drop the value of one source */
  PD__POP,    /* drop the value of one override */
  PD__WIPE,   /* drop all values but the default, also those of overrides */
  PD__IDLE    /* do nothing: the flag is retired */
} pd__action;

/* A change of one flag. `text` and string values are borrowed from the caller until the commit. */
typedef struct pd__change {
  pd_flag *flag;
  pd_flag *node;    /* the flag, or the alias that it was named by */
  const char *text; /* to be parsed; NULL: use `value` */
  pd_value value;
  pd_origin origin; /* for PD__DROP: its source */
  union {
    pd__override_entry *override_entry; /* for PD__POP; valid while there is an override `popped` */
    size_t room; /* of the buffer in the arena that `text` is in; 0: in none */
  };
  pd_override popped;  /* for PD__POP: the number; it may end before the commit */
  uint32_t generation; /* of the definition that the change was prepared for */
  uint32_t converted;  /* the generation whose converter has made `value`; 0: none */
  uint8_t action;      /* pd__action */
  uint8_t type;        /* of the flag when the change was prepared */
  uint8_t literal;     /* how a file wrote the value, as in pd_config_add; 0: as text */
  bool resets;         /* a reset: PD__RESET, or PD__ASSIGN of the default to an override */
} pd__change;

typedef struct pd__changes {
  pd__operation *operation;
  pd__report *report;    /* collects the errors; borrowed */
  pd_override override;  /* with `pushes`: the number of the new override */
  pd_scope scope;        /* with `scopes`: the number of the scope, once it is open */
  bool pushes;           /* the values make up a new override or scope */
  bool scopes;           /* with `pushes`: it is a scope */
  bool temporary;        /* with `pushes`: the override ends by itself */
  bool is_defining;      /* the flag is being defined: it may change although startup is over */
  bool are_drafts;       /* the flags are drafts (definition/draft.h): no warnings */
  bool skips_validators; /* call no validators */
  bool ask_all;          /* call all validators, also those of flags that don't change */
  bool merges;           /* the values are as users wrote them: a list may add to those below */
  bool previews; /* nothing will be committed: only those of `previewed_flag` are prepared */
  const pd_flag *previewed_flag; /* or NULL: of no flag */
  bool yields;                   /* values of the fleet are dropped if validators reject them: */
  pd__refusals refusals;         /* these are dropped with the commit */
  pd_hook added_validator;       /* a validator to call, which is new; 0: none */
  bool hooked;                   /* there may be a validator to call or a watcher to notify */
  size_t count, capacity;
  pd__change *items;
  pd__change single; /* holds the items while there is at most one */
} pd__changes;

void pd__changes_begin(pd__changes *changes, pd__operation *operation, pd__report *report);

/* Makes room for `capacity` changes in advance, if there is memory for that. */
void pd__changes_reserve(pd__changes *changes, size_t capacity);

/* Prepare an assignment of `text`, or of `value` if `text` is NULL. pd__changes_stage_assignment
 * returns the error in `err`, pd__changes_stage_or_report adds it to the report. */
pd_status pd__changes_stage_assignment(pd__changes *changes, pd_flag *node, const char *text,
                                       pd_value value, const pd_origin *origin, uint32_t literal,
                                       pd_error *err);

/* The same for a flag that `node` doesn't lead to, since it isn't defined yet. */
pd_status pd__changes_stage_assignment_to(pd__changes *changes, pd_flag *flag, pd_flag *node,
                                          const char *text, pd_value value, const pd_origin *origin,
                                          uint32_t literal, pd_error *err);
void pd__changes_stage_or_report(pd__changes *changes, pd_flag *node, const char *text,
                                 pd_value value, const pd_origin *origin, uint32_t literal);

/* Prepares assignments, after checking their handles and types. */
void pd__changes_add_assignments(pd__changes *changes, const pd_assignment *assignments,
                                 size_t count, const pd_origin *origin);

/* Prepare to drop the value from `source`, if there is one; to pop what an override does to the
 * flag; to reset a flag (if it has an override, that is set to the default) or wipe a sensitive
 * one. A flag that can't be changed is reported. */
void pd__changes_add_drop(pd__changes *changes, pd_flag *flag, pd_source source);
void pd__changes_add_pop(pd__changes *changes, pd__override_entry *override_entry);
void pd__changes_add_reset(pd__changes *changes, pd_flag *flag, pd__action action);

/* The remaining stages; they do nothing if there was an error. pd__changes_validate calls the
 * validators and releases the lock meanwhile. pd__changes_commit commits; the lock must not have
 * been released since pd__changes_validate. pd__changes_validate_and_commit does both. Each returns
 * the status of the report. */
pd_status pd__changes_validate(pd__changes *changes);
pd_status pd__changes_commit(pd__changes *changes);
pd_status pd__changes_validate_and_commit(pd__changes *changes);

/* Assigns a number to a flag without validators and watchers, which is what most assignments do.
 * That needs no memory and runs no callback, so it needs no operation. Returns false, and changes
 * nothing, if the flag, the value or the origin needs the stages. */
bool pd__flag_try_assign_directly(pd_flag *node, const char *text, pd_value value,
                                  const pd_origin *origin);

/* Assigns one value, through all stages where they are needed. */
pd_status pd__assign_value(pd__operation *operation, pd_flag *node, const char *text,
                           pd_value value, const pd_origin *origin, pd_error *err);

/* Pops an override, as pd_override_pop, without releasing the lock (batch.c). */
pd_status pd__override_pop_in_operation(pd__operation *operation, pd_override number,
                                        pd_error *err);

/* ---- Parse and check (prepare.c) ---- */

/* Parses the value and checks that the flag accepts it. Stores nothing in the flag. */
pd_status pd__prepare_change(pd__change *change, const pd__changes *changes, pd_error *err);

/* Checks the value that the converter has made of `text`. */
pd_status pd__prepare_check_converted(pd__change *change, const pd__changes *changes,
                                      const char *text, pd_error *err);

/* Decides what a reset does: drop the values, or assign the default if the flag has an override or
 * gets one. Live values are below overrides, and so is their reset. */
void pd__prepare_reset(pd__change *change, bool pushes);

/* Checks everything again after the lock was released; changes that were prepared for another
 * definition are prepared anew. Errors go to the report. */
void pd__prepare_changes_again(pd__changes *changes);

/* Returns PD_OK if the flag can be changed by `origin`; otherwise the error: undefined, read-only,
 * retired or frozen. */
pd_status pd__flag_check_settable(pd__operation *operation, pd_flag *flag, const pd_origin *origin,
                                  pd_error *err);
/* Fails unless the flag is scoped, if the changes make up a scope; `name` is that of the caller. */
pd_status pd__flag_check_scopable(const pd__changes *changes, const pd_flag *flag, const char *name,
                                  pd_error *err);
pd_status pd__flag_check_type(pd__operation *operation, pd_flag *flag, pd_type type, pd_error *err);

/* Returns PD_OK if the flag of a handle accepts `text` or, if that is NULL, a value of the type. If
 * its name has become an alias of another flag, the handle counts as undefined. */
pd_status pd__flag_check_text_or_type(pd__operation *operation, pd_flag *flag, const char *text,
                                      pd_type type, pd_error *err);

/* Returns what a use of a flag that counts adds to: the value of the use before it in the same
 * place, or the default. */
pd_value pd__changes_find_count_start(const pd__changes *changes, const pd_flag *flag,
                                      const pd_origin *origin);

/* Fails because the flag doesn't accept a value; `name` is the name used by the caller. */
pd_status pd__fail_value_with_reason(pd_status status, const pd_flag *flag, const char *name,
                                     const char *text, const pd_origin *origin, const char *why,
                                     pd_error *err);

/* Likewise, and finds out why. */
pd_status pd__fail_value(pd_status status, const pd_flag *flag, const char *name, const char *text,
                         const pd_origin *origin, pd_error *err);

/* Returns the source that the value will have: that of its origin, except that a run-time
 * assignment to a flag with an override changes the override. */
pd_source pd__change_get_effective_source(const pd__change *change);

/* Returns the sources whose values the change drops, a PD__SOURCE_BIT each. */
static inline uint32_t pd__change_drops(const pd__change *change) {
  uint32_t given = ~PD__SOURCE_BIT(PD_SOURCE_DEFAULT);
  if (change->action == PD__WIPE) return given;
  if (change->action == PD__RESET) return given & ~PD__SOURCE_BIT(PD_SOURCE_OVERRIDE);
  return change->action == PD__DROP ? PD__SOURCE_BIT(change->origin.source) : 0;
}

/* ---- Later stages (convert.c, validate.c, commit.c, notify.c) ---- */

/* Replaces texts by their canonical form. Rejections go to the report. */
void pd__convert_changes(pd__changes *changes);

/* Rejections go to the report. */
void pd__validate_changes(pd__changes *changes);

/* Commits all changes, or none if memory runs out. */
pd_status pd__commit_changes(pd__changes *changes, pd_error *err);

/* Before the commit: pd__notices_get_end returns the end of the list of notices, and
 * pd__notices_add adds the watchers of a flag, which may fail. After it: pd__notices_drop_unchanged
 * removes the notices after `from` whose flags haven't changed, and leaves the others to the end of
 * the operation. pd__notices_discard_from removes all of them. */
pd__notice **pd__notices_get_end(pd__operation *operation);
pd_status pd__notices_add(pd__changes *changes, pd_flag *flag, pd_error *err);
void pd__notices_drop_unchanged(pd__operation *operation, pd__notice **from);
void pd__notices_discard_from(pd__operation *operation, pd__notice **from);

/* Leaves a deferred watcher to the end of the operation, when it is notified unless it has been
 * removed. Returns false if memory runs out. */
bool pd__notices_add_deferred(pd__operation *operation, pd_flag *flag, pd_hook watcher);

/* For an operation that ends before it has notified all watchers: leaves the others to the next
 * operation of any thread. */
void pd__notices_hand_over(pd__operation *operation);

/* Notifies the watchers. The caller must not hold the lock. */
void pd__notices_deliver(pd__operation *operation);

/* ---- Internal functions of flag.c and history.c ---- */

/* Several changes of one flag without overrides, so that readers see only the last value:
 * pd__history_push_current puts the current value on top of the list, pd__history_replace_values
 * drops the values of some sources and, if `assigned` isn't NULL, inserts a value of that origin,
 * and pd__history_pop_current makes the top value the current one. The first two need room from
 * pd__history_reserve, and the caller publishes the result. */
void pd__history_push_current(pd_flag *flag);
void pd__history_replace_values(pd_flag *flag, uint32_t dropped, pd_value value,
                                const pd_origin *assigned);
void pd__history_pop_current(pd_flag *flag);

/* Stores a value of the flag's type in the node and all cells. */
void pd__flag_store(pd_flag *flag, pd_value value);

#endif /* PD__CHANGE_H */
