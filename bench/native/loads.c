/* Loads many shared libraries, for callgrind to count:
 *
 *     loads dlopen|load_module DIRECTORY COUNT
 *
 * The files of DIRECTORY are 0.so, 1.so, …. Only instructions within `counted` count. */
#define PD_NO_MODULE_RECORD
#include <dlfcn.h>
#include <pd_flags.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef bool load_one(const char *path);

static bool open_plainly(const char *path) { return dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL; }
static bool load_module(const char *path) {
  return pd_module_load(path, NULL, NULL, NULL) == PD_OK;
}

__attribute__((noinline)) int counted(load_one *load, const char *directory, int count);
int counted(load_one *load, const char *directory, int count) {
  int failed = 0;
  char path[4096];
  for (int i = 0; i < count; i++) {
    snprintf(path, sizeof path, "%s/%d.so", directory, i);
    failed += !load(path);
  }
  return failed;
}

int main(int argc, char **arguments) {
  if (argc != 4) return 2;
  load_one *load = strcmp(arguments[1], "dlopen") == 0 ? open_plainly : load_module;
  return counted(load, arguments[2], atoi(arguments[3])) > 0;
}
