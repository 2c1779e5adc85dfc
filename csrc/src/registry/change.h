/* The one way in which a value changes: resolve (resolve.c), read and check (prepare.c), ask the
 * validators (validate.c), commit (commit.c), notify the watchers (notify.c). Changes that are
 * made together go through each stage together, so all of them take effect or none does.
 *
 * Everything here needs the lock. */
#ifndef PD__CHANGE_H
#define PD__CHANGE_H

#include "registry.h"

typedef enum pd__action {
  PD__ASSIGN, /* give a value */
  PD__RESET,  /* drop every value but the default */
  PD__DROP,   /* drop the value of one source */
  PD__POP,    /* drop that of one override */
  PD__WIPE,   /* drop every value but the default, and those of overrides */
  PD__IDLE    /* do nothing: the flag is retired */
} pd__action;

/* A change of one flag. Text is the caller's until the commit. */
typedef struct pd__change {
  pd_flag *flag;
  pd_flag *node;    /* the flag, or the alias that it was named by */
  const char *text; /* to be read; NULL: `value` was given */
  pd_value value;
  pd_origin origin;           /* of PD__DROP, its source */
  pd__overridden *overridden; /* of PD__POP */
  uint32_t generation;        /* of the definition that it was prepared for */
  uint8_t action;             /* pd__action */
  uint8_t type;               /* of the flag then */
  uint8_t literal;            /* how a file wrote it, as in pd_config_add; 0: as text */
  bool resets;                /* PD__RESET, or what that is on an override: the default */
} pd__change;

typedef struct pd__changes {
  pd__operation *operation;
  pd__report *report;   /* collects the errors */
  pd_override override; /* the values are to be one; its number, once it is made */
  bool pushes;          /* they are to be one */
  bool early;           /* the flag is being defined: startup may be over */
  bool forced;          /* no validator is asked */
  bool ask_all;         /* every validator is, also of flags that don't change */
  bool hooked;          /* somebody is to be asked, or notified */
  size_t count, capacity;
  pd__change *items;
  pd__change single; /* `items` as long as there is one */
} pd__changes;

void pd__changes_begin(pd__changes *changes, pd__operation *operation, pd__report *report);

/* Room for so many, if memory has it: they come faster then. */
void pd__changes_reserve(pd__changes *changes, size_t capacity);

/* Prepare to give a flag a value: `text`, or else `value`. An error goes to `err`; to the
 * report. */
pd_status pd__changes_try(pd__changes *changes, pd_flag *node, const char *text, pd_value value,
                          const pd_origin *origin, uint32_t literal, pd_error *err);
void pd__changes_add(pd__changes *changes, pd_flag *node, const char *text, pd_value value,
                     const pd_origin *origin, uint32_t literal);

/* The same of assignments, whose flags and types are checked. */
void pd__changes_add_all(pd__changes *changes, const pd_assignment *assignments, size_t count,
                         const pd_origin *origin);

/* Prepare to drop what `source` gave an open flag, if it gave anything; to end what an override
 * does; to reset an open flag (with an override on it, that is given the default), or to wipe one
 * that is sensitive. */
void pd__changes_drop(pd__changes *changes, pd_flag *flag, pd_source source);
void pd__changes_pop(pd__changes *changes, pd__overridden *overridden);
void pd__changes_clear(pd__changes *changes, pd_flag *flag, pd__action action);

/* What is left to do, unless there was an error: ask the validators, which lets go of the lock
 * meanwhile; commit, for which it must not have been let go since; both. Gives the report's
 * status. */
pd_status pd__changes_ask(pd__changes *changes);
pd_status pd__changes_commit(pd__changes *changes);
pd_status pd__changes_finish(pd__changes *changes);

/* All of it for one value. */
pd_status pd__assign(pd__operation *operation, pd_flag *node, const char *text, pd_value value,
                     const pd_origin *origin, pd_error *err);

/* ---- Read and check (prepare.c) ---- */

/* Read the value, and check that the flag may take it. Pure: nothing is stored. */
pd_status pd__prepare(pd__change *change, const pd__changes *changes, pd_error *err);

/* A reset drops what the flag was given, or gives an override on it the default: decide. */
void pd__prepare_reset(pd__change *change);

/* The lock was let go: check again what may have changed, and prepare again what was prepared
 * for another definition. Errors go to the report. */
void pd__prepare_again(pd__changes *changes);

/* PD_OK, or why the flag takes no value from `origin`: undefined, read-only, frozen. */
pd_status pd__flag_check_open(pd__operation *operation, pd_flag *flag, const pd_origin *origin,
                              pd_error *err);
pd_status pd__flag_check_type(pd__operation *operation, pd_flag *flag, pd_type type, pd_error *err);

/* PD_OK, or why a handle takes neither text nor, where that is NULL, a value of the type. It may be
 * the name of another flag by now, which it doesn't stand for. */
pd_status pd__flag_check_handle(pd__operation *operation, pd_flag *flag, const char *text,
                                pd_type type, pd_error *err);

/* Why a value doesn't suit a flag; `name` is the one that it was given by. */
pd_status pd__fail_value(pd_status status, const pd_flag *flag, const char *name, const char *text,
                         const pd_origin *origin, pd_error *err);

/* What a change gives the flag: the same as its origin's source, but for run time under an
 * override. */
static inline pd_source pd__change_source(const pd__change *change) {
  bool below = change->origin.source != PD_SOURCE_RUNTIME || !pd__flag_override(change->flag);
  return below ? change->origin.source : PD_SOURCE_OVERRIDE;
}

/* The sources whose values it takes away, a bit of PD__SOURCE_BIT each. */
static inline uint32_t pd__change_drops(const pd__change *change) {
  uint32_t given = ~PD__SOURCE_BIT(PD_SOURCE_DEFAULT);
  if (change->action == PD__WIPE) return given;
  if (change->action == PD__RESET) return given & ~PD__SOURCE_BIT(PD_SOURCE_OVERRIDE);
  return change->action == PD__DROP ? PD__SOURCE_BIT(change->origin.source) : 0;
}

/* ---- The stages behind (validate.c, commit.c, notify.c) ---- */

/* Refusals go to the report. */
void pd__validate(pd__changes *changes);

/* All or nothing: for want of memory nothing. */
pd_status pd__commit(pd__changes *changes, pd_error *err);

/* Before the commit, which can't fail: gather the watchers of a flag. After it: leave those whose
 * flags have changed to the end of the operation. */
pd__notice **pd__notices_begin(pd__operation *operation);
pd_status pd__notices_add(pd__changes *changes, pd_flag *flag, pd_error *err);
void pd__notices_post(pd__operation *operation, pd__notice **from);
void pd__notices_discard(pd__operation *operation, pd__notice **from);

/* Leave a watcher, which was put off, to the end of the operation, unless it is removed. False:
 * memory is out. */
bool pd__notices_resume(pd__operation *operation, pd_flag *flag, pd_hook watcher);

/* The operation ends before it has notified all: the next one of any thread does. */
void pd__notices_abandon(pd__operation *operation);

/* No lock: notify. */
void pd__notices_deliver(pd__operation *operation);

/* ---- Behind the other files of the layer ---- */

/* Store a value, which is of the flag's type, in the node and all cells. */
void pd__flag_store(pd_flag *flag, pd_value value);

void pd__override_drop(pd__overridden *from);

#endif /* PD__CHANGE_H */
