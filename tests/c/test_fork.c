#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static pd_flag *flag;
static bool stop;

static void *keep_setting(void *unused) {
  (void)unused;
  for (int32_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
    CHECK(pd_flag_set_int32(flag, i, NULL) == PD_OK);
  }
  return NULL;
}

static int exit_code(pid_t child) {
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

/* Everything that takes the lock, in a child that would hang if it were taken. */
static void use_registry(void) {
  int32_t value;
  alarm(60);
  CHECK_OK(pd_flag_set_int32(flag, 7, &err));
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(value == 7);
  define_flag(PD_TYPE_bool, "in_child");
  pd_module *module = NULL;
  CHECK(pd_module_load("missing", NULL, &module, &err) == PD_ERR_LOAD);
}

TEST(a_child_can_use_the_registry_whatever_other_threads_did_at_the_fork) {
  pthread_t threads[2];
  flag = define_flag(PD_TYPE_int32, "x");
  for (int i = 0; i < 2; i++) CHECK(!pthread_create(&threads[i], NULL, keep_setting, NULL));
  for (int i = 0; i < 100; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      use_registry();
      _exit(0);
    }
    CHECK(exit_code(child) == 0);
  }
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) CHECK(!pthread_join(threads[i], NULL));
}

TEST(what_a_child_sets_stays_in_the_child) {
  flag = define_flag(PD_TYPE_int32, "x");
  CHECK_OK(pd_flag_set_int32(flag, 1, &err));
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK_STR(text_of(flag), "1");
    CHECK_OK(pd_flag_set_int32(flag, 2, &err));
    _exit(0);
  }
  CHECK(exit_code(child) == 0);
  CHECK_STR(text_of(flag), "1");
}
