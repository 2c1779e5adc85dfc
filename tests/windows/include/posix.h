/* Included before each C test on Windows: what it uses of POSIX. */
#ifndef TESTS_POSIX_H
#define TESTS_POSIX_H

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "unistd.h"

static inline int setenv(const char *name, const char *value, int overwrite) {
  (void)overwrite;
  return !SetEnvironmentVariableA(name, value);
}

static inline int unsetenv(const char *name) { return !SetEnvironmentVariableA(name, NULL); }

#endif /* TESTS_POSIX_H */
