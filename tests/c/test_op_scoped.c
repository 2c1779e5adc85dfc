/* Operations whose choice may differ by thread. */
#include "plugged.h"

typedef double calls(double x);

static double scoped(void) {
  return ((calls *)(intptr_t)symbol_in("op_scoped", "scoped_calls"))(1);
}
static double user(void) {
  return ((calls *)(intptr_t)symbol_in("op_scoped_user", "user_calls"))(1);
}
static pd_scope push(const char *list) {
  pd_assignment item = {.flag = find_flag("impl.twice"), .text = list};
  pd_scope scope = 0;
  CHECK_OK(pd_scope_push(&item, 1, NULL, NULL, &scope, &err));
  return scope;
}
static void load_both(void) {
  load_module("op_scoped");
  load_module("op_scoped_user");
}

TEST(a_scoped_operation_runs_what_the_flag_chooses) {
  load_both();
  CHECK(scoped() == 2 && user() == 2);
  CHECK_OK(pd_flag_set_by_name("impl.twice", "fast,*", &err));
  CHECK(scoped() == 2.5 && user() == 2.5);
}

static void *call_elsewhere(void *context) {
  (void)context;
  CHECK(scoped() == 2 && user() == 2);
  return NULL;
}

TEST(a_scope_chooses_in_its_thread_alone) {
  load_both();
  pd_scope outer = push("fast,*");
  CHECK(scoped() == 2.5 && user() == 2.5);
  pd_scope inner = push("slow!");
  CHECK(scoped() == 2.25 && user() == 2.25);
  finish(start(call_elsewhere, NULL));
  CHECK_OK(pd_scope_pop(inner, &err));
  CHECK(scoped() == 2.5);
  CHECK_OK(pd_scope_pop(outer, &err));
  CHECK(scoped() == 2);
}

TEST(a_better_implementation_that_comes_while_a_scope_is_open_runs_in_it) {
  load_module("op_scoped");
  pd_scope scope = push("?slow,?fast,*");
  CHECK(scoped() == 2);
  load_module("op_scoped_user");
  CHECK(scoped() == 2.25);
  CHECK_OK(pd_scope_pop(scope, &err));
}

TEST(an_implementation_that_leaves_while_a_scope_has_chosen_it_runs_no_more) {
  load_module("op_scoped");
  pd_module *module = load_module("op_scoped_user");
  pd_scope scope = push("fast,*");
  CHECK(scoped() == 2.5);
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(scoped() == 2);
  load_module("op_scoped_user");
  CHECK(scoped() == 2.5);
  CHECK_OK(pd_scope_pop(scope, &err));
}

TEST(a_module_that_imports_a_scoped_operation_as_a_plain_one_is_refused) {
  load_module("op_scoped");
  pd_module *module = NULL;
  CHECK(pd_module_load(plugin_path("op_scoped_plain"), NULL, &module, &err) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, "PD_DEFINE_SCOPED_OP or PD_IMPORT_SCOPED_OP expected"));
  CHECK(scoped() == 2);
}

TEST(a_choice_by_thread_of_a_plain_operation_is_an_error_that_says_how_to_declare_it) {
  load_module("op_native");
  pd_assignment item = {.flag = find_flag("impl.pow"), .text = "native"};
  pd_scope scope;
  CHECK(pd_scope_push(&item, 1, NULL, NULL, &scope, &err) == PD_ERR_TYPE);
  CHECK(strstr(err.message, "SCOPED"));
}

static double foreign_twice(double x) { return x; }

TEST(an_operation_becomes_scoped_when_a_module_says_so) {
  static const pd_op_signature signature = {
      "twice", "double (double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE, 0}};
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_IMPL, .name = "early"};
  pd_op_info info = {.size = sizeof info};
  pd_op *op;
  def.signature = &signature;
  def.choice = (pd_op_choice){(void (*)(void))foreign_twice, -9, NULL};
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  CHECK_OK(pd_op_find("twice", NULL, &op, &err));
  CHECK_OK(pd_op_get_info(op, &info, &err));
  CHECK(!info.scoped);
  CHECK_OK(pd_flag_set_by_name("impl.twice", "early", &err));
  pd_module *module = load_module("op_scoped");
  CHECK_OK(pd_op_get_info(op, &info, &err));
  CHECK(info.scoped && scoped() == 1);
  pd_scope scope = push("native");
  CHECK(scoped() == 2);
  CHECK_OK(pd_scope_pop(scope, &err));
  CHECK(scoped() == 1);
  CHECK_OK(pd_module_unload(module, &err));
  CHECK_OK(pd_op_get_info(op, &info, &err));
  pd_assignment item = {.flag = find_flag("impl.twice"), .text = "early"};
  CHECK(!info.scoped && pd_scope_push(&item, 1, NULL, NULL, &scope, &err) == PD_ERR_TYPE);
}

static int done;
static void *call_on(void *context) {
  const char *list = context;
  pd_assignment item = {.flag = find_flag("impl.twice"), .text = list};
  double expected = !strcmp(list, "slow!") ? 2.25 : 2;
  while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
    pd_scope scope;
    pd_error own;
    CHECK(pd_scope_push(&item, 1, NULL, NULL, &scope, &own) == PD_OK);
    CHECK(scoped() == expected && user() == expected);
    CHECK(pd_scope_pop(scope, &own) == PD_OK);
  }
  return NULL;
}

TEST(threads_choose_for_themselves_while_the_choice_of_the_process_changes) {
  char slow[] = "slow!", native[] = "native";
  load_both();
  pthread_t threads[] = {start(call_on, slow), start(call_on, native), start(call_on, slow),
                         start(call_on, native)};
  for (int i = 0; i < 300; i++) {
    CHECK_OK(pd_flag_set_by_name("impl.twice", i % 2 ? "fast,*" : "*", &err));
  }
  __atomic_store_n(&done, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 4; i++) finish(threads[i]);
}
