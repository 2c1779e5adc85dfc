/* Patterns for the names of programs. */
#ifndef PD__GLOB_H
#define PD__GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the whole of `text` is like the pattern of `length` bytes, as fnmatch with
 * FNM_PATHNAME tells: *, ?, [a-z], [!a-z] match no slash, and \ takes the meaning
 * from what follows. Its time is at most the product of the lengths. */
bool pd__glob_match(const char *pattern, size_t length, const char *text);

#endif /* PD__GLOB_H */
