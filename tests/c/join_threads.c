/* Plugins come and go on some threads while others set, read and list flags:
 *
 *   join_threads ROUNDS PLUGIN PLUGIN PLUGIN
 *
 * Each plugin defines a flag of the same definition and has a function `level`.
 * Prints "done"; a deadlock or a crash is the failure. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pd_flags.h>

PD_IMPORT_int32(join_level, 6);
PD_IMPORT_string(join_mode, "fast");

static int rounds;
static int failures;

static void fail(void) { __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED); }

static int call_level(void *handle) { return (*(int (*)(void))dlsym(handle, "level"))(); }

static void *open_and_close(void *path) {
  for (int i = 0; i < rounds; i++) {
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle || call_level(handle) < 0) fail();
    if (handle) dlclose(handle);
  }
  return NULL;
}

static void *load_and_unload(void *path) {
  for (int i = 0; i < rounds; i++) {
    pd_module *module;
    if (pd_module_load(path, NULL, &module, NULL) != PD_OK ||
        pd_module_unload(module, NULL) != PD_OK) {
      fail();
    }
  }
  return NULL;
}

/* The flag may be gone at any moment: that is an error, and nothing else. */
static void *set(void *unused) {
  pd_flag *flag;
  for (int i = 0; i < 20 * rounds; i++) {
    if (pd_flag_find("join_level", &flag, NULL) != PD_OK) continue;
    pd_status status = pd_flag_set_int32(flag, i % 100, NULL);
    if (status != PD_OK && status != PD_ERR_UNDEFINED) fail();
  }
  return unused;
}

static void *list(void *unused) {
  for (int i = 0; i < 5 * rounds; i++) {
    pd_flag_info info = {.size = sizeof info};
    for (pd_flag *flag = NULL; (flag = pd_flag_next(flag));) {
      if (pd_flag_get_info(flag, &info, NULL) == PD_OK && !strlen(info.name)) fail();
    }
    pd_module_info about = {.size = sizeof about};
    for (pd_module *each = NULL; (each = pd_module_next(each));) {
      if (pd_module_get_info(each, &about, NULL) != PD_OK || !strlen(about.path)) fail();
    }
    if (FLAGS_join_level < 0 || FLAGS_join_level > 99 || !strlen(FLAGS_join_mode)) fail();
  }
  return unused;
}

int main(int argc, char **argv) {
  if (argc != 5) return 2;
  rounds = atoi(argv[1]);
  void *(*const work[])(void *) = {open_and_close, open_and_close, load_and_unload, set, list};
  void *const with[] = {argv[2], argv[3], argv[4], NULL, NULL};
  enum { COUNT = sizeof work / sizeof *work };
  pthread_t threads[COUNT];
  for (int i = 0; i < COUNT; i++) pthread_create(&threads[i], NULL, work[i], with[i]);
  for (int i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
  puts(failures ? "failed" : "done");
  return failures != 0;
}
