/* What runs when a process ends: static objects, atexit handlers and destructors of
 * modules use the registry. Each test's child ends by itself; the last that runs in it
 * gives the exit code that says that all went well. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHECK_DEFINES_FLAGS
#include "check.h"

PD_DEFINE_int32(exit_level, 1, "Set at exit");
PD_DEFINE_string(exit_mode, "start", "Set at exit");

static const int WELL = 42;

static pd_flag *level, *mode, *plugged;
static int steps, told;
static void (*at_the_end)(); /* of the static object, which goes last */

namespace {

/* Made before main, so it goes when all atexit handlers have run. */
struct ending {
  ~ending() {
    if (at_the_end) at_the_end();
  }
} ending_of_the_program;

}  // namespace

static int code_of(void (*child)()) {
  int status;
  pid_t process = fork();
  CHECK(process >= 0);
  if (process == 0) {
    alarm(240);
    child();
    exit(3); /* unless somebody knows better */
  }
  CHECK(waitpid(process, &status, 0) == process);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static void find_flags() {
  CHECK_OK(pd_flag_find("exit_level", &level, &err));
  CHECK_OK(pd_flag_find("exit_mode", &mode, &err));
}

static pd_module *load(const char *name) {
  char path[4096];
  pd_module *module = nullptr;
  snprintf(path, sizeof path, "%s/lib%s.so", getenv("PLUGINS"), name);
  CHECK(pd_module_load(path, nullptr, &module, nullptr) == PD_OK);
  return module;
}

static void count(pd_flag *, void *) { told++; }

static bool refuse_nine(const pd_flag_entry *const *entries, void *, char *, size_t) {
  return entries[0]->value.i64 != 9;
}

/* ---- Destructors and atexit handlers ---- */

static void set_in_handler() {
  CHECK_OK(pd_flag_set_int32(level, 2, &err));
  CHECK(FLAGS_exit_level == 2 && told == 1);
  CHECK(pd_flag_set_int32(level, 9, nullptr) == PD_ERR_REFUSED);
  define_flag(PD_TYPE_bool, "defined_at_exit");
  steps++;
}

static void set_in_destructor() {
  CHECK(steps == 1 && FLAGS_exit_level == 2);
  CHECK_OK(pd_flag_set_string(mode, "end", &err));
  CHECK(FLAGS_exit_mode == "end");
  pd_module_unload(load("alpha"), nullptr);
  _exit(WELL);
}

static void use_both() {
  find_flags();
  CHECK_OK(pd_watcher_add(level, count, nullptr, nullptr, nullptr, &err));
  CHECK_OK(pd_validator_add(&level, 1, refuse_nine, nullptr, nullptr, nullptr, &err));
  CHECK(!atexit(set_in_handler));
  at_the_end = set_in_destructor;
}

TEST(static_objects_and_atexit_handlers_read_set_define_and_load) {
  CHECK(code_of(use_both) == WELL);
}

/* ---- A plugin's destructor, behind all of the program's ---- */

static void look_from_plugin() {
  int32_t value;
  CHECK(pd_flag_get_int32(level, &value, nullptr) == PD_ERR_UNDEFINED);
  CHECK(FLAGS_exit_level == 5);
  CHECK_OK(pd_flag_get_int32(plugged, &value, &err));
  CHECK(value == 7);
  CHECK_OK(pd_flag_set_int32(plugged, 8, &err));
  _exit(WELL);
}

static void leave_it_loaded() {
  find_flags();
  load("parting");
  CHECK_OK(pd_flag_find("parting_level", &plugged, &err));
  CHECK_OK(pd_flag_set_int32(plugged, 7, &err));
  CHECK_OK(pd_flag_set_int32(level, 5, &err));
  pd_flag *call;
  char address[32];
  snprintf(address, sizeof address, "%p", reinterpret_cast<void *>(look_from_plugin));
  CHECK_OK(pd_flag_find("parting_call", &call, &err));
  CHECK_OK(pd_flag_set_from_string(call, address, &err));
  exit(0);
}

TEST(a_plugins_destructor_sets_its_flags_when_those_of_the_program_are_gone) {
  CHECK(code_of(leave_it_loaded) == WELL);
}

/* ---- Other threads go on ---- */

static void *keep_setting(void *) {
  for (int32_t i = 0;; i++) {
    pd_status status = pd_flag_set_int32(level, i % 8, nullptr);
    if (status != PD_OK && status != PD_ERR_UNDEFINED) _exit(1);
    pd_module *module = i % 16 ? nullptr : load("alpha");
    if (module) pd_module_unload(module, nullptr);
  }
}

static void end_well() { _exit(WELL); }

static void end_beside_threads() {
  pthread_t thread;
  find_flags();
  load("parting");
  pd_flag *call;
  char address[32];
  snprintf(address, sizeof address, "%p", reinterpret_cast<void *>(end_well));
  CHECK_OK(pd_flag_find("parting_call", &call, &err));
  CHECK_OK(pd_flag_set_from_string(call, address, &err));
  for (int i = 0; i < 3; i++) CHECK(!pthread_create(&thread, nullptr, keep_setting, nullptr));
  usleep(2000);
  exit(0);
}

TEST(a_process_ends_while_other_threads_set_load_and_unload) {
  for (int i = 0; i < 20; i++) CHECK(code_of(end_beside_threads) == WELL);
}

/* ---- From inside ---- */

static void end_here(pd_flag *, void *) { exit(0); }

static bool end_in_validator(const pd_flag_entry *const *, void *, char *, size_t) { exit(0); }

static void end_in_a_watcher() {
  find_flags();
  at_the_end = set_in_destructor;
  steps = 1;
  CHECK_OK(pd_watcher_add(level, end_here, nullptr, nullptr, nullptr, &err));
  pd_flag_set_int32(level, 2, nullptr);
}

static void look_at_the_old() {
  CHECK(FLAGS_exit_level == 1);
  CHECK_OK(pd_flag_set_string(mode, "end", &err));
  _exit(WELL);
}

static void end_in_a_validator() {
  find_flags();
  at_the_end = look_at_the_old;
  CHECK_OK(pd_validator_add(&level, 1, end_in_validator, nullptr, nullptr, nullptr, &err));
  pd_flag_set_int32(level, 2, nullptr);
}

TEST(a_watcher_or_a_validator_may_end_the_process) {
  CHECK(code_of(end_in_a_watcher) == WELL);
  CHECK(code_of(end_in_a_validator) == WELL);
}
