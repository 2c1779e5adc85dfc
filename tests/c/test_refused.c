/* Modules that are refused when they join on their own.
 *
 * Built with: -ldl
 */
#include <dlfcn.h>

#include "check.h"

static const char *plugin(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/lib%s.so", getenv("PLUGINS"), name);
  return path;
}

static void *open_plugin(const char *name) {
  void *handle = dlopen(plugin(name), RTLD_NOW | RTLD_LOCAL);
  CHECK(handle);
  return handle;
}

static int warned;
static char last[1100];

static void note(const char *message, pd_warning kind, void *context) {
  CHECK(kind == PD_WARNING_REFUSED && !context);
  snprintf(last, sizeof last, "%s", message);
  warned++;
}

TEST(a_module_that_is_refused_at_dlopen_is_an_error_while_it_stays) {
  pd_error_list *errors = pd_error_list_new();
  CHECK_OK(pd_warning_handle(note, NULL, &err));
  open_plugin("alpha");
  CHECK_OK(pd_modules_check(errors, &err));
  void *clash = open_plugin("clash");
  CHECK(warned == 1);
  CHECK(strstr(last, "libclash.so: was refused, and its own code sees only defaults: "));
  CHECK(strstr(last, "alpha.c:") && strstr(last, "clash.c:"));
  CHECK(pd_modules_check(errors, &err) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, "'alpha_level' is already defined"));
  CHECK(pd_error_list_count(errors) == 2);
  CHECK(pd_modules_check(NULL, NULL) == PD_ERR_CONFLICT);
  CHECK(!dlclose(clash));
  CHECK_OK(pd_modules_check(errors, &err));
  open_plugin("clash");
  CHECK(warned == 2 && pd_modules_check(NULL, NULL) == PD_ERR_CONFLICT);
  pd_error_list_free(errors);
}

TEST(a_module_whose_load_has_returned_its_errors_is_none_of_them) {
  CHECK_OK(pd_warning_handle(note, NULL, &err));
  open_plugin("alpha");
  open_plugin("clash");
  CHECK(warned == 1 && pd_module_load(plugin("clash"), NULL, NULL, &err) == PD_ERR_CONFLICT);
  CHECK_OK(pd_modules_check(NULL, &err));
}

TEST(a_module_that_is_refused_within_a_load_is_none_of_them) {
  CHECK_OK(pd_warning_handle(note, NULL, &err));
  open_plugin("alpha");
  CHECK(pd_module_load(plugin("needs_clash"), NULL, NULL, &err) == PD_ERR_CONFLICT);
  CHECK_OK(pd_modules_check(NULL, &err));
  CHECK(warned == 0);
}

TEST(a_refused_module_that_a_namespace_lets_in_is_none_any_more) {
  open_plugin("alpha");
  open_plugin("clash");
  CHECK(pd_modules_check(NULL, &err) == PD_ERR_CONFLICT);
  CHECK_OK(pd_module_load_as(plugin("clash"), "other", NULL, NULL, &err));
  CHECK_OK(pd_modules_check(NULL, &err));
}

TEST(a_warning_waits_for_its_handler) {
  open_plugin("alpha");
  open_plugin("clash");
  CHECK_OK(pd_warning_handle(note, NULL, &err));
  CHECK(warned == 1);
}
