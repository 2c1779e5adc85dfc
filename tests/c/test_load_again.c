/* One module that two loads try, one within the other.
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
