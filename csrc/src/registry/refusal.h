/* Values of the fleet that a flag can't accept. Another process set them, and must not prevent this
 * one from starting: they aren't errors, but are dropped with a warning, and so are all other
 * values of the same revision of the same fleet. An operation that refuses some only hides them
 * until it commits, since it may still fail.
 *
 * The caller holds the lock. */
#ifndef PD__REFUSAL_H
#define PD__REFUSAL_H

#include "registry.h"

/* The revisions that an operation has refused. Initialize with zeros. */
typedef struct pd__refusals {
  struct pd__refusal *first; /* in the arena of the operation */
  size_t count;
} pd__refusals;

/* Refuses the revision of a value, unless it is in the list; `origin` is one of the fleet. */
void pd__refusals_add(pd__refusals *list, pd__arena *arena, const pd_origin *origin,
                      const pd_error *why);

/* Returns whether the value is one of the fleet whose revision is refused. */
bool pd__refusals_has_origin(const pd__refusals *list, const pd_origin *origin);

/* Returns whether a flag keeps its value of the fleet, even if that is refused: it is frozen, or
 * startup is over for it. */
bool pd__refusals_is_flag_exempt(const pd_flag *flag);

/* Returns whether a value that the flag has is going to be dropped. */
static inline bool pd__refusals_is_hidden(const pd__refusals *list, const pd_flag *flag,
                                          const pd_origin *origin) {
  return list->count > 0 && pd__refusals_has_origin(list, origin) &&
         !pd__refusals_is_flag_exempt(flag);
}

/* Drops the values that flags have, and warns. Those that are pending are dropped when their flag
 * is defined: pd__refusals_count_if_dropped counts and returns whether one is of a revision that
 * was dropped. It stays dropped until pd__refusals_forget_dropped, when the fleet gives its values
 * again. */
void pd__refusals_commit(const pd__refusals *list, pd__operation *operation);
bool pd__refusals_count_if_dropped(const pd_origin *origin);
bool pd__refusals_is_revision_dropped(const pd_origin *origin);
void pd__refusals_forget_dropped(void);

#endif /* PD__REFUSAL_H */
