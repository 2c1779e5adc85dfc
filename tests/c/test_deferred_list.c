/* The list of deferred work: each owner takes its own in order.
 *
 * Built with: -I$SOURCES -Wl,--wrap=malloc $LIBRARY
 */
#include "check.h"
#include "used.h"

#include <registry/deferred.h>
#include <registry/hook.h>
#include <registry/loader.h>

static const int one, two;
static pd__operation operation;

static void defer(const void *owner, pd_hook watcher) {
  pd__loader_state before = pd__loader_enter(owner);
  CHECK(pd__deferred_add(&operation, NULL, watcher));
  pd__loader_exit(&before);
}

/* Returns 0 if there is none. */
static pd_hook take(const void *owner) {
  pd__deferred taken;
  return pd__deferred_pop(owner, &taken) ? taken.watcher : 0;
}

static bool memory_out;
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) { return memory_out ? NULL : __real_malloc(size); }

TEST(work_that_finds_no_memory_is_not_added) {
  memory_out = true;
  CHECK(!pd__deferred_add(&operation, NULL, 1) && !operation.deferred);
  memory_out = false;
  CHECK(take(NULL) == 0);
}

TEST(each_owner_takes_its_own_work_in_order) {
  defer(&one, 1);
  defer(&two, 2);
  defer(&one, 3);
  CHECK(!operation.deferred);
  defer(NULL, 4);
  CHECK(operation.deferred);
  CHECK(take(&one) == 1 && take(&two) == 2 && take(&two) == 0);
  CHECK(take(NULL) == 4 && take(&one) == 3);
  CHECK(take(NULL) == 0 && take(&one) == 0);
}

TEST(work_is_added_behind_what_is_left) {
  defer(&one, 1);
  defer(&two, 2);
  CHECK(take(&two) == 2);
  defer(&two, 3);
  CHECK(take(&one) == 1);
  defer(&one, 4);
  CHECK(take(&two) == 3 && take(&one) == 4);
  defer(&one, 5);
  CHECK(take(&one) == 5);
}

TEST(work_is_handed_over) {
  defer(&one, 1);
  defer(&two, 2);
  defer(&one, 3);
  pd__deferred_hand_over(&operation, &one, &two);
  CHECK(!operation.deferred && take(&one) == 0);
  CHECK(take(&two) == 1 && take(&two) == 2);
  pd__deferred_hand_over(&operation, &one, NULL);
  CHECK(!operation.deferred && take(NULL) == 0);
  pd__deferred_hand_over(&operation, &two, NULL);
  CHECK(operation.deferred && take(NULL) == 3);
}

TEST(a_child_leaves_all_work_to_whoever_runs_it) {
  defer(&one, 1);
  defer(&two, 2);
  pd__deferred_clear_owners_in_child();
  CHECK(take(&one) == 0 && take(NULL) == 1 && take(NULL) == 2);
}

static void defer_and_take(int round) {
  defer(&one, (pd_hook)round + 1);
  CHECK(take(&one) == (pd_hook)round + 1);
}
TEST(work_that_is_taken_is_freed) { check_released(defer_and_take, 1000, 0); }

/* ---- Which flags have to wait ---- */

static bool accept(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)why, (void)size;
  return entries && !context;
}
static void ignore(pd_flag *flag, void *context) { (void)flag, (void)context; }

static bool has_to_wait(const pd_flag *flag) {
  pd__loader_state before = pd__loader_enter(&one);
  bool waits = pd__flag_is_validation_deferred(flag);
  pd__loader_exit(&before);
  CHECK(!pd__flag_is_validation_deferred(flag)); /* outside of the loader */
  return waits;
}

TEST(only_deferred_validators_and_converters_have_to_wait) {
  pd_hook watcher, validator;
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  CHECK(!has_to_wait(flag));
  CHECK_OK(pd_validator_add(&flag, 1, accept, NULL, NULL, NULL, &err));
  CHECK_OK(pd_watcher_add(flag, ignore, NULL, NULL, &watcher, &err));
  CHECK_OK(pd_hook_defer(watcher, &err));
  CHECK(!has_to_wait(flag));
  CHECK_OK(pd_validator_add(&flag, 1, accept, NULL, NULL, &validator, &err));
  CHECK(!has_to_wait(flag));
  CHECK_OK(pd_hook_defer(validator, &err));
  CHECK(has_to_wait(flag));
  CHECK_OK(pd_hook_remove(validator, &err));
  CHECK(!has_to_wait(flag));
}

static bool convert(const char *text, void *context, pd_writer write, void *out, char *why,
                    size_t size) {
  (void)context, (void)why, (void)size;
  write(text, strlen(text), out);
  return true;
}

TEST(a_flag_with_a_converter_has_to_wait_while_it_is_defined) {
  pd_flag *flag = DEFINE(PD_TYPE_string, "mode", def.convert = convert);
  CHECK(has_to_wait(flag));
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(!has_to_wait(flag));
}
