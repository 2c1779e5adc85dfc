/* The definitions that a module's record holds, as the registry takes them. All functions
 * need the lock. */
#ifndef PD__RECORD_H
#define PD__RECORD_H

#include "../registry/registry.h"

/* Zeros: none. */
typedef struct pd__defs {
  pd__cell *cells; /* one for each definition, in the order of the source */
  size_t count;
  size_t copies;
  pd_flag_def *converted; /* copies of those that have another size, or get another name */
  struct pd__defs *more;  /* those that came later */
} pd__defs;

/* Definitions that came late, the last one first: up to `end`, which isn't among them. */
typedef struct pd__lates {
  pd_late_def *first, *end;
} pd__lates;

/* Those of a record in an image that ends at `high`; only those that nobody has seen,
 * unless `all`. */
pd__lates pd__lates_of(const pd_module_record *record, uintptr_t high, bool all);

/* Tell them what became of them. `refusal` NULL: those in `defs` are defined. */
void pd__lates_settle(pd__lates lates, const pd__defs *defs, const pd_error *refusal);

/* Collect definitions and check each by itself: those of `record` (NULL: none), and
 * `lates`. `name_space` ("": none) is put before the names, `module` is the number in the
 * cells. What is read is to be dropped, also on an error, with what came later. */
bool pd__defs_read(pd__defs *defs, const pd_module_record *record, pd__lates lates,
                   const char *name_space, uint32_t module, pd__report *report);
void pd__defs_drop(pd__defs *defs);

#endif /* PD__RECORD_H */
