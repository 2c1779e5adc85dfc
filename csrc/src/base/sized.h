/* Structs that begin with their size. A caller built with another version of the header may know
 * fewer or more fields than this library. */
#ifndef PD__SIZED_H
#define PD__SIZED_H

#include "error.h"

/* The size of `type` in the version whose last field was `field`. */
#define PD__SIZE_UP_TO(type, field) (offsetof(type, field) + sizeof((type *)0)->field)

/* Checks that a caller's struct has at least `least` bytes, its size in the first version. `what`
 * names it in messages. */
pd_status pd__sized_check(const void *theirs, size_t least, const char *what, pd_error *err);

/* Copies our `size` bytes at `ours` to the caller's struct. Fields that only the caller knows
 * become 0; the caller's size field is unchanged. */
void pd__sized_copy_out(void *theirs, const void *ours, size_t size);

/* Checks a caller's struct and copies it to the `size` bytes at `ours`. Fields that only we know
 * become 0. PD_ERR_UNSUPPORTED if a field that only the caller knows is not 0. */
pd_status pd__sized_copy_in(const void *theirs, size_t least, void *ours, size_t size,
                            const char *what, pd_error *err);

/* Copies a record, which begins with its size as uint32_t, to the `size` bytes at `ours`. Fields
 * that only we know become 0, and those that only the record has are left out. PD_ERR_ABI if it has
 * less than `least` bytes, or would end inside a pointer. */
pd_status pd__record_check_and_copy(const void *record, size_t least, void *ours, uint32_t size,
                                    const char *what, pd_error *err);

#endif /* PD__SIZED_H */
