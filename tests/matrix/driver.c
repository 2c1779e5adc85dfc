/* One case of the matrix in one process.
 *
 *     driver MODE ORDER WHEN UNLOAD A B
 *
 * MODE is local, global, deepbind or present (linked or preloaded); ORDER is ab
 * or ba; values are given by a command line WHEN before or after loading; with
 * UNLOAD 1, b is closed and opened again; A and B are paths. With COPY this
 * program is a host itself; with PEER the library is another one, and host.cc of
 * peers/ has the functions that need it. Ends with 0 when every module reads every
 * value, and calls the implementation of a's operation that was chosen; with 3 when
 * one reads another value or doesn't know a flag, else with 1. Says
 * what it is at, for the case that it never ends what it began. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef RTLD_DEEPBIND /* musl has none, and no case asks for it there */
#define RTLD_DEEPBIND 0
#endif

#ifndef PEER
#define PEER 0
#endif

typedef int parse_function(int argc, char **argv, char *message);
typedef int set_function(const char *name, const char *text, char *message);
typedef int scope_function(const char *text, char *message);
typedef void again_function(void);
typedef int number_function(void);
typedef int step_function(int n);
typedef const char *text_function(void);

typedef struct module {
  const char *name; /* "a", "b", or "" for the program */
  const char *path;
  void *handle;
  parse_function *parse; /* NULL: brings no copy of the library */
  set_function *set;
  scope_function *scope; /* NULL also for other libraries */
  again_function *again; /* NULL but for libraries that want to parse once more */
  number_function *own_level, *other_level, *common;
  number_function *scoped; /* NULL for other libraries */
  step_function *step;     /* calls the operation a_step; NULL for other libraries */
  text_function *own_mode;
} module;

/* In the environment: b's own implementation doesn't run, and b can be unloaded. */
#define UNLOADS "MATRIX_UNLOADS"

static char message[1020];
static const module *giver; /* the copy that has parsed */

static void at(const char *step) {
  puts(step);
  fflush(stdout);
}

static void end(const char *what, int status) {
  printf("%s: %s\n", what, message);
  exit(status);
}

static void fail(const char *what) { end(what, 1); }

static void split(const char *what) { end(what, 3); }

#if COPY && PEER
int host_parse(int argc, char **argv, char *why);
int host_set(const char *name, const char *text, char *why);
void host_again(void);
static module program = {.name = "", .parse = host_parse, .set = host_set, .again = host_again};
#elif COPY
#define X host
#define IS_A 0
#include <pd_flags.h>
int host_parse(int argc, char **argv, char *why);
int host_set(const char *name, const char *text, char *why);

int host_parse(int argc, char **argv, char *why) {
  pd_error err = {PD_OK, ""};
  pd_parse_options options = {.size = sizeof options, .allow_pending = true};
  pd_status status = pd_parse_argv(&argc, argv, &options, &err);
  snprintf(why, sizeof message, "%s", err.message);
  return status;
}

int host_set(const char *name, const char *text, char *why) {
  pd_error err = {PD_OK, ""};
  pd_flag *flag;
  pd_status status = pd_flag_find(name, &flag, &err);
  if (status == PD_OK) status = pd_flag_set_from_string(flag, text, &err);
  snprintf(why, sizeof message, "%s", err.message);
  return status;
}

static int host_scope(const char *text, char *why) {
  static pd_scope scope;
  pd_error err = {PD_OK, ""};
  pd_assignment item = {.text = text};
  pd_status status = pd_flag_find("a_scoped", &item.flag, &err);
  if (status == PD_OK) {
    status = text ? pd_scope_push(&item, 1, NULL, NULL, &scope, &err) : pd_scope_pop(scope, &err);
  }
  snprintf(why, sizeof message, "%s", err.message);
  return status;
}
static module program = {.name = "", .parse = host_parse, .set = host_set, .scope = host_scope};
#else
static module program = {.name = ""};
#endif

static void *symbol(const module *from, const char *suffix) {
  char name[64];
  snprintf(name, sizeof name, "%s%s", from->name, suffix);
  return dlsym(from->handle ? from->handle : RTLD_DEFAULT, name);
}

static void find_functions(module *m) {
  *(void **)&m->parse = symbol(m, "_parse");
  *(void **)&m->set = symbol(m, "_set");
  *(void **)&m->again = symbol(m, "_again");
  *(void **)&m->scope = symbol(m, "_scope");
  *(void **)&m->scoped = symbol(m, "_scoped");
  *(void **)&m->step = symbol(m, "_step");
  *(void **)&m->own_level = symbol(m, "_own_level");
  *(void **)&m->own_mode = symbol(m, "_own_mode");
  *(void **)&m->other_level = symbol(m, "_other_level");
  *(void **)&m->common = symbol(m, "_common");
  if (!m->own_level || !m->common) fail("a function is missing");
}

static void load(module *m, const char *mode) {
  int flags = RTLD_NOW | (strcmp(mode, "global") ? RTLD_LOCAL : RTLD_GLOBAL);
  if (!strcmp(mode, "deepbind")) flags |= RTLD_DEEPBIND;
  if (strcmp(mode, "present") != 0) {
    m->handle = dlopen(m->path, flags);
    if (!m->handle) {
      snprintf(message, sizeof message, "%s", dlerror());
      fail("dlopen");
    }
  }
  find_functions(m);
}

static void give(const module *by) {
  static char *argv[] = {"driver",      "--a_level=3",  "--b_level=4", "--a_mode=am",
                         "--b_mode=bm", "--common_n=5", NULL};
  at("parsing");
  giver = by;
  if (by->parse(6, argv, message) != 0) fail("parse");
}

static void expect_number(const char *what, int found, int wanted) {
  if (found == wanted) return;
  snprintf(message, sizeof message, "%d, expected %d", found, wanted);
  split(what);
}

static void expect_text(const char *what, const char *found, const char *wanted) {
  if (!strcmp(found, wanted)) return;
  snprintf(message, sizeof message, "%s, expected %s", found, wanted);
  split(what);
}

typedef struct values {
  int a_level, b_level, common;
  const char *a_mode, *b_mode;
} values;

static void check(const module *a, const module *b, const values *wanted) {
  expect_number("a's level", a->own_level(), wanted->a_level);
  expect_number("b's level", b->own_level(), wanted->b_level);
  expect_text("a's mode", a->own_mode(), wanted->a_mode);
  expect_text("b's mode", b->own_mode(), wanted->b_mode);
  expect_number("b's level in a", a->other_level(), wanted->b_level);
  expect_number("a's level in b", b->other_level(), wanted->a_level);
  expect_number("common in a", a->common(), wanted->common);
  expect_number("common in b", b->common(), wanted->common);
}

static void set(const module *by, const char *name, const char *text) {
  if (by->set(name, text, message) != 0) split(name);
}

/* Open a scope from one copy and look from everywhere. */
enum { HOST_IS_OLDER = 16 }; /* PD_ERR_UNSUPPORTED */
static void scope(const module *by, const module *a, const module *b) {
  int status = by->scope ? by->scope("7", message) : HOST_IS_OLDER;
  if (status == HOST_IS_OLDER) return;
  if (status != 0) split("opening a scope");
  expect_number("the scoped value in a", a->scoped(), 7);
  expect_number("the scoped value in b", b->scoped(), 7);
  if (by->scope(NULL, message) != 0) split("ending a scope");
  expect_number("the scoped flag in a", a->scoped(), 1);
  expect_number("the scoped flag in b", b->scoped(), 1);
}

/* Choose implementations from one copy and call the operation from everywhere. */
static void operate(const module *by, const module *a, const module *b) {
  static const struct {
    const char *choice;
    int added;
    bool keeps_b; /* b's code may run in a */
  } choices[] = {{"native", 1, false},
                 {"common,*", 3, true},
                 {"?other,better,native", 2, true},
                 {"-native,*", 2, true},
                 {"*", 2, true}};
  const char *unloads = getenv(UNLOADS);
  for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
    if (choices[i].keeps_b && unloads && *unloads) continue;
    set(by, "impl.a_step", choices[i].choice);
    expect_number(choices[i].choice, a->step(10), 10 + choices[i].added);
    expect_number(choices[i].choice, b->step(10), 10 + choices[i].added);
  }
}

/* Set all flags from one copy and look from everywhere. */
static void set_all(const module *by, const module *a, const module *b, int base) {
  char a_level[8], b_level[8], common[8];
  snprintf(a_level, sizeof a_level, "%d", base);
  snprintf(b_level, sizeof b_level, "%d", base + 1);
  snprintf(common, sizeof common, "%d", base + 2);
  if (!by->set) return;
  set(by, "a_level", a_level);
  set(by, "b_level", b_level);
  set(by, "common_n", common);
  set(by, "a_mode", "am2");
  set(by, PEER ? "b_mode" : "b-mode", "bm2");
  check(a, b, &(values){base, base + 1, base + 2, "am2", "bm2"});
  scope(by, a, b);
  if (a->step) operate(by, a, b);
}

static void reload(module *a, module *b, const char *mode, const values *now) {
  at("unloading");
  dlclose(b->handle);
  expect_number("a's level without b", a->own_level(), now->a_level);
  void *left = dlopen(b->path, RTLD_NOW | RTLD_NOLOAD);
  expect_number("b's level in a without b", a->other_level(), left ? now->b_level : -1);
  if (left) dlclose(left);
  if (a->step) expect_number("a's operation without b", a->step(10), 11);
  if (!left) putenv(UNLOADS "=");
  at("loading again");
  load(b, mode);
  if (!PEER) check(a, b, now);
  set_all(a->set ? a : b, a, b, 40);
}

int main(int argc, char **argv) {
  if (argc != 7) return 2;
  at("loading");
  const char *mode = argv[1];
  bool before = !strcmp(argv[3], "before"), unload = *argv[4] == '1';
  module a = {.name = "a", .path = argv[5]}, b = {.name = "b", .path = argv[6]};
  module *order[] = {strcmp(argv[2], "ab") ? &b : &a, strcmp(argv[2], "ab") ? &a : &b};
  if (unload) putenv(UNLOADS "=1");
  for (int i = 0; i < 2; i++) {
    /* The first that can parse does it before the rest is loaded. */
    if (before && !giver && program.parse) give(&program);
    if (before && !giver && i == 1 && order[0]->parse) give(order[0]);
    load(order[i], mode);
  }
  const module *copies[] = {&program, &a, &b};
  for (int i = 0; i < 3 && !giver; i++) {
    if (copies[i]->parse) give(copies[i]);
  }
  if (!giver) fail("there is no copy of the library");
  if (before && giver->again) giver->again();
  at("reading and setting");
  values now = {3, 4, 5, "am", "bm"};
  check(&a, &b, &now);
  for (int i = 0; i < 3; i++) {
    if (!copies[i]->set) continue;
    set_all(copies[i], &a, &b, 10 * (i + 1));
    now = (values){10 * (i + 1), 10 * (i + 1) + 1, 10 * (i + 1) + 2, "am2", "bm2"};
  }
  if (unload) reload(&a, &b, mode, &now);
  at("ending");
  return 0;
}
