/* A join is a transaction: whoever comes second finds nothing of a module, or all of it.
 *
 * Built with: -ldl
 */

#include "forking.h"
#include "plugged.h"

/* Returns what the operation gives: 2 by the plugin, 0 without it. */
static int (*call_stage)(void);

/* Loads the plugin and unloads it again: it stays in the process, withdrawn. Returns where to put
 * what it calls when it joins again. */
static void **leave_withdrawn(const char *variable) {
  begin();
  make_gate();
  load_module("staged_user");
  call_stage = (int (*)(void))(intptr_t)symbol_in("staged_user", "staged_call");
  CHECK_OK(pd_module_unload(load_module("staged"), &err));
  CHECK(!is_defined("staged_level") && call_stage() == 0);
  return (void **)symbol_in("staged", variable);
}

static void stop_once(void) {
  static int times;
  if (__atomic_fetch_add(&times, 1, __ATOMIC_RELAXED) == 0) stop_here();
}

/* One pd_module_load on a thread of its own. */
typedef struct loading {
  const char *name, *name_space;
  pd_module *module;
  pd_status status;
  pd_error err;
  size_t errors; /* that it has returned */
  pthread_t thread;
} loading;

static void *run_loading(void *context) {
  loading *one = context;
  pd_error_list *errors = pd_error_list_new();
  one->status =
      pd_module_load_as(plugin_path(one->name), one->name_space, errors, &one->module, &one->err);
  one->errors = pd_error_list_count(errors);
  pd_error_list_free(errors);
  return NULL;
}

/* Returns when the plugin stops in what it calls. */
static void start_loading(loading *one) {
  one->thread = start(run_loading, one);
  wait_for(&inside);
}

static void finish_loading(loading *one) {
  sem_post(&leave);
  finish(one->thread);
}

static size_t count_cells(const char *name) {
  pd_cell_info cell = {.size = sizeof cell};
  size_t count = 0;
  while (pd_flag_get_cell(find_flag(name), count, &cell, NULL) == PD_OK) count++;
  return count;
}

static size_t count_flags(const pd_module *module) { return module_info(module).flags; }

static void check_nothing(void) {
  CHECK(!is_defined("staged_level") && !is_defined("staged_plain") && call_stage() == 0);
}

static void check_everything(void) {
  CHECK(is_defined("staged_level") && is_defined("staged_plain") && call_stage() == 2);
}

/* ---- What others see ---- */

TEST(nobody_sees_a_module_that_is_asked_whether_an_implementation_can_run) {
  *leave_withdrawn("staged_during_usable") = (void *)(intptr_t)stop_once;
  loading one = {.name = "staged"};
  start_loading(&one);
  check_nothing();
  finish_loading(&one);
  CHECK_OK(one.status);
  check_everything();
  CHECK(count_flags(one.module) == 2);
}

TEST(nobody_sees_a_module_whose_validator_is_asked) {
  *leave_withdrawn("staged_during_validate") = (void *)(intptr_t)stop_once;
  CHECK_OK(pd_pending_set("staged_level", "5", NULL, &err));
  loading one = {.name = "staged"};
  start_loading(&one);
  check_nothing();
  finish_loading(&one);
  CHECK_OK(one.status);
  check_everything();
  int32_t level = 0;
  CHECK_OK(pd_flag_get_int32(find_flag("staged_level"), &level, &err));
  CHECK(level == 5);
}

TEST(a_value_that_comes_while_another_one_is_asked_about_is_asked_about_too) {
  *leave_withdrawn("staged_during_validate") = (void *)(intptr_t)stop_once;
  CHECK_OK(pd_pending_set("staged_level", "5", NULL, &err));
  loading one = {.name = "staged"};
  start_loading(&one);
  CHECK_OK(pd_pending_set("staged_level", "7", NULL, &err));
  finish_loading(&one);
  CHECK(one.status == PD_ERR_REFUSED && strstr(one.err.message, "staged_level=7: expected not 7"));
  CHECK(one.module && one.errors == 1);
  int32_t level = 0;
  CHECK_OK(pd_flag_get_int32(find_flag("staged_level"), &level, &err));
  CHECK(level == 5);
}

TEST(a_name_that_is_taken_while_a_module_is_asked_refuses_all_of_it) {
  *leave_withdrawn("staged_during_usable") = (void *)(intptr_t)stop_once;
  loading one = {.name = "staged"};
  start_loading(&one);
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_string);
  def.name = "staged_plain";
  pd_flag *own = register_flag(&def);
  finish_loading(&one);
  CHECK(one.status == PD_ERR_CONFLICT && !one.module && one.errors == 1);
  CHECK(!is_defined("staged_level") && call_stage() == 0);
  CHECK_OK(pd_flag_unregister(own, &err));
  load_module("staged");
  check_everything();
}

TEST(a_late_definition_that_is_made_meanwhile_joins_afterwards) {
  *leave_withdrawn("staged_during_usable") = (void *)(intptr_t)stop_once;
  pd_status (*define_late)(void) =
      (pd_status(*)(void))(intptr_t)symbol_in("staged", "staged_define_late");
  loading one = {.name = "staged"};
  start_loading(&one);
  CHECK_OK(define_late());
  CHECK(!is_defined("staged_late"));
  finish_loading(&one);
  CHECK_OK(one.status);
  CHECK(is_defined("staged_late") && count_flags(one.module) == 3);
}

/* ---- Two calls ---- */

TEST(two_threads_load_and_unload_a_module_that_stays) {
  *leave_withdrawn("staged_during_usable") = (void *)(intptr_t)stop_once;
  loading one = {.name = "staged"};
  start_loading(&one);
  pd_module *other = load_module("staged");
  check_everything();
  CHECK_OK(pd_module_unload(other, &err));
  check_everything(); /* the first call holds it */
  finish_loading(&one);
  CHECK_OK(one.status);
  CHECK(one.module == other && one.errors == 0);
  check_everything();
  CHECK(count_cells("staged_level") == 1 && count_flags(one.module) == 2);
  CHECK_OK(pd_module_unload(one.module, &err));
  check_nothing();
}

static void load_itself(void) {
  static int depth;
  if (depth++ > 0) return;
  CHECK_OK(pd_module_unload(load_module("staged"), &err));
}

TEST(usable_may_load_and_unload_its_own_module) {
  *leave_withdrawn("staged_during_usable") = (void *)(intptr_t)load_itself;
  CHECK(module_info(load_module("staged")).present);
  check_everything();
  CHECK(count_cells("staged_level") == 1);
}

static pd_module *nested;
static void load_itself_and_keep_it(void) {
  if (!nested) nested = load_module("staged");
}

TEST(usable_may_load_its_own_module_and_keep_it) {
  *leave_withdrawn("staged_during_usable") = (void *)(intptr_t)load_itself_and_keep_it;
  pd_module *module = load_module("staged");
  CHECK(module == nested);
  check_everything();
  CHECK_OK(pd_module_unload(module, &err));
  check_everything();
  CHECK_OK(pd_module_unload(nested, &err));
  check_nothing();
}

TEST(a_module_has_the_names_of_the_call_that_published_it) {
  *leave_withdrawn("staged_during_usable") = (void *)(intptr_t)stop_once;
  loading one = {.name = "staged", .name_space = "beta"};
  start_loading(&one);
  load_module("staged");
  finish_loading(&one);
  CHECK(one.status == PD_ERR_CONFLICT && !one.module);
  check_everything();
  CHECK(!is_defined("beta.staged_level"));
}

static const char *never_usable(void) { return "no luck"; }

TEST(usable_that_loads_its_own_module_answers_for_that_alone) {
  static const pd_op_signature signature = {"stage", "int (void)", {PD_CODE_INT32, 0}};
  *leave_withdrawn("staged_during_usable") = (void *)(intptr_t)load_itself_and_keep_it;
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_IMPL, .name = "low"};
  def.signature = &signature;
  def.choice = (pd_op_choice){(void (*)(void))check_nothing, -5, never_usable};
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  CHECK_OK(pd_flag_set_by_name("impl.stage", "?staged,low", &err));
  load_module("staged");
  check_everything();
}

static pid_t child;
static int times_asked;
static void load_itself_and_fork(void) {
  if (times_asked++ > 0) return;
  nested = load_module("staged");
  child = fork();
  if (child != 0) return;
  alarm(240);
  CHECK_OK(pd_flag_set_by_name("impl.stage", "?staged", &err));
  CHECK(times_asked == 1 && call_stage() == 0);
}

TEST(a_child_of_usable_that_has_loaded_its_own_module_waits_for_the_answer) {
  *leave_withdrawn("staged_during_usable") = (void *)(intptr_t)load_itself_and_fork;
  load_module("staged");
  CHECK(times_asked == 1);
  check_everything();
  if (child == 0) exit(0);
  check_child(child);
}

/* ---- A module that was refused ---- */

TEST(two_threads_retry_a_refused_module_and_each_has_its_own_errors) {
  begin();
  make_gate();
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_string);
  def.name = "retried_level";
  pd_flag *own = register_flag(&def);
  CHECK(pd_module_load(plugin_path("retried"), NULL, NULL, &err) == PD_ERR_CONFLICT);
  CHECK_OK(pd_flag_unregister(own, &err));
  CHECK_OK(pd_pending_set("retried_level", "7", NULL, &err));
  *(void **)symbol_in("retried", "retried_during_validate") = (void *)(intptr_t)stop_once;
  loading one = {.name = "retried"}, other = {.name = "retried"};
  start_loading(&one);
  run_loading(&other);
  CHECK(other.status == PD_ERR_REFUSED && other.module);
  CHECK(strstr(other.err.message, "retried_level=7: expected not 7"));
  finish_loading(&one);
  CHECK(one.status == PD_OK && one.module == other.module);
  CHECK(one.errors == 0 && other.errors == 1);
  CHECK(count_cells("retried_level") == 1 && count_flags(one.module) == 1);
  pd_error_list *errors = pd_error_list_new(); /* those of the call that has published it */
  CHECK_OK(pd_module_get_errors(one.module, errors, &err));
  CHECK(pd_error_list_count(errors) == 1);
  pd_error_list_free(errors);
}
