/* Callbacks that don't come back to their call: they leave by longjmp, or stop on a fiber that goes
 * on in another thread. Later calls, and children of fork, must not notice.
 *
 * Built with: -ldl
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "plugged.h"

#define ROUNDS 100 /* more than calls may be nested */

static pd_flag *flag, *free_flag;

/* A set with hooks in another flag works, here and in a child. */
static void check_sets(void) {
  static int64_t last;
  CHECK_OK(pd_flag_set_int64(free_flag, ++last, &err));
  CHECK(value_of(free_flag) == last);
}

static void check_in_child(void) {
  int status;
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    alarm(240);
    check_sets();
    pd_module *module = load_module("guarded");
    CHECK_OK(pd_flag_set_by_name("guarded", "4", &err));
    CHECK_OK(pd_module_unload(module, &err));
    _exit(0);
  }
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
}

static bool accept(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  return entries[0]->value.i64 >= 0;
}

static void define_flags(void) {
  begin();
  flag = define_flag(PD_TYPE_int64, "x");
  free_flag = define_flag(PD_TYPE_int64, "y");
  CHECK_OK(pd_validator_add(&free_flag, 1, accept, NULL, NULL, NULL, &err));
}

/* ---- By longjmp ---- */

static jmp_buf place;

__attribute__((noreturn)) static void jump(pd_flag *changed, void *context) {
  (void)changed, (void)context;
  longjmp(place, 1);
}

static bool jump_from_validator(const pd_flag_entry *const *entries, void *context, char *why,
                                size_t size) {
  (void)entries, (void)why, (void)size;
  jump(NULL, context);
}

static void set_and_jump(int64_t value) {
  if (setjmp(place) != 0) return;
  pd_flag_set_int64(flag, value, NULL);
  check_fail(__FILE__, __LINE__, "came back");
}

static void set_deeper(volatile char *above) {
  volatile char room[20000];
  room[0] = *above;
  check_sets();
  above[0] = room[0];
}

static void leave_again_and_again(void) {
  volatile char room = 0;
  for (int64_t i = 1; i <= ROUNDS; i++) {
    set_and_jump(i);
    check_sets();
  }
  set_deeper(&room);
  check_in_child();
}

TEST(a_validator_may_leave_by_longjmp) {
  define_flags();
  CHECK_OK(pd_validator_add(&flag, 1, jump_from_validator, NULL, NULL, NULL, &err));
  leave_again_and_again();
  CHECK(value_of(flag) == 0);
}

TEST(a_watcher_may_leave_by_longjmp) {
  define_flags();
  CHECK_OK(pd_watcher_add(flag, jump, NULL, NULL, NULL, &err));
  leave_again_and_again();
  CHECK(value_of(flag) == ROUNDS);
}

/* ---- Out of pd_module_load ---- */

/* The plugin's constructor sets the flag to 5, its destructor to 9. */
static bool jump_from_constructor(const pd_flag_entry *const *entries, void *context, char *why,
                                  size_t size) {
  if (entries[0]->value.i64 == 5) jump_from_validator(entries, context, why, size);
  return true;
}

static void load_and_jump(void) {
  if (setjmp(place) != 0) return;
  pd_module_load(plugin_path("acting"), NULL, NULL, NULL);
  check_fail(__FILE__, __LINE__, "came back");
}

__attribute__((noinline)) static void overwrite_stack(void) {
  volatile char room[50000];
  for (size_t i = 0; i < sizeof room; i++) room[i] = 'x';
}

/* The loader remains as it was when its constructor was left; the registry works. */
TEST(a_validator_that_a_constructor_calls_may_leave_the_load_by_longjmp) {
  define_flags();
  pd_flag *outer = define_flag(PD_TYPE_int64, "outer");
  CHECK_OK(pd_validator_add(&outer, 1, jump_from_constructor, NULL, NULL, NULL, &err));
  load_and_jump();
  overwrite_stack();
  check_sets();
  close_plugin(open_plugin("guarded"));
  pd_module *module = load_module("guarded");
  CHECK_OK(pd_flag_set_by_name("guarded", "4", &err));
  CHECK_OK(pd_deferred_run(NULL, &err));
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(pd_module_load(plugin_path("none"), NULL, NULL, &err) == PD_ERR_LOAD);
  check_in_child();
}

/* ---- `usable` by longjmp ---- */

static double implement(double x, double y) { return x * 0 + y * 0 + 31; }

static const char *jump_from_usable(void) {
  longjmp(place, 1);
  return NULL;
}

static const pd_op_signature signature = {
    "pow", "double (double, double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE, PD_CODE_DOUBLE, 0}};

static void register_and_jump(void) {
  pd_op_def def = {.size = sizeof def,
                   .kind = PD_KIND_IMPL,
                   .name = "jumping",
                   .signature = &signature,
                   .choice = {(void (*)(void))implement, 10, jump_from_usable}};
  pd_impl number = 0;
  if (setjmp(place) != 0) return;
  pd_impl_register(&def, &number, NULL);
  ((double (*)(double, double))(intptr_t)symbol_in("op_native", "native_calls"))(2, 3);
  check_fail(__FILE__, __LINE__, "came back");
}

TEST(a_question_whether_an_implementation_can_run_may_leave_by_longjmp) {
  define_flags();
  load_module("op_native");
  register_and_jump();
  check_sets();
  check_in_child();
}

/* ---- Fibers ---- */

typedef struct fiber {
  ucontext_t own, caller;
  char stack[256 * 1024];
} fiber;

static fiber *now; /* the one that runs */

static bool stop_in_validator(const pd_flag_entry *const *entries, void *context, char *why,
                              size_t size) {
  fiber *self = now;
  CHECK(swapcontext(&self->own, &self->caller) == 0);
  return accept(entries, context, why, size);
}

static void set_on_fiber(void) {
  CHECK(pd_flag_set_int64(flag, value_of(flag) + 1, NULL) == PD_OK);
}

static void resume(fiber *of) {
  now = of;
  CHECK(swapcontext(&of->caller, &of->own) == 0);
}

static fiber *start_fiber(void) {
  fiber *made = calloc(1, sizeof *made);
  CHECK(made && getcontext(&made->own) == 0);
  made->own.uc_stack.ss_sp = made->stack;
  made->own.uc_stack.ss_size = sizeof made->stack;
  made->own.uc_link = &made->caller;
  makecontext(&made->own, set_on_fiber, 0);
  resume(made);
  return made;
}

static void *resume_and_set(void *suspended) {
  resume(suspended);
  check_sets();
  check_in_child();
  return NULL;
}

static void *start_and_set(void *out) {
  for (int i = 0; i < ROUNDS; i++) {
    ((fiber **)out)[i] = start_fiber();
    fiber *made = ((fiber **)out)[i];
    finish(start(resume_and_set, made));
    check_sets();
  }
  check_in_child();
  return NULL;
}

/* On threads' own stacks, above and below those of the fibers. */
TEST(a_callback_on_a_fiber_may_go_on_in_another_thread) {
  static fiber *fibers[2 * ROUNDS];
  define_flags();
  alarm(240);
  CHECK_OK(pd_validator_add(&flag, 1, stop_in_validator, NULL, NULL, NULL, &err));
  start_and_set(fibers);
  finish(start(start_and_set, fibers + ROUNDS));
  CHECK(value_of(flag) == 2 * ROUNDS);
  for (int i = 0; i < 2 * ROUNDS; i++) free(fibers[i]);
}

/* Nobody resumes them. */
TEST(a_child_does_not_notice_suspended_callbacks) {
  static fiber *fibers[8]; /* reachable: no leaks */
  define_flags();
  CHECK_OK(pd_validator_add(&flag, 1, stop_in_validator, NULL, NULL, NULL, &err));
  for (int i = 0; i < 8; i++) CHECK((fibers[i] = start_fiber()));
  check_sets();
  check_in_child();
}
