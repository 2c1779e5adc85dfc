/* Children of processes whose other threads were loading plugins, or walking over images, at the
 * moment of the fork. */
#include <sys/wait.h>

#include "plugged.h"

#define CHILDREN 300

static pd_flag *own;
static bool stop;

static bool is_small(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  return entries[0]->value.i64 < 100;
}

static int changes;
static void count(pd_flag *flag, void *context) { changes += flag && !context; }

static bool is_over(void) { return __atomic_load_n(&stop, __ATOMIC_RELAXED); }

static void *load_by_loader(void *name) {
  while (!is_over()) close_plugin(open_plugin(name));
  return NULL;
}

static void *load_by_registry(void *name) {
  while (!is_over()) {
    pd_module *module = NULL;
    CHECK(pd_module_load(plugin_path(name), NULL, &module, NULL) == PD_OK);
    CHECK(pd_module_unload(module, NULL) == PD_OK);
  }
  return NULL;
}

static void *list_copies(void *unused) {
  pd_copy_info info = {.size = sizeof info};
  while (!is_over()) CHECK(pd_copy_get_info(0, &info, NULL) == PD_OK);
  return unused;
}

static void set_and_read(void) {
  int64_t value = 0;
  CHECK_OK(pd_flag_set_int64(own, 7, &err));
  CHECK_OK(pd_flag_get_int64(own, &value, &err));
  CHECK(value == 7);
}

static void load_more(void) {
  set_and_read();
  void *library = open_plugin("guarded");
  CHECK_OK(pd_flag_set_by_name("guarded", "4", &err));
  close_plugin(library);
}

static void load_module_in_child(void) {
  pd_module *module = load_module("guarded");
  CHECK_OK(pd_flag_set_by_name("guarded", "4", &err));
  CHECK_OK(pd_module_unload(module, &err));
}

static void register_in_child(void) {
  static int64_t cell;
  DEFINE(PD_TYPE_int64, "of_the_child", def.cell = &cell);
  CHECK_OK(pd_flag_set_by_name("of_the_child", "4", &err));
  CHECK(cell == 4);
}

static void list_once(void) {
  pd_copy_info info = {.size = sizeof info};
  CHECK_OK(pd_copy_get_info(0, &info, &err));
}

/* Of children that can't go on, some are killed. */
static int fork_all(void (*in_child)(void)) {
  int lost = 0;
  for (int i = 0; i < CHILDREN && lost < 3; i++) {
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      alarm(30);
      in_child();
      _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    lost += status != 0;
  }
  return lost;
}

static void check_children(void *(*busy)(void *), void (*in_child)(void)) {
  static const char *const names[] = {"alpha", "shifting"};
  pthread_t threads[2];
  alarm(600);
  static int64_t cell; /* what it is in, the program, is known from now on */
  own = DEFINE(PD_TYPE_int64, "own", def.cell = &cell);
  CHECK_OK(pd_validator_add(&own, 1, is_small, NULL, NULL, NULL, &err));
  CHECK_OK(pd_watcher_add(own, count, NULL, NULL, NULL, &err));
  close_plugin(open_plugin("guarded")); /* what its loading needs is there in each child */
  for (int i = 0; i < 2; i++) threads[i] = start(busy, (void *)(uintptr_t)names[i]);
  int lost = fork_all(in_child);
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) finish(threads[i]);
  if (lost) check_fail(__FILE__, __LINE__, "%d children hung or failed", lost);
}

/* ---- Threads that load ----
 *
 * The loader itself leaves a child of such a process without a sound list of images: there a
 * walk (dl_iterate_phdr) may hang, and dlopen may fail, with libraries that have no flags too.
 * So what needs neither works in each child. */

static void use_hooks(void) {
  set_and_read();
  CHECK(pd_flag_set_int64(own, 1000, &err) == PD_ERR_REFUSED);
  CHECK_OK(pd_flags_validate(NULL, &err));
}

static void parse(void) {
  CHECK_OK(parse_line("--own=8", NULL));
  CHECK_STR(text_of(own), "8");
}

TEST(a_child_sets_flags_while_threads_of_its_parent_load_plugins) {
  check_children(load_by_loader, set_and_read);
}
TEST(a_child_calls_hooks_while_threads_of_its_parent_load_plugins) {
  check_children(load_by_loader, use_hooks);
}
TEST(a_child_calls_hooks_while_threads_of_its_parent_load_modules) {
  check_children(load_by_registry, use_hooks);
}
TEST(a_child_parses_a_line_while_threads_of_its_parent_load_plugins) {
  check_children(load_by_loader, parse);
}
TEST(a_child_defines_flags_of_the_program_while_threads_of_its_parent_load_plugins) {
  check_children(load_by_loader, register_in_child);
}
TEST(a_child_defines_flags_of_the_program_while_threads_of_its_parent_load_modules) {
  check_children(load_by_registry, register_in_child);
}

/* ---- Threads whose calls walk over images: a fork waits for them ---- */

TEST(a_child_defines_flags_while_threads_of_its_parent_walk_over_images) {
  check_children(list_copies, register_in_child);
}
TEST(a_child_loads_plugins_while_threads_of_its_parent_walk_over_images) {
  check_children(list_copies, load_more);
}
TEST(a_child_loads_modules_while_threads_of_its_parent_walk_over_images) {
  check_children(list_copies, load_module_in_child);
}
TEST(a_child_lists_copies_while_threads_of_its_parent_walk_over_images) {
  check_children(list_copies, list_once);
}
