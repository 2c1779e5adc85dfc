/* A program that does what its arguments say, one after the other, and prints a
 * line for each. It resolves the registry's functions at run time, so that the
 * registry may come before or after the plugins:
 *
 *   registry PATH             open libpd_flags (needed also where it is linked)
 *   open MODES PATH           dlopen; MODES such as local,deepbind
 *   close PATH                dlclose
 *   load PATH                 pd_module_load    -> ok, or the errors
 *   unload PATH               pd_module_unload
 *   call PATH SYMBOL          int SYMBOL(void)  -> the number
 *   text PATH SYMBOL          const char *SYMBOL(void) -> the text
 *   peek PATH SYMBOL          int SYMBOL         -> the number
 *   set NAME VALUE            pd_flag_set_from_string
 *   get NAME                  pd_flag_get_text, from the registry
 *   define NAME NUMBER        pd_flag_register, int64, without a cell
 *   env PREFIX                pd_environment_enable
 *   argv WORD                 pd_parse_argv
 *   modules                   how many modules are present
 *   cells NAME                how many variables follow the flag
 *   mapped PATH               yes or no
 *   json                      pd_report_json, with hidden flags
 *   exit                      _exit: no destructor runs
 *
 * PATH "-" is the program itself. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef RTLD_DEEPBIND /* musl has none */
#define RTLD_DEEPBIND 0
#endif

#define PD_NO_MODULE_RECORD
#include <pd_flags.h>

static void *library;

static void *function(const char *name) {
  void *found = library ? dlsym(library, name) : NULL;
  if (found) return found;
  fprintf(stderr, "no %s: the registry isn't there\n", name);
  exit(2);
}

/* The registry's function, with the type that the header gives it. */
#define PD(name) (*(__typeof__(&name))function(#name))

/* ---- What is open ---- */

static struct opened {
  const char *path;
  void *handle;
} opened[512];

static struct opened *find(const char *path) {
  struct opened *at = opened;
  while (at->path && strcmp(at->path, path) != 0) at++;
  return at;
}

static void keep(const char *path, void *handle) { *find(path) = (struct opened){path, handle}; }

static void *symbol(const char *path, const char *name) {
  void *handle = strcmp(path, "-") ? find(path)->handle : NULL;
  void *found = dlsym(handle ? handle : RTLD_DEFAULT, name);
  if (found) return found;
  fprintf(stderr, "no symbol %s in %s\n", name, path);
  exit(2);
}

static int modes(const char *words) {
  int mode = strstr(words, "lazy") ? RTLD_LAZY : RTLD_NOW;
  if (strstr(words, "global")) mode |= RTLD_GLOBAL;
  if (strstr(words, "deepbind")) mode |= RTLD_DEEPBIND;
  return mode;
}

static void open_library(const char *path, int mode) {
  void *handle = dlopen(path, mode);
  puts(handle ? "ok" : dlerror());
  if (handle) keep(path, handle);
}

/* ---- The registry ---- */

static void tell(pd_status status, const pd_error *err) {
  if (status == PD_OK) {
    puts("ok");
  } else {
    printf("%s: %s\n", PD(pd_status_name)(status), err->message);
  }
}

static void load(const char *path) {
  pd_error err;
  pd_module *module = NULL;
  pd_error_list *errors = PD(pd_error_list_new)();
  pd_status status = PD(pd_module_load)(path, errors, &module, &err);
  if (status == PD_OK) puts("ok");
  for (size_t i = 0; i < PD(pd_error_list_count)(errors); i++) {
    const pd_error *each = PD(pd_error_list_at)(errors, i);
    printf("%s%s: %s\n", module ? "joined, " : "", PD(pd_status_name)(each->status), each->message);
  }
  PD(pd_error_list_free)(errors);
  if (!module) return;
  keep(path, dlopen(path, RTLD_NOW | RTLD_NOLOAD)); /* for `call`; counts once */
  dlclose(find(path)->handle);
}

static pd_module *module_at(const char *path) {
  char *whole = realpath(path, NULL);
  pd_module_info info = {.size = sizeof info};
  pd_module *module = NULL;
  while ((module = PD(pd_module_next)(module))) {
    if (PD(pd_module_get_info)(module, &info, NULL) != PD_OK) continue;
    if (info.present && whole && !strcmp(info.path, whole)) break;
  }
  free(whole);
  return module;
}

static void count_modules(void) {
  size_t count = 0;
  pd_module_info info = {.size = sizeof info};
  for (pd_module *each = NULL; (each = PD(pd_module_next)(each));) {
    count += PD(pd_module_get_info)(each, &info, NULL) == PD_OK && info.present && info.flags > 0;
  }
  printf("%zu\n", count);
}

static pd_status find_flag(const char *name, pd_flag **flag, pd_error *err) {
  return PD(pd_flag_find)(name, flag, err);
}

static void set(const char *name, const char *text) {
  pd_error err;
  pd_flag *flag;
  pd_status status = find_flag(name, &flag, &err);
  if (status == PD_OK) status = PD(pd_flag_set_from_string)(flag, text, &err);
  tell(status, &err);
}

static void get(const char *name) {
  char text[4096];
  pd_error err;
  pd_flag *flag;
  pd_status status = find_flag(name, &flag, &err);
  if (status == PD_OK) status = PD(pd_flag_get_text)(flag, text, sizeof text, NULL, &err);
  if (status == PD_OK) puts(text);
  if (status != PD_OK) tell(status, &err);
}

static void count_cells(const char *name) {
  pd_error err;
  pd_flag *flag;
  pd_flag_info info = {.size = sizeof info};
  pd_status status = find_flag(name, &flag, &err);
  if (status == PD_OK) status = PD(pd_flag_get_info)(flag, &info, &err);
  if (status == PD_OK) printf("%u\n", info.cells);
  if (status != PD_OK) tell(status, &err);
}

static void define(const char *name, const char *number) {
  pd_error err;
  pd_flag_def def;
  PD(pd_flag_def_init)(&def, sizeof def, PD_TYPE_int64);
  def.name = name;
  def.default_value.i64 = atoll(number);
  tell(PD(pd_flag_register)(&def, NULL, &err), &err);
}

static void parse(char *word) {
  char program[] = "host", *argv[] = {program, word, NULL};
  int argc = 2;
  pd_error err;
  tell(PD(pd_parse_argv)(&argc, argv, NULL, &err), &err);
}

/* For plugins, which link nothing: whether a flag of the name is defined now. */
int host_knows(const char *name);
int host_knows(const char *name) {
  pd_flag *flag;
  return library && PD(pd_flag_find)(name, &flag, NULL) == PD_OK;
}

static void print_part(const char *text, size_t length, void *context) {
  (void)context;
  fwrite(text, 1, length, stdout);
}

static void print_json(void) {
  pd_help help = {.size = sizeof help, .kind = PD_HELP_FULL, .pattern = ""};
  pd_report_options options = {.size = sizeof options, .help = &help};
  pd_error err;
  pd_status status = PD(pd_report_json)(&options, print_part, NULL, &err);
  if (status != PD_OK) tell(status, &err);
}

static int is_mapped(const char *path) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
  if (handle) dlclose(handle);
  return handle != NULL;
}

/* ---- The script ---- */

static int is(const char *word, const char *name) { return !strcmp(word, name); }

/* Give how many arguments the command took. */
static int obey(char **word) {
  if (is(word[0], "modules")) return count_modules(), 0;
  if (is(word[0], "json")) return print_json(), 0;
  if (is(word[0], "exit")) fflush(stdout), _exit(0);
  if (is(word[0], "load")) return load(word[1]), 1;
  if (is(word[0], "get")) return get(word[1]), 1;
  if (is(word[0], "cells")) return count_cells(word[1]), 1;
  if (is(word[0], "mapped")) return puts(is_mapped(word[1]) ? "yes" : "no"), 1;
  if (is(word[0], "argv")) return parse(word[1]), 1;
  pd_error err = {PD_OK, ""};
  if (is(word[0], "env")) return tell(PD(pd_environment_enable)(word[1], NULL, &err), &err), 1;
  if (is(word[0], "unload")) {
    return tell(PD(pd_module_unload)(module_at(word[1]), &err), &err), 1;
  }
  if (is(word[0], "close")) return puts(dlclose(find(word[1])->handle) ? "no" : "ok"), 1;
  if (is(word[0], "registry")) {
    open_library(word[1], RTLD_NOW);
    library = find(word[1])->handle;
    return 1;
  }
  if (is(word[0], "open")) return open_library(word[2], modes(word[1])), 2;
  if (is(word[0], "set")) return set(word[1], word[2]), 2;
  if (is(word[0], "define")) return define(word[1], word[2]), 2;
  if (is(word[0], "call")) {
    return printf("%d\n", (*(int (*)(void))symbol(word[1], word[2]))()), 2;
  }
  if (is(word[0], "peek")) return printf("%d\n", *(int *)symbol(word[1], word[2])), 2;
  if (is(word[0], "text")) {
    return puts((*(const char *(*)(void))symbol(word[1], word[2]))()), 2;
  }
  fprintf(stderr, "unknown command %s\n", word[0]);
  exit(2);
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (int i = 1; i < argc; i++) i += obey(&argv[i]);
  return 0;
}
