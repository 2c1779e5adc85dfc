/* The state of all flags, for snapshots: values, overrides and marks. The caller holds the lock. */
#ifndef PD__SAVED_H
#define PD__SAVED_H

#include "change.h"

typedef struct pd__saved_node pd__saved_node;

/* In an arena, which must live as long as this does. */
typedef struct pd__saved {
  pd__saved_node *names; /* by the index of their nodes */
  uint32_t count;
  size_t entries; /* of all histories and overrides */
  bool startup_over;
} pd__saved;

/* Returns false if memory runs out. */
bool pd__saved_capture(pd__saved *saved, pd__arena *arena);

/* Return whether a flag, which is defined, has another value or one from another source, or another
 * definition. */
bool pd__saved_has_other_value(const pd__saved *saved, const pd_flag *flag);
bool pd__saved_has_other_definition(const pd__saved *saved, const pd_flag *flag);

/* Does what can fail of pd__saved_restore, between pd__notices_get_end and
 * pd__notices_drop_unchanged: makes room, and adds the watchers of the flags that change. */
pd_status pd__saved_prepare_restore(const pd__saved *saved, pd__operation *operation,
                                    pd_error *err);

/* Restores the state of all names. A flag with another definition gets only the values that the
 * definition allows. */
void pd__saved_restore(const pd__saved *saved);

#endif /* PD__SAVED_H */
