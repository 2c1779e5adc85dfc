/* Threads that end inside a validator or a watcher: by pthread_cancel and by pthread_exit. Nothing
 * of the call stays: no module is held, no change is half made, no lock is taken. */
#define _GNU_SOURCE
#include "plugged.h"

static void *library;
static sem_t never;

static void be_cancelled(void) {
  sem_post(&inside);
  for (;;) pause();
}
static void end_thread(void) { pthread_exit(&never); }

static bool in_validator(const pd_flag_entry *const *entries, void *context, char *why,
                         size_t size) {
  (void)why, (void)size;
  void (*function)(void);
  memcpy(&function, context, sizeof function);
  if (entries[0]->value.i64 == 13) function();
  return true;
}

static void in_watcher(pd_flag *flag, void *context) {
  int64_t value = 0;
  void (*function)(void);
  memcpy(&function, context, sizeof function);
  if (pd_flag_get_int64(flag, &value, NULL) == PD_OK && value == 13) function();
}

static void end_inside(setting *wanted, bool cancel) {
  pthread_t setter = start(set_by_name, wanted);
  if (cancel) {
    wait_for(&inside);
    CHECK(!pthread_cancel(setter));
  }
  CHECK(finish(setter) == (cancel ? PTHREAD_CANCELED : (void *)&never));
}

/* ---- Hooks of the program on the program's flag ---- */

static pd_flag *own;

static void start_own(bool validator, void (**function)(void)) {
  begin();
  make_gate();
  own = define_flag(PD_TYPE_int64, "own");
  pd_status status = validator ? pd_validator_add(&own, 1, in_validator, function, NULL, NULL, &err)
                               : pd_watcher_add(own, in_watcher, function, NULL, NULL, &err);
  CHECK_OK(status);
}

static void check_own(bool validator, bool cancel) {
  void (*function)(void) = cancel ? be_cancelled : end_thread;
  setting wanted = {.name = "own", .text = "13"};
  start_own(validator, &function);
  for (int i = 0; i < 40; i++) { /* more than calls may be inside each other */
    end_inside(&wanted, cancel);
    CHECK_STR(text_of(own), validator ? "0" : "13");
    CHECK_OK(pd_flag_reset(own, &err));
  }
  CHECK_OK(pd_flag_set_int64(own, 5, &err));
  CHECK_STR(text_of(own), "5");
  close_plugin(open_plugin("calling"));
  CHECK(!LOADER_UNMAPS || !is_loaded("calling"));
}

TEST(a_set_that_is_cancelled_in_a_validator_sets_nothing_and_others_go_on) {
  check_own(true, true);
}
TEST(a_set_that_is_cancelled_in_a_watcher_has_set_and_others_go_on) { check_own(false, true); }
TEST(a_set_whose_validator_ends_the_thread_sets_nothing_and_others_go_on) {
  check_own(true, false);
}
TEST(a_set_whose_watcher_ends_the_thread_has_set_and_others_go_on) { check_own(false, false); }

/* Whoever was to be told after the one that ended its thread is told, by the next at the latest. */
static int told;
static void count(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  told++;
}

TEST(the_watchers_behind_one_that_ended_its_thread_are_told_too) {
  void (*function)(void) = end_thread;
  setting wanted = {.name = "own", .text = "13"};
  start_own(false, &function);
  for (int i = 0; i < 3; i++) CHECK_OK(pd_watcher_add(own, count, NULL, NULL, NULL, &err));
  end_inside(&wanted, false);
  CHECK_OK(pd_flags_validate(NULL, &err));
  CHECK(told == 3);
}

TEST(a_hook_that_ended_its_thread_can_be_removed_and_is_released) {
  void (*function)(void) = end_thread;
  setting wanted = {.name = "own", .text = "13"};
  pd_hook hook;
  begin();
  make_gate();
  own = define_flag(PD_TYPE_int64, "own");
  void (**context)(void) = malloc(sizeof *context);
  *context = function;
  CHECK_OK(pd_watcher_add(own, in_watcher, context, free, &hook, &err));
  end_inside(&wanted, false);
  CHECK_OK(pd_hook_remove(hook, &err)); /* LeakSanitizer sees whether the context is freed */
}

/* ---- A plugin's ---- */

static void open_calling(const char *hook, bool cancel) {
  void (*function)(void) = cancel ? be_cancelled : end_thread;
  begin();
  make_gate();
  library = open_plugin("calling");
  memcpy(symbol(library, hook), &function, sizeof function);
}

static void check_plugin(const char *hook, bool cancel) {
  setting wanted = {.name = "calling", .text = "5"};
  open_calling(hook, cancel);
  end_inside(&wanted, cancel);
  memset(symbol(library, hook), 0, sizeof(void (*)(void)));
  CHECK_OK(pd_flag_set_by_name("calling", "6", &err));
  close_plugin(library);
  CHECK(!LOADER_UNMAPS || (!is_loaded("calling") && !is_defined("calling")));
}

TEST(a_plugin_leaves_after_a_thread_was_cancelled_in_its_validator) {
  check_plugin("calling_during_validate", true);
}
TEST(a_plugin_leaves_after_a_thread_was_cancelled_in_its_watcher) {
  check_plugin("calling_during_watch", true);
}
TEST(a_plugin_leaves_after_a_thread_ended_in_its_validator) {
  check_plugin("calling_during_validate", false);
}
TEST(a_plugin_leaves_after_a_thread_ended_in_its_watcher) {
  check_plugin("calling_during_watch", false);
}

TEST(a_module_is_unloaded_after_a_thread_was_cancelled_in_its_watcher) {
  setting wanted = {.name = "calling", .text = "5"};
  begin();
  make_gate();
  pd_module *module = load_module("calling");
  void (*function)(void) = be_cancelled;
  memcpy(symbol_in("calling", "calling_during_watch"), &function, sizeof function);
  end_inside(&wanted, true);
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(!is_defined("calling"));
  CHECK(!LOADER_UNMAPS || !is_loaded("calling"));
}

/* The library is open, and its destructor runs at exit. */
TEST(a_process_exits_after_a_thread_was_cancelled_in_a_plugins_watcher) {
  setting wanted = {.name = "calling", .text = "5"};
  open_calling("calling_during_watch", true);
  end_inside(&wanted, true);
}

TEST(a_process_exits_while_a_thread_is_in_a_plugins_validator) {
  static setting wanted = {.name = "calling", .text = "5"};
  open_calling("calling_during_validate", true);
  start(set_by_name, &wanted);
  wait_for(&inside);
}
