/* Loads by path that are refused, repeated or given back, and namespaces. */
#include "plugged.h"

static pd_module *load_as(const char *name, const char *name_space) {
  pd_module *module = NULL;
  CHECK_OK(pd_module_load_as(plugin_path(name), name_space, NULL, &module, &err));
  return module;
}

/* Fails without a module, and returns how many errors were reported. */
static size_t refuse_load(const char *name, const char *name_space, pd_status status,
                          const char *part) {
  pd_error_list *errors = pd_error_list_new();
  pd_module *module = NULL;
  CHECK(pd_module_load_as(plugin_path(name), name_space, errors, &module, &err) == status);
  if (!strstr(err.message, part)) check_fail(__FILE__, __LINE__, "%s", err.message);
  CHECK(!module);
  size_t count = pd_error_list_count(errors);
  pd_error_list_free(errors);
  return count;
}

static void unload(pd_module *module) { CHECK_OK(pd_module_unload(module, &err)); }

/* ---- Namespaces ---- */

TEST(a_namespace_is_part_of_every_name) {
  begin();
  pd_module *module = load_as("alpha", "beta");
  CHECK(is_defined("beta.alpha_level") && is_defined("beta.alpha_lvl"));
  CHECK(is_defined("beta.alpha_mode") && !is_defined("alpha_level") && !is_defined("alpha_lvl"));
  CHECK_STR(module_info(module).name_space, "beta");
  CHECK_OK(pd_flag_set_by_name("beta.alpha_lvl", "3", &err));
  CHECK(((int (*)(void))(intptr_t)symbol_in("alpha", "alpha_level"))() == 3);
  unload(module);
  CHECK(!is_defined("beta.alpha_level"));
}

TEST(names_end_where_they_end_in_namespaces_of_any_length) {
  char name_space[40] = "", name[80];
  begin();
  if (!LOADER_UNMAPS) return;
  for (int i = 0; i < 34; i++) {
    strcat(name_space, "n");
    pd_module *module = load_as("alpha", name_space);
    static const char *const names[] = {"alpha_level", "alpha_lvl", "alpha_mode", "alpha_check"};
    for (int j = 0; j < 4; j++) {
      snprintf(name, sizeof name, "%s.%s", name_space, names[j]);
      CHECK(is_defined(name));
    }
    unload(module);
  }
}

TEST(each_of_many_names_is_in_the_namespace) {
  static const char *const names[] = {"aliased", "a", "bc", "def", "ghij",
                                      "klmno",   "z", "yx", "wvu", "tsrq"};
  char name_space[40] = "", name[80];
  begin();
  if (!LOADER_UNMAPS) return;
  for (int i = 0; i < 34; i++) {
    strcat(name_space, "n");
    pd_module *module = load_as("aliased", name_space);
    for (size_t j = 0; j < sizeof names / sizeof *names; j++) {
      snprintf(name, sizeof name, "%s.%s", name_space, names[j]);
      CHECK(is_defined(name) && !is_defined(names[j]));
    }
    snprintf(name, sizeof name, "%s.", name_space);
    CHECK(!is_defined(name));
    unload(module);
  }
}

TEST(a_namespace_is_the_beginning_of_a_name) {
  static const char *const wrong[] = {"9", "a b", "-", "a="};
  char message[120];
  begin();
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf(message, sizeof message,
             "namespace '%s': expected a letter or _, then letters, digits, _ . -", wrong[i]);
    CHECK(refuse_load("alpha", wrong[i], PD_ERR_NAME, message) == 0);
  }
  CHECK(!is_loaded("alpha"));
  CHECK(module_info(load_as("alpha", "")).flags == 4 && is_defined("alpha_level"));
}

TEST(a_module_keeps_the_names_of_its_first_load) {
  begin();
  pd_module *module = load_module("alpha");
  CHECK(refuse_load("alpha", "beta", PD_ERR_CONFLICT, "is already loaded, without a namespace") ==
        1);
  CHECK(load_as("alpha", NULL) == module);
  unload(module);
  unload(module);
  CHECK(pd_module_unload(module, NULL) == PD_ERR_ARGUMENT);
  CHECK(!LOADER_UNMAPS || !is_loaded("alpha"));
  module = load_as("alpha", "beta");
  CHECK(refuse_load("alpha", NULL, PD_ERR_CONFLICT, "is already loaded, in namespace beta") == 1);
  CHECK(refuse_load("alpha", "gamma", PD_ERR_CONFLICT, "in namespace beta") == 1);
  CHECK(load_as("alpha", "beta") == module && is_defined("beta.alpha_level"));
  CHECK_STR(module_info(module).name_space, "beta");
  unload(module);
  unload(module);
  CHECK(!is_defined("beta.alpha_level"));
}

TEST(a_refused_load_holds_nothing) {
  begin();
  void *handle = open_plugin("alpha"); /* so that the module stays */
  pd_module *module = load_module("alpha");
  CHECK(refuse_load("alpha", "beta", PD_ERR_CONFLICT, "is already loaded") == 1);
  unload(module);
  CHECK(pd_module_unload(module, NULL) == PD_ERR_ARGUMENT && is_defined("alpha_level"));
  close_plugin(handle);
  CHECK(!LOADER_UNMAPS || !is_loaded("alpha"));
}

TEST(a_module_without_flags_has_no_namespace) {
  begin();
  pd_module *module = load_as("plain", "beta");
  CHECK(load_as("plain", "gamma") == module && load_module("plain") == module);
  CHECK_STR(module_info(module).name_space, "");
}

TEST(a_namespace_is_for_the_module_that_is_named_and_not_for_what_it_needs) {
  begin();
  load_as("needs_clash", "beta");
  CHECK(is_defined("beta.needs_clash") && is_defined("clash_free"));
  CHECK(!is_defined("needs_clash") && !is_defined("beta.clash_free"));
}

TEST(imports_have_no_namespace) {
  begin();
  load_module("alpha");
  pd_module *import = load_as("import", "beta");
  CHECK_OK(pd_flag_set_by_name("alpha_level", "8", &err));
  CHECK(((int (*)(void))(intptr_t)symbol_in("import", "imported_level"))() == 8);
  CHECK(module_info(import).flags == 0);
}

TEST(the_handle_of_a_flag_in_a_namespace_outlives_its_module) {
  begin();
  pd_module *lasting = load_as("lasting", "beta");
  pd_flag *flag = find_flag("beta.lasting");
  unload(lasting);
  if (is_defined("beta.lasting")) return; /* it can't leave */
  load_as("alpha", "beta");
  CHECK_STATUS(pd_flag_set_int32(flag, 1, &err), PD_ERR_UNDEFINED,
               "beta.lasting: the module that defined it has been unloaded");
}

/* ---- Refusals ---- */

TEST(a_module_of_another_abi_is_refused_each_time_and_leaves) {
  begin();
  for (int i = 0; i < 2; i++) {
    CHECK(refuse_load("other_abi", NULL, PD_ERR_ABI, "built for ABI version 99, expected 1") == 1);
    CHECK(!is_defined("other_abi"));
    CHECK(!LOADER_UNMAPS || !is_loaded("other_abi"));
    pd_module *module = pd_module_next(NULL);
    CHECK(module && !module_info(module).present);
  }
  CHECK_OK(pd_modules_check(NULL, &err));
}

TEST(a_module_of_another_abi_that_stays_is_not_present) {
  begin();
  void *handle = open_plugin("other_abi");
  CHECK(refuse_load("other_abi", NULL, PD_ERR_ABI, "built for ABI version 99, expected 1") == 1);
  CHECK(is_loaded("other_abi"));
  pd_module *module = pd_module_next(NULL);
  CHECK(module && !module_info(module).present && module_info(module).status == PD_ERR_ABI);
  close_plugin(handle);
}

static size_t count_errors(const pd_module *module) {
  pd_error_list *errors = pd_error_list_new();
  CHECK_OK(pd_module_get_errors(module, errors, &err));
  size_t count = pd_error_list_count(errors);
  pd_error_list_free(errors);
  return count;
}

TEST(the_errors_of_a_module_are_those_of_its_last_join) {
  begin();
  pd_module *alpha = load_module("alpha");
  void *clash = open_plugin("clash");
  pd_module *refused = pd_module_next(alpha);
  CHECK(module_info(refused).status == PD_ERR_CONFLICT && count_errors(refused) == 2);
  CHECK(refuse_load("clash", NULL, PD_ERR_CONFLICT, "'alpha_level' is already defined") == 2);
  CHECK(count_errors(refused) == 2);
  unload(alpha);
  CHECK(load_module("clash") == refused);
  CHECK(module_info(refused).status == PD_OK && count_errors(refused) == 0);
  unload(refused);
  close_plugin(clash);
  CHECK(!is_defined("clash_free"));
}

TEST(what_a_refused_load_brought_can_be_loaded_alone) {
  begin();
  pd_module *alpha = load_module("alpha");
  CHECK(refuse_load("needs_clash", NULL, PD_ERR_CONFLICT, "'alpha_level' is already defined") == 2);
  CHECK(!is_defined("needs_clash"));
  unload(alpha);
  pd_module *needs = load_module("needs_clash");
  CHECK(is_defined("needs_clash") && is_defined("clash_free"));
  unload(needs);
  CHECK(!is_defined("needs_clash") && !is_defined("clash_free"));
}

TEST(a_companion_that_stayed_says_with_which_module_it_was_refused) {
  begin();
  pd_module *alpha = load_module("alpha");
  size_t found = 0;
  CHECK(refuse_load("needs_lasting", NULL, PD_ERR_CONFLICT, "'alpha_") > 0);
  for (pd_module *each = NULL; (each = pd_module_next(each));) {
    if (!strstr(module_info(each).path, "/liblasting.so")) continue;
    pd_error_list *errors = pd_error_list_new();
    CHECK(module_info(each).status == PD_ERR_LOAD && module_info(each).flags == 0);
    CHECK_OK(pd_module_get_errors(each, errors, &err));
    CHECK(pd_error_list_count(errors) == 1);
    const char *message = pd_error_list_at(errors, 0)->message;
    CHECK(strstr(message, "/liblasting.so: came with ") && strstr(message, "/libneeds_lasting.so"));
    CHECK(strstr(message, ", which was refused"));
    pd_error_list_free(errors);
    found++;
  }
  CHECK(found == 1);
  unload(alpha);
  for (int i = 0; i < 2; i++) {
    pd_module *needs = load_module("needs_lasting");
    CHECK(is_defined("lasting") && is_defined("alpha_level"));
    unload(needs);
  }
}

/* ---- Listing ---- */

TEST(arguments_that_are_missing_are_reported) {
  begin();
  CHECK_STATUS(pd_module_load(NULL, NULL, NULL, &err), PD_ERR_ARGUMENT, "path is NULL");
  CHECK_STATUS(pd_module_unload(NULL, &err), PD_ERR_ARGUMENT, "module is NULL");
}

TEST(a_module_that_only_registered_a_flag_is_no_loaded_one) {
  begin();
  if (!LOADER_UNMAPS) return;
  void *bare = open_plugin("bare");
  DEFINE(PD_TYPE_int32, "bare", def.cell = symbol(bare, "bare_cell"));
  CHECK(!pd_module_next(NULL));
  pd_module *module = load_module("bare"), *alpha = load_module("alpha");
  CHECK(pd_module_next(NULL) == module && pd_module_next(module) == alpha);
  close_plugin(bare);
  unload(module);
  CHECK(!is_defined("bare") && !is_loaded("bare"));
}

TEST(registered_flags_leave_with_the_module_of_their_variable_and_others_stay) {
  begin();
  if (!LOADER_UNMAPS) return;
  pd_module *plain = load_module("plain"), *alpha = load_module("alpha");
  pd_flag_def def = definition(PD_TYPE_int32, "of_plain");
  def.cell = symbol_in("plain", "spare_cell");
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  def.name = "of_alpha";
  def.cell = symbol_in("alpha", "spare_cell");
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  unload(alpha);
  CHECK(is_defined("of_plain") && !is_defined("of_alpha"));
  unload(plain);
  CHECK(!is_defined("of_plain"));
}
