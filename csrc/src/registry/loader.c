/* Whether this thread runs constructors or destructors of modules. */
#include "loader.h"

#include "../platform/platform.h"

static _Thread_local pd__loader_state now;

bool pd__loader_is_entered(void) { return pd__is_frame_above(now.frame); }

const void *pd__loader_owner(void) { return pd__loader_is_entered() ? now.owner : NULL; }

pd__loader_state pd__loader_enter(const void *owner) {
  pd__loader_state before = now;
  now = (pd__loader_state){owner, (uintptr_t)__builtin_frame_address(0)};
  return before;
}

void pd__loader_exit(pd__loader_state *before) { now = *before; }

void pd__loader_close(void *handle) {
  PD__IN_LOADER(pd__loader_owner());
  pd__platform_close_library(handle);
}
