/* The stage: definitions that aren't in the registry yet. They are checked, and the values that
 * wait for them are read, converted and validated, while only the call that makes them sees them.
 * Then all of them are published without releasing the lock, or none is.
 *
 * The call goes through these steps, and starts again after pd__stage_ask_hooks, since anything may
 * have changed while the lock was released; the answers are kept:
 *
 *   pd__stage_reserve_names      reserves the names; a conflict ends the call
 *   pd__stage_try_complete_plan  decides which values the flags get, by the answers so far
 *   pd__stage_ask_hooks          only if an answer is missing: releases names and lock, and asks
 *   pd__stage_publish            otherwise: defines the flags with these values; can't fail
 *
 * This header may use base, value, registry and definition. The caller holds the lock. */
#ifndef PD__STAGE_H
#define PD__STAGE_H

#include "definition.h"

typedef struct pd__plan pd__plan; /* which values the flags get (draft.h) */

typedef struct pd__stage {
  pd__operation *operation;
  pd__cell *cells; /* cells[i].def points at a definition that pd__def_check accepted */
  size_t count;
  bool replaces;        /* the definition of the flag that the one cell defines makes way for it */
  const pd_hook *hooks; /* go with that definition; borrowed */
  size_t hooks_count;
  pd_flag *replaced;   /* the flag of that definition, if there is one */
  bool has_former;     /* some flags have values of a former definition */
  uint32_t visit_mark; /* of the names that are reserved */
  pd__plan *plan;      /* in the arena of the operation; NULL: no values wait */
} pd__stage;

/* Declares a stage that gives back what it holds however the function is left. */
#define PD__STAGE(name)                                                                            \
  pd__stage name __attribute__((cleanup(pd__stage_free_plan)));                                    \
  name.plan = NULL

void pd__stage_begin(pd__stage *stage, pd__operation *operation, pd__cell *cells, size_t count);

/* Returns true if all definitions may be defined, and reserves their names; reports the reasons
 * otherwise. */
bool pd__stage_reserve_names(pd__stage *stage, pd__report *report);

/* Decides which of the values that wait for the flags they get. Returns false if a validator or
 * converter must be asked first. */
bool pd__stage_try_complete_plan(pd__stage *stage);

/* Gives back the names. They are reserved only while the lock is held. */
void pd__stage_release_names(pd__stage *stage);

/* Asks what the plan lacks. Releases the names and, meanwhile, the lock. Reports an error, and
 * returns false, if calls are nested too deeply to ask anybody. */
bool pd__stage_ask_hooks(pd__stage *stage, pd__report *report);

/* Defines the flags, which can't fail: the registry uses the cells until pd__undefine_cells.
 * Reports the values that were rejected. Doesn't release the lock. */
void pd__stage_publish(pd__stage *stage, pd__report *waiting);

/* Returns the value that the flag of the first cell will have; its default if it gets none. Call it
 * after pd__stage_try_complete_plan. */
pd_value pd__stage_get_planned_value(const pd__stage *stage);

/* Returns whether a definition of the stage that is being planned defines the flag `node`. */
bool pd__stage_is_defining(const pd_flag *node);

void pd__stage_free_plan(pd__stage *stage);

/* A validator of our own, of which `locked` is the part that calls no code of modules: a plan runs
 * it immediately, with the lock held. There is at most one; NULL means none. */
typedef struct pd__own_validator {
  pd_validator whole, locked;
} pd__own_validator;
extern pd__own_validator pd__stage_own_validator;

#endif /* PD__STAGE_H */
