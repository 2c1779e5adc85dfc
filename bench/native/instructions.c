/* A program that does one kind of work with the library, for callgrind to count:
 *
 *     instructions WHAT
 *
 * Only instructions within `counted` count; the rest is preparation. It uses 1000 flags, in no
 * particular order. */
#include <pd_flags.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1000, ROOM = 32 };

static int32_t cells[COUNT];
static char names[COUNT][ROOM], words[COUNT][ROOM], *argv[COUNT + 2];
static pd_flag *flags[COUNT];
static pd_flag_def definitions[COUNT];
static const pd_flag_def *pointers[COUNT];
static int failed;

static void make_texts(void) {
  argv[0] = (char[]){"program"};
  for (int i = 0; i < COUNT; i++) {
    snprintf(names[i], ROOM, "check_%03d_limit", i * 377 % COUNT);
    snprintf(words[i], ROOM, "--%s=17", names[i]);
    argv[i + 1] = words[i];
    pd_flag_def_init(&definitions[i], sizeof *definitions, PD_TYPE_int32);
    definitions[i].name = names[i];
    definitions[i].help = names[(i + 1) % COUNT];
    definitions[i].file = __FILE__;
    definitions[i].line = (uint32_t)i + 1;
    definitions[i].cell = &cells[i];
    pointers[i] = &definitions[i];
  }
}

static void nothing(void) {}

static void register_all(void) {
  for (int i = 0; i < COUNT; i++) {
    failed |= pd_flag_register(&definitions[i], &flags[i], NULL) != PD_OK;
  }
}

static void join(void) {
  const pd_host *host = pd__module_v1.host;
  host->module_leave(&pd__module_v1);
  pd__module_v1.defs = pointers;
  pd__module_v1.defs_end = pointers + COUNT;
  host->module_join(&pd__module_v1);
}

static void leave(void) { pd__module_v1.host->module_leave(&pd__module_v1); }

static void find(void) {
  for (int i = 0; i < COUNT; i++) failed |= pd_flag_find(names[i], &flags[i], NULL) != PD_OK;
}

static void set_by_name(void) {
  for (int i = 0; i < COUNT; i++) failed |= pd_flag_set_by_name(names[i], "17", NULL) != PD_OK;
}

static void set_all(void) {
  register_all();
  set_by_name();
}

static void set_int32(void) {
  for (int i = 0; i < COUNT; i++) failed |= pd_flag_set_int32(flags[i], 17, NULL) != PD_OK;
}

static void get_int32(void) {
  for (int i = 0; i < COUNT; i++) {
    int32_t value;
    failed |= pd_flag_get_int32(flags[i], &value, NULL) != PD_OK;
  }
}

static void parse(void) {
  int argc = COUNT + 1;
  failed |= pd_parse_argv(&argc, argv, NULL, NULL) != PD_OK;
}

static void override(void) {
  pd_assignment items[COUNT];
  pd_override made;
  memset(items, 0, sizeof items);
  for (int i = 0; i < COUNT; i++) {
    items[i] = (pd_assignment){.flag = flags[i], .type = PD_TYPE_int32, .value.i64 = 3};
  }
  failed |= pd_override_push(items, COUNT, NULL, NULL, &made, NULL) != PD_OK ||
            pd_override_pop(made, NULL) != PD_OK;
}

static const struct {
  const char *name;
  void (*before)(void);
  void (*work)(void);
} works[] = {
    {"register", nothing, register_all},
    {"join", nothing, join},
    {"leave", join, leave},
    {"find", register_all, find},
    {"set_by_name", register_all, set_by_name},
    {"set_again", set_all, set_by_name},
    {"set_int32", register_all, set_int32},
    {"get_int32", register_all, get_int32},
    {"parse", register_all, parse},
    {"override", register_all, override},
};

/* callgrind counts from the call of this function to its return. */
__attribute__((noinline)) void counted(void (*work)(void));
void counted(void (*work)(void)) {
  work();
  __asm__ volatile("" ::: "memory"); /* prevents a tail call, which would never return here */
}

int main(int argc, char **arguments) {
  const char *what = argc == 2 ? arguments[1] : "";
  for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
    if (argc < 2) puts(works[i].name);
    if (strcmp(what, works[i].name) != 0) continue;
    make_texts();
    works[i].before();
    counted(works[i].work);
    if (failed || (strcmp(what, "parse") == 0 && cells[0] != 17)) return 1;
    return 0;
  }
  return argc > 1;
}
