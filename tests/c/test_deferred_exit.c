/* A thread that ends in a deferred hook, in the midst of a load. The library is the one that is
 * shipped: those that are compiled into tests have no cleanup on such a way out. */
#include "plugged.h"

static pd_flag *outer;
static int notified, told;

static void exit_thread(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  pthread_exit(NULL);
}

static void notice(pd_flag *flag, void *context) { notified += flag && !context; }

static void tell(void *context) { told += !context; }

static void *load_acting(void *context) {
  pd_module_load(plugin_path("acting"), NULL, NULL, NULL);
  return context;
}

static pd_hook watch_later(pd_watcher function) {
  pd_hook hook;
  CHECK_OK(pd_watcher_add(outer, function, NULL, NULL, &hook, &err));
  CHECK_OK(pd_hook_defer(hook, &err));
  return hook;
}

TEST(what_a_load_has_not_settled_when_its_thread_ends_waits_for_the_run) {
  begin();
  outer = define_flag(PD_TYPE_int64, "outer");
  CHECK_OK(pd_deferred_handle(tell, NULL, &err));
  pd_hook hook = watch_later(exit_thread);
  watch_later(notice);
  CHECK(!finish(start(load_acting, &told)));
  CHECK(notified == 0 && told == 1);
  CHECK_OK(pd_hook_remove(hook, &err));
  CHECK_OK(pd_deferred_run(NULL, &err));
  CHECK(notified == 1);
}
