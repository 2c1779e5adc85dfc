#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include "check.h"
#include "forking.h"

static pd_flag *flag;
static bool stop;

static void *keep_setting(void *unused) {
  (void)unused;
  for (int32_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
    CHECK(pd_flag_set_int32(flag, i, NULL) == PD_OK);
  }
  return NULL;
}

/* Everything that takes the lock, in a child that would hang if it were taken. */
static void use_registry(void) {
  int32_t value;
  alarm(240);
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
    if (child == 0) {
      use_registry();
      _exit(0);
    }
    check_child(child);
  }
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) CHECK(!pthread_join(threads[i], NULL));
}

TEST(what_a_child_sets_stays_in_the_child) {
  flag = define_flag(PD_TYPE_int32, "x");
  CHECK_OK(pd_flag_set_int32(flag, 1, &err));
  pid_t child = fork();
  if (child == 0) {
    CHECK_STR(text_of(flag), "1");
    CHECK_OK(pd_flag_set_int32(flag, 2, &err));
    _exit(0);
  }
  check_child(child);
  CHECK_STR(text_of(flag), "1");
}

static void fork_and_use(pd_flag *changed, void *children) {
  pid_t child = fork();
  (void)changed;
  if (child == 0) {
    flag = define_flag(PD_TYPE_int32, "of_the_child");
    use_registry();
    _exit(0);
  }
  check_child(child);
  ++*(int *)children;
}

static bool fork_and_accept(const pd_flag_entry *const *entries, void *children, char *why,
                            size_t size) {
  (void)entries;
  (void)why;
  (void)size;
  fork_and_use(NULL, children);
  return true;
}

TEST(validators_and_watchers_may_fork_while_other_threads_set) {
  pthread_t threads[2];
  int children = 0;
  flag = define_flag(PD_TYPE_int32, "x");
  pd_flag *own = define_flag(PD_TYPE_int32, "y");
  CHECK_OK(pd_watcher_add(own, fork_and_use, &children, NULL, NULL, &err));
  CHECK_OK(pd_validator_add(&own, 1, fork_and_accept, &children, NULL, NULL, &err));
  for (int i = 0; i < 2; i++) CHECK(!pthread_create(&threads[i], NULL, keep_setting, NULL));
  for (int i = 1; i <= 20; i++) CHECK_OK(pd_flag_set_int32(own, i, &err));
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) CHECK(!pthread_join(threads[i], NULL));
  CHECK(children == 40);
}

static void *set_guarded(void *guarded) {
  CHECK(pd_flag_set_int32(guarded, 4, NULL) == PD_OK);
  return NULL;
}

TEST(a_child_unloads_a_module_whose_validator_a_thread_of_its_parent_was_in) {
  char path[4096];
  pd_module *module;
  pthread_t setting;
  snprintf(path, sizeof path, "%s/libguarded.so", getenv("PLUGINS"));
  CHECK_OK(pd_module_load(path, NULL, &module, &err));
  pd_flag *guarded = find_flag("guarded");
  void *library = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  int *gate = dlsym(library, "guarded_gate");
  dlclose(library);
  __atomic_store_n(gate, 1, __ATOMIC_RELEASE);
  CHECK(!pthread_create(&setting, NULL, set_guarded, guarded));
  while (__atomic_load_n(gate, __ATOMIC_ACQUIRE) != 2) usleep(1000);
  pid_t child = fork();
  if (child == 0) {
    alarm(240);
    CHECK_OK(pd_module_unload(module, &err));
    CHECK(pd_flag_set_int32(guarded, 2, NULL) == PD_ERR_UNDEFINED);
    _exit(0);
  }
  check_child(child);
  __atomic_store_n(gate, 0, __ATOMIC_RELEASE);
  CHECK(!pthread_join(setting, NULL));
}
