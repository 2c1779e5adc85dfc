/*
 * Built with: -ldl
 */
#include <dlfcn.h>
#include <elf.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"

static const char *plugin(const char *name) {
  static char path[4096];
  snprintf(path, sizeof path, "%s/lib%s.so", getenv("PLUGINS"), name);
  return path;
}

static pd_module *load(const char *name) {
  pd_module *module = NULL;
  CHECK_OK(pd_module_load(plugin(name), NULL, &module, &err));
  CHECK(module);
  return module;
}

static void unload(pd_module *module) { CHECK_OK(pd_module_unload(module, &err)); }

static void set(const char *name, const char *text) {
  CHECK_OK(pd_flag_set_from_string(find_flag(name), text, &err));
}

static int call(pd_module *module, const char *function) {
  void *handle = dlopen(module_info(module).path, RTLD_NOW | RTLD_NOLOAD);
  CHECK(handle);
  int (*symbol)(void);
  *(void **)&symbol = dlsym(handle, function);
  CHECK(symbol);
  int result = symbol();
  dlclose(handle);
  return result;
}

static bool is_present(const pd_module *module) { return module_info(module).present; }

/* ---- Loading ---- */

TEST(a_loaded_modules_flags_are_defined_and_it_reads_what_is_set) {
  CHECK(!is_defined("alpha_level"));
  pd_module *alpha = load("alpha");
  CHECK(call(alpha, "alpha_level") == 6);
  set("alpha_level", "9");
  CHECK(call(alpha, "alpha_level") == 9);
  pd_flag_info info = flag_info(find_flag("alpha_mode"));
  CHECK(info.owner == alpha);
  CHECK_STR(info.module, plugin("alpha"));
  CHECK_STR(info.help, "How to search");
}

TEST(the_flags_of_a_module_are_listed_in_the_order_of_its_source) {
  static const char *const names[] = {"alpha_level", "alpha_mode", "alpha_check", "alpha_ratio"};
  load("alpha");
  const pd_flag *flag = NULL;
  for (int i = 0; i < 4; i++) {
    flag = pd_flag_next(flag);
    CHECK_STR(flag_info(flag).name, names[i]);
  }
  CHECK(!pd_flag_next(flag));
}

TEST(modules_are_listed_and_described) {
  pd_module *alpha = load("alpha"), *plain = load("plain");
  CHECK(pd_module_next(NULL) == alpha && pd_module_next(alpha) == plain);
  CHECK(!pd_module_next(plain));
  pd_module_info info = module_info(alpha);
  CHECK_STR(info.path, plugin("alpha"));
  CHECK(info.present && info.flags == 4 && info.status == PD_OK);
  info = module_info(plain);
  CHECK(info.present && info.flags == 0 && info.status == PD_OK);
  info.size = 1;
  char message[64];
  snprintf(message, sizeof message, "info->size is 1, expected %zu or more", sizeof info);
  CHECK_STATUS(pd_module_get_info(plain, &info, &err), PD_ERR_ARGUMENT, message);
  CHECK_STATUS(pd_module_get_errors(plain, NULL, &err), PD_ERR_ARGUMENT, "errors is NULL");
}

TEST(loading_again_gives_the_same_module_and_counts) {
  pd_module *first = load("alpha");
  CHECK(load("alpha") == first);
  unload(first);
  CHECK(is_defined("alpha_level") && is_present(first));
  unload(first);
  CHECK(!is_defined("alpha_level") && !is_present(first));
  char message[4200];
  snprintf(message, sizeof message, "%s: is not loaded by pd_module_load", plugin("alpha"));
  CHECK_STATUS(pd_module_unload(first, &err), PD_ERR_ARGUMENT, message);
}

TEST(two_paths_to_one_file_are_one_module) {
  pd_module *alpha = load("alpha"), *other = NULL;
  unlink("link.so");
  CHECK(!symlink(plugin("alpha"), "link.so"));
  CHECK_OK(pd_module_load("link.so", NULL, &other, &err));
  CHECK(other == alpha);
  unload(alpha);
  CHECK(is_defined("alpha_level"));
  unload(alpha);
  CHECK(!is_defined("alpha_level"));
}

TEST(a_bare_name_is_a_file_of_this_directory_and_never_a_search) {
  pd_module *module = NULL;
  unlink("here.so");
  CHECK(!symlink(plugin("alpha"), "here.so"));
  CHECK_OK(pd_module_load("here.so", NULL, &module, &err));
  CHECK(is_defined("alpha_level"));
  CHECK_STATUS(pd_module_load("libc.so.6", NULL, &module, &err), PD_ERR_LOAD,
               "libc.so.6: no such file");
}

/* ---- Unloading ---- */

TEST(a_reload_finds_the_values_that_were_set) {
  pd_module *alpha = load("alpha");
  set("alpha_level", "3");
  set("alpha_mode", "best");
  pd_flag *level = find_flag("alpha_level");
  unload(alpha);
  CHECK(load("alpha") == alpha);
  CHECK(find_flag("alpha_level") == level);
  CHECK(call(alpha, "alpha_level") == 3);
  CHECK_STR(text_of(find_flag("alpha_mode")), "best");
}

TEST(a_flag_of_a_module_that_left_says_so_and_its_handle_stays) {
  pd_module *alpha = load("alpha");
  pd_flag *level = find_flag("alpha_level");
  const int32_t *address = (const int32_t *)pd_flag_get_address(level);
  int32_t value;
  pd_flag_info info = {.size = sizeof info};
  unload(alpha);
  static const char gone[] = "alpha_level: the module that defined it has been unloaded";
  CHECK_STATUS(pd_flag_get_int32(level, &value, &err), PD_ERR_UNDEFINED, gone);
  CHECK_STATUS(pd_flag_set_int32(level, 1, &err), PD_ERR_UNDEFINED, gone);
  CHECK_STATUS(pd_flag_set_from_string(level, "1", &err), PD_ERR_UNDEFINED, gone);
  CHECK_STATUS(pd_flag_reset(level, &err), PD_ERR_UNDEFINED, gone);
  CHECK_STATUS(pd_flag_freeze(level, &err), PD_ERR_UNDEFINED, gone);
  CHECK_STATUS(pd_flag_get_info(level, &info, &err), PD_ERR_UNDEFINED, gone);
  CHECK_STATUS(pd_flag_get_text(level, NULL, 0, NULL, &err), PD_ERR_UNDEFINED, gone);
  CHECK(*address == 6);
  CHECK(!pd_flag_next(NULL));
}

TEST(text_of_a_module_that_left_stays_valid) {
  pd_module *alpha = load("alpha");
  const char *value;
  pd_flag_info info = flag_info(find_flag("alpha_mode"));
  CHECK_OK(pd_flag_get_string(find_flag("alpha_mode"), &value, &err));
  unload(alpha);
  CHECK_STR(info.help, "How to search");
  CHECK_STR(info.choices, "fast|best");
  CHECK(strstr(info.file, "alpha.c"));
  CHECK_STR(info.default_value.str, "fast");
  CHECK_STR(value, "fast");
}

TEST(a_layer_may_be_popped_while_its_flags_module_is_away) {
  pd_module *alpha = load("alpha");
  pd_flag *level = find_flag("alpha_level");
  pd_assignment item = {.flag = level, .text = "2"};
  pd_override one, two;
  CHECK_OK(pd_override_push(&item, 1, NULL, NULL, &one, &err));
  item.text = "3";
  CHECK_OK(pd_override_push(&item, 1, NULL, NULL, &two, &err));
  unload(alpha);
  CHECK_OK(pd_override_pop(two, &err));
  load("alpha");
  CHECK_STR(text_of(level), "2");
  CHECK_OK(pd_override_pop(one, &err));
  CHECK_STR(text_of(level), "6");
}

TEST(a_frozen_flag_is_frozen_after_a_reload_too) {
  pd_module *alpha = load("alpha");
  pd_flag *level = find_flag("alpha_level");
  setenv("FLAGS_alpha_level", "4", 1);
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  CHECK_OK(pd_flag_freeze(level, &err));
  unload(alpha);
  setenv("FLAGS_alpha_level", "5", 1);
  load("alpha");
  CHECK_STR(text_of(level), "4");
  CHECK_STATUS(pd_flag_set_int32(level, 1, &err), PD_ERR_FROZEN, "alpha_level: is frozen");
  CHECK_OK(pd_flag_unfreeze(level, &err));
  CHECK_OK(pd_flag_set_int32(level, 1, &err));
}

TEST(a_value_that_waits_for_a_frozen_flag_is_refused) {
  pd_module *alpha = load("alpha"), *again = NULL;
  pd_flag *level = find_flag("alpha_level");
  CHECK_OK(pd_flag_freeze(level, &err));
  unload(alpha);
  CHECK_OK(pd_pending_set("alpha_level", "3", NULL, &err));
  CHECK_STATUS(pd_module_load(plugin("alpha"), NULL, &again, &err), PD_ERR_FROZEN,
               "alpha_level: is frozen");
  CHECK(again == alpha);
  CHECK_STR(text_of(level), "6");
}

TEST(a_value_goes_over_to_another_definition_if_it_suits) {
  pd_module *alpha = load("alpha"), *level = NULL;
  set("alpha_level", "4");
  set("alpha_ratio", "0.25");
  unload(alpha);
  level = load("level");
  int64_t value;
  CHECK_OK(pd_flag_get_int64(find_flag("alpha_level"), &value, &err));
  CHECK(value == 4);
  CHECK_STR(text_of(find_flag("alpha_ratio")), "0.25");
  CHECK(!is_defined("alpha_check"));
  unload(level);
}

TEST(a_value_that_does_not_suit_another_definition_is_dropped_and_reported) {
  pd_module *alpha = load("alpha"), *level = NULL;
  set("alpha_level", "8");
  set("alpha_mode", "fast");
  unload(alpha);
  CHECK_STATUS(pd_module_load(plugin("level"), NULL, &level, &err), PD_ERR_RANGE,
               "alpha_level=8: expected an integer <= 5");
  CHECK(level);
  CHECK_STR(text_of(find_flag("alpha_level")), "1");
  CHECK_STR(text_of(find_flag("alpha_mode")), "best");
  pd_error_list *errors = pd_error_list_new();
  CHECK_OK(pd_module_get_errors(level, errors, &err));
  CHECK(pd_error_list_count(errors) == 2);
  CHECK_STR(pd_error_list_at(errors, 1)->message, "alpha_mode=fast: expected one of best, worst");
  pd_error_list_free(errors);
  CHECK(load("level") == level); /* told once */
}

TEST(a_string_read_through_an_old_address_is_still_a_string) {
  pd_module *level = load("level");
  pd_flag *ratio = find_flag("alpha_ratio");
  const char *const *address = (const char *const *)pd_flag_get_address(ratio);
  CHECK_STR(*address, "1/2");
  unload(level);
  load("alpha"); /* where it is a double */
  CHECK_STR(text_of(ratio), "0.5");
  CHECK_STR(*address, "1/2");
}

TEST(a_flag_that_was_registered_with_a_variable_of_a_module_leaves_with_it) {
  static const char *const names[] = {"plain", "alpha"}; /* without a record, and with one */
  for (int i = 0; i < 2; i++) {
    pd_module *module = load(names[i]);
    void *handle = dlopen(plugin(names[i]), RTLD_NOW | RTLD_NOLOAD);
    pd_flag_def def = definition(PD_TYPE_int32, i ? "with" : "without");
    def.cell = dlsym(handle, "spare_cell");
    CHECK(def.cell);
    pd_flag *flag = register_flag(&def);
    CHECK_OK(pd_flag_set_int32(flag, 5, &err));
    CHECK(*(int32_t *)def.cell == 5);
    CHECK_STR(flag_info(flag).module, plugin(names[i]));
    dlclose(handle);
    unload(module);
    CHECK(!dlopen(plugin(names[i]), RTLD_NOW | RTLD_NOLOAD));
    CHECK(pd_flag_set_int32(flag, 6, NULL) == PD_ERR_UNDEFINED);
    def.cell = NULL;
    CHECK_OK(pd_flag_register(&def, &flag, &err));
    CHECK_STR(text_of(flag), "5"); /* which waited for the flag to come again */
  }
}

/* ---- The same source in two modules ---- */

TEST(a_flag_that_two_modules_define_alike_stays_until_both_have_left) {
  pd_module *alpha = load("alpha"), *twin = load("twin");
  pd_flag *level = find_flag("alpha_level");
  set("alpha_level", "4");
  CHECK(call(alpha, "alpha_level") == 4 && call(twin, "alpha_level") == 4);
  pd_flag_info info = flag_info(level);
  CHECK(info.owner == alpha && info.cells == 2);
  unload(alpha);
  info = flag_info(level);
  CHECK(info.owner == twin && info.cells == 1);
  CHECK(find_flag("alpha_lvl") == level);
  set("alpha_level", "5");
  CHECK(call(twin, "alpha_level") == 5);
  unload(twin);
  CHECK(!is_defined("alpha_level") && !is_defined("alpha_lvl"));
}

/* ---- Imports ---- */

TEST(an_import_follows_its_flag_whenever_that_comes_and_goes) {
  pd_module *import = load("import");
  CHECK(call(import, "imported_level") == -1 && call(import, "imported_alias") == -2);
  pd_module *alpha = load("alpha");
  CHECK(call(import, "imported_level") == 6 && call(import, "imported_alias") == 6);
  set("alpha_level", "7");
  CHECK(call(import, "imported_level") == 7 && call(import, "imported_alias") == 7);
  unload(alpha);
  CHECK(call(import, "imported_level") == -1 && call(import, "imported_alias") == -2);
}

TEST(an_import_of_an_alias_follows_whoever_has_the_name_next) {
  pd_module *import = load("import"), *alpha = load("alpha");
  unload(alpha);
  pd_flag *other = define_flag(PD_TYPE_int32, "alpha_lvl");
  CHECK(call(import, "imported_alias") == 0);
  CHECK_OK(pd_flag_set_int32(other, 5, &err));
  CHECK(call(import, "imported_alias") == 5 && call(import, "imported_level") == -1);
}

TEST(an_import_that_leaves_is_forgotten) {
  pd_module *import = load("import");
  load("alpha");
  unload(import);
  set("alpha_level", "3");
  CHECK(flag_info(find_flag("alpha_level")).cells == 1);
}

TEST(an_import_of_another_type_is_refused) {
  load("alpha");
  pd_module *module = NULL;
  CHECK(pd_module_load(plugin("misimport"), NULL, &module, &err) == PD_ERR_TYPE);
  CHECK(!module);
  CHECK(strstr(err.message, "'alpha_level' is int32 at ") && strstr(err.message, "alpha.c:4 in "));
  CHECK(strstr(err.message, "; refused: import as bool at "));
}

TEST(a_definition_of_another_type_than_an_import_is_refused_until_that_is_gone) {
  pd_module *misimport = load("misimport"), *alpha = NULL;
  for (int i = 0; i < 2; i++) {
    CHECK(pd_module_load(plugin("alpha"), NULL, &alpha, &err) == PD_ERR_TYPE);
    CHECK(!alpha && strstr(err.message, "'alpha_level' is already imported, as bool at "));
    CHECK(strstr(err.message, "; expected bool, refused: int32 at "));
  }
  CHECK_OK(pd_module_unload(misimport, &err));
  alpha = load("alpha");
  set("alpha_level", "7");
  CHECK(call(alpha, "alpha_level") == 7);
}

/* ---- Refusals ---- */

static void refuses(const char *path, const char *why) {
  char message[8400];
  pd_module *module = NULL;
  pd_error_list *errors = pd_error_list_new();
  snprintf(message, sizeof message, "%s%s%s", path, *path ? ": " : "", why);
  CHECK_STATUS(pd_module_load(path, errors, &module, &err), PD_ERR_LOAD, message);
  CHECK(!module && pd_error_list_count(errors) == 1);
  CHECK_STR(pd_error_list_at(errors, 0)->message, message);
  CHECK(!pd_module_next(NULL));
  pd_error_list_free(errors);
}

/* A copy of alpha with `size` bytes; `patch` is put at `offset`. */
static const char *damaged(const char *name, size_t size, size_t offset, unsigned patch) {
  static char bytes[1 << 20];
  FILE *in = fopen(plugin("alpha"), "rb"), *out = fopen(name, "wb");
  CHECK(in && out);
  size_t whole = fread(bytes, 1, sizeof bytes, in);
  bytes[offset] = (char)patch;
  CHECK(fwrite(bytes, 1, size && size < whole ? size : whole, out) > 0);
  fclose(in);
  fclose(out);
  return name;
}

TEST(a_path_that_leads_to_no_library_is_refused_with_the_reason) {
  refuses("", "the path is empty, expected that of a shared library");
  refuses("missing/lib.so", "no such file");
  refuses("/", "is a directory, expected a shared library");
  refuses("/dev/null", "is not a file, expected a shared library");
  FILE *file = fopen("empty.so", "w");
  fclose(file);
  refuses("./empty.so", "is not a shared library");
  file = fopen("text.so", "w");
  fputs("INPUT(libalpha.so)\nand more of such text, as linker scripts have it", file);
  fclose(file);
  refuses("text.so", "is not a shared library");
  refuses("text.so/x", "Not a directory");
}

TEST(a_library_for_another_machine_is_refused) {
  size_t machine = offsetof(Elf64_Ehdr, e_machine), kind = EI_CLASS;
  refuses(damaged("./machine.so", 0, machine, EM_S390), "was built for another architecture");
  refuses(damaged("./class.so", 0, kind, ELFCLASS32), "was built for another architecture");
}

TEST(a_file_that_is_cut_short_is_refused_wherever_the_cut_is) {
  struct stat whole;
  CHECK(!stat(plugin("alpha"), &whole));
  refuses(damaged("./cut.so", 20, 0, 0x7f), "is cut short");
  refuses(damaged("./cut.so", 70, 0, 0x7f), "is cut short");
  refuses(damaged("./cut.so", 4096, 0, 0x7f), "is cut short");
  refuses(damaged("./cut.so", 8192, 0, 0x7f), "is cut short");
}

TEST(a_program_is_refused) {
  refuses(damaged("./program.so", 0, offsetof(Elf64_Ehdr, e_type), ET_EXEC),
          "is a program or an object file, expected a shared library");
}

TEST(an_unresolved_symbol_is_told_by_name) {
  refuses(plugin("unresolved"), "undefined symbol: nobody_has_this");
}

TEST(a_conflict_leaves_nothing_behind) {
  pd_module *alpha = load("alpha"), *clash = NULL;
  pd_error_list *errors = pd_error_list_new();
  CHECK(pd_module_load(plugin("clash"), errors, &clash, &err) == PD_ERR_CONFLICT);
  CHECK(!clash && pd_error_list_count(errors) == 2);
  CHECK(strstr(err.message, "'alpha_level' is already defined, int32 at "));
  CHECK(strstr(err.message, "alpha.c:4 in ") && strstr(err.message, "/libalpha.so; refused: bool"));
  CHECK(strstr(err.message, "clash.c:5 in ") && strstr(err.message, "/libclash.so"));
  pd_error_list_free(errors);
  CHECK(!is_defined("clash_free"));
  CHECK(!dlopen(plugin("clash"), RTLD_NOW | RTLD_NOLOAD));
  clash = pd_module_next(alpha);
  CHECK(clash && !is_present(clash));
  pd_module_info info = module_info(clash);
  CHECK(info.status == PD_ERR_CONFLICT && info.flags == 0);
  unload(alpha);
  CHECK(load("clash") == clash && is_defined("clash_free"));
}

TEST(a_refused_module_that_stayed_joins_on_a_load_when_nothing_hinders_it_any_more) {
  pd_module *alpha = load("alpha"), *clash = NULL;
  void *handle = dlopen(plugin("clash"), RTLD_NOW);
  CHECK(handle && !is_defined("clash_free"));
  CHECK(pd_module_load(plugin("clash"), NULL, &clash, &err) == PD_ERR_CONFLICT);
  unload(alpha);
  CHECK(!is_defined("clash_free"));
  clash = load("clash");
  CHECK(is_defined("clash_free") && is_present(clash));
  dlclose(handle);
  CHECK(is_defined("clash_free"));
  unload(clash);
  CHECK(!is_defined("clash_free"));
}

TEST(a_library_whose_dependency_is_refused_is_refused_too) {
  load("alpha");
  pd_module *module = NULL;
  CHECK(pd_module_load(plugin("needs_clash"), NULL, &module, &err) == PD_ERR_CONFLICT);
  CHECK(!module && strstr(err.message, "/libclash.so"));
  CHECK(!is_defined("needs_clash") && !is_defined("clash_free"));
}

TEST(what_a_refused_library_brought_leaves_and_comes_with_it_even_if_it_stays_in_memory) {
  pd_module *alpha = load("alpha");
  pd_module *module = NULL;
  CHECK(pd_module_load(plugin("needs_lasting"), NULL, &module, &err) == PD_ERR_CONFLICT);
  CHECK(!module && dlopen(plugin("lasting"), RTLD_NOW | RTLD_NOLOAD));
  CHECK(!is_defined("lasting"));
  unload(alpha);
  load("needs_lasting");
  CHECK(is_defined("lasting") && is_defined("alpha_level"));
}

TEST(a_library_that_a_refused_one_had_loaded_stays_when_others_hold_it) {
  pd_module *clash = load("clash"), *needs = load("needs_clash"), *alpha = NULL;
  CHECK(pd_module_load(plugin("alpha"), NULL, &alpha, &err) == PD_ERR_CONFLICT);
  unload(clash);
  CHECK(is_defined("clash_free"));
  unload(needs);
  CHECK(!is_defined("clash_free") && !is_defined("needs_clash"));
}

TEST(the_handle_of_a_flag_that_left_isnt_one_of_the_flag_that_has_its_name_as_an_alias) {
  pd_module *module = load("alpha");
  pd_flag *flag, *other;
  CHECK_OK(pd_flag_find("alpha_level", &flag, &err));
  CHECK_OK(pd_module_unload(module, &err));
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_int32);
  def.name = "other";
  def.aliases = "alpha_level";
  CHECK_OK(pd_flag_register(&def, &other, &err));
  pd_assignment item = {flag, "5", 0, {0}};
  pd_override override;
  CHECK_STATUS(pd_flag_set_from_string(flag, "5", &err), PD_ERR_UNDEFINED,
               "alpha_level: the module that defined it has been unloaded");
  CHECK(pd_flag_set_default(flag, "5", NULL) == PD_ERR_UNDEFINED);
  CHECK(pd_flag_set_int32(flag, 5, NULL) == PD_ERR_UNDEFINED);
  CHECK(pd_batch_set(&item, 1, NULL, NULL, NULL) == PD_ERR_UNDEFINED);
  CHECK(pd_override_push(&item, 1, NULL, NULL, &override, NULL) == PD_ERR_UNDEFINED);
  CHECK_STR(text_of(other), "0");
  CHECK_OK(pd_flag_set_by_name("alpha_level", "6", &err));
  CHECK_STR(text_of(other), "6");
}
