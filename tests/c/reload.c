/* A plugin comes and goes, by pd_module_load and by dlopen in turn:
 *
 *   reload ROUNDS PLUGIN
 *
 * The plugin is that of tests/joining.py. Each round sets its flags to new values,
 * which the next round must find. Prints "done" if no value was lost and the
 * memory in use stopped growing. */
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pd_flags.h>

/* AddressSanitizer's, where it is in the program. */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t used(void) {
  if (__sanitizer_get_current_allocated_bytes) return __sanitizer_get_current_allocated_bytes();
  return mallinfo2().uordblks;
}

static void expect(int holds, const char *what, int round) {
  if (holds) return;
  printf("round %d: %s\n", round, what);
  exit(1);
}

static int level_in(void *handle) { return (*(int (*)(void))dlsym(handle, "level"))(); }
static const char *mode_in(void *handle) {
  return (*(const char *(*)(void))dlsym(handle, "mode"))();
}

/* Look from everywhere, then set what the next round must find. */
static void use(void *handle, pd_flag *level, pd_flag *mode, int round) {
  static const char *const modes[] = {"fast", "best"};
  int32_t value;
  const char *text;
  int last = round ? (round - 1) % 100 : 6;
  const char *last_mode = round ? modes[(round - 1) % 2] : "fast";
  expect(pd_flag_get_int32(level, &value, NULL) == PD_OK && value == last, "level is lost", round);
  expect(level_in(handle) == last, "the plugin's level is lost", round);
  expect(pd_flag_get_string(mode, &text, NULL) == PD_OK && !strcmp(text, last_mode), "mode is lost",
         round);
  expect(!strcmp(mode_in(handle), last_mode), "the plugin's mode is lost", round);
  expect(pd_flag_set_int32(level, round % 100, NULL) == PD_OK, "can't set level", round);
  expect(pd_flag_set_string(mode, modes[round % 2], NULL) == PD_OK, "can't set mode", round);
  expect(level_in(handle) == round % 100, "the plugin missed the new level", round);
}

static void turn(const char *path, int round) {
  static pd_flag *level, *mode; /* of the first round, good for all */
  pd_module *module = NULL;
  int by_us = round % 2 == 0;
  if (by_us) expect(pd_module_load(path, NULL, &module, NULL) == PD_OK, "can't load", round);
  void *handle = dlopen(path, RTLD_NOW | (by_us ? RTLD_NOLOAD : RTLD_LOCAL));
  expect(handle != NULL, "can't open", round);
  if (!level) {
    expect(pd_flag_find("join_level", &level, NULL) == PD_OK, "no level", round);
    expect(pd_flag_find("join_mode", &mode, NULL) == PD_OK, "no mode", round);
  }
  use(handle, level, mode, round);
  dlclose(handle);
  if (by_us) expect(pd_module_unload(module, NULL) == PD_OK, "can't unload", round);
  int32_t value;
  expect(pd_flag_get_int32(level, &value, NULL) == PD_ERR_UNDEFINED, "the flag stayed", round);
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  int rounds = atoi(argv[1]);
  size_t before = 0;
  for (int i = 0; i < rounds; i++) {
    turn(argv[2], i);
    if (i == rounds / 2 - 1) before = used();
  }
  expect(used() <= before + 256, "memory grows", rounds);
  puts("done");
  return 0;
}
