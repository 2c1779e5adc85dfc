/* Modules that are unloaded just when their implementation is chosen, and so is to stay.
 *
 * Built with: -Wl,--wrap=pthread_mutex_lock $LIBRARY
 */
#include "plugged.h"

/* Something happens when the registry is locked for the n-th time. */
static int locks_left; /* 0: nothing is to happen */
static void (*meanwhile)(void);

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
  if (locks_left > 0 && --locks_left == 0) meanwhile();
  return __real_pthread_mutex_lock(mutex);
}

typedef double calls(double x, double y);

static double run(void) {
  return ((calls *)(intptr_t)symbol_in("op_native", "native_calls"))(2, 3);
}
#define NATIVE 2003

static size_t count_impls(void) {
  pd_op_info info = {.size = sizeof info};
  pd_op *op = NULL;
  CHECK_OK(pd_op_find("pow", NULL, &op, &err));
  CHECK_OK(pd_op_get_info(op, &info, &err));
  return info.impls;
}

static pd_module *fast;
static void unload_fast(void) {
  pd_error own;
  CHECK(pd_module_unload(fast, &own) == PD_OK);
}

/* Chooses an implementation of a module that is unloaded at the n-th lock. Returns whether it was.
 */
static bool choose_while_unloading(int number) {
  CHECK_OK(pd_flag_set_by_name("impl.pow", "native", &err));
  fast = load_module("op_fast");
  meanwhile = unload_fast;
  locks_left = number;
  pd_flag_set_by_name("impl.pow", "fast,*", NULL);
  bool happened = locks_left == 0;
  locks_left = 0;
  if (!happened) unload_fast();
  return happened;
}

TEST(a_module_that_is_unloaded_while_its_implementation_is_chosen_has_left) {
  int number = 1;
  begin();
  load_module("op_native");
  bool happened = true;
  for (; happened && number < 60; number++) {
    happened = choose_while_unloading(number);
    CHECK(run() == NATIVE && count_impls() == 1);
  }
  CHECK(number > 3 && number < 60);
}

static void load_fast_again(void) {
  unload_fast();
  fast = load_module("op_fast");
}

TEST(a_module_that_is_unloaded_and_loaded_while_its_implementation_is_chosen_stays) {
  begin();
  load_module("op_native");
  for (int number = 1; number < 30; number++) {
    CHECK_OK(pd_flag_set_by_name("impl.pow", "native", &err));
    fast = load_module("op_fast");
    meanwhile = load_fast_again;
    locks_left = number;
    CHECK_OK(pd_flag_set_by_name("impl.pow", "fast,*", &err));
    locks_left = 0;
    CHECK(run() == 2 && count_impls() == 3 && is_loaded("op_fast"));
    CHECK_OK(pd_module_unload(fast, &err));
    CHECK(run() == NATIVE && count_impls() == 1);
  }
}
