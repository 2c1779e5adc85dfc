/* Structs that begin with their size: callers that were built with another
 * version of the header know fewer fields than we do, or more. */
#ifndef PD__SIZED_H
#define PD__SIZED_H

#include "error.h"

/* The size that `type` had in the version whose last field was `field`. */
#define PD__SIZE_UP_TO(type, field) (offsetof(type, field) + sizeof((type *)0)->field)

/* Check the struct of a caller, called `what` in messages: `least` is the size that
 * it had in the first version, whatever it has become. */
pd_status pd__sized_check(const void *theirs, size_t least, const char *what, pd_error *err);

/* Give the caller what it knows of `ours`, which has `size` bytes; what it alone
 * knows becomes 0. Its size stays. */
void pd__sized_give(void *theirs, const void *ours, size_t size);

/* Check it, and take from the caller what we know into `ours`, of `size` bytes; what we alone
 * know becomes 0. PD_ERR_UNSUPPORTED: it asks for what we don't know. */
pd_status pd__sized_take(const void *theirs, size_t least, void *ours, size_t size,
                         const char *what, pd_error *err);

#endif /* PD__SIZED_H */
