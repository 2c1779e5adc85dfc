/* A definition against the others: what refuses it, and how that is said. All
 * functions need the lock, and fill the error with both places. */
#ifndef PD__CONFLICT_H
#define PD__CONFLICT_H

#include "../registry/registry.h"

/* The definitions that are being checked together. */
typedef struct pd__batch {
  const pd__cell *cells;
  uint32_t number; /* in flag->claim of the names that they take */
} pd__batch;

/* The same line of source, compiled into two modules. */
bool pd__def_same(const pd_flag_def *a, const pd_flag_def *b);

/* Another definition has the name `node` already. */
pd_status pd__conflict(const pd__cell *cell, const pd_flag *node, const pd__batch *all,
                       pd_error *err);

/* Of a bool `b` and a flag `nob` one could never be given on a command line:
 * PD_ERR_CONFLICT where `name`, which `cell` takes, makes such a pair. */
pd_status pd__conflict_negation(const pd__cell *cell, const char *name, size_t length,
                                const pd__batch *all, pd_error *err);

/* PD_ERR_TYPE where an import that waits for `node` has another type. */
pd_status pd__conflict_import(const pd__cell *cell, const pd_flag *node, pd_error *err);

/* PD_ERR_TYPE where `cell` imports a flag with another type than it has. */
pd_status pd__conflict_of_import(const pd__cell *cell, const pd__batch *all, pd_error *err);

#endif /* PD__CONFLICT_H */
