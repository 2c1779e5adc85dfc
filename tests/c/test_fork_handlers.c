/* Handlers of fork that the program has registered before it loads the library: they run between
 * the library's own, and call it.
 *
 * Built with: -DPD_HEADER_ONLY -Wl,--as-needed -ldl
 */
#include <sys/wait.h>

#define CHECK_DEFINES_FLAGS
#include "plugged.h"

PD_DEFINE_int32(level, 3, "Compression level");
PD_DEFINE_int32(checked, 3, "A flag with hooks");
PD_DEFINE_int32(busy, 0, "Other threads set it");

static void (*prepare)(void), (*parent)(void), (*child)(void);
static void call_prepare(void) {
  if (prepare) prepare();
}
static void call_parent(void) {
  if (parent) parent();
}
static void call_child(void) {
  if (child) child();
}

/* What hangs ends by a signal. */
static void load_library(void) {
  alarm(240);
  CHECK(!dlsym(RTLD_DEFAULT, "pd_version"));
  CHECK(!pthread_atfork(call_prepare, call_parent, call_child));
  CHECK(dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_GLOBAL));
}

static pid_t begin_child(void) {
  pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) alarm(240);
  return pid;
}

static void end_child(pid_t pid) {
  int status;
  CHECK(waitpid(pid, &status, 0) == pid);
  CHECK(status == 0);
}

/* ---- Every function ---- */

static bool stop;

static void *keep_setting(void *unused) {
  for (int i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
    CHECK(pd_flag_set_by_name("busy", i % 2 ? "1" : "2", NULL) == PD_OK);
  }
  return unused;
}

static int asked, told;

static bool is_small(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  asked++;
  return entries[0]->value.i64 < 10;
}

static void count(pd_flag *flag, void *context) { told += flag && !context; }

static void use_library(void) {
  static int round;
  char text[16];
  snprintf(text, sizeof text, "%d", ++round % 10);
  int before = told;
  bool changes = FLAGS_checked != round % 10;
  CHECK_OK(pd_flag_set_by_name("level", text, &err));
  CHECK(FLAGS_level == round % 10);
  CHECK_OK(pd_flag_set_by_name("checked", text, &err));
  CHECK(told == before + changes);
  CHECK(pd_flag_set_by_name("checked", "11", &err) == PD_ERR_REFUSED);
  CHECK(pd_flag_set_by_name("absent", "1", &err) == PD_ERR_UNDEFINED);
  pd_copy_info info = {.size = sizeof info};
  CHECK_OK(pd_copy_get_info(0, &info, &err));
}

TEST(handlers_that_were_there_before_the_library_use_it) {
  pthread_t threads[2];
  load_library();
  pd_flag *flag = find_flag("checked");
  CHECK_OK(pd_validator_add(&flag, 1, is_small, NULL, NULL, NULL, &err));
  CHECK_OK(pd_watcher_add(flag, count, NULL, NULL, NULL, &err));
  for (int i = 0; i < 2; i++) threads[i] = start(keep_setting, NULL);
  for (int i = 0; i < 70; i++) {
    prepare = i & 1 ? use_library : NULL;
    parent = i & 2 ? use_library : NULL;
    child = i & 4 ? use_library : NULL;
    pid_t pid = begin_child();
    use_library();
    if (pid == 0) _exit(0);
    end_child(pid);
  }
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) finish(threads[i]);
}

/* ---- Callbacks, and the loader ---- */

static void *set_busy(void *unused) {
  CHECK(pd_flag_set_by_name("busy", "7", NULL) == PD_OK);
  return unused;
}

static void wait_for_other_thread(pd_flag *flag, void *context) {
  count(flag, context);
  finish(start(set_busy, NULL));
}

static void change_watched(void) {
  char text[16];
  snprintf(text, sizeof text, "%d", FLAGS_checked + 1);
  CHECK_OK(pd_flag_set_by_name("checked", text, &err));
}

TEST(a_watcher_that_a_handler_calls_may_wait_for_other_threads) {
  load_library();
  pd_flag *flag = find_flag("checked");
  CHECK_OK(pd_watcher_add(flag, wait_for_other_thread, NULL, NULL, NULL, &err));
  prepare = parent = child = change_watched;
  pid_t pid = begin_child();
  CHECK(FLAGS_busy == 7);
  CHECK(told == 2);
  change_watched();
  if (pid == 0) _exit(0);
  end_child(pid);
}

static void load_plugins(void) {
  pd_module *module = load_module("guarded");
  CHECK_OK(pd_flag_set_by_name("guarded", "4", &err));
  CHECK_OK(pd_module_unload(module, &err));
  close_plugin(open_plugin("alpha"));
}

static void *load_other_plugins(void *unused) {
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    pd_module *module = NULL;
    CHECK(pd_module_load(plugin_path("whole"), NULL, &module, NULL) == PD_OK);
    CHECK(pd_module_unload(module, NULL) == PD_OK);
  }
  return unused;
}

static void load_module_only(void) {
  pd_module *module = load_module("guarded");
  CHECK_OK(pd_flag_set_by_name("guarded", "4", &err));
  CHECK_OK(pd_module_unload(module, &err));
}

TEST(handlers_load_plugins) {
  load_library();
  prepare = parent = child = load_plugins;
  for (int i = 0; i < 10; i++) {
    pid_t pid = begin_child();
    load_plugins();
    if (pid == 0) _exit(0);
    end_child(pid);
  }
}

TEST(handlers_of_the_parent_load_modules_while_another_thread_does) {
  load_library();
  prepare = parent = load_module_only;
  pthread_t thread = start(load_other_plugins, NULL);
  for (int i = 0; i < 100; i++) {
    pid_t pid = begin_child();
    CHECK_OK(pd_flag_set_by_name("level", "4", &err));
    if (pid == 0) _exit(0);
    end_child(pid);
  }
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  finish(thread);
}

/* ---- Forks of handlers ---- */

static bool forks;

static void fork_once(void) {
  if (forks) return;
  forks = true;
  pid_t pid = begin_child();
  CHECK_OK(pd_flag_set_by_name("level", "6", &err));
  if (pid == 0) _exit(0);
  end_child(pid);
  CHECK_OK(pd_flag_set_by_name("level", "7", &err));
}

static void go_on_in_child(void) {
  if (forks) return;
  forks = true;
  pid_t pid = begin_child();
  CHECK_OK(pd_flag_set_by_name("level", "6", &err));
  if (pid > 0) {
    int status;
    CHECK(waitpid(pid, &status, 0) == pid);
    _exit(status != 0);
  }
}

static void fork_and_check(void) {
  pid_t pid = begin_child();
  CHECK_OK(pd_flag_set_by_name("level", "5", &err));
  finish(start(set_busy, NULL));
  if (pid == 0) {
    load_plugins();
    _exit(0);
  }
  end_child(pid);
  load_plugins();
}

TEST(a_handler_of_the_parent_forks) {
  load_library();
  parent = fork_once;
  fork_and_check();
}
TEST(a_handler_of_the_child_forks) {
  load_library();
  child = fork_once;
  fork_and_check();
}
TEST(a_handler_of_the_child_goes_on_in_a_child_of_its_own) {
  load_library();
  child = go_on_in_child;
  fork_and_check();
}

static void fork_in_watcher(pd_flag *flag, void *context) {
  count(flag, context);
  fork_once();
}

TEST(a_watcher_that_a_handler_calls_forks) {
  load_library();
  pd_flag *flag = find_flag("checked");
  CHECK_OK(pd_watcher_add(flag, fork_in_watcher, NULL, NULL, NULL, &err));
  parent = change_watched;
  fork_and_check();
}
