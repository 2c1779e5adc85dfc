/* Loads of several modules, of which some are refused, leave, or join again meanwhile.
 *
 * Built with: -I$SOURCES $LIBRARY
 */
#define _GNU_SOURCE
#include <link.h>

#include "module/module.h"
#include "plugged.h"

static pd_module *find_module(const char *file) {
  for (pd_module *each = NULL; (each = pd_module_next(each));) {
    if (strstr(module_info(each).path, file)) return each;
  }
  check_fail(__FILE__, __LINE__, "no module %s", file);
}

static size_t count_errors(const pd_module *module) {
  pd_error_list *errors = pd_error_list_new();
  CHECK_OK(pd_module_get_errors(module, errors, &err));
  size_t count = pd_error_list_count(errors);
  pd_error_list_free(errors);
  return count;
}

static void refuse_load(const char *name, pd_status status, const char *part) {
  pd_module *module = NULL;
  CHECK(pd_module_load(plugin_path(name), NULL, &module, &err) == status && !module);
  if (!strstr(err.message, part)) check_fail(__FILE__, __LINE__, "%s", err.message);
}

static void call_in_constructor(void (*function)(void)) {
  char address[32];
  snprintf(address, sizeof address, "%p", (void *)(uintptr_t)function);
  setenv("UNWELCOME_CALLS", address, 1);
}

/* ---- What a refused load leaves ---- */

TEST(a_library_of_another_abi_that_a_module_needs_refuses_the_load) {
  begin();
  refuse_load("uses_foreign", PD_ERR_ABI, "libforeign.so: built for ABI version 99, expected 1");
  pd_module *foreign = find_module("/libforeign.so"), *left = find_module("/libother_abi.so");
  CHECK(!module_info(foreign).present && module_info(foreign).status == PD_ERR_ABI);
  CHECK(module_info(left).status == PD_OK && count_errors(left) == 0);
  CHECK(!is_defined("uses_foreign"));
}

TEST(a_library_without_flags_is_not_present_after_a_refused_load) {
  begin();
  load_module("alpha");
  refuse_load("plain_needs_clash", PD_ERR_CONFLICT, "'alpha_level' is already defined");
  CHECK(!module_info(find_module("/libplain_needs_clash.so")).present);
}

TEST(a_late_definition_that_is_refused_in_a_constructor_refuses_the_module) {
  begin();
  pd_flag *own = define_flag(PD_TYPE_int64, "late_clash");
  refuse_load("late_clash", PD_ERR_CONFLICT, "'late_clash' is already defined");
  CHECK(is_loaded("late_clash") && !is_defined("late_clash_sound"));
  CHECK(module_info(find_module("/liblate_clash.so")).status == PD_ERR_CONFLICT);
  CHECK_OK(pd_flag_unregister(own, &err));
  load_module("late_clash");
  CHECK(is_defined("late_clash_sound") && is_defined("late_clash"));
}

TEST(a_module_that_joins_after_a_load_within_the_load_belongs_to_the_outer_one) {
  begin();
  define_flag(PD_TYPE_bool, "uses_nesting");
  setenv("NESTED", plugin_path("plain"), 1);
  refuse_load("uses_nesting", PD_ERR_CONFLICT, "'uses_nesting' is already defined");
  CHECK(!is_defined("nesting"));
}

TEST(a_module_that_lost_its_namespace_with_its_record_has_none) {
  begin();
  CHECK(pd_module_load_as(plugin_path("other_abi"), "beta", NULL, NULL, &err) == PD_ERR_ABI);
  CHECK_STR(module_info(find_module("/libother_abi.so")).name_space, "");
}

/* ---- Modules that join again during a load ---- */

static void *handle;
static pd_flag *own;

static pd_module_record *find_record(const char *name) {
  struct link_map *map = NULL;
  void *opened = open_plugin(name);
  CHECK(dlinfo(opened, RTLD_DI_LINKMAP, &map) == 0);
  pd__platform_image *image = pd__platform_find_image(PD__RECORDS_OF_MODULES, map->l_ld);
  CHECK(image);
  pd_module_record *record = image->record;
  free(image);
  close_plugin(opened);
  return record;
}

static void refuse_unwelcome(void (*during)(void)) {
  begin();
  define_flag(PD_TYPE_bool, "unwelcome_clash");
  own = define_flag(PD_TYPE_string, "shifting");
  call_in_constructor(during);
  refuse_load("unwelcome", PD_ERR_CONFLICT, "is already defined");
}

static void load_and_unload_shifting(void) {
  handle = open_plugin("shifting");
  CHECK_OK(pd_flag_unregister(own, &err));
  CHECK_OK(pd_module_unload(load_module("shifting"), &err));
  CHECK(is_defined("shifting"));
}

TEST(what_another_load_has_accepted_meanwhile_stays_when_the_first_one_is_refused) {
  refuse_unwelcome(load_and_unload_shifting);
  CHECK(is_defined("shifting"));
  close_plugin(handle);
  CHECK(!LOADER_UNMAPS || !is_defined("shifting"));
}

static void *join_shifting(void *record) {
  pd__copies_find_or_elect_host(NULL)->host.module_join(record);
  return NULL;
}

static void join_shifting_on_a_thread(void) {
  handle = open_plugin("shifting");
  CHECK_OK(pd_flag_unregister(own, &err));
  finish(start(join_shifting, find_record("shifting")));
  CHECK(!is_defined("shifting"));
}

TEST(a_refused_module_is_tried_again_only_by_a_load) {
  refuse_unwelcome(join_shifting_on_a_thread);
  CHECK(module_info(find_module("/libshifting.so")).status == PD_ERR_CONFLICT);
  load_module("shifting");
}

static void *rejoin_shifting(void *record) {
  const pd_host *host = &pd__copies_find_or_elect_host(NULL)->host;
  host->module_leave(record);
  host->module_join(record);
  return NULL;
}

static void rejoin_on_a_thread(void) {
  handle = open_plugin("shifting");
  CHECK_OK(pd_flag_unregister(own, &err));
  finish(start(rejoin_shifting, find_record("shifting")));
  CHECK(is_defined("shifting"));
}

TEST(a_module_that_another_thread_joins_meanwhile_belongs_to_no_load) {
  refuse_unwelcome(rejoin_on_a_thread);
  CHECK(is_defined("shifting"));
}

/* ---- Companions ---- */

static pd_module *withdraw_lasting(void) {
  begin();
  pd_module *alpha = load_module("alpha");
  refuse_load("needs_lasting", PD_ERR_CONFLICT, "'alpha_");
  CHECK(!is_defined("lasting"));
  return alpha;
}

TEST(companions_are_found_among_libraries_that_only_registered_something) {
  pd_module *alpha = withdraw_lasting();
  open_plugin("bare");
  DEFINE(PD_TYPE_int32, "bare", def.cell = symbol_in("bare", "bare_cell"));
  CHECK_OK(pd_module_unload(alpha, &err));
  load_module("needs_lasting");
  CHECK(is_defined("lasting") && is_defined("bare"));
}

TEST(only_companions_of_a_module_are_tried_again_with_it) {
  pd_module *alpha = withdraw_lasting();
  open_plugin("clash"); /* refused by itself */
  CHECK_OK(pd_module_unload(alpha, &err));
  load_module("needs_lasting");
  CHECK(is_defined("lasting") && !is_defined("clash_free"));
}

static void open_alpha(void) { handle = open_plugin("alpha"); }

TEST(a_companion_that_has_left_is_not_tried_again) {
  begin();
  if (!LOADER_UNMAPS) return;
  own = define_flag(PD_TYPE_bool, "unwelcome_clash");
  call_in_constructor(open_alpha);
  refuse_load("unwelcome", PD_ERR_CONFLICT, "'unwelcome_clash' is already defined");
  CHECK(!is_defined("alpha_level"));
  close_plugin(handle);
  CHECK_OK(pd_flag_unregister(own, &err));
  unsetenv("UNWELCOME_CALLS");
  load_module("unwelcome");
  CHECK(is_defined("unwelcome_clash") && !is_defined("alpha_level"));
}

/* ---- A module that stays, withdrawn, and registers something ---- */

TEST(a_withdrawn_module_that_registered_a_flag_joins_when_it_is_loaded_again) {
  begin();
  load_module("staged_user");
  int (*call)(void) = (int (*)(void))(intptr_t)symbol_in("staged_user", "staged_call");
  pd_module *staged = load_module("staged");
  CHECK(call() == 2);
  CHECK_OK(pd_module_unload(staged, &err));
  CHECK(!is_defined("staged_level"));
  DEFINE(PD_TYPE_int64, "inside_staged", def.cell = symbol_in("staged", "staged_during_validate"));
  CHECK(load_module("staged") == staged);
  CHECK(is_defined("staged_level") && module_info(staged).flags == 2 && call() == 2);
}

/* ---- Modules that were loaded before the registry ---- */

TEST(every_module_that_was_loaded_before_joins) {
  begin();
  static const char *const names[] = {"alpha", "lasting", "shifting"};
  const pd_host *host = &pd__copies_find_or_elect_host(NULL)->host;
  for (int i = 0; i < 3; i++) {
    open_plugin(names[i]);
    host->module_leave(find_record(names[i]));
  }
  CHECK(!is_defined("alpha_level") && !is_defined("lasting") && !is_defined("shifting"));
  pd__members_join_loaded(NULL);
  CHECK(is_defined("alpha_level") && is_defined("lasting") && is_defined("shifting"));
}

/* ---- Images ---- */

static pd_module *add_image(const char *path, uintptr_t low, uintptr_t high) {
  pd__platform_image image = {.path = path, .low = low, .high = high};
  pd__platform_lock();
  pd_module *module = pd__member_add(&image);
  pd__platform_unlock();
  CHECK(module);
  CHECK_STR(module_info(module).path, path);
  return module;
}

TEST(an_image_at_the_place_of_another_one_is_a_module_of_its_own) {
  begin();
  pd_module *first = add_image("/first", 0x10000, 0x20000);
  CHECK(add_image("/first", 0x10000, 0x20000) == first);
  pd_module *second = add_image("/second", 0x10000, 0x30000);
  CHECK(second != first && !module_info(first).present);
  pd_module *third = add_image("/third", 0x18000, 0x30000);
  CHECK(third != second && third != first && !module_info(second).present);
}

TEST(the_image_of_a_module_that_has_a_record_is_not_that_module_again) {
  begin();
  pd_module *alpha = load_module("alpha");
  pd__platform_image *image =
      pd__platform_find_image(PD__NO_RECORDS, symbol_in("alpha", "spare_cell"));
  CHECK(image);
  CHECK(add_image(module_info(alpha).path, image->low, image->high) != alpha);
  CHECK(module_info(alpha).flags == 4);
  free(image);
}

/* ---- Listing ---- */

static __attribute__((noinline)) void soil_stack(void) {
  volatile unsigned char bytes[8192];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = 0x55;
}

TEST(flags_are_counted_from_0_whatever_was_on_the_stack) {
  begin();
  pd_flag *flag = NULL;
  const pd_module *alpha = load_module("alpha");
  for (size_t i = 0; i < 4; i++) {
    soil_stack();
    CHECK_OK(pd_module_get_flag(alpha, i, &flag, &err));
  }
}
