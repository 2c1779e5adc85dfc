/* <unistd.h> for the tests' programs on Windows: _exit, without names that clash. */
#ifndef TESTS_UNISTD_H
#define TESTS_UNISTD_H

#include <stdlib.h>

#endif /* TESTS_UNISTD_H */
