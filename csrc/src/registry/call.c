/* Calls of validators and watchers that are under way: who is in which function,
 * and how deep. */
#include "hooks.h"
#include "../platform/platform.h"

#define DEEPEST 32

static pd__call *newest;

/* How many calls the thread is in, one inside the other. */
static unsigned depth_of(uintptr_t thread, uint64_t process) {
  const pd__call *call = newest;
  while (call && (call->thread != thread || call->process != process)) call = call->older;
  return call ? call->depth : 0;
}

pd_status pd__call_check(pd_error *err) {
  if (!newest || depth_of(pd__platform_thread(), pd__platform_process()) < DEEPEST) return PD_OK;
  return pd__fail(err, PD_ERR_DEPTH,
                  "validators and watchers set flags %d deep, one inside the other: most likely "
                  "in a circle",
                  DEEPEST);
}

void pd__call_begin(pd__call *call, uintptr_t function) {
  uintptr_t thread = pd__platform_thread();
  uint64_t process = pd__platform_process();
  unsigned depth = depth_of(thread, process) + 1;
  *call = (pd__call){.function = function, .thread = thread, .process = process, .depth = depth};
  call->older = newest;
  if (newest) newest->newer = call;
  newest = call;
}

void pd__call_end(pd__call *call) {
  *(call->newer ? &call->newer->older : &newest) = call->older;
  if (call->older) call->older->newer = call->newer;
}

static bool is_in_use(uintptr_t low, uintptr_t high) {
  uintptr_t own = pd__platform_thread();
  uint64_t process = newest ? pd__platform_process() : 0;
  for (const pd__call *call = newest; call; call = call->older) {
    bool inside = call->function >= low && call->function < high;
    if (inside && call->thread != own && call->process == process) return true;
  }
  return false;
}

void pd__call_wait(uintptr_t low, uintptr_t high) {
  while (is_in_use(low, high)) {
    pd__platform_unlock();
    pd__platform_yield();
    pd__platform_lock();
  }
}
