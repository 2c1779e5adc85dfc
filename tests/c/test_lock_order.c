/* What may be done while what is locked: nothing of the registry's is locked within a walk over
 * images, and neither the loader nor a file is used while the registry is locked. Otherwise threads
 * wait for each other, and the child of a fork for a thread that it doesn't have. */
/* clang-format off
 *
 * Built with: -Wl,--wrap=pthread_mutex_lock -Wl,--wrap=pthread_mutex_unlock -Wl,--wrap=dl_iterate_phdr -Wl,--wrap=dlopen -Wl,--wrap=dlclose -Wl,--wrap=dlsym -Wl,--wrap=dlinfo -Wl,--wrap=dladdr -Wl,--wrap=open -Wl,--wrap=read -Wl,--wrap=stat $LIBRARY
 *
 * clang-format on */
#define _GNU_SOURCE
#include <fcntl.h>
#include <link.h>
#include <stdarg.h>
#include <sys/stat.h>

#include "plugged.h"

static _Thread_local int locks, walks;
static bool watched; /* the test has begun */
static int walked, opened, asked_files;

static void must_be_unlocked(const char *what) {
  if (watched && locks > 0) check_fail(__FILE__, __LINE__, "%s while the registry is locked", what);
}

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
  if (watched && walks > 0) {
    check_fail(__FILE__, __LINE__, "the registry is locked within a walk over images");
  }
  locks++;
  return __real_pthread_mutex_lock(mutex);
}
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
  locks--;
  return __real_pthread_mutex_unlock(mutex);
}

typedef int visitor(struct dl_phdr_info *info, size_t size, void *context);
int __real_dl_iterate_phdr(visitor *visit, void *context);
int __wrap_dl_iterate_phdr(visitor *visit, void *context);
int __wrap_dl_iterate_phdr(visitor *visit, void *context) {
  must_be_unlocked("dl_iterate_phdr");
  walks++;
  walked++;
  int result = __real_dl_iterate_phdr(visit, context);
  walks--;
  return result;
}

/* X(result, name, parameters, arguments) */
#define LOADER_MAP(X)                                                                              \
  X(void *, dlopen, (const char *path, int mode), (path, mode))                                    \
  X(int, dlclose, (void *handle), (handle))                                                        \
  X(void *, dlsym, (void *handle, const char *name), (handle, name))                               \
  X(int, dlinfo, (void *handle, int what, void *out), (handle, what, out))                         \
  X(int, dladdr, (const void *address, Dl_info *info), (address, info))
#define WRAP_AND_COUNT(calls, result, name, parameters, arguments)                                 \
  result __real_##name parameters;                                                                 \
  result __wrap_##name parameters;                                                                 \
  result __wrap_##name parameters {                                                                \
    must_be_unlocked(#name);                                                                       \
    calls++;                                                                                       \
    return __real_##name arguments;                                                                \
  }
#define WRAP_LOADER(result, name, parameters, arguments)                                           \
  WRAP_AND_COUNT(opened, result, name, parameters, arguments)
LOADER_MAP(WRAP_LOADER)

#define FILE_MAP(X)                                                                                \
  X(ssize_t, read, (int fd, void *buffer, size_t size), (fd, buffer, size))                        \
  X(int, stat, (const char *path, struct stat *out), (path, out))
#define WRAP_FILE(result, name, parameters, arguments)                                             \
  WRAP_AND_COUNT(asked_files, result, name, parameters, arguments)
FILE_MAP(WRAP_FILE)

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...) {
  must_be_unlocked("open");
  asked_files++;
  return __real_open(path, flags);
}

static void watch(void) {
  begin();
  watched = true;
}

/* ---- Walks and the loader ---- */

TEST(a_plugin_comes_and_goes_by_the_loader) {
  watch();
  close_plugin(open_plugin("alpha"));
  CHECK(walked > 0);
}

TEST(a_module_comes_and_goes_by_the_registry) {
  watch();
  pd_module *module = load_module("alpha");
  CHECK_OK(pd_module_unload(module, &err));
  module = load_module("plain"); /* without a record */
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(walked > 0 && opened > 0);
}

TEST(a_module_is_refused) {
  watch();
  load_module("alpha");
  CHECK(pd_module_load(plugin_path("needs_clash"), NULL, NULL, &err) == PD_ERR_CONFLICT);
}

TEST(a_flag_is_registered_with_a_variable_of_some_image) {
  static int64_t cell;
  watch();
  pd_flag_def def = definition(PD_TYPE_int64, "in_the_program");
  def.cell = &cell;
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  def.name = "in_a_library";
  def.cell = NULL;
  void *library = open_plugin("bare");
  def.type = PD_TYPE_int32;
  def.min.i64 = INT32_MIN;
  def.max.i64 = INT32_MAX;
  def.cell = symbol(library, "bare_cell");
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  close_plugin(library);
  CHECK_OK(pd_flag_set_by_name("in_a_library", "5", &err));
}

TEST(copies_are_listed) {
  pd_copy_info info = {.size = sizeof info};
  watch();
  CHECK_OK(pd_copy_get_info(0, &info, &err));
  CHECK(pd_copy_get_info(9, &info, &err) == PD_ERR_ARGUMENT);
  CHECK(walked > 0);
}

TEST(hooks_of_a_plugin_are_called) {
  watch();
  void *library = open_plugin("calling");
  CHECK_OK(pd_flag_set_by_name("calling", "5", &err));
  CHECK(pd_flag_set_by_name("calling", "500", &err) == PD_ERR_REFUSED);
  close_plugin(library);
}

TEST(hooks_of_a_library_without_a_record_are_added_called_and_removed) {
  watch();
  pd_flag *own = define_flag(PD_TYPE_int64, "own");
  void *library = open_plugin("bare"), *found = symbol(library, "bare_watch");
  pd_watcher function;
  pd_hook hook;
  memcpy(&function, &found, sizeof function);
  CHECK_OK(pd_watcher_add(own, function, NULL, NULL, &hook, &err));
  CHECK_OK(pd_flag_set_int64(own, 4, &err));
  CHECK_OK(pd_hook_remove(hook, &err));
  close_plugin(library);
}

/* ---- Files ---- */

static char path[64] = "/tmp/lock_order_XXXXXX";

static void write_flagfile(const char *text) {
  int fd = mkstemp(path);
  CHECK(fd >= 0);
  FILE *file = fdopen(fd, "w");
  fputs(text, file);
  fclose(file);
}

TEST(a_flagfile_of_a_command_line_is_read) {
  char argument[96];
  pd_flag *own = define_flag(PD_TYPE_int64, "own");
  write_flagfile("--own=5\n");
  snprintf(argument, sizeof argument, "--flagfile=%s", path);
  watch();
  CHECK_OK(parse_line(argument, NULL));
  CHECK_STR(text_of(own), "5");
  CHECK(asked_files > 0);
  unlink(path);
}

TEST(a_flagfile_in_a_flagfile_is_read) {
  char argument[96], text[128];
  pd_flag *own = define_flag(PD_TYPE_int64, "own");
  write_flagfile("--own=5\n");
  snprintf(text, sizeof text, "--flagfile=%s\n", path);
  char inner[sizeof path];
  memcpy(inner, path, sizeof inner);
  strcpy(path, "/tmp/lock_order_XXXXXX");
  write_flagfile(text);
  snprintf(argument, sizeof argument, "--flagfile=%s", path);
  watch();
  CHECK_OK(parse_line(argument, NULL));
  CHECK_STR(text_of(own), "5");
  unlink(path);
  unlink(inner);
}

TEST(a_flagfile_of_file_values_is_read) {
  pd_flag *own = define_flag(PD_TYPE_int64, "own");
  write_flagfile("--own=5\n");
  pd_config *config = new_config();
  watch();
  CHECK_OK(pd_config_add_flagfile(config, path, NULL, NULL, &err));
  CHECK_OK(pd_config_apply(config, false, NULL, &err));
  CHECK_STR(text_of(own), "5");
  unlink(path);
}

TEST(a_flagfile_that_does_not_exist_is_looked_for) {
  watch();
  CHECK(parse_line("--flagfile=/nowhere/of_lock_order", NULL) == PD_ERR_FILE);
}
