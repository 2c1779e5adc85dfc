/* Included before each C test on Windows: what it uses of POSIX. */
#ifndef TESTS_POSIX_H
#define TESTS_POSIX_H

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

static inline int setenv(const char *name, const char *value, int overwrite) {
  (void)overwrite;
  return !SetEnvironmentVariableA(name, value);
}

static inline int unsetenv(const char *name) { return !SetEnvironmentVariableA(name, NULL); }

/* No process is privileged. */
static inline int geteuid(void) { return 1; }
static inline int setuid(int user) { return user; }

#endif /* TESTS_POSIX_H */
