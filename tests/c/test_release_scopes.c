/* What scopes, overrides, hooks and warnings need is freed when they end. */
#include <pthread.h>

#include "plugged.h"
#include "used.h"

#define ROUNDS 2000
#define SLACK 2048

static pd_flag *flag, *other;

static void start_scoped(void) {
  pd_flag_def def = definition(PD_TYPE_int64, "flag");
  begin();
  def.scoped = true;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  def.name = "other";
  CHECK_OK(pd_flag_register(&def, &other, &err));
}

static pd_scope push(const char *text) {
  pd_scope scope;
  pd_assignment items[] = {{.flag = flag, .text = text}, {.flag = other, .text = text}};
  CHECK_OK(pd_scope_push(items, 2, NULL, NULL, &scope, &err));
  return scope;
}
static void pop(pd_scope scope) { CHECK_OK(pd_scope_pop(scope, &err)); }

static pd_scope_context *capture(void) {
  pd_scope_context *captured;
  CHECK_OK(pd_scope_capture(&captured, &err));
  return captured;
}

static pd_scope attach(pd_scope_context *context) {
  pd_scope attached;
  CHECK_OK(pd_scope_attach(context, &attached, &err));
  return attached;
}
static void detach(pd_scope attached) { CHECK_OK(pd_scope_detach(attached, &err)); }

/* ---- Scopes ---- */

static void open_and_end(int round) {
  pd_scope first = push("1"), second = push("2"), third = push("3");
  pop(round % 2 ? second : first);
  pop(third);
  pop(round % 2 ? first : second);
}
TEST(scopes_that_end_are_freed) {
  start_scoped();
  check_released(open_and_end, ROUNDS, SLACK);
}

static void attach_and_detach(int round) {
  pd_scope outer = push("1");
  pd_scope_context *captured = capture();
  pd_scope first = attach(captured), second = attach(NULL), third = attach(captured);
  pop(push("4"));
  detach(round % 2 ? first : second);
  pop(outer); /* it is in a context that is on, and in one below */
  detach(third);
  detach(round % 2 ? second : first);
  pop(outer);
  pd_scope_release(captured);
}
TEST(contexts_that_are_detached_and_released_are_freed) {
  start_scoped();
  check_released(attach_and_detach, ROUNDS, SLACK);
}

static void switch_and_switch_back(int round) {
  pd_scope_context *former, *latter;
  pd_scope outer = push("1");
  CHECK_OK(pd_scope_switch(NULL, &former, &err));
  pd_scope inner = push("2");
  CHECK_OK(pd_scope_switch(former, &latter, &err));
  pop(outer);
  CHECK_OK(pd_scope_switch(latter, &former, &err));
  pop(inner);
  pd_scope_release(former);
  (void)round;
}
TEST(contexts_that_are_switched_are_freed) {
  start_scoped();
  check_released(switch_and_switch_back, ROUNDS, SLACK);
}

static void *leave_scopes_open(void *context) {
  push("1");
  push("2");
  attach(context);
  push("3");
  attach(NULL);
  return NULL;
}
static void run_thread(int round) {
  (void)round;
  pd_scope own = push("7");
  pd_scope_context *captured = capture();
  finish(start(leave_scopes_open, captured));
  pop(own);
  pd_scope_release(captured);
}
TEST(the_scopes_and_contexts_of_a_thread_that_ends_are_freed) {
  start_scoped();
  check_released(run_thread, 200, SLACK);
}

static pd_scope of_thread[3];
static void *wait_with_scopes(void *unused) {
  for (int i = 0; i < 3; i++) of_thread[i] = push("1");
  stop_here();
  CHECK_STR(text_of(flag), "0");
  pop(push("1"));
  return unused;
}
static void end_from_outside(int round) {
  (void)round;
  pthread_t thread = start(wait_with_scopes, NULL);
  wait_for(&inside);
  for (int i = 0; i < 3; i++) pop(of_thread[i]);
  sem_post(&leave);
  finish(thread);
}
TEST(scopes_that_another_thread_ends_are_freed) {
  start_scoped();
  make_gate();
  check_released(end_from_outside, 200, SLACK);
}

/* ---- Overrides, hooks, warnings ---- */

static void push_and_pop(int round) {
  pd_override first, second;
  pd_assignment items[] = {{.flag = flag, .text = "1"}, {.flag = other, .text = "2"}};
  CHECK_OK(pd_override_push(items, 2, NULL, NULL, &first, &err));
  CHECK_OK(pd_override_push(items, 1, NULL, NULL, &second, &err));
  CHECK_OK(pd_flag_set_int64(flag, round, &err));
  CHECK_OK(pd_override_pop(first, &err));
  CHECK_OK(pd_override_pop(second, &err));
}
TEST(overrides_that_are_popped_are_freed) {
  start_scoped();
  check_released(push_and_pop, ROUNDS, SLACK);
}

static void ignore_change(pd_flag *changed, void *context) { (void)changed, (void)context; }

static void add_and_remove(int round) {
  pd_flag *both[] = {flag, other};
  pd_hook hooks[2];
  CHECK_OK(pd_group_add(PD_GROUP_ALL_OR_NONE, both, 2, &hooks[0], &err));
  CHECK_OK(pd_watcher_add(flag, ignore_change, NULL, NULL, &hooks[1], &err));
  pd_assignment items[] = {{flag, NULL, PD_TYPE_int64, {.i64 = round}}, {other, "2", 0, {0}}};
  CHECK_OK(pd_batch_set(items, 2, NULL, NULL, &err));
  for (int i = 0; i < 2; i++) CHECK_OK(pd_hook_remove(hooks[i], &err));
  both[1] = NULL;
  CHECK(pd_group_add(PD_GROUP_ALL_OR_NONE, both, 2, &hooks[0], &err) == PD_ERR_ARGUMENT);
}
TEST(hooks_that_are_removed_or_refused_are_freed) {
  start_scoped();
  check_released(add_and_remove, ROUNDS, SLACK);
}

static void warn(int round) {
  (void)round;
  CHECK_OK(pd_warning_report("careful", &err));
}
TEST(warnings_that_nobody_takes_are_freed_beyond_a_limit) { check_released(warn, ROUNDS, SLACK); }

static void ignore_warning(const char *message, pd_warning kind, void *context) {
  (void)message, (void)kind, (void)context;
}
TEST(warnings_that_a_handler_gets_are_freed) {
  CHECK_OK(pd_warning_handle(ignore_warning, NULL, &err));
  check_released(warn, ROUNDS, SLACK);
}
