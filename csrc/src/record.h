/* The definitions that a module's record holds, as the registry takes them. All functions
 * need the lock. */
#ifndef PD__RECORD_H
#define PD__RECORD_H

#include "registry.h"

/* Zeros: none. */
typedef struct pd__defs {
  pd__cell *cells; /* one for each definition, in the order of the source */
  size_t count;
  size_t copies;
  pd_flag_def *converted; /* copies of those that have another size, or get another name */
} pd__defs;

/* Collect them and check each by itself; `name_space` ("": none) is put before the names,
 * `module` is the number in the cells. What is read is to be dropped, also on an error. */
bool pd__defs_read(pd__defs *defs, const pd_module_record *record, const char *name_space,
                   uint32_t module, pd__report *report);
void pd__defs_drop(pd__defs *defs);

#endif /* PD__RECORD_H */
