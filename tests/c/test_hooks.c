/* Validators, groups and watchers.
 * Also built with (tsan): -fsanitize=thread $LIBRARY
 */
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"

static pd_flag *a, *b;
static int asked, told, released;
static int64_t seen[2];
static pd_source seen_source;

static void define_two(void) {
  a = define_flag(PD_TYPE_int64, "a");
  b = define_flag(PD_TYPE_int64, "b");
}

static void release(void *context) {
  released++;
  free(context);
}

/* Small numbers alone; `a` at most `b`, where both are shown. */
static bool is_small(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  asked++;
  seen[0] = entries[0]->value.i64;
  seen_source = entries[0]->origin.source;
  if (seen[0] < 100) return true;
  snprintf(why, size, "expected less than 100");
  return false;
}

static bool in_order(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  asked++;
  seen[0] = entries[0]->value.i64;
  seen[1] = entries[1]->value.i64;
  return seen[0] <= seen[1];
}

static void count(pd_flag *flag, void *context) {
  CHECK(context == &told);
  CHECK_OK(pd_flag_get_int64(flag, &seen[0], &err));
  told++;
}

static pd_hook guard(pd_flag *flag) {
  pd_hook hook;
  CHECK_OK(pd_validator_add(&flag, 1, is_small, malloc(1), release, &hook, &err));
  return hook;
}

/* ---- Validators ---- */

TEST(a_validator_refuses_a_value_from_every_source_and_nothing_changes) {
  define_two();
  guard(a);
  CHECK_OK(pd_flag_set_int64(a, 5, &err));
  CHECK(asked == 1 && seen_source == PD_SOURCE_RUNTIME);
  const char *why = "a=100: expected less than 100";
  CHECK_STATUS(pd_flag_set_int64(a, 100, &err), PD_ERR_REFUSED, why);
  CHECK_STATUS(pd_flag_set_from_string(a, "100", &err), PD_ERR_REFUSED, why);
  pd_assignment items[] = {{.flag = b, .text = "7"}, {.flag = a, .text = "100"}};
  CHECK_STATUS(pd_batch_set(items, 2, NULL, NULL, &err), PD_ERR_REFUSED, why);
  pd_override override;
  CHECK_STATUS(pd_override_push(items, 2, NULL, NULL, &override, &err), PD_ERR_REFUSED, why);
  CHECK_STATUS(pd_pending_set("a", "100", NULL, &err), PD_ERR_REFUSED, why);
  CHECK_OK(pd_flag_reset(a, &err));
  CHECK_STATUS(parse_line("--b=7 --a=100", NULL), PD_ERR_REFUSED,
               "--a=100: expected less than 100");
  setenv("X_a", "100", 1);
  CHECK_STATUS(pd_environment_enable("X_", NULL, &err), PD_ERR_REFUSED,
               "environment: X_a=100: expected less than 100");
  pd_config *config = config_of(PD_SOURCE_FILE);
  pd_origin origin = {PD_SOURCE_FILE, 3, "x.toml", 5};
  CHECK_OK(pd_config_add(config, "a", "100", (pd_type)0, &origin, &err));
  CHECK_STATUS(pd_config_apply(config, false, NULL, &err), PD_ERR_REFUSED,
               "x.toml:3:5: --a=100: expected less than 100");
  pd_config_free(config);
  CHECK(value_of(a) == 0 && value_of(b) == 0);
}

TEST(a_validator_is_asked_about_a_value_that_waited_for_its_flag) {
  pd_origin origin = {PD_SOURCE_ARGV, 1, NULL, 0};
  CHECK_OK(pd_pending_set("late", "101", &origin, &err));
  pd_flag_def def = definition(PD_TYPE_int64, "late");
  def.validate = is_small;
  CHECK_STATUS(pd_flag_register(&def, &a, &err), PD_ERR_REFUSED,
               "--late=101: expected less than 100");
  CHECK(value_of(a) == 0 && asked == 1);
}

TEST(a_value_that_stays_hidden_isnt_shown_to_validators) {
  define_two();
  guard(a);
  CHECK_OK(pd_flag_set_int64(a, 5, &err));
  CHECK_OK(parse_line("--a=200", NULL));
  CHECK(seen[0] == 5 && value_of(a) == 5);
  CHECK_STATUS(pd_flag_drop(a, PD_SOURCE_RUNTIME, &err), PD_ERR_REFUSED,
               "--a=200: expected less than 100");
  CHECK(value_of(a) == 5);
}

TEST(a_validator_sees_a_new_value_that_comes_to_light_with_it) {
  define_two();
  pd_origin origin = {PD_SOURCE_FILE, 1, "x.toml", 1};
  const char *texts[] = {"7", "200", "9"};
  for (int i = 0; i < 3; i++) {
    pd_config *config = config_of(PD_SOURCE_FILE);
    CHECK_OK(pd_config_add(config, "a", "1", 0, &origin, &err));
    CHECK_OK(pd_config_add(config, "a", texts[i], 0, &origin, &err));
    if (i == 1) guard(a);
    pd_status status = pd_config_apply(config, false, NULL, &err);
    CHECK(status == (i == 1 ? PD_ERR_REFUSED : PD_OK));
    pd_config_free(config);
  }
  CHECK(seen[0] == 9 && value_of(a) == 9 && asked == 2);
}

TEST(a_reset_asks_about_the_default) {
  a = DEFINE(PD_TYPE_int64, "a", def.default_value.i64 = 500);
  CHECK_OK(pd_flag_set_int64(a, 1, &err));
  guard(a);
  CHECK_STATUS(pd_flag_reset(a, &err), PD_ERR_REFUSED, "a=500: expected less than 100");
  CHECK(value_of(a) == 1);
}

TEST(a_validator_of_two_flags_sees_what_both_are_to_be) {
  define_two();
  pd_flag *both[] = {a, b};
  CHECK_OK(pd_validator_add(both, 2, in_order, NULL, NULL, NULL, &err));
  CHECK_STATUS(pd_flag_set_int64(a, 3, &err), PD_ERR_REFUSED,
               "--a=3 (run time), --b=0 (default): rejected by a validator in program");
  pd_assignment items[] = {{.flag = a, .text = "3"}, {.flag = b, .text = "4"}};
  asked = 0;
  CHECK_OK(pd_batch_set(items, 2, NULL, NULL, &err));
  CHECK(asked == 1 && seen[0] == 3 && seen[1] == 4);
  CHECK_STATUS(pd_flag_set_int64(b, 2, &err), PD_ERR_REFUSED,
               "--a=3 (run time), --b=2 (run time): rejected by a validator in program");
}

TEST(a_refusal_of_several_flags_tells_their_values_and_where_they_come_from) {
  pd_flag_def def = definition(PD_TYPE_string, "secret");
  define_two();
  def.sensitive = true;
  pd_flag *flags[] = {a, b, NULL};
  pd_origin origins[] = {{PD_SOURCE_FILE, 3, "some.conf", 7}, {PD_SOURCE_ENVIRONMENT, 0, "X_b", 0}};
  CHECK_OK(pd_flag_register(&def, &flags[2], &err));
  pd_assignment items[] = {{.flag = a, .text = "3"}, {.flag = b, .text = "2"}};
  pd_assignment secret = {.flag = flags[2], .text = "key"};
  CHECK_OK(pd_batch_set(&secret, 1, &origins[0], NULL, &err));
  for (size_t i = 0; i < 2; i++) CHECK_OK(pd_batch_set(&items[i], 1, &origins[i], NULL, &err));
  CHECK_OK(pd_validator_add(flags, 3, in_order, NULL, NULL, NULL, &err));
  CHECK_STATUS(pd_flags_validate(NULL, &err), PD_ERR_REFUSED,
               "--a=3 (some.conf:3), --b=2 ($X_b), --secret=<redacted> (some.conf:3): rejected by "
               "a validator in program");
}

TEST(lists_of_flags_are_cut_between_flags) {
  pd_flag *flags[40];
  for (int i = 0; i < 40; i++) {
    char name[32];
    snprintf(name, sizeof name, "flag_with_number_%d", i);
    flags[i] = define_flag(PD_TYPE_int64, name);
  }
  CHECK_OK(pd_group_add(PD_GROUP_AT_LEAST_ONE, flags, 40, NULL, &err));
  CHECK(pd_flags_validate(NULL, &err) == PD_ERR_REFUSED);
  CHECK(strstr(err.message, ", --flag_with_number_10, ... must be given"));
  CHECK_OK(pd_validator_add(flags, 40, in_order, NULL, NULL, NULL, &err));
  CHECK(pd_flag_set_int64(flags[0], 3, &err) == PD_ERR_REFUSED);
  CHECK(strstr(err.message, "_2=0 (default), "));
  CHECK(strstr(err.message, "=0 (default), ...: rejected by a validator in program"));
}

TEST(several_validators_of_a_flag_are_all_asked_and_all_refusals_are_told) {
  define_two();
  pd_flag *both[] = {a, b};
  pd_error_list *errors = pd_error_list_new();
  pd_assignment item = {.flag = a, .text = "100"};
  guard(a);
  CHECK_OK(pd_validator_add(both, 2, in_order, NULL, NULL, NULL, &err));
  CHECK(pd_batch_set(&item, 1, NULL, errors, &err) == PD_ERR_REFUSED);
  CHECK(pd_error_list_count(errors) == 2);
  pd_error_list_free(errors);
}

TEST(the_end_of_a_layer_asks_nobody) {
  define_two();
  CHECK_OK(pd_flag_set_int64(a, 500, &err));
  pd_override override = push_override(a, "1");
  guard(a);
  CHECK_OK(pd_override_pop(override, &err));
  CHECK(asked == 0 && value_of(a) == 500);
  CHECK_STATUS(pd_flags_validate(NULL, &err), PD_ERR_REFUSED, "a=500: expected less than 100");
}

TEST(a_command_line_asks_all_validators_also_of_flags_that_it_doesnt_name) {
  a = DEFINE(PD_TYPE_int64, "port", def.default_value.i64 = 1000);
  guard(a);
  CHECK_STATUS(parse_line("x", NULL), PD_ERR_REFUSED, "port=1000: expected less than 100");
  CHECK_OK(parse_line("--port=3", NULL));
}

static bool accepts(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  return true;
}

static bool sets_b(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)why, (void)size, (void)context;
  CHECK_OK(pd_flag_set_int64(b, entries[0]->value.i64 * 2, &err));
  return true;
}

TEST(a_validator_may_read_and_set_other_flags) {
  define_two();
  CHECK_OK(pd_validator_add(&a, 1, sets_b, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_set_int64(a, 21, &err));
  CHECK(value_of(a) == 21 && value_of(b) == 42);
}

static bool moves_b(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)why, (void)size, (void)context, (void)entries;
  asked++;
  if (asked < 3) CHECK_OK(pd_flag_set_int64(b, asked, &err));
  return true;
}

TEST(validators_are_asked_again_when_values_have_changed_meanwhile) {
  define_two();
  pd_flag *both[] = {a, b};
  CHECK_OK(pd_validator_add(both, 2, in_order, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_set_int64(b, 9, &err));
  CHECK_OK(pd_validator_add(&a, 1, moves_b, NULL, NULL, NULL, &err));
  asked = 0;
  CHECK_STATUS(pd_flag_set_int64(a, 8, &err), PD_ERR_REFUSED,
               "--a=8 (run time), --b=2 (run time): rejected by a validator in program");
  CHECK(value_of(a) == 0);
}

static bool always_moves_b(const pd_flag_entry *const *entries, void *context, char *why,
                           size_t size) {
  (void)why, (void)size, (void)context, (void)entries;
  CHECK_OK(pd_flag_set_int64(b, ++asked, &err));
  return true;
}

TEST(values_that_change_all_the_time_while_validators_run_are_an_error) {
  define_two();
  pd_flag *both[] = {a, b};
  CHECK_OK(pd_flag_set_int64(b, 9, &err));
  CHECK_OK(pd_validator_add(both, 2, accepts, NULL, NULL, NULL, &err));
  CHECK_OK(pd_validator_add(&a, 1, always_moves_b, NULL, NULL, NULL, &err));
  CHECK_STATUS(pd_flag_set_int64(a, 8, &err), PD_ERR_REFUSED,
               "values kept changing while validators checked them");
  CHECK(value_of(a) == 0 && asked == 100);
}

static bool freezes(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)why, (void)size, (void)context, (void)entries;
  CHECK_OK(pd_flag_freeze(a, &err));
  return true;
}

TEST(a_flag_that_is_frozen_while_validators_run_stays_as_it_is) {
  define_two();
  CHECK_OK(pd_validator_add(&a, 1, freezes, NULL, NULL, NULL, &err));
  CHECK_STATUS(pd_flag_set_int64(a, 8, &err), PD_ERR_FROZEN, "a: is frozen");
  CHECK(value_of(a) == 0);
}

TEST(a_hook_is_removed_once_and_its_context_is_released_once) {
  define_two();
  pd_hook hook = guard(a);
  CHECK_OK(pd_hook_remove(hook, &err));
  CHECK(released == 1);
  CHECK_STATUS(pd_hook_remove(hook, &err), PD_ERR_ARGUMENT,
               "no hook has the number 1, or it is already removed");
  CHECK_OK(pd_flag_set_int64(a, 1000, &err));
  CHECK(asked == 0 && released == 1);
}

static pd_hook own;
static bool removes_itself(const pd_flag_entry *const *entries, void *context, char *why,
                           size_t size) {
  (void)why, (void)size, (void)entries;
  CHECK_OK(pd_hook_remove(own, &err));
  CHECK(released == 0);
  *(char *)context = 1;
  return true;
}

TEST(a_validator_that_removes_itself_keeps_its_context_to_the_end) {
  define_two();
  CHECK_OK(pd_validator_add(&a, 1, removes_itself, malloc(1), release, &own, &err));
  CHECK_OK(pd_flag_set_int64(a, 1, &err));
  CHECK(released == 1);
}

TEST(what_cant_be_a_hook_is_refused) {
  define_two();
  pd_flag *none[] = {a, NULL};
  CHECK(pd_validator_add(NULL, 1, is_small, NULL, NULL, NULL, &err) == PD_ERR_ARGUMENT);
  CHECK_STATUS(pd_validator_add(&a, 0, is_small, NULL, NULL, NULL, &err), PD_ERR_ARGUMENT,
               "count is 0, expected some flags");
  CHECK(pd_validator_add(&a, 1, NULL, NULL, NULL, NULL, &err) == PD_ERR_ARGUMENT);
  CHECK(pd_watcher_add(a, NULL, NULL, NULL, NULL, &err) == PD_ERR_ARGUMENT);
  CHECK_STATUS(pd_validator_add(none, 2, is_small, NULL, NULL, NULL, &err), PD_ERR_ARGUMENT,
               "flags[1] is NULL");
  CHECK_STATUS(pd_group_add((pd_group)9, &a, 1, NULL, &err), PD_ERR_ARGUMENT,
               "group is 9, expected a pd_group");
}

/* ---- Groups and required flags ---- */

static void check_group(pd_group group, const char *none, const char *one, const char *both) {
  const char *expected[] = {none, one, both};
  pd_flag *flags[] = {a, b};
  pd_hook hook;
  CHECK_OK(pd_group_add(group, flags, 2, &hook, &err));
  for (int given = 0; given <= 2; given++) {
    pd_assignment items[] = {{.flag = a, .text = "1"}, {.flag = b, .text = "1"}};
    pd_override override;
    pd_status status = given ? pd_override_push(items, (size_t)given, NULL, NULL, &override, &err)
                             : pd_flags_validate(NULL, &err);
    CHECK(status == (expected[given] ? PD_ERR_REFUSED : PD_OK));
    if (expected[given]) CHECK_STR(err.message, expected[given]);
    if (given && status == PD_OK) CHECK_OK(pd_override_pop(override, &err));
  }
  CHECK_OK(pd_hook_remove(hook, &err));
}

TEST(a_group_tells_what_must_be_given_and_what_is) {
  define_two();
  check_group(PD_GROUP_AT_MOST_ONE, NULL, NULL,
              "at most one of --a, --b can be given; given: --a=1 (override), --b=1 (override)");
  check_group(PD_GROUP_AT_LEAST_ONE, "at least one of --a, --b must be given", NULL, NULL);
  check_group(PD_GROUP_EXACTLY_ONE, "exactly one of --a, --b must be given", NULL,
              "exactly one of --a, --b must be given; given: --a=1 (override), --b=1 (override)");
  check_group(PD_GROUP_ALL, "--a, --b must be given",
              "--a, --b must be given; given: --a=1 (override)", NULL);
  check_group(PD_GROUP_ALL_OR_NONE, NULL,
              "--a, --b must be given together, or none of them; given: --a=1 (override)", NULL);
}

TEST(a_bool_that_is_false_excludes_no_other_flag) {
  pd_flag_def fast = definition(PD_TYPE_bool, "fast"), slow = definition(PD_TYPE_bool, "slow");
  pd_flag *flags[2];
  CHECK_OK(pd_flag_register(&fast, &flags[0], &err));
  CHECK_OK(pd_flag_register(&slow, &flags[1], &err));
  CHECK_OK(pd_group_add(PD_GROUP_EXACTLY_ONE, flags, 2, NULL, &err));
  CHECK(pd_flag_set_bool(flags[0], false, &err) == PD_ERR_REFUSED);
  CHECK_OK(pd_flag_set_bool(flags[1], true, &err));
  CHECK_OK(pd_flag_set_bool(flags[0], false, &err));
  CHECK(pd_flag_set_bool(flags[0], true, &err) == PD_ERR_REFUSED);
}

TEST(a_required_flag_must_be_on_the_line_or_have_a_value_before) {
  a = DEFINE(PD_TYPE_int32, "port", def.required = true, def.min.i64 = 1,
             def.default_value.i64 = 1);
  CHECK_STATUS(parse_line("x", NULL), PD_ERR_REFUSED,
               "--port: is required, expected an integer >= 1");
  CHECK_OK(parse_line("--port=1", NULL));
  CHECK_OK(parse_line("x", NULL));
  DEFINE(PD_TYPE_string, "data_dir", def.required = true);
  CHECK_STATUS(parse_line("x", NULL), PD_ERR_REFUSED, "--data_dir: is required");
}

/* ---- Watchers ---- */

TEST(a_watcher_is_told_of_every_change_and_of_nothing_else) {
  define_two();
  CHECK_OK(pd_watcher_add(a, count, &told, NULL, NULL, &err));
  CHECK_OK(pd_flag_set_int64(a, 3, &err));
  CHECK(told == 1 && seen[0] == 3);
  CHECK_OK(pd_flag_set_int64(a, 3, &err));
  CHECK_OK(parse_line("--a=5", NULL)); /* hidden */
  CHECK_OK(pd_flag_set_int64(b, 3, &err));
  CHECK(pd_flag_set_from_string(a, "x", &err) != PD_OK);
  CHECK(told == 1);
  pd_override override = push_override(a, "4");
  CHECK(told == 2 && seen[0] == 4);
  CHECK_OK(pd_override_pop(override, &err));
  CHECK(told == 3 && seen[0] == 3);
  CHECK_OK(pd_flag_drop(a, PD_SOURCE_RUNTIME, &err));
  CHECK(told == 4 && seen[0] == 5);
  CHECK_OK(pd_flag_reset(a, &err));
  CHECK(told == 5 && seen[0] == 0);
}

TEST(a_watcher_of_all_flags_is_told_of_later_ones_too) {
  CHECK_OK(pd_watcher_add(NULL, count, &told, NULL, NULL, &err));
  define_two();
  pd_assignment items[] = {{.flag = a, .text = "1"}, {.flag = a, .text = "2"}, {b, "3", 0, {0}}};
  CHECK_OK(pd_batch_set(items, 3, NULL, NULL, &err));
  CHECK(told == 2 && seen[0] == 3);
}

static void checks_both(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  CHECK(value_of(a) == 1 && value_of(b) == 2);
  told++;
}

TEST(watchers_run_when_all_values_of_a_batch_hold) {
  define_two();
  CHECK_OK(pd_watcher_add(a, checks_both, NULL, NULL, NULL, &err));
  CHECK_OK(pd_watcher_add(b, checks_both, NULL, NULL, NULL, &err));
  pd_assignment items[] = {{.flag = a, .text = "1"}, {.flag = b, .text = "2"}};
  CHECK_OK(pd_batch_set(items, 2, NULL, NULL, &err));
  CHECK(told == 2);
}

static void adds_one(pd_flag *flag, void *context) {
  (void)context;
  pd_error late;
  told++;
  if (pd_flag_set_int64(flag, value_of(flag) + 1, &late) == PD_OK) return;
  CHECK(late.status == PD_ERR_DEPTH);
  CHECK_STR(late.message,
            "validators, watchers and the warning handler call the library 32 deep, one inside "
            "the other: most likely in a circle");
  asked++;
}

TEST(a_circle_of_watchers_ends_with_an_error) {
  define_two();
  CHECK_OK(pd_watcher_add(a, adds_one, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_set_int64(a, 1, &err));
  CHECK(told == value_of(a) && told > 8 && asked == 1);
}

static void warns_again(const char *message, pd_warning kind, void *context) {
  (void)message, (void)kind, (void)context;
  pd_error late;
  told++;
  if (pd_warning_report("again", &late) != PD_OK && late.status == PD_ERR_DEPTH) asked++;
}

TEST(a_warning_handler_that_warns_again_and_again_ends_with_an_error) {
  CHECK_OK(pd_warning_handle(warns_again, NULL, &err));
  CHECK_OK(pd_warning_report("once", &err));
  CHECK(told > 8 && asked == 1);
}

static pd_hook watching;
static void removes_the_watcher(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  CHECK_OK(pd_hook_remove(watching, &err));
}

TEST(a_watcher_that_is_removed_by_another_isnt_called_any_more) {
  define_two();
  CHECK_OK(pd_watcher_add(a, removes_the_watcher, NULL, NULL, NULL, &err));
  CHECK_OK(pd_watcher_add(a, count, &told, NULL, &watching, &err));
  CHECK_OK(pd_flag_set_int64(a, 1, &err));
  CHECK(told == 0);
}

/* ---- Those of modules ---- */

static pd_module *load_guarded(void) {
  pd_module *module;
  char path[4096];
  snprintf(path, sizeof path, "%s/libguarded.so", getenv("PLUGINS"));
  CHECK_OK(pd_module_load(path, NULL, &module, &err));
  CHECK_OK(pd_flag_find("guarded", &a, &err));
  return module;
}

TEST(a_module_validates_and_watches_its_flag_until_it_leaves) {
  pd_module *module = load_guarded();
  void *library = dlopen(module_info(module).path, RTLD_NOW | RTLD_NOLOAD);
  int *changes = dlsym(library, "guarded_changes");
  CHECK_STATUS(pd_flag_set_from_string(a, "3", &err), PD_ERR_REFUSED,
               "guarded=3: expected an even number");
  CHECK_OK(pd_flag_set_from_string(a, "4", &err));
  CHECK(*changes == 1);
  dlclose(library);
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(pd_flag_set_from_string(a, "4", &err) == PD_ERR_UNDEFINED);
}

static pd_module *leaving;
static bool unloads(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  CHECK_OK(pd_module_unload(leaving, &err));
  return true;
}

TEST(a_flag_whose_module_leaves_while_validators_run_is_told) {
  leaving = load_guarded();
  pd_flag *flag = find_flag("guarded_new");
  CHECK_OK(pd_validator_add(&flag, 1, unloads, NULL, NULL, NULL, &err));
  CHECK_STATUS(pd_flag_set_from_string(flag, "4", &err), PD_ERR_UNDEFINED,
               "guarded_new: the module that defined it has been unloaded");
}

static void unload_it(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  CHECK_OK(pd_module_unload(leaving, &err));
  told++;
}

TEST(the_watcher_of_a_module_that_leaves_before_its_turn_isnt_called) {
  leaving = load_guarded();
  b = define_flag(PD_TYPE_int64, "b");
  CHECK_OK(pd_watcher_add(b, unload_it, NULL, NULL, NULL, &err));
  pd_assignment items[] = {{.flag = b, .text = "1"}, {.flag = a, .text = "4"}};
  CHECK_OK(pd_batch_set(items, 2, NULL, NULL, &err));
  CHECK(told == 1);
}

static int *gate;

static void *set_guarded(void *unused) {
  pd_status status = pd_flag_set_from_string(a, "4", NULL);
  CHECK(status == PD_OK || status == PD_ERR_UNDEFINED);
  return unused;
}

TEST(a_module_that_is_unloaded_leaves_when_no_other_thread_is_in_its_validator) {
  pd_module *module = load_guarded();
  pd_module_info info = module_info(module);
  void *library = dlopen(info.path, RTLD_NOW | RTLD_NOLOAD);
  gate = dlsym(library, "guarded_gate");
  dlclose(library);
  pthread_t setting;
  __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
  CHECK(!pthread_create(&setting, NULL, set_guarded, NULL));
  while (__atomic_load_n(gate, __ATOMIC_ACQUIRE) != 2) usleep(1000);
  CHECK_OK(pd_module_unload(module, &err)); /* waits for nobody */
  info = module_info(module);
  CHECK(info.present && info.flags == 4);
  __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
  CHECK(!pthread_join(setting, NULL));
  info = module_info(module);
  CHECK(!info.present);
  CHECK(pd_flag_set_from_string(a, "4", &err) == PD_ERR_UNDEFINED);
}

static char warnings[3][200];
static int warned;
static void keep_warning(const char *message, pd_warning kind, void *context) {
  CHECK(kind == PD_WARNING_DEPRECATED && context == &warned && warned < 3);
  snprintf(warnings[warned++], sizeof *warnings, "%s", message);
}

TEST(old_and_retired_names_warn_once_each_and_what_came_before_the_handler_is_kept) {
  load_guarded();
  CHECK_OK(parse_line("--guarded_old=3 --guarded_gone", NULL));
  CHECK_OK(parse_line("--guarded_old=4 --guarded_gone", NULL));
  CHECK_OK(pd_warning_handle(keep_warning, &warned, &err));
  CHECK(warned == 2);
  CHECK_STR(warnings[0], "guarded_old is deprecated: use guarded_new");
  CHECK_STR(warnings[1], "--guarded_gone is retired, its value is ignored: since 2.0");
  int32_t value;
  bool gone;
  pd_flag *flag = find_flag("guarded_old");
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(value == 4);
  CHECK_OK(pd_flag_find("guarded_gone", &flag, &err));
  CHECK_OK(pd_flag_get_bool(flag, &gone, &err));
  CHECK(!gone && warned == 2);
  CHECK_STATUS(pd_flag_set_bool(flag, true, &err), PD_ERR_READ_ONLY,
               "guarded_gone: is retired: since 2.0");
}

TEST(a_deprecated_flag_warns_when_it_is_given_and_works) {
  a = DEFINE(PD_TYPE_int64, "a", def.deprecated = "use b");
  CHECK_OK(pd_warning_handle(keep_warning, &warned, &err));
  CHECK_OK(pd_flag_find("a", &a, &err));
  CHECK(warned == 0);
  CHECK_OK(parse_line("--a=3 --a=4", NULL));
  CHECK(warned == 1 && value_of(a) == 4);
  CHECK_STR(warnings[0], "--a is deprecated: use b");
}

static bool refuses(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  snprintf(why, size, "expected %s, not %s", (const char *)context, entries[0]->value.str);
  return false;
}

TEST(a_message_about_a_sensitive_flag_doesnt_show_its_value) {
  load_guarded();
  CHECK_STATUS(parse_line("--guarded_key=secret", NULL), PD_ERR_CHOICE,
               "--guarded_key=<redacted>: expected one of a, b");
  pd_flag *flag = find_flag("guarded_key");
  CHECK_OK(pd_validator_add(&flag, 1, refuses, (void *)(uintptr_t) "more", NULL, NULL, &err));
  CHECK_STATUS(parse_line("--guarded_key=b", NULL), PD_ERR_REFUSED,
               "--guarded_key=<redacted>: rejected by a validator in program");
}

/* ---- Threads ---- */

#define ROUNDS 200
static bool slow(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)why, (void)size, (void)context;
  return entries[0]->value.i64 >= 0 && entries[1]->value.i64 >= entries[0]->value.i64;
}

static void *set_both(void *number) {
  for (int i = 0; i < ROUNDS; i++) {
    int64_t value = i * 10 + (int)(uintptr_t)number;
    pd_assignment items[] = {{a, NULL, PD_TYPE_int64, {.i64 = value}},
                             {b, NULL, PD_TYPE_int64, {.i64 = value + 1}}};
    pd_status status =
        i % 2 ? pd_batch_set(items, 2, NULL, NULL, NULL) : pd_flag_set_int64(a, value, NULL);
    CHECK(status == PD_OK || status == PD_ERR_REFUSED);
  }
  return NULL;
}

static int calls; /* atomic */
static void count_calls(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
}

static void *add_and_remove(void *unused) {
  for (int i = 0; i < ROUNDS; i++) {
    pd_hook hook;
    CHECK(pd_watcher_add(i % 2 ? a : NULL, count_calls, malloc(1), free, &hook, NULL) == PD_OK);
    CHECK(pd_hook_remove(hook, NULL) == PD_OK);
  }
  return unused;
}

TEST(no_thread_gets_past_a_validator_while_others_set_the_same_flags) {
  define_two();
  pd_flag *both[] = {a, b};
  CHECK_OK(pd_validator_add(both, 2, slow, NULL, NULL, NULL, &err));
  pthread_t threads[5];
  for (uintptr_t i = 0; i < 5; i++) {
    CHECK(!pthread_create(&threads[i], NULL, i ? set_both : add_and_remove, (void *)i));
  }
  for (int i = 0; i < 5; i++) CHECK(!pthread_join(threads[i], NULL));
  CHECK(value_of(a) <= value_of(b));
  CHECK_OK(pd_flags_validate(NULL, &err));
}
