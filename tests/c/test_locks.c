/* Each call that gives the lock back has taken it, and each call that has taken it gives it back.
 *
 * Built with: -Wl,--wrap=pthread_mutex_lock -Wl,--wrap=pthread_mutex_unlock $LIBRARY
 */
#include "plugged.h"

/* ---- What is locked ---- */

typedef struct held_lock {
  pthread_mutex_t *mutex;
  pthread_t holder;
  int depth;
} held_lock;

static held_lock locks[16];
static int taken; /* how often */

static held_lock *find_lock(pthread_mutex_t *mutex) {
  held_lock *at = locks;
  while (at->mutex && at->mutex != mutex) at++;
  at->mutex = mutex;
  return at;
}

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
  int status = __real_pthread_mutex_lock(mutex);
  held_lock *lock = find_lock(mutex);
  lock->holder = pthread_self();
  lock->depth++;
  taken++;
  return status;
}

int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
  held_lock *lock = find_lock(mutex);
  if (lock->depth <= 0 || !pthread_equal(lock->holder, pthread_self())) {
    check_fail(__FILE__, __LINE__, "unlocked what this thread hasn't locked");
  }
  lock->depth--;
  return __real_pthread_mutex_unlock(mutex);
}

static bool is_anything_locked(void) {
  for (held_lock *at = locks; at->mutex; at++) {
    if (at->depth > 0) return true;
  }
  return false;
}

/* Fails if the call leaves a lock. */
#define CALL(call)                                                                                 \
  do {                                                                                             \
    int before = taken;                                                                            \
    call;                                                                                          \
    CHECK(taken > before && !is_anything_locked());                                                \
  } while (0)
#define CALL_OK(call) CALL(CHECK_OK(call))

/* ---- Calls ---- */

static pd_flag *flag, *text;
static int called;

static void define_two(void) {
  pd_flag_def def = definition(PD_TYPE_int64, "flag");
  begin();
  def.scoped = true;
  CALL_OK(pd_flag_register(&def, &flag, &err));
  text = define_flag(PD_TYPE_string, "text");
}

static bool accept(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)why, (void)size;
  called += !is_anything_locked();
  return entries && !context;
}
static void notice(pd_flag *changed, void *context) { called += changed && !context; }
static void release(void *context) { called += !context && !is_anything_locked(); }
static void handle_warning(const char *message, pd_warning kind, void *context) {
  called += message && kind == PD_WARNING_GENERAL && !context && !is_anything_locked();
}
static void handle_deferred(void *context) { called += !context; }

TEST(flags_are_found_read_and_set) {
  int64_t value;
  pd_flag_info info = {.size = sizeof info};
  pd_flag_entry entry = {.size = sizeof entry};
  pd_cell_info cell = {.size = sizeof cell};
  define_two();
  CALL_OK(pd_flag_find("flag", &flag, &err));
  CALL(CHECK(pd_flag_find("none", &flag, &err) == PD_ERR_UNDEFINED));
  CALL(CHECK(pd_flag_next(NULL) == flag));
  CALL_OK(pd_flag_set_int64(flag, 5, &err));
  CALL(CHECK(pd_flag_set_from_string(flag, "x", &err) == PD_ERR_VALUE));
  CALL_OK(pd_flag_set_by_name("flag", "6", &err));
  CALL_OK(pd_flag_set_by_name("text", "6", &err));
  CALL(CHECK(pd_flag_get_int64(text, &value, &err) == PD_ERR_TYPE));
  CALL_OK(pd_flag_get_info(flag, &info, &err));
  CALL_OK(pd_flag_get_entry(flag, 0, &entry, &err));
  CALL_OK(pd_flag_get_cell(flag, 0, &cell, &err));
  CALL_OK(pd_flag_freeze(flag, &err));
  CALL_OK(pd_flag_unfreeze(flag, &err));
  CALL_OK(pd_flag_drop(flag, PD_SOURCE_RUNTIME, &err));
  CALL_OK(pd_flag_reset(flag, &err));
  CALL(CHECK(pd_flag_wipe(flag, &err) == PD_ERR_ARGUMENT));
  CALL(CHECK(!pd_startup_over()));
  CALL_OK(pd_pending_set("late", "5", NULL, &err));
  CALL_OK(pd_flag_unregister(text, &err));
}

TEST(batches_and_overrides_are_made) {
  pd_override override;
  define_two();
  pd_assignment items[] = {{.flag = flag, .text = "1"}, {.flag = text, .text = "2"}};
  CALL_OK(pd_batch_set(items, 2, NULL, NULL, &err));
  CALL_OK(pd_override_push(items, 2, NULL, NULL, &override, &err));
  CALL_OK(pd_override_pop(override, &err));
  CALL(CHECK(pd_override_pop(override, &err) == PD_ERR_ARGUMENT));
  CALL_OK(pd_flags_validate(NULL, &err));
}

static pd_scope_context *captured;
static void *use_scopes(void *unused) {
  pd_scope scope, attached;
  pd_assignment item = {.flag = flag, .text = "1"};
  CALL_OK(pd_scope_push(&item, 1, NULL, NULL, &scope, &err));
  CALL_OK(pd_scope_attach(captured, &attached, &err));
  CALL_OK(pd_scope_detach(attached, &err));
  CALL_OK(pd_scope_attach(NULL, &attached, &err));
  return unused;
}

TEST(scopes_are_opened_captured_attached_switched_and_ended) {
  pd_scope scope, attached;
  pd_scope_context *former;
  define_two();
  pd_assignment item = {.flag = flag, .text = "1"};
  CALL_OK(pd_scope_push(&item, 1, NULL, NULL, &scope, &err));
  CALL_OK(pd_scope_capture(&captured, &err));
  CALL_OK(pd_scope_attach(captured, &attached, &err));
  CALL_OK(pd_scope_detach(attached, &err));
  CALL_OK(pd_scope_switch(NULL, &former, &err));
  CALL_OK(pd_scope_switch(former, &former, &err));
  CALL(CHECK(!finish(start(use_scopes, NULL)))); /* and what ends with its thread */
  CALL_OK(pd_scope_pop(scope, &err));
  CALL(CHECK(pd_scope_pop(scope, &err) == PD_ERR_ARGUMENT));
  CALL(pd_scope_release(captured));
}

TEST(hooks_are_called_without_the_lock) {
  pd_hook validator, watcher;
  define_two();
  CALL_OK(pd_validator_add(&flag, 1, accept, NULL, release, &validator, &err));
  CALL_OK(pd_watcher_add(flag, notice, NULL, release, &watcher, &err));
  CALL_OK(pd_flag_set_int64(flag, 5, &err));
  CHECK(called == 2);
  CALL_OK(pd_hook_remove(validator, &err));
  CALL(CHECK(pd_hook_remove(validator, &err) == PD_ERR_ARGUMENT));
  CALL_OK(pd_hook_defer(watcher, &err));
  CALL_OK(pd_hook_remove(watcher, &err));
  CHECK(called == 4);
  CALL_OK(pd_warning_report("careful", &err));
  CALL_OK(pd_warning_handle(handle_warning, NULL, &err));
  CHECK(called == 5);
  CALL_OK(pd_deferred_handle(handle_deferred, NULL, &err));
  CALL_OK(pd_warning_report("careful", &err));
  CHECK(called == 6);
}

TEST(modules_are_loaded_and_unloaded) {
  pd_module *module = NULL;
  define_two();
  CALL_OK(pd_deferred_handle(handle_deferred, NULL, &err));
  CALL_OK(pd_module_load(plugin_path("acting"), NULL, &module, &err));
  CALL_OK(pd_module_unload(module, &err));
  CALL_OK(pd_deferred_run(NULL, &err));
}

/* A plain plugin, whose functions become hooks, without a record. */
TEST(hooks_of_a_plugin_are_added_called_and_removed) {
  pd_hook hook;
  define_two();
  void *plugin = open_plugin("bare");
  pd_watcher watch;
  *(void **)&watch = symbol(plugin, "bare_watch");
  CALL_OK(pd_watcher_add(flag, watch, NULL, NULL, &hook, &err));
  CALL_OK(pd_flag_set_int64(flag, 4, &err));
  CHECK(*(int *)symbol(plugin, "bare_calls") == 1);
  close_plugin(plugin);
  CALL_OK(pd_hook_remove(hook, &err));
}
