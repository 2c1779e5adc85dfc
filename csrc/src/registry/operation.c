/* One call of the library: what it holds, and how it ends. */
#include <stdlib.h>

#include "change.h"
#include "hook.h"
#include "pin.h"

/* Those of this thread that keep something, the innermost first. */
static _Thread_local pd__operation *innermost;

void pd__operation_list(pd__operation *operation) {
  if (operation->listed) return;
  operation->listed = true;
  operation->outer = innermost;
  innermost = operation;
}

static void unlist(pd__operation *operation) {
  pd__operation **at = &innermost;
  while (*at && *at != operation) at = &(*at)->outer;
  if (*at) *at = operation->outer;
}

void pd__operations_in_child(void) {
  pd__pins_forget();
  pd__hooks_forget_calls();
  for (pd__operation *each = innermost; each; each = each->outer) {
    pd__pins_count(each);
    pd__hooks_count_calls(each);
  }
}

void pd__operation_lock(pd__operation *operation) {
  pd__platform_lock();
  operation->locked = true;
}

void pd__operation_unlock(pd__operation *operation) {
  operation->locked = false;
  pd__platform_unlock();
}

void pd__operation_begin(pd__operation *operation) {
  *operation = (pd__operation){.locked = false};
  pd__operation_lock(operation);
}

void pd__operation_abandon(pd__operation *operation) {
  if (operation->held || operation->pins) {
    if (!operation->locked) pd__operation_lock(operation);
    pd__hooks_let_go(operation);
    pd__pins_release(operation);
  }
  if (operation->listed) unlist(operation);
  if (operation->locked) pd__operation_unlock(operation);
  pd__pins_close(operation);
  pd__arena_free(&operation->arena);
}

void pd__operation_end(pd__operation *operation) {
  if (operation->locked) pd__operation_unlock(operation);
  if (operation->notices) pd__notices_deliver(operation);
  pd__warnings_deliver(operation);
  if (operation->held) {
    pd__operation_lock(operation);
    pd__hooks_let_go(operation);
    pd__operation_unlock(operation);
  }
  pd__hooks_release(operation);
  pd__operation_abandon(operation);
}
