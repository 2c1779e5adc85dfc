/* Values from the environment: <prefix><name>, once a host turns it on. */
#ifndef PD__ENVIRONMENT_H
#define PD__ENVIRONMENT_H

#include "../registry/registry.h"

/* With the lock. Give a flag that is being defined the value that the
 * environment has for it; an error goes to `report`. */
void pd__environment_apply(pd_flag *flag, pd__report *report);

/* Write the variable of a name, with a prefix that was checked. No lock. */
#define PD__VARIABLE_SIZE (2 * PD_NAME_MAX + 2)
void pd__environment_variable(const char *prefix, const char *name, size_t length,
                              char out[PD__VARIABLE_SIZE]);

/* Check a prefix that a host gives. No lock. */
pd_status pd__environment_check(const char *prefix, pd_error *err);

/* With the lock. Prepare the values of all flags that are defined. */
void pd__environment_read(const char *prefix, pd__changes *changes);

/* With the lock. For later definitions; `prefix` is interned, or NULL. */
void pd__environment_use(const char *prefix);
bool pd__environment_used(void);

#endif /* PD__ENVIRONMENT_H */
