/* Forks while candidates are asked whether they can run here.
 *
 * Built with: -Wl,--wrap=free $LIBRARY
 */
#define _GNU_SOURCE
#include <malloc.h>

#include "forking.h"
#include "plugged.h"

/* What is freed is overwritten, so that reading it shows. */
void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory) {
  if (memory) memset(memory, 0x55, malloc_usable_size(memory));
  __real_free(memory);
}

typedef double calls(double x, double y);
#define NATIVE 2003

static double asked_one(double x, double y) { return x * 0 + y * 0 + 31; }
static const char *(*act)(void); /* what `usable` does */
static int times;

static const char *usable(void) {
  __atomic_fetch_add(&times, 1, __ATOMIC_RELAXED);
  const char *(*now)(void) = act;
  return now ? now() : NULL;
}

static const pd_op_signature signature = {
    "pow", "double (double, double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE, PD_CODE_DOUBLE, 0}};

static void *add(void *name) {
  pd_error own;
  pd_op_def def = {.size = sizeof def,
                   .kind = PD_KIND_IMPL,
                   .name = name,
                   .signature = &signature,
                   .choice = {(void (*)(void))asked_one, 10, usable}};
  CHECK(pd_impl_register(&def, NULL, &own) == PD_OK);
  return NULL;
}

static char asked[] = "asked", inner[] = "inner", other[] = "other";

static double run(void) {
  return ((calls *)(intptr_t)symbol_in("op_native", "native_calls"))(2, 3);
}

static void set(const char *list) {
  pd_error own;
  if (pd_flag_set_by_name("impl.pow", list, &own) == PD_OK) return;
  check_fail(__FILE__, __LINE__, "%s", own.message);
}

static void start_with(const char *(*what)(void)) {
  begin();
  make_gate();
  load_module("op_native");
  act = what;
}

/* ---- Children ---- */

static pid_t child;

static void make_child(void) {
  child = fork();
  CHECK(child >= 0);
  if (child == 0) alarm(240);
}

/* In the parent, waits for the child; in the child, ends it. */
static void end_child(void) {
  if (child == 0) END_CHILD();
  check_child(child);
}

static const char *fork_inside(void) {
  int before = times;
  act = NULL;
  make_child();
  if (child > 0) return NULL;
  set("asked,?inner,*");
  CHECK(times == before && run() == NATIVE); /* they are being asked */
  return NULL;
}

TEST(a_child_of_the_thread_that_asks_waits_for_the_answer) {
  start_with(fork_inside);
  add(asked);
  CHECK(times == 1 && run() == 31);
  end_child();
}

static const char *ask_another(void) {
  act = fork_inside;
  add(inner);
  return NULL;
}

TEST(a_child_of_a_question_inside_of_another_waits_for_both_answers) {
  start_with(ask_another);
  add(asked);
  CHECK(times == 2 && run() == 31);
  end_child();
  make_child(); /* nothing is left of the questions */
  if (child == 0) {
    set("inner");
    CHECK(times == 2 && run() == 31);
  }
  end_child();
}

static const char *stop(void) {
  stop_here();
  return NULL;
}

/* One after the other, two threads are asking. */
static pthread_t first, second;
static void ask_on_two_threads(void) {
  start_with(stop);
  first = start(add, asked);
  wait_for(&inside);
  second = start(add, other);
  wait_for(&inside);
}

TEST(a_child_asks_again_what_both_threads_of_its_parent_were_asking) {
  ask_on_two_threads();
  make_child();
  if (child == 0) {
    act = NULL;
    set("asked");
    CHECK(times == 3 && run() == 31);
    set("other");
    CHECK(times == 4 && run() == 31);
  }
  end_child();
  sem_post(&leave), sem_post(&leave);
  finish(first), finish(second);
  CHECK(run() == 31);
}

static sem_t first_leaves;
static const char *stop_for_first(void) {
  act = stop;
  sem_post(&inside);
  wait_for(&first_leaves);
  return NULL;
}

TEST(a_question_that_ends_before_a_later_one_leaves_that_to_the_child) {
  start_with(stop_for_first);
  CHECK(!sem_init(&first_leaves, 0, 0));
  first = start(add, asked);
  wait_for(&inside);
  second = start(add, other);
  wait_for(&inside);
  sem_post(&first_leaves);
  finish(first);
  CHECK(run() == 31);
  make_child();
  if (child == 0) {
    act = NULL;
    set("other");
    CHECK(times == 3 && run() == 31);
  }
  end_child();
  sem_post(&leave);
  finish(second);
  make_child();
  if (child == 0) {
    set("other");
    CHECK(times == 2 && run() == 31);
  }
  end_child();
}
