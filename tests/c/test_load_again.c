/* Modules that are loaded, unloaded or initialised once more, while a load is under way or later.
 *
 * Built with: -ldl
 */
#include "plugged.h"

static pd_module *inner;
static pd_status inner_status;

static void load_within(void) {
  inner_status = pd_module_load(plugin_path("unwelcome"), NULL, &inner, NULL);
}

static void make_room_and_load_within(void) {
  CHECK_OK(pd_flag_unregister(find_flag("unwelcome_clash"), &err));
  load_within();
}

/* Loads what the program refuses at first; its constructor calls `during`. */
static pd_status load_unwelcome(void (*during)(void), pd_error_list *errors, pd_module **module) {
  char address[32];
  begin();
  snprintf(address, sizeof address, "%p", (void *)(uintptr_t)during);
  setenv("UNWELCOME_CALLS", address, 1);
  define_flag(PD_TYPE_bool, "unwelcome_clash");
  return pd_module_load(plugin_path("unwelcome"), errors, module, &err);
}

TEST(a_load_reports_an_error_once_if_another_load_has_tried_in_between) {
  pd_error_list *errors = pd_error_list_new();
  pd_module *module = NULL;
  CHECK(load_unwelcome(load_within, errors, &module) == PD_ERR_CONFLICT && !module);
  CHECK(inner_status == PD_ERR_CONFLICT && !inner);
  CHECK(pd_error_list_count(errors) == 1);
  pd_error_list_free(errors);
}

TEST(a_load_that_was_refused_fails_though_another_load_then_succeeds) {
  pd_module *module = NULL;
  CHECK(load_unwelcome(make_room_and_load_within, NULL, &module) == PD_ERR_CONFLICT && !module);
  CHECK(inner_status == PD_OK && inner);
  CHECK_STR(text_of(find_flag("unwelcome_clash")), "1");
  CHECK_OK(pd_module_unload(inner, &err));
  CHECK(!LOADER_UNMAPS || !is_defined("unwelcome_clash"));
}

/* ---- An unload within a load ---- */

static int unloads;
static pd_status unload_status;

static void unload_all(void) {
  for (pd_module *each = NULL; (each = pd_module_next(each)); unloads++) {
    unload_status = pd_module_unload(each, NULL);
    CHECK(unload_status == PD_ERR_ARGUMENT);
  }
}

TEST(nobody_unloads_a_module_that_a_load_has_not_returned_yet) {
  begin();
  pd_module *module = NULL;
  pd_flag *clash = define_flag(PD_TYPE_string, "retried_level");
  CHECK(pd_module_load(plugin_path("retried"), NULL, NULL, &err) == PD_ERR_CONFLICT);
  CHECK_OK(pd_flag_unregister(clash, &err));
  CHECK_OK(pd_pending_set("retried_level", "5", NULL, &err));
  *(void **)symbol_in("retried", "retried_during_validate") = (void *)(intptr_t)unload_all;
  CHECK_OK(pd_module_load(plugin_path("retried"), NULL, &module, &err));
  CHECK(unloads > 0);
  CHECK_STR(text_of(find_flag("retried_level")), "5");
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(pd_module_unload(module, &err) == PD_ERR_ARGUMENT);
}

/* ---- A definition that a module makes twice ---- */

/* The module stays in the process, as its implementation was called, and joins again as a whole. */
TEST(a_late_definition_that_is_made_twice_is_defined_once) {
  begin();
  int (*call)(void) = (int (*)(void))(intptr_t)symbol(open_plugin("staged_user"), "staged_call");
  for (int i = 0; i < 2; i++) {
    pd_module *module = load_module("staged");
    pd_status (*define_late)(void) =
        (pd_status(*)(void))(intptr_t)symbol_in("staged", "staged_define_late");
    CHECK(call() == 2 && define_late() == PD_OK && define_late() == PD_OK);
    CHECK(is_defined("staged_late") && module_info(module).flags == 3);
    CHECK_OK(pd_module_unload(module, &err));
  }
}
