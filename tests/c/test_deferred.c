/* Hooks that are never called within constructors and destructors.
 * Also built with (tsan): -fsanitize=thread $LIBRARY
 * Also built with (asan): -fsanitize=address,undefined $LIBRARY
 */

#include "forking.h"
#include "plugged.h"

static pd_flag *outer, *seen, *in_destructor;
static int asked, notified, told;

static void notice(pd_flag *flag, void *context) {
  notified += flag && !context;
  pd_flag_set_int64(seen, value_of(flag), NULL);
}

static bool is_small(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  asked += !context;
  if (entries[0]->value.i64 < 50) return true;
  snprintf(why, size, "expected less than %d", 50);
  return false;
}

static void tell(void *context) { told += !context; }

static void start_test(void) {
  begin();
  outer = define_flag(PD_TYPE_int64, "outer");
  seen = define_flag(PD_TYPE_int64, "seen");
  in_destructor = define_flag(PD_TYPE_int64, "in_destructor");
  CHECK_OK(pd_deferred_handle(tell, NULL, &err));
}

static pd_hook watch_outer(void) {
  pd_hook hook;
  CHECK_OK(pd_watcher_add(outer, notice, NULL, NULL, &hook, &err));
  return hook;
}

static pd_hook watch_outer_later(void) {
  pd_hook hook = watch_outer();
  CHECK_OK(pd_hook_defer(hook, &err));
  return hook;
}

static pd_hook validate(pd_flag *flag) {
  pd_hook hook;
  CHECK_OK(pd_validator_add(&flag, 1, is_small, NULL, NULL, &hook, &err));
  CHECK_OK(pd_hook_defer(hook, &err));
  return hook;
}

/* The flag of the plugin gets a deferred validator; then the plugin leaves. */
static pd_hook validate_acting(void) {
  pd_module *module = load_module("acting");
  pd_hook hook = validate(find_flag("acting"));
  CHECK_OK(pd_module_unload(module, &err));
  asked = notified = told = 0;
  return hook;
}

static void wait_for_acting(const char *text) {
  pd_origin origin = {PD_SOURCE_ARGV, 0, NULL, 0};
  CHECK_OK(pd_pending_set("acting", text, &origin, &err));
}

static int64_t seen_in_constructor(void) { return *(int64_t *)symbol_in("acting", "acting_seen"); }

TEST(a_plain_watcher_is_notified_within_the_constructor_that_sets) {
  start_test();
  watch_outer();
  load_module("acting");
  CHECK(seen_in_constructor() == 5 && notified == 1 && told == 0);
}

TEST(a_deferred_watcher_is_notified_at_the_end_of_the_load) {
  start_test();
  watch_outer_later();
  load_module("acting");
  CHECK(seen_in_constructor() == 0);
  CHECK(notified == 1 && value_of(seen) == 5 && told == 0);
}

TEST(a_deferred_watcher_is_notified_at_the_end_of_the_outermost_load) {
  start_test();
  watch_outer_later();
  setenv("NESTED", plugin_path("acting"), 1);
  load_module("nesting");
  CHECK(seen_in_constructor() == 0);
  CHECK(notified == 1 && value_of(seen) == 5 && told == 0);
}

static int released;
static void count_release(void *context) { released += context == &released; }

TEST(a_deferred_watcher_that_is_removed_before_is_not_notified) {
  start_test();
  pd_hook hook = watch_outer_later();
  pd_module *module = load_module("acting");
  CHECK(notified == 1);
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(told == LOADER_UNMAPS && notified == 1);
  CHECK_OK(pd_hook_remove(hook, &err));
  CHECK_OK(pd_deferred_run(NULL, &err));
  CHECK(notified == 1);
}

TEST(what_a_destructor_puts_off_is_told_and_waits_for_the_run) {
  if (!LOADER_UNMAPS) return;
  start_test();
  pd_module *module = load_module("acting");
  watch_outer_later();
  CHECK_OK(pd_flag_set_int64(seen, 3, &err));
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(value_of(in_destructor) == 3 && notified == 0 && told == 1);
  CHECK_OK(pd_deferred_run(NULL, &err));
  CHECK(notified == 1 && value_of(seen) == 9);
  CHECK_OK(pd_deferred_run(NULL, &err));
  CHECK(notified == 1);
}

TEST(a_deferred_watcher_is_called_at_once_outside_of_constructors) {
  start_test();
  watch_outer_later();
  CHECK_OK(pd_flag_set_int64(outer, 4, &err));
  CHECK(notified == 1 && told == 0);
}

TEST(a_value_waits_for_a_deferred_validator_until_the_end_of_the_load) {
  start_test();
  validate_acting();
  wait_for_acting("7");
  load_module("acting");
  CHECK(asked == 1 && value_of(find_flag("acting")) == 7 && told == 0);
  CHECK(flag_entry(find_flag("acting"), 0).origin.source == PD_SOURCE_ARGV);
}

TEST(a_variable_waits_for_a_deferred_validator_until_the_end_of_the_load) {
  start_test();
  validate_acting();
  setenv("DEFERRED_acting", "7", 1);
  CHECK_OK(pd_environment_enable("DEFERRED_", NULL, &err));
  load_module("acting");
  CHECK(asked == 1 && value_of(find_flag("acting")) == 7 && told == 0);
  CHECK(flag_entry(find_flag("acting"), 0).origin.source == PD_SOURCE_ENVIRONMENT);
}

TEST(a_use_without_a_value_that_waits_for_a_deferred_validator_is_an_error_of_the_load) {
  start_test();
  validate_acting();
  CHECK_OK(parse_pending("--acting 7"));
  CHECK_STATUS(pd_module_load(plugin_path("acting"), NULL, NULL, &err), PD_ERR_ARGV,
               "--acting: the value is missing, expected a 64-bit integer; before the flag is "
               "defined, only --acting=7 is understood");
}

TEST(a_value_that_a_deferred_validator_refuses_is_an_error_of_the_load) {
  start_test();
  validate_acting();
  wait_for_acting("70");
  pd_module *module = NULL;
  CHECK_STATUS(pd_module_load(plugin_path("acting"), NULL, &module, &err), PD_ERR_REFUSED,
               "--acting=70: expected less than 50");
  CHECK(module && value_of(find_flag("acting")) == 1);
  CHECK_OK(pd_pending_check(NULL, &err));
}

TEST(of_several_values_the_highest_source_wins_though_they_waited_again) {
  start_test();
  validate_acting();
  wait_for_acting("7");
  wait_for_acting("8");
  setenv("FLAGS_acting", "6", 1);
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  open_plugin("acting");
  CHECK(asked == 0 && told > 0 && value_of(find_flag("acting")) == 1);
  CHECK_OK(pd_pending_check(NULL, &err));
  CHECK_OK(pd_deferred_run(NULL, &err));
  CHECK(asked > 0 && value_of(find_flag("acting")) == 8);
  CHECK_OK(pd_flag_drop(find_flag("acting"), PD_SOURCE_ARGV, &err));
  CHECK(value_of(find_flag("acting")) == 6);
}

TEST(a_run_gives_the_errors_of_values_that_a_loader_found_waiting) {
  start_test();
  validate_acting();
  wait_for_acting("70");
  open_plugin("acting");
  CHECK(told == 1);
  CHECK_STATUS(pd_deferred_run(NULL, &err), PD_ERR_REFUSED, "--acting=70: expected less than 50");
  CHECK_OK(pd_deferred_run(NULL, &err));
}

TEST(a_value_waits_for_its_flag_again_that_left_before_the_run) {
  if (!LOADER_UNMAPS) return;
  start_test();
  pd_hook hook = validate_acting();
  wait_for_acting("7");
  close_plugin(open_plugin("acting"));
  CHECK_OK(pd_deferred_run(NULL, &err));
  CHECK(asked == 0);
  CHECK_STATUS(pd_pending_check(NULL, &err), PD_ERR_UNDEFINED, "--acting: the flag is not defined");
  CHECK_OK(pd_hook_remove(hook, &err));
  open_plugin("acting");
  CHECK(value_of(find_flag("acting")) == 7);
}

TEST(a_constructor_cannot_set_a_flag_with_a_deferred_validator) {
  start_test();
  validate(outer);
  load_module("acting");
  CHECK(*(pd_status *)symbol_in("acting", "acting_status") == PD_ERR_REFUSED);
  const pd_error *refused = symbol_in("acting", "acting_error");
  CHECK_STR(refused->message, "--outer: one of its validators can't be called in constructors and "
                              "destructors, while a module is loaded or unloaded");
  CHECK(asked == 0 && value_of(outer) == 0);
}

TEST(a_hook_that_is_removed_cannot_be_deferred) {
  start_test();
  pd_hook hook = watch_outer();
  CHECK_OK(pd_hook_remove(hook, &err));
  CHECK(pd_hook_defer(hook, &err) == PD_ERR_ARGUMENT);
}

TEST(nobody_is_told_when_the_handler_is_taken_away) {
  start_test();
  validate_acting();
  wait_for_acting("7");
  CHECK_OK(pd_deferred_handle(NULL, NULL, &err));
  open_plugin("acting");
  CHECK(told == 0 && value_of(find_flag("acting")) == 1);
}

/* ---- Releasing ---- */

static pd_hook own;

/* It removes a deferred hook, which nobody calls, within the constructor. */
static void remove_own(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  if (notified++ > 0) return;
  CHECK_OK(pd_hook_remove(own, &err));
  CHECK(released == 0);
}

TEST(the_context_of_a_deferred_hook_is_not_released_within_constructors) {
  start_test();
  CHECK_OK(pd_watcher_add(seen, notice, &released, count_release, &own, &err));
  CHECK_OK(pd_hook_defer(own, &err));
  CHECK_OK(pd_watcher_add(outer, remove_own, NULL, NULL, NULL, &err));
  load_module("acting");
  CHECK(notified == 1 && released == 1);
}

/* ---- A child of fork ---- */

TEST(a_child_of_fork_settles_what_was_put_off) {
  start_test();
  validate_acting();
  wait_for_acting("7");
  open_plugin("acting");
  pid_t child = fork();
  if (child == 0) {
    bool done = pd_deferred_run(NULL, NULL) == PD_OK && value_of(find_flag("acting")) == 7;
    _exit(done ? 0 : 1);
  }
  check_child(child);
}

TEST(a_plain_validator_is_asked_within_the_constructor_that_sets) {
  start_test();
  CHECK_OK(pd_validator_add(&outer, 1, is_small, NULL, NULL, NULL, &err));
  load_module("acting");
  CHECK(asked == 1 && value_of(outer) == 5);
}
