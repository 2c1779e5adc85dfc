/* The list of hooks: who holds one, and when it is released.
 *
 * Built with: -I$SOURCES $LIBRARY
 */
#include <setjmp.h>

#include "plugged.h"

#include <registry/flag.h>
#include <registry/image.h>
#include <registry/loader.h>

static pd__operation one, two;
static pd_flag *flag;
static int released;
static jmp_buf left_from;

static void ignore(pd_flag *changed, void *context) { (void)changed, (void)context; }
static void release(void *context) { released += context == &released; }

static pd__hook *add_hook(void) {
  pd_hook number;
  if (!flag) flag = define_flag(PD_TYPE_int64, "flag");
  CHECK_OK(pd_watcher_add(flag, ignore, &released, release, &number, &err));
  pd__hook *hook = pd__hook_find(number);
  CHECK(hook && hook->number == number && hook->watches && hook->count == 1);
  return hook;
}

static void remove_hook(const pd__hook *hook) { CHECK_OK(pd_hook_remove(hook->number, &err)); }

static void hold(pd__operation *operation, pd__hook *hook, pd__hook_reference *held) {
  pd__operation_lock(operation);
  pd__hook_retain(operation, hook, held);
  pd__operation_unlock(operation);
}

static void release_held(pd__operation *operation) {
  pd__operation_lock(operation);
  pd__hooks_release_retained(operation);
  pd__operation_unlock(operation);
  CHECK(!operation->retained_hooks);
  pd__hooks_release_removed(operation);
}

TEST(a_hook_is_released_when_the_last_operation_lets_it_go) {
  pd__hook_reference held[3];
  pd__hook *hook = add_hook(), *other = add_hook();
  hold(&one, hook, &held[0]);
  hold(&two, hook, &held[1]);
  hold(&one, other, &held[2]);
  CHECK(hook->calls == 2 && other->calls == 1);
  remove_hook(hook);
  remove_hook(other);
  CHECK(released == 0);
  release_held(&one);
  CHECK(released == 1 && hook->calls == 1);
  release_held(&two);
  CHECK(released == 2);
}

TEST(a_hook_that_is_not_removed_is_not_released) {
  pd__hook_reference held;
  pd__hook *hook = add_hook();
  hold(&one, hook, &held);
  release_held(&one);
  CHECK(released == 0 && hook->calls == 0);
  remove_hook(hook);
  CHECK(released == 1);
}

TEST(a_child_counts_the_holds_of_its_thread) {
  pd__hook_reference held[4];
  pd__hook *hook = add_hook(), *gone = add_hook();
  hold(&one, hook, &held[0]);
  hold(&one, gone, &held[1]);
  hold(&two, hook, &held[2]);
  remove_hook(gone);
  hook->calls = gone->calls = 7;
  pd__hooks_reset_in_child();
  CHECK(hook->calls == 2 && gone->calls == 1);
  release_held(&one);
  CHECK(released == 1 && hook->calls == 1);
  release_held(&two);
  CHECK(hook->calls == 0);
}

TEST(the_holds_of_an_operation_that_its_process_lacks_are_not_counted) {
  pd__hook_reference held[2];
  pd__hook *hook = add_hook();
  hold(&one, hook, &held[0]);
  hold(&two, hook, &held[1]);
  one.active->lost = true;
  release_held(&one);
  CHECK(hook->calls == 2 && !one.active->retained_hooks);
  release_held(&two);
  CHECK(hook->calls == 1);
}

TEST(a_hook_of_which_no_hold_is_known_is_let_go_all_the_same) {
  pd__hook_reference held;
  pd__hook *hook = add_hook();
  hold(&one, hook, &held);
  hook->calls = 0; /* as in a child that doesn't know of the operation */
  release_held(&one);
  CHECK(hook->calls == 0);
  remove_hook(hook);
  CHECK(released == 1);
}

TEST(a_deferred_hook_is_released_outside_of_the_loader) {
  pd__hook *hook = add_hook();
  CHECK_OK(pd_hook_defer(hook->number, &err));
  pd__loader_state before = pd__loader_enter(NULL);
  remove_hook(hook);
  CHECK(released == 0 && pd__has_pending_work(PD__WORK_RELEASES));
  remove_hook(add_hook()); /* which isn't deferred */
  CHECK(released == 1 && pd__has_pending_work(PD__WORK_RELEASES));
  pd__loader_exit(&before);
  CHECK_OK(pd_flags_validate(NULL, &err));
  CHECK(released == 2 && !pd__has_pending_work(PD__WORK_RELEASES));
}

/* ---- Hooks of a flag ---- */

static size_t count_hooks(void) {
  size_t count = 0;
  const pd__target *last = NULL;
  for (const pd__target *at = pd__hooks_first(flag); at; at = at->next) {
    CHECK(at->previous == last && at->flag == flag && at->hook->targets == at);
    last = at;
    count++;
  }
  CHECK(flag->extra->hooks.last == last);
  return count;
}

TEST(hooks_of_a_flag_are_removed_in_any_order) {
  pd__hook *hooks[5];
  size_t order[] = {2, 4, 0, 3, 1};
  for (size_t i = 0; i < 5; i++) {
    hooks[i] = add_hook();
    CHECK(count_hooks() == i + 1);
  }
  const pd__hook *at = NULL;
  for (size_t i = 0; i < 5; i++) CHECK((at = pd__hooks_next(at)) == hooks[i]);
  CHECK(!pd__hooks_next(at));
  for (size_t i = 0; i < 5; i++) {
    remove_hook(hooks[order[i]]);
    CHECK(count_hooks() == 4 - i && released == (int)i + 1);
  }
  CHECK(!pd__hooks_next(NULL));
}

TEST(only_new_validators_are_counted) {
  uint64_t before = pd__validators_added;
  add_hook();
  CHECK(pd__validators_added == before);
  CHECK_OK(pd_group_add(PD_GROUP_ALL, &flag, 1, NULL, &err));
  CHECK(pd__validators_added == before + 1);
}

/* ---- Modules that leave ---- */

static bool accept(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  return entries != NULL;
}
static void handle_warning(const char *message, pd_warning kind, void *context) {
  (void)message, (void)kind, (void)context;
}
static void handle_deferred(void *context) { (void)context; }

/* A module with the code of one function only. */
static void leave_with(uintptr_t function) {
  pd_module module = {.low = function, .high = function + 1};
  pd__operation_lock(&one);
  pd__hooks_remove_for_module(&one, &module);
  pd__operation_unlock(&one);
  pd__hooks_release_removed(&one);
}

TEST(hooks_leave_with_the_module_of_their_function) {
  pd_hook number;
  pd__hook *watcher = add_hook();
  CHECK_OK(pd_validator_add(&flag, 1, accept, &released, release, &number, &err));
  leave_with((uintptr_t)accept);
  CHECK(released == 1 && !pd__hook_find(number) && pd__hook_find(watcher->number));
  leave_with((uintptr_t)release);
  CHECK(pd__hook_find(watcher->number) && !watcher->release.function);
  remove_hook(watcher);
  CHECK(released == 1);
}

TEST(a_removed_hook_loses_the_release_function_that_leaves) {
  pd__hook_reference held[2];
  pd__hook *hook = add_hook(), *other = add_hook();
  hold(&two, hook, &held[0]);
  hold(&two, other, &held[1]);
  remove_hook(hook);
  remove_hook(other);
  leave_with((uintptr_t)release);
  release_held(&two);
  CHECK(released == 0);
}

TEST(handlers_leave_with_the_module_of_their_function) {
  CHECK_OK(pd_warning_handle(handle_warning, NULL, &err));
  CHECK_OK(pd_deferred_handle(handle_deferred, NULL, &err));
  leave_with((uintptr_t)accept);
  CHECK(pd__handlers[PD__HANDLE_WARNINGS].function && pd__handlers[PD__HANDLE_DEFERRED].function);
  leave_with((uintptr_t)handle_deferred);
  CHECK(pd__handlers[PD__HANDLE_WARNINGS].function && !pd__handlers[PD__HANDLE_DEFERRED].function);
  leave_with((uintptr_t)handle_warning);
  CHECK(!pd__handlers[PD__HANDLE_WARNINGS].function);
}

/* ---- Depth ---- */

static pd__operation operations[40];

/* Runs `check` within so many calls, each further down the stack. */
static __attribute__((noinline)) void nest(int depth, int calls, void (*check)(void)) {
  pd__hook_call call;
  volatile char room[64] = "";
  if (depth == calls) {
    check();
    return;
  }
  pd__operation_lock(&operations[depth]);
  pd__hooks_prepare_call(&operations[depth]);
  pd__operation_unlock(&operations[depth]);
  pd__hooks_enter_call(&call, &operations[depth]);
  CHECK(operations[depth].active->calling);
  nest(depth + 1, calls, check);
  pd__hooks_exit_call(&call);
  CHECK(!operations[depth].active->calling && !room[1]);
}

static pd_status check_depth(void) {
  pd__platform_lock();
  pd_status status = pd__hooks_check_depth(&err);
  pd__platform_unlock();
  return status;
}

static void check_shallow(void) { CHECK_OK(check_depth()); }
static void check_deep(void) {
  CHECK_STATUS(check_depth(), PD_ERR_DEPTH,
               "validators, watchers and the warning handler call the library 32 deep, one inside "
               "the other: most likely in a circle");
  for (int i = 0; i < 32; i++) CHECK(pd__hook_is_called_here(operations[i].active));
  operations[7].active->thread++;
  CHECK(!pd__hook_is_called_here(operations[7].active));
  CHECK_OK(check_depth()); /* one of them is another thread's */
  operations[7].active->thread--;
}

TEST(calls_are_nested_up_to_32) {
  check_shallow();
  nest(0, 31, check_shallow);
  nest(0, 32, check_deep);
  check_shallow();
  CHECK(!pd__hook_is_called_here(operations[0].active));
}

static void leave_calls(void) { longjmp(left_from, 1); }

TEST(calls_that_were_left_by_longjmp_do_not_count) {
  if (setjmp(left_from) == 0) nest(0, 32, leave_calls);
  CHECK(operations[31].active->calling);
  check_shallow();
  CHECK(!operations[31].active->calling && !pd__hook_is_called_here(operations[31].active));
}

TEST(a_call_belongs_to_the_thread_in_which_it_ends) {
  pd__hook_call call;
  pd__operation_lock(&one);
  pd__hooks_prepare_call(&one);
  pd__operation_unlock(&one);
  pd__hooks_enter_call(&call, &one);
  one.active->thread++; /* it was another one's */
  pd__hooks_exit_call(&call);
  CHECK(one.active->thread == pd__platform_thread_id());
}

static int called;
static void count_call(pd_flag *changed, void *context) { called += changed && !context; }

TEST(all_hooks_that_go_with_a_definition_are_removed_when_it_is_replaced) {
  pd_hook hooks[2];
  pd_flag_def def = definition(PD_TYPE_int64, "replaced");
  pd_flag *target = define_flag(PD_TYPE_int64, "replaced");
  for (int i = 0; i < 2; i++) {
    CHECK_OK(pd_watcher_add(target, count_call, NULL, NULL, &hooks[i], &err));
  }
  CHECK_OK(pd_flag_set_int64(target, 1, &err));
  CHECK(called == 2);
  CHECK_OK(pd_flag_replace(&def, hooks, 2, &target, &err));
  CHECK_OK(pd_flag_set_int64(target, 2, &err));
  CHECK(called == 2);
}
