/* Pending values: for names that aren't defined yet, and for flags whose validator can't be called
 * yet. They keep their source and order. The caller holds the lock. */
#ifndef PD__PENDING_H
#define PD__PENDING_H

#include "../registry/registry.h"

/* Allocated in one block together with its texts. */
struct pd__pending {
  const char *name;      /* as written */
  size_t length;         /* of the name */
  const char *text;      /* NULL for --name and --noname without a value */
  const char *next;      /* the token after it if there is no text; may be NULL */
  uint32_t literal;      /* as in pd_config_add */
  bool ignore_undefined; /* not an error if the flag is never defined */
  bool merges;           /* it is as a user wrote it, as in pd__changes */
  bool negated;          /* set while it is applied: it was written as --noname */
  pd_origin origin;
  pd_flag *node;
  uint64_t order; /* of arrival */
  size_t size;    /* of the whole block, in bytes */
  pd__pending *following;
};

/* Makes a copy of `given`, whose texts are borrowed, and allocates all that pd__pending_store
 * needs. The caller owns it, and its field `following`, until it is stored or dropped. PD_ERR_NAME
 * if no flag can have the name. */
pd_status pd__pending_make_unlisted(const pd__pending *given, pd__pending **out, pd_error *err);

/* Adds the value to those of its name, or frees it. Neither can fail. */
void pd__pending_store(pd__pending *pending);
void pd__pending_discard_unlisted(pd__pending *pending);

/* Returns true if there are pending values. */
bool pd__has_pending(void);

/* Applies the pending values of a flag that is defined: they had to wait for its validators, or
 * were given while it was being defined. Reports errors. May release the lock. */
void pd__pending_apply_to_flag(pd__operation *operation, pd_flag *flag, pd__report *report);

/* A pending value of a flag that is about to be defined. */
typedef struct pd__waiting {
  pd__pending *pending;
  const char *text; /* together with that of earlier uses, of a list that grows; NULL: none */
  bool negated;     /* it was written as --noname */
  bool continues;   /* the next one contains its text */
  struct pd__waiting *next;
} pd__waiting;

/* Lists the pending values of a definition, those of its name and of its aliases, in the order in
 * which they were given. The list is in the arena of the operation and valid while the lock is
 * held. */
const pd__waiting *pd__pending_list_for_definition(pd__operation *operation,
                                                   const pd_flag_def *def);

/* Removes a pending value. */
void pd__pending_remove(pd__pending *pending);

/* Adds a pending value that has only a name, a text and an origin. */
pd_status pd__pending_add(const char *name, const char *text, const pd_origin *origin,
                          pd_error *err);

/* Iterates over all pending values, name by name: NULL gives the first. */
const pd__pending *pd__pending_next(const pd__pending *previous);

/* Drops the pending values of `source` (all of them for the default), and the values of that source
 * that undefined flags keep. */
void pd__pending_drop_of_source(pd_source source);

#endif /* PD__PENDING_H */
