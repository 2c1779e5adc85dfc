/* <unistd.h> for the tests' programs on Windows: _exit, and users, without names that
 * clash. */
#ifndef TESTS_UNISTD_H
#define TESTS_UNISTD_H

#include <stdlib.h>

/* No process is privileged. */
static inline int geteuid(void) { return 1; }
static inline int setuid(int user) { return user; }

#endif /* TESTS_UNISTD_H */
