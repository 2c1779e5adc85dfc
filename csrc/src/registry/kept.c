/* The operations of a thread that keep something in the process. */
#include "registry.h"

static _Thread_local pd__operation *innermost;

pd__operation *pd__operations_listed(void) { return innermost; }

void pd__operation_list(pd__operation *operation) {
  if (operation->listed) return;
  operation->listed = true;
  operation->outer = innermost;
  innermost = operation;
}

void pd__operation_unlist(pd__operation *operation) {
  pd__operation **at = &innermost;
  while (*at && *at != operation) at = &(*at)->outer;
  if (*at) *at = operation->outer;
}
