/* Calls of an operation while other threads choose, load and unload. */
#include "plugged.h"

#define CHECK_OP_ROUNDS 300

typedef double calls(double x, double y);
static int done;

static void *call_on(void *context) {
  calls *call = (calls *)(intptr_t)symbol_in("op_native", "native_calls");
  (void)context;
  while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
    double got = call(2, 3);
    CHECK(got == 2003 || got == 2 || got == 3 || got == 8);
  }
  return NULL;
}

static void *choose_on(void *context) {
  static const char *const lists[] = {"native", "?fast,*", "?slow,*", "native,*", "*"};
  pd_flag *flag = context;
  for (int i = 0; i < CHECK_OP_ROUNDS; i++) {
    CHECK(pd_flag_set_from_string(flag, lists[i % 5], NULL) == PD_OK);
  }
  return NULL;
}

static void *load_on(void *name) {
  for (int i = 0; i < CHECK_OP_ROUNDS / 10; i++) {
    pd_module *module = NULL;
    pd_error own;
    if (pd_module_load(plugin_path(name), NULL, &module, &own) != PD_OK) {
      check_fail(__FILE__, __LINE__, "%s", own.message);
    }
    CHECK(pd_module_unload(module, &own) == PD_OK);
  }
  return NULL;
}

TEST(eight_threads_call_while_others_choose_load_and_unload) {
  char fast[] = "op_fast", unfit[] = "op_unfit";
  pthread_t callers[8];
  load_module("op_native");
  pd_flag *flag = find_flag("impl.pow");
  for (int i = 0; i < 8; i++) callers[i] = start(call_on, NULL);
  pthread_t others[] = {start(choose_on, flag), start(choose_on, flag), start(load_on, fast),
                        start(load_on, unfit)};
  for (int i = 0; i < 4; i++) finish(others[i]);
  __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 8; i++) finish(callers[i]);
}
