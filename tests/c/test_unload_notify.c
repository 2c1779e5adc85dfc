/* What a module changes by leaving is told to watchers like every other change: by the call that
 * made it leave, or where that is the loader's, by the next call on any thread at the latest. */
#include "plugged.h"

static int told;
static int32_t seen;
static void keep_value(pd_flag *flag, void *context) {
  (void)context;
  told++;
  pd_flag_get_int32(flag, &seen, NULL);
}

static void assign_at_end(const char *plugin, int32_t value) {
  *(int32_t *)symbol_in(plugin, "leaving_value") = value;
}

static void watch(const char *name) {
  CHECK_OK(pd_watcher_add(find_flag(name), keep_value, NULL, NULL, NULL, &err));
}

TEST(an_assignment_that_a_module_makes_while_it_is_unloaded_is_told) {
  begin();
  load_module("leaving");
  pd_module *twin = load_module("leaving_twin");
  watch("leaving");
  assign_at_end("leaving_twin", 7);
  CHECK_OK(pd_module_unload(twin, &err));
  if (!LOADER_UNMAPS) return;
  CHECK(told == 1 && seen == 7);
  CHECK_STR(text_of(find_flag("leaving")), "7");
  CHECK(*(int32_t *)symbol_in("leaving", "leaving_value") == 0);
  CHECK(told == 1);
}

TEST(an_assignment_that_a_module_makes_while_it_is_closed_is_told) {
  begin();
  load_module("leaving");
  void *twin = open_plugin("leaving_twin");
  watch("leaving");
  assign_at_end("leaving_twin", 7);
  close_plugin(twin);
  if (!LOADER_UNMAPS) return;
  CHECK_OK(pd_flags_validate(NULL, &err));
  CHECK(told == 1 && seen == 7);
}

static void *close_it(void *library) {
  close_plugin(library);
  return NULL;
}

TEST(an_assignment_of_a_module_that_another_thread_closes_is_told) {
  begin();
  load_module("leaving");
  void *twin = open_plugin("leaving_twin");
  watch("leaving");
  assign_at_end("leaving_twin", 7);
  finish(start(close_it, twin));
  if (!LOADER_UNMAPS) return;
  CHECK_OK(pd_flags_validate(NULL, &err)); /* at the next call on whichever thread */
  CHECK(told == 1 && seen == 7);
}

/* The value is there for the next definition; nobody is told later of a flag that isn't. */
TEST(the_last_assignment_to_a_flag_that_goes_with_its_module_is_kept_and_not_told_later) {
  begin();
  pd_module *module = load_module("leaving");
  watch("leaving_alone");
  assign_at_end("leaving", 7);
  CHECK_OK(pd_module_unload(module, &err));
  if (!LOADER_UNMAPS) return;
  int at_once = told;
  CHECK_OK(pd_flags_validate(NULL, &err));
  CHECK(told == at_once && told <= 1);
  load_module("leaving");
  CHECK_STR(text_of(find_flag("leaving_alone")), "7");
}

/* Many that leave and post for nobody use no memory. */
TEST(a_thread_that_ends_after_a_close_leaves_no_notification_behind) {
  begin();
  load_module("leaving");
  watch("leaving");
  for (int i = 1; i <= 20; i++) {
    void *twin = open_plugin("leaving_twin");
    assign_at_end("leaving_twin", 100 + i);
    finish(start(close_it, twin));
    if (!LOADER_UNMAPS) return;
  }
  CHECK_OK(pd_flags_validate(NULL, &err));
  CHECK(told == 20 && seen == 120);
}
