/* What happens while a candidate is asked whether it can run here: the asking thread ends, the
 * process forks, the candidate leaves, and `usable` calls the library. */
#define _GNU_SOURCE

#include "forking.h"
#include "plugged.h"

typedef double calls(double x, double y);

static double asked_one(double x, double y) { return x * 0 + y * 0 + 31; }
static pd_op *op;
static const char *(*act)(void); /* what `usable` does */
static int times;

static const char *usable(void) {
  times++;
  return act ? act() : NULL;
}

static const pd_op_signature signature = {
    "pow", "double (double, double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE, PD_CODE_DOUBLE, 0}};

static pd_status add(const char *name, pd_impl *out) {
  pd_op_def def = {.size = sizeof def,
                   .kind = PD_KIND_IMPL,
                   .name = name,
                   .signature = &signature,
                   .choice = {(void (*)(void))asked_one, 10, usable}};
  return pd_impl_register(&def, out, &err);
}

static void *add_asked(void *out) {
  pd_impl number = 0;
  CHECK(add("asked", out ? out : &number) == PD_OK);
  return NULL;
}

static double run(void) {
  return ((calls *)(intptr_t)symbol_in("op_native", "native_calls"))(2, 3);
}
#define NATIVE 2003

static void start_with(const char *(*what)(void)) {
  begin();
  make_gate();
  load_module("op_native");
  CHECK_OK(pd_op_find("pow", NULL, &op, &err));
  act = what;
}

static const char *why_of(const char *name) {
  pd_op_info info = {.size = sizeof info};
  static pd_impl_info impl;
  impl.size = sizeof impl;
  CHECK_OK(pd_op_get_info(op, &info, &err));
  for (size_t i = 0; i < info.impls; i++) {
    CHECK_OK(pd_op_get_impl(op, i, &impl, &err));
    if (!strcmp(impl.name, name)) return impl.why;
  }
  return "not there";
}

/* ---- The thread ends ---- */

static const char *be_cancelled(void) {
  sem_post(&inside);
  while (times) pause();
  return NULL;
}
static const char *end_thread(void) { pthread_exit(&times); }

static void check_again(void) {
  CHECK(run() == NATIVE);
  CHECK_STR(why_of("asked"), "the question whether it can run here was interrupted");
  act = NULL;
  CHECK_OK(pd_op_check_again(op, &err));
  CHECK(times == 2 && run() == 31);
}

TEST(a_thread_that_is_cancelled_while_it_asks_leaves_a_reason_and_can_be_followed) {
  start_with(be_cancelled);
  pthread_t asking = start(add_asked, NULL);
  wait_for(&inside);
  CHECK(!pthread_cancel(asking));
  CHECK(finish(asking) == PTHREAD_CANCELED);
  check_again();
}

TEST(a_thread_that_ends_while_it_asks_leaves_a_reason_and_can_be_followed) {
  start_with(end_thread);
  CHECK(finish(start(add_asked, NULL)) == &times);
  check_again();
}

static double plain_one(double x, double y) { return x * 0 + y * 0 + 32; }
static void add_low(const char *name, calls *function, const char *(*asks)(void)) {
  pd_op_def def = {.size = sizeof def,
                   .kind = PD_KIND_IMPL,
                   .name = name,
                   .signature = &signature,
                   .choice = {(void (*)(void))function, -10, asks}};
  CHECK_OK(pd_impl_register(&def, NULL, &err));
}

static void *choose_asked(void *unused) {
  pd_flag_set_by_name("impl.pow", "asked,plain", NULL);
  return unused;
}

TEST(a_choice_that_was_interrupted_is_made_with_the_next_one_of_any_operation) {
  static const pd_op_signature other = {"other", "int (void)", {PD_CODE_INT32}};
  start_with(end_thread);
  add_low("asked", asked_one, usable);
  add_low("plain", plain_one, NULL);
  CHECK(finish(start(choose_asked, NULL)) == &times);
  CHECK(run() == NATIVE && times == 1);
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_IMPL, .name = "foreign"};
  def.signature = &other;
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  CHECK(run() == 32 && times == 1);
}

/* ---- Another thread ---- */

static const char *stop(void) {
  stop_here();
  return NULL;
}

TEST(what_another_thread_asks_is_passed_over_until_it_has_answered) {
  start_with(stop);
  pthread_t asking = start(add_asked, NULL);
  wait_for(&inside);
  CHECK_OK(pd_flag_set_by_name("impl.pow", "asked,*", &err));
  CHECK(run() == NATIVE);
  sem_post(&leave);
  finish(asking);
  CHECK(times == 1 && run() == 31);
}

TEST(a_choice_of_nothing_else_waits_for_the_answer_of_another_thread) {
  start_with(stop);
  pthread_t asking = start(add_asked, NULL);
  wait_for(&inside);
  CHECK_OK(pd_flag_set_by_name("impl.pow", "asked!", &err));
  sem_post(&leave);
  finish(asking);
  CHECK(run() == 31);
}

TEST(a_candidate_that_leaves_while_it_is_asked_is_gone) {
  pd_impl number = 0;
  start_with(stop);
  pthread_t asking = start(add_asked, &number);
  wait_for(&inside);
  CHECK_OK(pd_impl_unregister(__atomic_load_n(&number, __ATOMIC_RELAXED), &err));
  sem_post(&leave);
  finish(asking);
  CHECK(run() == NATIVE);
  CHECK_STR(why_of("asked"), "not there");
}

TEST(a_child_asks_again_what_a_thread_of_its_parent_was_asking) {
  start_with(stop);
  pthread_t asking = start(add_asked, NULL);
  wait_for(&inside);
  pid_t child = fork();
  if (child == 0) {
    alarm(240);
    act = NULL;
    CHECK_OK(pd_flag_set_by_name("impl.pow", "asked,*", &err));
    CHECK(times == 2 && run() == 31);
    END_CHILD();
  }
  check_child(child);
  sem_post(&leave);
  finish(asking);
  CHECK(run() == 31);
}

/* ---- `usable` calls the library ---- */

static const char *use_library(void) {
  pd_impl number;
  pd_error own;
  CHECK(pd_flag_set_by_name("impl.pow", "?asked,*", &own) == PD_OK);
  CHECK(pd_op_check_again(op, &own) == PD_OK);
  act = NULL;
  CHECK(add("inner", &number) == PD_OK);
  CHECK(pd_impl_unregister(number, &own) == PD_OK);
  CHECK(pd_flag_set_by_name("impl.pow", "asked!", &own) == PD_OK);
  return NULL;
}

TEST(usable_may_call_the_library) {
  start_with(use_library);
  add_asked(NULL);
  CHECK(run() == 31);
}

static const char *add_another(void) {
  char name[16];
  snprintf(name, sizeof name, "name%d", times);
  return add(name, NULL) == PD_OK ? NULL : "too deep";
}

TEST(usable_that_registers_others_without_end_is_stopped) {
  start_with(add_another);
  add_asked(NULL);
  CHECK(times < 100);
}

/* ---- Watchers and validators of the flag ---- */

static void set_again(pd_flag *flag, void *context) {
  (void)context;
  CHECK(pd_flag_set_from_string(flag, "native,*", NULL) == PD_OK);
}

TEST(a_watcher_of_the_flag_may_choose_otherwise) {
  start_with(NULL);
  add_asked(NULL);
  pd_flag *flag = find_flag("impl.pow");
  CHECK_OK(pd_watcher_add(flag, set_again, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_set_from_string(flag, "asked", &err));
  CHECK_STR(text_of(flag), "native,*");
  CHECK(run() == NATIVE);
}

static bool refuse(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  snprintf(why, size, "not %s today", entries[0]->value.str);
  return strcmp(entries[0]->value.str, "asked") != 0;
}

TEST(a_validator_of_the_flag_is_asked_too) {
  start_with(NULL);
  add_asked(NULL);
  pd_flag *flag = find_flag("impl.pow");
  CHECK_OK(pd_validator_add(&flag, 1, refuse, NULL, NULL, NULL, &err));
  CHECK_STATUS(pd_flag_set_from_string(flag, "asked", &err), PD_ERR_REFUSED,
               "impl.pow=asked: not asked today");
  CHECK(run() == 31);
}

/* ---- Choices that were made while somebody asked ---- */

static bool refuse_sole(const pd_flag_entry *const *entries, void *context, char *why,
                        size_t size) {
  (void)context, (void)why, (void)size;
  return strcmp(entries[0]->value.str, "asked!") != 0;
}

TEST(a_choice_that_is_refused_after_its_question_leaves_the_answer_to_another_choice) {
  start_with(stop);
  add_low("asked", asked_one, usable);
  CHECK(times == 0);
  pd_flag *flag = find_flag("impl.pow");
  CHECK_OK(pd_validator_add(&flag, 1, refuse_sole, NULL, NULL, NULL, &err));
  setting sole = {.name = "impl.pow", .text = "asked!"};
  pthread_t asking = start(set_by_name, &sole);
  wait_for(&inside);
  CHECK_OK(pd_flag_set_by_name("impl.pow", "asked,*", &err));
  CHECK(run() == NATIVE);
  sem_post(&leave);
  finish(asking);
  CHECK(sole.status == PD_ERR_REFUSED && times == 1);
  CHECK_STR(text_of(flag), "asked,*");
  CHECK(run() == 31);
}

static const char *choose(void) {
  pd_impl_info info = {.size = sizeof info};
  pd_error own;
  CHECK(pd_op_choose(op, &info, &own) == PD_OK);
  return info.name;
}

static void *choose_elsewhere(void *unused) {
  CHECK_STR(choose(), "foreign");
  return unused;
}

TEST(callers_hear_of_an_answer_that_their_choice_has_missed) {
  start_with(stop);
  add_low("foreign", NULL, usable);
  CHECK_OK(pd_flag_set_by_name("impl.pow", "?foreign,native", &err));
  pthread_t asking = start(choose_elsewhere, NULL);
  wait_for(&inside);
  CHECK_STR(choose(), "native");
  uint64_t revision = *pd_op_revision();
  sem_post(&leave);
  finish(asking);
  CHECK(*pd_op_revision() > revision && times == 1);
  CHECK_STR(choose(), "foreign");
  revision = *pd_op_revision();
  CHECK_STR(choose(), "foreign");
  CHECK(*pd_op_revision() == revision);
  act = NULL; /* nobody misses this answer */
  CHECK_OK(pd_op_check_again(op, &err));
  revision = *pd_op_revision();
  CHECK_STR(choose(), "foreign");
  CHECK(times == 2 && *pd_op_revision() == revision);
}

static void *check_again_elsewhere(void *unused) {
  pd_error own;
  CHECK(pd_op_check_again(op, &own) == PD_OK);
  return unused;
}

TEST(the_second_best_runs_while_the_best_one_is_asked_again) {
  start_with(NULL);
  add_asked(NULL);
  add_low("plain", plain_one, NULL);
  CHECK_OK(pd_flag_set_by_name("impl.pow", "asked,plain,native", &err));
  CHECK(run() == 31);
  act = stop;
  pthread_t asking = start(check_again_elsewhere, NULL);
  wait_for(&inside);
  CHECK_OK(pd_op_check_again(op, &err));
  CHECK(run() == 32 && times == 2);
  sem_post(&leave);
  finish(asking);
  CHECK(run() == 31);
}

static void *define_asked(void *slot) {
  pd_error own;
  static const pd_op_signature level = {"level", "int (void)", {PD_CODE_INT32}};
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_OP, .name = "native", .signature = &level};
  def.slot = slot;
  def.choice = (pd_op_choice){(void (*)(void))asked_one, 0, usable};
  CHECK(pd_impl_register(&def, NULL, &own) == PD_OK);
  return NULL;
}

TEST(a_native_implementation_that_is_being_asked_is_not_asked_by_others) {
  void (*slot)(void) = NULL;
  start_with(stop);
  pthread_t asking = start(define_asked, &slot);
  wait_for(&inside);
  CHECK_OK(pd_flag_set_by_name("impl.level", "?missing", &err));
  CHECK(times == 1);
  sem_post(&leave);
  finish(asking);
  CHECK(times == 1 && slot == (void (*)(void))asked_one);
}

/* ---- Scopes ---- */

static double twice(double x) { return x * 0 + 4; }

static void *call_in_scope(void *context) {
  pd_error own;
  pd_assignment item = {.flag = context, .text = "asked,*"};
  pd_scope scope = 0;
  CHECK(pd_scope_push(&item, 1, NULL, NULL, &scope, &own) == PD_OK);
  CHECK(((double (*)(double))(intptr_t)symbol_in("op_scoped", "scoped_calls"))(1) == 4);
  CHECK(pd_scope_pop(scope, &own) == PD_OK);
  return NULL;
}

TEST(the_process_hears_of_the_answer_to_a_question_in_a_scope) {
  static const pd_op_signature of_twice = {
      "twice", "double (double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE}};
  begin();
  make_gate();
  load_module("op_scoped");
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_IMPL, .name = "asked"};
  def.signature = &of_twice;
  def.choice = (pd_op_choice){(void (*)(void))twice, -10, usable};
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  act = stop;
  pthread_t asking = start(call_in_scope, find_flag("impl.twice"));
  wait_for(&inside);
  CHECK_OK(pd_flag_set_by_name("impl.twice", "asked,*", &err));
  double (*call)(double) = (double (*)(double))(intptr_t)symbol_in("op_scoped", "scoped_calls");
  CHECK(call(1) == 2);
  sem_post(&leave);
  finish(asking);
  CHECK(call(1) == 4 && times == 1);
}
