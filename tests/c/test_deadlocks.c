/* Threads that would wait for each other: callbacks that call the loader or unload modules while
 * others do. */
#define _GNU_SOURCE
#include "plugged.h"

static void *library;
static sem_t leaving; /* the plugin's destructor has begun, within the loader */

static void tell_leaving(void) { sem_post(&leaving); }

static void start_with(const char *hook, void (*function)(void)) {
  void (*end)(void) = tell_leaving;
  begin();
  make_gate();
  CHECK(!sem_init(&leaving, 0, 0));
  library = open_plugin("calling");
  memcpy(symbol(library, hook), &function, sizeof function);
  memcpy(symbol(library, "calling_at_end"), &end, sizeof end);
}

static void *close_it(void *unused) {
  wait_for(&inside);
  close_plugin(library);
  return unused;
}

/* The loader is asked while another thread closes the library that asks. */
static void look_up(void) {
  sem_post(&inside);
  comes_soon(&leaving);
  CHECK(dlsym(RTLD_DEFAULT, "malloc"));
  void *other = dlopen(plugin_path("alpha"), RTLD_NOW | RTLD_LOCAL);
  CHECK(other && !dlclose(other));
}

TEST(a_watcher_calls_the_loader_while_another_thread_closes_its_library) {
  start_with("calling_during_watch", look_up);
  pthread_t closer = start(close_it, NULL);
  CHECK_OK(pd_flag_set_by_name("calling", "5", &err));
  finish(closer);
  CHECK(!LOADER_UNMAPS || !is_loaded("calling"));
}

TEST(a_validator_calls_the_loader_while_another_thread_closes_its_library) {
  start_with("calling_during_validate", look_up);
  pthread_t closer = start(close_it, NULL);
  CHECK_OK(pd_flag_set_by_name("calling", "5", &err));
  finish(closer);
  CHECK(!LOADER_UNMAPS || !is_loaded("calling"));
}

/* The library that is closed isn't that of the flag, but its hook is on it. */
static bool looks_up(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  look_up();
  return true;
}

TEST(a_validator_of_the_program_calls_the_loader_while_another_thread_closes_the_flags_library) {
  start_with("calling_during_watch", NULL);
  pd_flag *flag = find_flag("calling_plain");
  CHECK_OK(pd_validator_add(&flag, 1, looks_up, NULL, NULL, NULL, &err));
  pthread_t closer = start(close_it, NULL);
  pd_status status = pd_flag_set_int64(flag, 5, &err);
  CHECK(status == PD_OK || status == PD_ERR_UNDEFINED);
  finish(closer);
  CHECK(!LOADER_UNMAPS || !is_loaded("calling"));
}

/* ---- Two that unload each other ---- */

static pd_module *modules[2];
static void *handles[2];
static pthread_barrier_t both;
static int calls[2];

static void unload_other(int own) {
  if (calls[own]++) return; /* asked again */
  pthread_barrier_wait(&both);
  if (modules[1 - own]) CHECK(pd_module_unload(modules[1 - own], NULL) == PD_OK);
  if (handles[1 - own]) close_plugin(handles[1 - own]);
  pthread_barrier_wait(&both); /* both are unloaded, and both calls go on */
}
static void unload_second(void) { unload_other(0); }
static void unload_first(void) { unload_other(1); }

static void unload_each_other(const char *hook, bool by_us) {
  static const char *const names[] = {"calling", "calling_too"};
  static void (*const functions[])(void) = {unload_second, unload_first};
  setting wanted[2];
  pthread_t threads[2];
  begin();
  CHECK(!pthread_barrier_init(&both, NULL, 2));
  for (int i = 0; i < 2; i++) {
    if (by_us) modules[i] = load_module(names[i]);
    if (!by_us) handles[i] = open_plugin(names[i]);
    memcpy(symbol_in(names[i], hook), &functions[i], sizeof *functions);
    wanted[i] = (setting){.name = names[i], .text = "5"};
  }
  for (int i = 0; i < 2; i++) threads[i] = start(set_by_name, &wanted[i]);
  for (int i = 0; i < 2; i++) finish(threads[i]);
  for (int i = 0; i < 2; i++) {
    CHECK(wanted[i].status == PD_OK);
    CHECK(!LOADER_UNMAPS || (!is_loaded(names[i]) && !is_defined(names[i])));
  }
}

TEST(two_validators_unload_each_others_modules) {
  unload_each_other("calling_during_validate", true);
}
TEST(two_watchers_unload_each_others_modules) { unload_each_other("calling_during_watch", true); }
TEST(two_validators_close_each_others_libraries) {
  unload_each_other("calling_during_validate", false);
}
TEST(two_watchers_close_each_others_libraries) { unload_each_other("calling_during_watch", false); }

/* ---- Waiting ---- */

static void stop_once(void) {
  static int stopped;
  if (stopped++ == 0) stop_here();
}

static void *close_and_count(void *used) {
  struct timespec time;
  close_plugin(library);
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  *(int64_t *)used = time.tv_sec * 1000000000 + time.tv_nsec;
  return NULL;
}

TEST(who_closes_a_library_that_another_thread_is_in_doesnt_burn_the_processor) {
  int64_t used = 0;
  setting wanted = {.name = "calling", .text = "5"};
  start_with("calling_during_validate", stop_once);
  pthread_t setter = start(set_by_name, &wanted);
  wait_for(&inside);
  pthread_t closer = start(close_and_count, &used);
  sleep(2); /* the validator takes its time */
  sem_post(&leave);
  finish(closer);
  finish(setter);
  CHECK(used < 1000000000 / 2); /* not even a quarter of it */
}

/* ---- A module that comes while callbacks run ---- */

static bool stop_turning;
static void *turn(void *name) {
  while (!__atomic_load_n(&stop_turning, __ATOMIC_RELAXED)) {
    void *handle = dlopen(plugin_path(name), RTLD_NOW | RTLD_LOCAL);
    CHECK(handle && !dlclose(handle));
  }
  return NULL;
}

static void walk(void) {
  pd_copy_info info = {.size = sizeof info};
  CHECK(dlsym(RTLD_DEFAULT, "free"));
  CHECK(pd_copy_get_info(0, &info, NULL) == PD_OK);
}

static bool walks(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  walk();
  return true;
}

static void also_walks(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  walk();
}

TEST(hooks_that_call_the_loader_run_while_other_threads_load_and_unload) {
  begin();
  pd_flag *own = define_flag(PD_TYPE_int64, "own");
  CHECK_OK(pd_validator_add(&own, 1, walks, NULL, NULL, NULL, &err));
  CHECK_OK(pd_watcher_add(NULL, also_walks, NULL, NULL, NULL, &err));
  static const char *const names[] = {"alpha", "calling", "guarded"};
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) threads[i] = start(turn, (void *)(uintptr_t)names[i]);
  for (int i = 0; i < 2000; i++) {
    CHECK_OK(pd_flag_set_int64(own, i, &err));
    pd_status status = pd_flag_set_by_name("calling", i % 2 ? "5" : "6", NULL);
    CHECK(status == PD_OK || status == PD_ERR_UNDEFINED);
  }
  __atomic_store_n(&stop_turning, true, __ATOMIC_RELAXED);
  for (int i = 0; i < 3; i++) finish(threads[i]);
}
