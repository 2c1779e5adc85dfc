/* Pending values: for names that aren't defined yet, and for flags whose validator can't be called
 * yet. They keep their source and order. The caller holds the lock. */
#ifndef PD__PENDING_H
#define PD__PENDING_H

#include "../registry/registry.h"

/* Allocated in one block together with its texts. */
struct pd__pending {
  const char *name; /* as written */
  size_t length;    /* of the name */
  const char *text; /* NULL for --name and --noname without a value */
  const char *next; /* the token after it if there is no text; may be NULL */
  uint32_t literal; /* as in pd_config_add */
  bool excused;     /* not an error if the flag is never defined */
  bool negated;     /* set while it is applied: it was written as --noname */
  pd_origin origin;
  pd_flag *node;
  uint64_t order; /* of arrival */
  size_t size;    /* of the whole block, in bytes */
  pd__pending *following;
};

/* Makes a copy of `given`, whose texts are borrowed, and allocates all that pd__pending_keep needs.
 * The caller owns it, and its field `following`, until it is kept or dropped. PD_ERR_NAME if no
 * flag can have the name. */
pd_status pd__pending_prepare(const pd__pending *given, pd__pending **out, pd_error *err);

/* Adds the value to those of its name, or frees it. Neither can fail. */
void pd__pending_keep(pd__pending *pending);
void pd__pending_drop(pd__pending *pending);

/* Returns true if there are pending values. */
bool pd__pending_any(void);

/* Applies the pending values of a flag that is being defined, those of its name and of its aliases,
 * in the order of arrival. Reports errors. */
void pd__pending_apply(pd__operation *operation, pd_flag *flag, pd__report *report);

/* Assigns a value to a flag that is being defined, or keeps it pending until the validator can be
 * called. `node` is the flag or an alias of it. */
void pd__pending_settle(pd__operation *operation, pd_flag *node, const char *text,
                        const pd_origin *origin, pd__report *report);

/* Iterates over all pending values, name by name: NULL gives the first. */
const pd__pending *pd__pending_next(const pd__pending *previous);

/* Drops the pending values of `source` (all of them for the default), and the values of that source
 * that undefined flags keep. */
void pd__pending_forget(pd_source source);

#endif /* PD__PENDING_H */
