/* A load whose thread ends while it asks leaves nothing behind.
 *
 * Built with: -ldl
 */
#include "plugged.h"

static void end_thread(void) { pthread_exit(NULL); }

static void *load_without_end(void *unused) {
  pd_module_load(plugin_path("staged"), NULL, NULL, NULL);
  return unused;
}

TEST(a_load_whose_thread_ends_while_it_asks_leaves_nothing_behind) {
  begin();
  load_module("staged_user"); /* so that the plugin stays in the process */
  int (*call)(void) = (int (*)(void))(intptr_t)symbol_in("staged_user", "staged_call");
  CHECK_OK(pd_module_unload(load_module("staged"), &err));
  void **act = symbol_in("staged", "staged_during_usable");
  *act = (void *)(intptr_t)end_thread;
  finish(start(load_without_end, NULL));
  CHECK(!is_defined("staged_level") && call() == 0);
  *act = NULL;
  pd_module *module = load_module("staged");
  CHECK(is_defined("staged_level") && call() == 2);
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(pd_module_unload(module, &err) == PD_ERR_ARGUMENT);
}
