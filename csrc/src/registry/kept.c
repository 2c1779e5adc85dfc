/* The operations of this thread that keep something in the process, and the work they leave to
 * others. */
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

uint8_t pd__due;

void pd__set_due(uint8_t what, bool is_due) {
  uint8_t others = pd__due & (uint8_t)~what;
  __atomic_store_n(&pd__due, is_due ? others | what : others, __ATOMIC_RELEASE);
}
