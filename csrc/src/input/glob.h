/* Patterns for the names of programs. */
#ifndef PD__GLOB_H
#define PD__GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Returns true if the pattern of `length` bytes matches the whole text, like fnmatch with
 * FNM_PATHNAME: *, ?, [a-z] and [!a-z] don't match a slash, and \ quotes the next character. Takes
 * time proportional to the product of the lengths at most. */
bool pd__glob_is_match(const char *pattern, size_t length, const char *text);

#endif /* PD__GLOB_H */
