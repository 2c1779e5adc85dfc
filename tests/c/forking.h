/* For tests that fork, which Windows can't. */
#ifndef FORKING_H
#define FORKING_H

#include <sys/wait.h>

#include "check.h"

/* The child of a fork must end without an error. */
static inline void check_child(pid_t child) {
  int status = -1;
  CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

#endif /* FORKING_H */
