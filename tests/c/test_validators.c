/* Which validators are asked, about what, and what their rejections say.
 *
 * Built with: -I$SOURCES $LIBRARY
 */
#include "plugged.h"

#include <registry/change.h>
#include <registry/hook.h>

static pd_flag *a, *b;
static int asked;
static int64_t seen;

static void define_two(void) {
  a = define_flag(PD_TYPE_int64, "a");
  b = define_flag(PD_TYPE_int64, "b");
}

static bool is_small(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)why, (void)size;
  asked += !context;
  seen = entries[0]->value.i64;
  return seen < 100;
}

static bool refuse(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)why, (void)size;
  asked += !context;
  return !entries;
}

/* ---- Who is asked ---- */

TEST(a_validator_of_a_flag_that_has_left_is_not_asked) {
  define_two();
  pd_flag *both[] = {a, b};
  CHECK_OK(pd_validator_add(both, 2, refuse, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_unregister(b, &err));
  CHECK_OK(pd_flag_set_int64(a, 200, &err));
  CHECK_OK(pd_flags_validate(NULL, &err));
  CHECK(define_flag(PD_TYPE_string, "b") == b); /* of another type */
  CHECK_OK(pd_flag_set_int64(a, 201, &err));
  CHECK(asked == 0);
}

TEST(a_validator_of_flags_whose_module_has_left_is_not_asked) {
  begin();
  pd_module *module = load_module("alpha");
  define_two();
  pd_flag *flags[] = {a, b, find_flag("alpha_level")};
  CHECK_OK(pd_validator_add(flags, 3, refuse, NULL, NULL, NULL, &err));
  CHECK(pd_flag_set_int64(a, 200, &err) == PD_ERR_REFUSED && asked == 1);
  CHECK_OK(pd_module_unload(module, &err));
  if (!LOADER_UNMAPS) return;
  CHECK_OK(pd_flag_set_int64(a, 200, &err));
  CHECK_OK(pd_flags_validate(NULL, &err));
  CHECK(asked == 1);
  load_module("alpha");
  CHECK(pd_flag_set_int64(a, 201, &err) == PD_ERR_REFUSED && asked == 2);
}

TEST(a_validator_of_a_definition_is_asked_once_by_a_line_that_has_its_flag) {
  DEFINE(PD_TYPE_int64, "a", def.validate = is_small);
  CHECK_OK(parse_line("--a=5", NULL));
  CHECK(asked == 1 && seen == 5);
  CHECK_OK(parse_line("x", NULL));
  CHECK(asked == 2 && seen == 5);
}

TEST(a_default_that_is_given_is_validated_if_it_takes_effect) {
  define_two();
  CHECK_OK(pd_validator_add(&a, 1, is_small, NULL, NULL, NULL, &err));
  CHECK_STATUS(pd_flag_set_default(a, "200", &err), PD_ERR_REFUSED,
               "a=200: rejected by a validator in program");
  CHECK(seen == 200);
  CHECK_OK(pd_flag_set_int64(a, 5, &err));
  CHECK_OK(pd_flag_set_default(a, "200", &err));
  CHECK(seen == 5);
}

TEST(a_retired_flag_is_not_validated) {
  DEFINE(PD_TYPE_int64, "a", def.validate = refuse, def.retired = "since 2.0");
  CHECK_OK(pd_flags_validate(NULL, &err));
  CHECK(asked == 0);
}

TEST(nobody_is_asked_or_notified_about_a_value_of_a_retired_flag) {
  static const pd_origin file = {PD_SOURCE_FILE, 1, "a.conf", 0};
  a = DEFINE(PD_TYPE_int64, "a", def.retired = "since 2.0");
  pd_assignment item = {.flag = a, .text = "5"};
  CHECK_OK(pd_validator_add(&a, 1, refuse, NULL, NULL, NULL, &err));
  CHECK_OK(pd_batch_set(&item, 1, &file, NULL, &err));
  CHECK(asked == 0);
}

TEST(of_values_that_waited_the_one_that_takes_effect_is_validated) {
  pd_origin argv = {PD_SOURCE_ARGV, 1, NULL, 0}, file = {PD_SOURCE_FILE, 1, "a.conf", 0};
  CHECK_OK(pd_pending_set("late", "6", &file, &err));
  CHECK_OK(pd_pending_set("late", "7", &argv, &err));
  CHECK_OK(pd_pending_set("late", "200", &file, &err));
  CHECK_OK(pd_pending_set("late", "300", &file, &err));
  CHECK_STR(text_of(DEFINE(PD_TYPE_int64, "late", def.validate = is_small)), "7");
  CHECK(seen == 7);
}

static size_t sizes[2];
static bool note_sizes(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why;
  sizes[0] = entries[0]->size;
  sizes[1] = entries[1]->size;
  return size == 512;
}

TEST(a_value_that_waited_is_validated_also_after_startup) {
  CHECK_OK(parse_line("x", NULL));
  CHECK_OK(pd_pending_set("late", "7", NULL, &err));
  CHECK_STR(
      text_of(DEFINE(PD_TYPE_int64, "late", def.validate = is_small, def.startup_only = true)),
      "7");
  CHECK(asked == 1);
}

TEST(each_entry_has_its_size) {
  define_two();
  pd_flag *both[] = {a, b};
  CHECK_OK(pd_validator_add(both, 2, note_sizes, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_set_int64(a, 5, &err));
  CHECK(sizes[0] == sizeof(pd_flag_entry) && sizes[1] == sizeof(pd_flag_entry));
}

static pd_flag_entry entry_seen;
static bool note_entry(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)why, (void)size;
  entry_seen = *entries[0];
  return !context;
}

TEST(a_reset_under_an_override_is_shown_as_a_value_of_that) {
  define_two();
  push_override(a, "5");
  CHECK_OK(pd_validator_add(&a, 1, note_entry, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_reset(a, &err));
  CHECK(entry_seen.origin.source == PD_SOURCE_OVERRIDE && !entry_seen.unset);
  CHECK(entry_seen.value.i64 == 0 && !entry_seen.replaced);
}

/* ---- What comes in between ---- */

static bool set_again(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  if (asked++ == 1000) return true;
  return pd_flag_set_int64(a, entries[0]->value.i64 + 1, &err) == PD_OK;
}

TEST(a_circle_of_validators_ends_with_an_error) {
  define_two();
  CHECK_OK(pd_validator_add(&a, 1, set_again, NULL, NULL, NULL, &err));
  CHECK(pd_flag_set_int64(a, 1, NULL) == PD_ERR_REFUSED);
  CHECK(asked == 32);
}

static bool move_b(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  asked++;
  return pd_flag_set_int64(b, asked, &err) == PD_OK && entries[1]->value.i64 < 1000;
}

TEST(validators_are_asked_a_hundred_times_while_values_change) {
  define_two();
  pd_flag *both[] = {a, b};
  CHECK_OK(pd_validator_add(both, 2, move_b, NULL, NULL, NULL, &err));
  pd_error own;
  asked = 0;
  CHECK(pd_flag_set_int64(a, 1, &own) == PD_ERR_REFUSED);
  CHECK_STR(text_of(a), "0");
}

static bool freeze(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  asked++;
  return entries && pd_flag_freeze(a, &err) == PD_OK;
}

TEST(nobody_is_asked_again_about_a_flag_that_was_frozen_meanwhile) {
  pd_error_list *errors = pd_error_list_new();
  define_two();
  pd_assignment item = {.flag = a, .text = "5"};
  CHECK_OK(pd_validator_add(&a, 1, freeze, NULL, NULL, NULL, &err));
  CHECK(pd_batch_set(&item, 1, NULL, errors, NULL) == PD_ERR_FROZEN);
  CHECK(asked == 1 && pd_error_list_count(errors) == 1);
  pd_error_list_free(errors);
}

static const pd_flag_def *fresh; /* takes the place of the flag's definition, once */
static bool replace_once(const pd_flag_entry *const *entries, void *context, char *why,
                         size_t size) {
  (void)context, (void)why, (void)size;
  pd_flag *flag;
  const pd_flag_def *def = fresh;
  fresh = NULL;
  asked++;
  seen = entries[0]->value.i64;
  if (def) CHECK_OK(pd_flag_replace(def, NULL, 0, &flag, &err));
  return seen < 100;
}

TEST(a_value_is_dropped_although_its_flag_is_defined_anew_meanwhile) {
  pd_flag_def def = definition(PD_TYPE_int64, "a");
  a = register_flag(&def);
  CHECK_OK(pd_flag_set_int64(a, 5, &err));
  CHECK_OK(pd_validator_add(&a, 1, replace_once, NULL, NULL, NULL, &err));
  def.help = "another one";
  fresh = &def;
  CHECK_OK(pd_flag_drop(a, PD_SOURCE_RUNTIME, &err));
  CHECK(!fresh && asked == 2);
  CHECK_STR(text_of(a), "0");
}

TEST(a_value_is_checked_again_by_a_definition_that_came_meanwhile) {
  pd_flag_def def = definition(PD_TYPE_int64, "a");
  pd_error own;
  a = register_flag(&def);
  CHECK_OK(pd_validator_add(&a, 1, replace_once, NULL, NULL, NULL, &err));
  def.max.i64 = 3;
  fresh = &def;
  CHECK(pd_flag_set_int64(a, 5, &own) == PD_ERR_RANGE);
  CHECK_STR(own.message, "a=5: expected an integer <= 3");
  CHECK_OK(pd_flag_set_int64(a, 3, &err));
  def = definition(PD_TYPE_string, "a");
  fresh = &def;
  CHECK(pd_flag_set_int64(a, 2, &own) == PD_ERR_TYPE);
  CHECK_STR(own.message, "a: is string, not int64");
  CHECK_STR(text_of(a), "3");
}

TEST(a_flag_that_retires_meanwhile_keeps_its_value) {
  pd_flag_def def = definition(PD_TYPE_int64, "a");
  pd_origin file = {PD_SOURCE_FILE, 1, "a.conf", 0};
  pd_assignment item = {.flag = a = register_flag(&def), .text = "5"};
  CHECK_OK(pd_validator_add(&a, 1, replace_once, NULL, NULL, NULL, &err));
  def.retired = "since 2.0";
  fresh = &def;
  CHECK_OK(pd_batch_set(&item, 1, &file, NULL, &err));
  CHECK(asked == 2 && seen == 0);
  CHECK_STR(text_of(a), "0");
}

TEST(a_scope_that_is_checked_while_its_flag_retires_has_no_value_of_it) {
  pd_flag_def def = definition(PD_TYPE_int64, "a");
  pd_scope scope;
  def.scoped = true;
  pd_assignment item = {.flag = a = register_flag(&def), .text = "5"};
  CHECK_OK(pd_validator_add(&a, 1, replace_once, NULL, NULL, NULL, &err));
  def.retired = "since 2.0";
  fresh = &def;
  pd_status status = pd_scope_push(&item, 1, NULL, NULL, &scope, &err);
  CHECK(!fresh);
  CHECK_STR(text_of(a), "0");
  if (status == PD_OK) CHECK_OK(pd_scope_pop(scope, &err));
}

/* ---- Below an override that ends by itself ---- */

static void push_temporary(pd_flag *flag, int64_t value) {
  static const pd_origin origin = {PD_SOURCE_OVERRIDE, 0, NULL, 0};
  pd__report report = {.first = &err};
  pd__changes changes;
  PD__LOCKED_OPERATION(operation);
  pd__changes_begin(&changes, &operation, &report);
  changes.pushes = changes.temporary = true;
  pd_assignment item = {flag, NULL, PD_TYPE_int64, {.i64 = value}};
  pd__changes_add_assignments(&changes, &item, 1, &origin);
  CHECK_OK(pd__operation_return(&operation, pd__changes_validate_and_commit(&changes)));
}

static int warned;
static void count_warning(const char *message, pd_warning kind, void *context) {
  CHECK_STR(message, "a: takes effect when the temporary change by a client ends");
  warned += kind == PD_WARNING_HIDDEN && !context;
}

TEST(a_value_below_a_temporary_one_is_checked_as_what_the_flag_will_have) {
  pd_origin file = {PD_SOURCE_FILE, 1, "a.conf", 0};
  define_two();
  pd_assignment item = {.flag = a, .text = "200"};
  CHECK_OK(pd_flag_set_int64(a, 5, &err));
  push_temporary(a, 7);
  push_temporary(a, 9);
  CHECK_OK(pd_validator_add(&a, 1, is_small, NULL, NULL, NULL, &err));
  CHECK_OK(pd_batch_set(&item, 1, &file, NULL, &err));
  CHECK(seen == 5); /* which hides the value of the file */
  CHECK_STR(text_of(a), "9");
  CHECK(pd_flag_set_int64(a, 200, &err) == PD_ERR_REFUSED && seen == 200);
  CHECK_OK(pd_warning_handle(count_warning, NULL, &err));
  CHECK(warned == 0);
  CHECK_OK(pd_flag_set_int64(a, 6, &err));
  CHECK_OK(pd_flag_set_int64(a, 8, &err));
  CHECK(warned == 1 && seen == 8);
  CHECK_STR(text_of(a), "9");
}

TEST(a_value_of_the_program_below_none_is_that_of_its_override) {
  define_two();
  pd_override override = push_override(a, "3");
  push_temporary(a, 9);
  CHECK_OK(pd_flag_set_int64(a, 6, &err));
  CHECK_STR(text_of(a), "9");
  pd_flag_entry entry = flag_entry(a, 1);
  CHECK(entry.value.i64 == 6 && entry.origin.source == PD_SOURCE_OVERRIDE);
  CHECK_OK(pd_override_pop(override, &err));
  CHECK_STR(text_of(a), "9");
}

/* ---- What is required ---- */

TEST(what_a_required_flag_expects_is_said_unless_it_is_any_text) {
  pd_flag *flag = DEFINE(PD_TYPE_string, "sizes", def.required = true, def.list = PD_TYPE_int64);
  CHECK(pd_flags_validate(NULL, &err) == PD_ERR_REFUSED);
  CHECK(!strncmp(err.message, "--sizes: is required, expected a list separated by commas", 57));
  CHECK_OK(pd_flag_unregister(flag, &err));
  flag = DEFINE(PD_TYPE_string, "mode", def.required = true, def.choices = "fast|best",
                def.default_value.str = "fast");
  CHECK_STATUS(pd_flags_validate(NULL, &err), PD_ERR_REFUSED,
               "--mode: is required, expected one of fast, best");
  CHECK_OK(pd_flag_unregister(flag, &err));
  DEFINE(PD_TYPE_string, "name", def.required = true);
  CHECK_STATUS(pd_flags_validate(NULL, &err), PD_ERR_REFUSED, "--name: is required");
}

/* ---- Groups ---- */

static void check_group(pd_group group, pd_flag **flags, bool of_a, bool of_b, bool good) {
  pd_hook hook;
  pd_override override;
  pd_assignment items[] = {{flags[0], NULL, PD_TYPE_bool, {.b = of_a}},
                           {flags[1], NULL, PD_TYPE_bool, {.b = of_b}}};
  CHECK_OK(pd_group_add(group, flags, 2, &hook, &err));
  pd_status status = pd_override_push(items, 2, NULL, NULL, &override, &err);
  CHECK(status == (good ? PD_OK : PD_ERR_REFUSED));
  if (good) CHECK_OK(pd_override_pop(override, &err));
  CHECK_OK(pd_hook_remove(hook, &err));
}

TEST(false_is_given_in_groups_that_exclude_nothing) {
  pd_flag *flags[] = {define_flag(PD_TYPE_bool, "fast"), define_flag(PD_TYPE_bool, "slow")};
  check_group(PD_GROUP_AT_MOST_ONE, flags, false, true, true);
  check_group(PD_GROUP_AT_MOST_ONE, flags, false, false, true);
  check_group(PD_GROUP_AT_MOST_ONE, flags, true, true, false);
  check_group(PD_GROUP_EXACTLY_ONE, flags, false, true, true);
  check_group(PD_GROUP_EXACTLY_ONE, flags, false, false, false);
  check_group(PD_GROUP_EXACTLY_ONE, flags, true, true, false);
  check_group(PD_GROUP_AT_LEAST_ONE, flags, false, false, true);
  check_group(PD_GROUP_ALL, flags, false, false, true);
  check_group(PD_GROUP_ALL_OR_NONE, flags, false, true, true);
}

TEST(a_group_of_no_flags_is_refused) {
  a = define_flag(PD_TYPE_int64, "a");
  CHECK_STATUS(pd_group_add(PD_GROUP_ALL, &a, 0, NULL, &err), PD_ERR_ARGUMENT,
               "count is 0, expected some flags");
  CHECK_STATUS(pd_group_add(PD_GROUP_ALL, NULL, 1, NULL, &err), PD_ERR_ARGUMENT, "flags is NULL");
  CHECK_STATUS(pd_group_add((pd_group)5, &a, 1, NULL, &err), PD_ERR_ARGUMENT,
               "group is 5, expected a pd_group");
}

/* ---- Where values come from ---- */

TEST(a_default_of_a_file_is_called_default) {
  pd_flag_def def = definition(PD_TYPE_int64, "a");
  def.file = "a.c";
  def.line = 12;
  pd_flag *flags[] = {register_flag(&def), NULL};
  def.name = "b";
  flags[1] = register_flag(&def);
  CHECK_OK(pd_validator_add(flags, 2, refuse, NULL, NULL, NULL, &err));
  CHECK_STATUS(pd_flag_set_int64(flags[0], 1, &err), PD_ERR_REFUSED,
               "--a=1 (run time), --b=0 (default): rejected by a validator in program");
}

/* ---- Whether there is anybody to ask ---- */

TEST(validators_are_counted_as_they_come_and_go) {
  pd_hook hook;
  pd_flag_def def = definition(PD_TYPE_int64, "c");
  CHECK(!pd__hooks_can_have_validators());
  define_two();
  CHECK(!pd__hooks_can_have_validators());
  CHECK_OK(pd_validator_add(&a, 1, is_small, NULL, NULL, &hook, &err));
  CHECK(pd__hooks_can_have_validators());
  CHECK_OK(pd_hook_remove(hook, &err));
  CHECK(!pd__hooks_can_have_validators());
  def.validate = is_small;
  pd_flag *flag = register_flag(&def);
  CHECK(pd__hooks_can_have_validators());
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(!pd__hooks_can_have_validators());
  def.validate = NULL;
  def.required = true;
  flag = register_flag(&def);
  CHECK(pd__hooks_can_have_validators());
}

static uint32_t count_validators(const pd_flag *flag) { return flag_info(flag).validators; }

TEST(a_flag_says_how_many_validators_it_has) {
  define_two();
  pd_flag *both[] = {a, b};
  pd_hook hook;
  CHECK(count_validators(DEFINE(PD_TYPE_int64, "c", def.validate = is_small)) == 1);
  CHECK_OK(pd_validator_add(both, 2, is_small, NULL, NULL, &hook, &err));
  CHECK_OK(pd_validator_add(&a, 1, is_small, NULL, NULL, NULL, &err));
  CHECK(count_validators(a) == 2 && count_validators(b) == 1);
  CHECK_OK(pd_hook_remove(hook, &err));
  CHECK(count_validators(a) == 1 && count_validators(b) == 0);
}

TEST(a_validator_without_a_reason_is_named_by_the_last_part_of_its_path) {
  static const char *const paths[][2] = {
      {"a/b.so", "b.so"}, {"c.so", "c.so"}, {"d\\e.dll", "e.dll"}};
  define_two();
  for (size_t i = 0; i < 3; i++) {
    char expected[128];
    pd_hook hook;
    uintptr_t address = (uintptr_t)refuse;
    pd__platform_image image = {.path = paths[i][0], .low = address, .high = address + 1};
    image.stays = true;
    CHECK(pd__module_add(&image));
    CHECK_OK(pd_validator_add(&a, 1, refuse, NULL, NULL, &hook, &err));
    snprintf(expected, sizeof expected, "a=1: rejected by a validator in %s", paths[i][1]);
    CHECK_STATUS(pd_flag_set_int64(a, 1, &err), PD_ERR_REFUSED, expected);
    CHECK_OK(pd_hook_remove(hook, &err));
  }
}

TEST(a_long_subject_leaves_room_for_the_reason) {
  char name[PD_NAME_MAX + 1], place[256], value[200];
  memset(name, 'n', PD_NAME_MAX);
  memset(place, 'p', 255);
  memset(value, 'v', 199);
  name[PD_NAME_MAX] = place[255] = value[199] = '\0';
  pd_origin file = {PD_SOURCE_FILE, 4000000000, place, 4000000000};
  pd_assignment item = {.flag = define_flag(PD_TYPE_string, name), .text = value};
  CHECK_OK(pd_validator_add(&item.flag, 1, refuse, NULL, NULL, NULL, &err));
  CHECK(pd_batch_set(&item, 1, &file, NULL, &err) == PD_ERR_REFUSED);
  const char *end = strstr(err.message, "...: rejected by a validator in program");
  CHECK(end && end - err.message == 600 - 4);
}
