/* Whether this thread runs constructors or destructors of modules. */
#include "loader.h"

#include "../platform/platform.h"

static _Thread_local pd__loader_state now;

bool pd__loader_is_entered(void) { return pd__is_frame_above(now.frame); }

const void *pd__loader_get_deferred_owner(void) {
  return pd__loader_is_entered() ? now.defer_to : NULL;
}

pd__loader_state pd__loader_enter(const void *defer_to) {
  pd__loader_state before = now;
  now = (pd__loader_state){defer_to, (uintptr_t)__builtin_frame_address(0)};
  return before;
}

void pd__loader_exit(pd__loader_state *before) { now = *before; }

void pd__loader_close_library(void *handle) {
  PD__IN_LOADER(pd__loader_get_deferred_owner());
  pd__platform_close_library(handle);
}
