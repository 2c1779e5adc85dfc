/* Flags that are undefined, and defined again, at run time.
 *
 * Also built with (tsan): -fsanitize=thread $LIBRARY
 */
#include <pthread.h>

#define CHECK_DEFINES_FLAGS
#include "check.h"

PD_DEFINE_int32(of_record, 4, "Defined by the record of this program");
PD_IMPORT_int64(imported, 77);
PD_IMPORT_int64(old_imported, 78);

static const pd_origin argv3 = {PD_SOURCE_ARGV, 3, NULL, 0};

static pd_flag *replace(const pd_flag_def *def) {
  pd_flag *flag = NULL;
  CHECK_OK(pd_flag_replace(def, NULL, 0, &flag, &err));
  CHECK(flag);
  return flag;
}

static pd_flag *define_int(const char *name, int64_t value) {
  return DEFINE(PD_TYPE_int64, name, def.default_value.i64 = value);
}

static pd_flag *replace_int(const char *name, int64_t value) {
  pd_flag_def def = definition(PD_TYPE_int64, name);
  def.default_value.i64 = value;
  return replace(&def);
}

static void assign(pd_flag *flag, const char *text, const pd_origin *origin) {
  pd_assignment item = {.flag = flag, .text = text};
  CHECK_OK(pd_batch_set(&item, 1, origin, NULL, &err));
}

/* ---- Undefining ---- */

TEST(an_undefined_flag_is_found_no_more_and_its_handle_says_why) {
  pd_flag *flag = define_int("level", 3), *found;
  const uint8_t *state = pd_flag_get_state(flag);
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(*state == 0);
  CHECK(pd_flag_find("level", &found, NULL) == PD_ERR_UNDEFINED);
  for (pd_flag *each = NULL; (each = pd_flag_next(each));) CHECK(each != flag);
  int64_t value;
  CHECK_STATUS(pd_flag_get_int64(flag, &value, &err), PD_ERR_UNDEFINED,
               "level: is no longer defined");
  CHECK_STATUS(pd_flag_set_int64(flag, 5, &err), PD_ERR_UNDEFINED, "level: is no longer defined");
  CHECK_STATUS(pd_flag_unregister(flag, &err), PD_ERR_UNDEFINED, "level: is no longer defined");
}

TEST(no_flag_is_undefined_for_NULL) {
  CHECK_STATUS(pd_flag_unregister(NULL, &err), PD_ERR_ARGUMENT, "flag is NULL");
  CHECK_STATUS(pd_flag_replace(NULL, NULL, 0, NULL, &err), PD_ERR_ARGUMENT, "def is NULL");
  pd_flag_def def = definition(PD_TYPE_bool, "x");
  CHECK_STATUS(pd_flag_replace(&def, NULL, 1, NULL, &err), PD_ERR_ARGUMENT, "hooks is NULL");
}

TEST(the_values_of_an_undefined_flag_are_listed_with_those_that_wait) {
  pd_pending_info info = {.size = sizeof info};
  pd_flag *flag = DEFINE(PD_TYPE_int64, "level", def.sensitive = true);
  assign(flag, "5", &argv3);
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK_OK(pd_pending_get(0, &info, &err));
  CHECK_STR(info.name, "level");
  CHECK_STR(info.text, "5");
  CHECK(info.origin.source == PD_SOURCE_ARGV && info.sensitive);
  CHECK(pd_pending_get(1, &info, NULL) == PD_ERR_ARGUMENT);
  CHECK_STATUS(pd_pending_check(NULL, &err), PD_ERR_UNDEFINED, "--level: the flag is not defined");
  define_int("level", 3);
  CHECK_OK(pd_pending_check(NULL, &err));
  CHECK(pd_pending_get(0, &info, NULL) == PD_ERR_ARGUMENT);
}

TEST(the_next_definition_gets_the_handle_and_the_values_that_were_given) {
  pd_flag *flag = define_int("level", 3);
  assign(flag, "5", &argv3);
  CHECK_OK(pd_flag_set_int64(flag, 7, &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(define_int("level", 4) == flag);
  CHECK_STR(text_of(flag), "7");
  CHECK(flag_entry(flag, 0).origin.source == PD_SOURCE_RUNTIME);
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_RUNTIME, &err));
  CHECK_STR(text_of(flag), "5");
  CHECK(flag_entry(flag, 0).origin.line == 3);
}

TEST(a_default_that_was_set_goes_with_the_definition) {
  pd_flag *flag = define_int("level", 3);
  CHECK_OK(pd_flag_set_default(flag, "8", &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
  define_int("level", 4);
  CHECK_STR(text_of(flag), "4");
}

TEST(an_entry_says_how_to_read_its_value) {
  pd_flag_def def = definition(PD_TYPE_string, "level");
  def.list = PD_TYPE_int32;
  def.optional = true;
  def.context = &def;
  pd_flag *flag = register_flag(&def);
  pd_flag_entry entry = flag_entry(flag, 0);
  CHECK(entry.type == PD_TYPE_string && entry.list == PD_TYPE_int32 && entry.unset);
  CHECK(entry.context == &def && !entry.sensitive);
  CHECK_OK(pd_flag_set_default(flag, "1,2", &err));
  CHECK(!flag_entry(flag, 0).unset && flag_entry(flag, 1).unset);
  pd_flag_def fresh = definition(PD_TYPE_double, "level");
  fresh.sensitive = true;
  CHECK_OK(pd_flag_replace(&fresh, NULL, 0, &flag, &err));
  entry = flag_entry(flag, 0);
  CHECK(entry.type == PD_TYPE_double && !entry.list && !entry.unset);
  CHECK(!entry.context && entry.sensitive);
}

TEST(each_definition_has_a_generation) {
  pd_flag *flag = define_int("level", 3);
  const uint32_t *generation = pd_flag_get_generation(flag);
  uint32_t first = *generation;
  CHECK(first && define_int("level", 3) == flag && *generation == first);
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  uint32_t second = *generation;
  CHECK(second != first && flag_info(flag).generation == second);
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(*generation != first && *generation != second);
  CHECK(!pd_flag_get_generation(NULL));
}

TEST(a_default_is_taken_back_by_no_value) {
  pd_flag *flag = DEFINE(PD_TYPE_int64, "level", def.optional = true);
  CHECK_OK(pd_flag_set_default(flag, "5", &err));
  pd_origin origin = {.source = PD_SOURCE_DEFAULT};
  CHECK_OK(pd_batch_set(&(pd_assignment){.flag = flag}, 1, &origin, NULL, &err));
  CHECK(flag_entry(flag, 0).unset && *pd_flag_get_state(flag) & PD_STATE_UNSET);
}

TEST(a_value_that_the_next_definition_rejects_is_dropped_and_reported) {
  pd_flag *flag = define_int("level", 3);
  assign(flag, "50", &argv3);
  CHECK_OK(pd_flag_unregister(flag, &err));
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.max.i64 = 9;
  def.min.i64 = 0;
  pd_flag *again = NULL;
  CHECK_STATUS(pd_flag_register(&def, &again, &err), PD_ERR_RANGE,
               "--level=50: expected an integer in [0, 9]");
  CHECK(again == flag);
  CHECK_STR(text_of(flag), "0");
}

TEST(another_flag_may_take_the_names_of_an_undefined_one) {
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.aliases = "depth";
  CHECK_OK(pd_flag_unregister(register_flag(&def), &err));
  pd_flag *depth = define_int("depth", 1);
  def = definition(PD_TYPE_bool, "height");
  def.aliases = "level";
  pd_flag *height = register_flag(&def);
  CHECK(find_flag("depth") == depth);
  CHECK(find_flag("level") == height);
}

TEST(the_flags_of_a_record_stay) {
  pd_flag *flag = find_flag("of_record");
  CHECK(pd_flag_unregister(flag, &err) == PD_ERR_CONFLICT);
  char start[128];
  snprintf(start, sizeof start,
           "'of_record' stays defined until its module is unloaded: int32 at ");
  CHECK(!strncmp(err.message, start, strlen(start)));
  CHECK(strstr(err.message, "test_redefine.c:"));
  pd_flag_def def = definition(PD_TYPE_int32, "of_record");
  CHECK(pd_flag_replace(&def, NULL, 0, &flag, &err) == PD_ERR_CONFLICT);
  CHECK(!strncmp(err.message, start, strlen(start)));
  CHECK_STR(text_of(flag), "4");
}

TEST(a_flag_with_several_variables_gives_all_of_them_back) {
  static int32_t one = 1, two = 1;
  pd_flag_def def = definition(PD_TYPE_int32, "shared");
  def.default_value.i64 = 1;
  def.cell = &one;
  pd_flag *flag = register_flag(&def);
  def.cell = &two;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
  one = two = 9;
  CHECK(define_flag(PD_TYPE_int32, "shared") == flag);
  CHECK_OK(pd_flag_set_int32(flag, 6, &err));
  CHECK(one == 9 && two == 9);
}

TEST(an_override_lasts_over_the_next_definition) {
  pd_flag *flag = define_int("level", 3);
  pd_override over = push_override(flag, "8");
  CHECK_OK(pd_flag_unregister(flag, &err));
  define_int("level", 4);
  CHECK_STR(text_of(flag), "8");
  CHECK_OK(pd_override_pop(over, &err));
  CHECK_STR(text_of(flag), "4");
}

TEST(an_override_may_end_while_the_flag_is_undefined) {
  pd_flag *flag = define_int("level", 3);
  pd_override over = push_override(flag, "8");
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK_OK(pd_override_pop(over, &err));
  define_int("level", 4);
  CHECK_STR(text_of(flag), "4");
}

TEST(an_import_gets_its_own_default_while_the_flag_is_undefined) {
  pd_flag *flag = define_int("imported", 5);
  CHECK(FLAGS_imported == 5);
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(FLAGS_imported == 77);
  define_int("imported", 6);
  CHECK(FLAGS_imported == 6);
}

/* ---- Hooks ---- */

static int calls, releases;

static bool accept_all(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  calls++;
  return true;
}

static bool accept_even(const pd_flag_entry *const *entries, void *context, char *why,
                        size_t size) {
  (void)context;
  calls++;
  snprintf(why, size, "it must be even");
  return entries[0]->value.i64 % 2 == 0;
}

static void count_call(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  calls++;
}

static void count_release(void *context) {
  (void)context;
  releases++;
}

TEST(hooks_of_an_undefined_flag_are_removed_and_released) {
  pd_flag *flag = define_int("level", 3), *other = define_int("other", 3);
  pd_flag *const both[] = {flag, other};
  CHECK_OK(pd_validator_add(both, 2, accept_all, NULL, count_release, NULL, &err));
  CHECK_OK(pd_watcher_add(flag, count_call, NULL, count_release, NULL, &err));
  CHECK_OK(pd_group_add(PD_GROUP_AT_MOST_ONE, both, 2, NULL, &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(releases == 2);
  define_int("level", 4);
  CHECK_OK(pd_flag_set_int64(flag, 6, &err));
  CHECK_OK(pd_flag_set_int64(other, 6, &err));
  CHECK(calls == 0);
}

static void unregister(pd_flag *flag, void *context) {
  (void)context;
  CHECK_OK(pd_flag_unregister(flag, &err));
}

TEST(a_watcher_may_undefine_its_flag) {
  pd_flag *flag = define_int("level", 3);
  CHECK_OK(pd_watcher_add(flag, unregister, NULL, count_release, NULL, &err));
  CHECK_OK(pd_watcher_add(flag, count_call, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_set_int64(flag, 4, &err));
  CHECK(calls == 0 && releases == 1 && *pd_flag_get_state(flag) == 0);
}

static bool replace_meanwhile(const pd_flag_entry *const *entries, void *context, char *why,
                              size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  pd_flag_def def = definition(PD_TYPE_string, "level");
  if (calls++ == 0) replace(&def);
  return true;
}

TEST(a_value_that_is_being_validated_is_checked_against_the_definition_that_came_meanwhile) {
  pd_flag *flag = define_int("level", 3);
  CHECK_OK(pd_validator_add(&flag, 1, replace_meanwhile, NULL, NULL, NULL, &err));
  CHECK_STATUS(pd_flag_set_int64(flag, 4, &err), PD_ERR_TYPE, "level: is string, not int64");
  CHECK_STR(text_of(flag), "");
}

TEST(only_the_hooks_that_are_named_go_when_a_definition_is_replaced) {
  pd_flag *flag = define_int("level", 3);
  pd_hook hooks[2];
  CHECK_OK(pd_validator_add(&flag, 1, accept_even, NULL, count_release, &hooks[0], &err));
  CHECK_OK(pd_watcher_add(flag, count_call, NULL, count_release, NULL, &err));
  hooks[1] = 12345; /* there is none: it may have been removed meanwhile */
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  CHECK_OK(pd_flag_replace(&def, hooks, 2, &flag, &err));
  CHECK(calls == 1 && releases == 1); /* the value has changed */
  CHECK_OK(pd_flag_set_int64(flag, 7, &err));
  CHECK(calls == 2);
}

TEST(watchers_that_stay_hear_of_a_replaced_definition_only_if_the_value_changes) {
  pd_flag *flag = define_int("level", 3);
  CHECK_OK(pd_watcher_add(flag, count_call, NULL, NULL, NULL, &err));
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.default_value.i64 = 3;
  def.help = "more";
  replace(&def);
  CHECK(calls == 0);
  replace_int("level", 4);
  CHECK(calls == 1);
}

TEST(the_validator_of_the_new_definition_checks_the_value_that_is_kept) {
  pd_flag *flag = define_int("level", 2);
  CHECK_OK(pd_flag_set_int64(flag, 4, &err));
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.validate = accept_even;
  replace(&def);
  CHECK(calls == 1);
  CHECK_STR(text_of(flag), "4");
  CHECK_OK(pd_flag_unregister(flag, &err));
  define_int("level", 2);
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  CHECK_STATUS(pd_flag_replace(&def, NULL, 0, &flag, &err), PD_ERR_REFUSED,
               "level=5: it must be even");
  CHECK_STR(text_of(flag), "0");
  CHECK(flag_entry(flag, 0).origin.source == PD_SOURCE_DEFAULT);
}

TEST(a_validator_that_rejects_an_override_uncovers_the_value_below) {
  pd_flag *flag = define_int("level", 2);
  assign(flag, "6", &argv3);
  CHECK_OK(pd_flag_set_int64(flag, 7, &err));
  pd_override number = push_override(flag, "5");
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.validate = accept_even;
  CHECK_STATUS(pd_flag_replace(&def, NULL, 0, &flag, &err), PD_ERR_REFUSED,
               "level=5: it must be even");
  CHECK(calls == 3); /* the override, the value of the program, that of the command line */
  CHECK_STR(text_of(flag), "6");
  CHECK(flag_entry(flag, 0).origin.source == PD_SOURCE_ARGV);
  CHECK_OK(pd_override_pop(number, &err));
  CHECK_STR(text_of(flag), "6");
}

TEST(a_kept_value_of_a_frozen_flag_is_checked_too_and_the_flag_stays_frozen) {
  pd_flag *flag = define_int("level", 2);
  CHECK_OK(pd_flag_set_int64(flag, 4, &err));
  CHECK_OK(pd_flag_freeze(flag, &err));
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.validate = accept_even;
  replace(&def);
  CHECK_STR(text_of(flag), "4");
  CHECK_STATUS(pd_flag_set_int64(flag, 6, &err), PD_ERR_FROZEN, "level: is frozen");
}

/* ---- Replacing ---- */

TEST(a_name_that_is_free_is_defined) { CHECK_STR(text_of(replace_int("fresh", 3)), "3"); }

TEST(the_new_definition_has_the_handle_and_the_values_that_were_given) {
  pd_flag *flag = define_int("level", 3);
  CHECK_OK(pd_flag_set_default(flag, "8", &err));
  CHECK(replace_int("level", 4) == flag);
  CHECK_STR(text_of(flag), "4");
  assign(flag, "5", &argv3);
  pd_flag_def def = definition(PD_TYPE_string, "level");
  def.default_value.str = "none";
  CHECK(replace(&def) == flag);
  CHECK_STR(text_of(flag), "5");
  CHECK(flag_entry(flag, 0).origin.source == PD_SOURCE_ARGV);
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK_STR(text_of(flag), "none");
}

TEST(the_same_definition_again_drops_the_default_that_was_set) {
  pd_flag *flag = define_int("level", 3);
  CHECK_OK(pd_flag_set_default(flag, "8", &err));
  replace_int("level", 3);
  CHECK_STR(text_of(flag), "3");
}

TEST(a_refused_definition_changes_nothing) {
  pd_flag *flag = define_int("level", 3), *other = define_int("other", 1);
  pd_hook hook;
  CHECK_OK(pd_flag_set_default(flag, "8", &err));
  CHECK_OK(pd_watcher_add(flag, count_call, NULL, NULL, &hook, &err));
  pd_flag_def def = definition(PD_TYPE_bool, "level");
  def.aliases = "depth|other";
  pd_flag *out = other;
  CHECK_STATUS(pd_flag_replace(&def, &hook, 1, &out, &err), PD_ERR_CONFLICT,
               "'other' is already defined, int64; refused: as an alias of 'level', bool");
  CHECK(out == other);
  CHECK_STR(text_of(flag), "8");
  CHECK_OK(pd_flag_set_int64(flag, 4, &err));
  CHECK(calls == 1);
  CHECK(pd_flag_find("depth", &out, NULL) == PD_ERR_UNDEFINED);
  def = definition(PD_TYPE_int64, "level");
  def.min.i64 = 5;
  CHECK(pd_flag_replace(&def, &hook, 1, &out, &err) == PD_ERR_RANGE);
  CHECK_STR(text_of(flag), "4");
}

TEST(the_aliases_are_those_of_the_new_definition) {
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.aliases = "depth|height";
  pd_flag *flag = replace(&def), *found = NULL;
  def.aliases = "height|width";
  CHECK(replace(&def) == flag);
  CHECK(pd_flag_find("depth", &found, NULL) == PD_ERR_UNDEFINED);
  CHECK(find_flag("height") == flag);
  CHECK(find_flag("width") == flag);
  CHECK(define_int("depth", 1) != flag);
}

TEST(a_definition_may_not_have_a_name_twice) {
  define_int("level", 3);
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.aliases = "level";
  CHECK_STATUS(pd_flag_replace(&def, NULL, 0, NULL, &err), PD_ERR_CONFLICT,
               "'level' is named twice in one definition: int64");
}

TEST(the_old_definition_is_no_negation_of_the_new_one) {
  pd_flag_def def = definition(PD_TYPE_int64, "x");
  def.aliases = "nox";
  pd_flag *flag = replace(&def);
  def = definition(PD_TYPE_bool, "x");
  CHECK(replace(&def) == flag);
  pd_flag *other = define_flag(PD_TYPE_int64, "y");
  CHECK(other);
  CHECK_STATUS(pd_flag_replace(&(pd_flag_def){.size = 0}, NULL, 0, NULL, &err), PD_ERR_ABI,
               "a definition has 0 bytes, expected 104 or more");
  def = definition(PD_TYPE_int64, "nox");
  CHECK(pd_flag_replace(&def, NULL, 0, NULL, &err) == PD_ERR_CONFLICT);
}

TEST(an_alias_of_another_flag_is_not_replaced) {
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.aliases = "depth";
  replace(&def);
  def = definition(PD_TYPE_int64, "depth");
  CHECK_STATUS(pd_flag_replace(&def, NULL, 0, NULL, &err), PD_ERR_CONFLICT,
               "'depth' is already an alias of 'level', int64; refused: int64");
}

TEST(an_import_follows_the_new_definition_and_refuses_another_type) {
  pd_flag *flag = define_int("imported", 5);
  replace_int("imported", 6);
  CHECK(FLAGS_imported == 6);
  pd_flag_def def = definition(PD_TYPE_int32, "imported");
  CHECK(pd_flag_replace(&def, NULL, 0, &flag, &err) == PD_ERR_TYPE);
  CHECK(FLAGS_imported == 6);
  CHECK_OK(pd_flag_set_int64(flag, 9, &err));
  CHECK(FLAGS_imported == 9);
}

TEST(an_import_by_an_alias_that_is_gone_waits_for_that_name) {
  pd_flag_def def = definition(PD_TYPE_int64, "renamed");
  def.old_names = "old_imported";
  pd_flag *flag = replace(&def);
  CHECK(FLAGS_old_imported == 0);
  def.old_names = NULL;
  replace(&def);
  CHECK(FLAGS_old_imported == 78);
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  CHECK(FLAGS_old_imported == 78);
  define_int("old_imported", 6);
  CHECK(FLAGS_old_imported == 6);
}

TEST(the_variable_of_the_old_definition_is_left_alone) {
  static int64_t mine = 3, fresh;
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.default_value.i64 = 3;
  def.cell = &mine;
  pd_flag *flag = replace(&def);
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  CHECK(mine == 5);
  def.cell = &fresh;
  replace(&def);
  CHECK(fresh == 5);
  CHECK_OK(pd_flag_set_int64(flag, 6, &err));
  CHECK(mine == 5 && fresh == 6);
}

TEST(a_value_that_was_assigned_to_the_old_variable_is_kept) {
  static int64_t mine = 3;
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.default_value.i64 = 3;
  def.cell = &mine;
  def.assignable = true;
  pd_flag *flag = replace(&def);
  mine = 8;
  replace_int("level", 4);
  CHECK_STR(text_of(flag), "8");
  CHECK(!(*pd_flag_get_state(flag) & 0x80));
}

TEST(a_required_flag_may_become_one_that_is_not) {
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.required = true;
  replace(&def);
  CHECK(pd_flags_validate(NULL, &err) == PD_ERR_REFUSED);
  def.required = false;
  replace(&def);
  CHECK_OK(pd_flags_validate(NULL, &err));
  def.required = true;
  CHECK_OK(pd_flag_unregister(replace(&def), &err));
  CHECK_OK(pd_flags_validate(NULL, &err));
}

TEST(texts_of_the_old_definition_can_still_be_read) {
  char help[] = "the first one";
  pd_flag_def def = definition(PD_TYPE_string, "mode");
  def.help = help;
  def.default_value.str = "fast";
  pd_flag *flag = replace(&def);
  pd_flag_info info = flag_info(flag);
  const char *const *address = pd_flag_get_address(flag), *value = *address;
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK_STR(info.help, "the first one");
  CHECK_STR(info.name, "mode");
  CHECK_STR(value, "fast");
  CHECK_STR(*address, "fast");
}

/* ---- Threads ---- */

#define ROUNDS 300

static pd_flag *shared;
static bool done;

static bool is_over(void) { return __atomic_load_n(&done, __ATOMIC_RELAXED); }

static void *read_on(void *unused) {
  const uint8_t *state = pd_flag_get_state(shared);
  while (!is_over()) {
    int64_t number = 0;
    const char *text = NULL;
    pd_error own;
    if (pd_flag_get_int64(shared, &number, NULL) == PD_OK) CHECK(number >= 0 && number < 1000);
    if (pd_flag_get_string(shared, &text, &own) == PD_OK) CHECK(strlen(text) < 8);
    pd_flag_info info = {.size = sizeof info};
    if (pd_flag_get_info(shared, &info, &own) == PD_OK) CHECK(strlen(info.help) == 4);
    uint8_t now = __atomic_load_n(state, __ATOMIC_RELAXED);
    CHECK(now == 0 || now == PD_TYPE_int64 || now == PD_TYPE_string);
  }
  return unused;
}

static void *set_on(void *unused) {
  for (int i = 0; !is_over(); i++) {
    char text[16];
    snprintf(text, sizeof text, "%d", i % 1000);
    pd_flag_set_from_string(shared, text, NULL);
    pd_flag_set_int64(shared, i % 1000, NULL);
    pd_override over;
    pd_assignment item = {.flag = shared, .text = text};
    if (pd_override_push(&item, 1, NULL, NULL, &over, NULL) == PD_OK) {
      CHECK(pd_override_pop(over, NULL) == PD_OK);
    }
  }
  return unused;
}

static bool accept_all_quietly(const pd_flag_entry *const *entries, void *context, char *why,
                               size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  return true;
}

static void *hook_on(void *unused) {
  while (!is_over()) {
    pd_hook hook;
    if (pd_validator_add(&shared, 1, accept_all_quietly, NULL, NULL, &hook, NULL) == PD_OK) {
      pd_hook_remove(hook, NULL); /* it may be gone with the flag */
    }
  }
  return unused;
}

TEST(threads_read_and_set_a_flag_while_another_undefines_and_redefines_it) {
  void *(*const works[])(void *) = {read_on, read_on, set_on, hook_on};
  pthread_t threads[sizeof works / sizeof *works];
  pd_flag_def number = definition(PD_TYPE_int64, "shared"), text = number;
  pd_flag_def_init(&text, sizeof text, PD_TYPE_string);
  text.name = "shared";
  number.help = "four";
  text.help = "text";
  text.default_value.str = "none";
  shared = replace(&number);
  for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
    CHECK(!pthread_create(&threads[i], NULL, works[i], NULL));
  }
  for (int i = 0; i < ROUNDS; i++) {
    pd_flag_def *def = i / 2 % 2 ? &text : &number;
    if (i % 3 == 0) CHECK_OK(pd_flag_unregister(shared, &err));
    pd_flag_replace(def, NULL, 0, NULL, NULL); /* "none" is no number */
  }
  __atomic_store_n(&done, true, __ATOMIC_RELAXED);
  for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
    CHECK(!pthread_join(threads[i], NULL));
  }
}

#ifdef __GLIBC__
#include <malloc.h>

TEST(defining_again_and_again_takes_no_more_memory) {
  pd_flag *flag = NULL;
  size_t before = 0;
  for (int i = 0; i < 20000; i++) {
    if (i == 100) before = mallinfo2().uordblks;
    flag = replace_int("turn", i % 2);
    if (i % 3 == 0) CHECK_OK(pd_flag_unregister(flag, &err));
  }
  CHECK(mallinfo2().uordblks < before + 10000);
}
#endif
