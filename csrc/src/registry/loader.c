/* Whether this thread runs constructors or destructors of modules. */
#include "loader.h"

#include "../platform/platform.h"

_Thread_local pd__loader_state pd__loader_now;

pd__loader_state pd__loader_enter(const void *owner) {
  pd__loader_state before = pd__loader_now;
  pd__loader_now = (pd__loader_state){owner, true};
  return before;
}

void pd__loader_exit(pd__loader_state *before) { pd__loader_now = *before; }

void pd__loader_close(void *handle) {
  PD__IN_LOADER(pd__loader_now.owner);
  pd__platform_close_library(handle);
}
