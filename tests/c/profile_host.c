/* A host that small builds of the library can do: it opens plugins itself. Words say
 * what to do, one line of output for each. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <pd_flags.h>
#include <pd_flags/table.h>

PD_DEFINE_int32(host_level, 6, "Level", .min = 1, .max = 9);
PD_DEFINE_string(host_mode, "fast", "Mode", .choices = "fast|best");
PD_IMPORT_double(alpha_rate, 1.5);

static void print(pd_status status, const pd_error *error) {
  printf("%s%s%s\n", pd_status_name(status), status ? ": " : "", status ? error->message : "");
}

static void set(char *word) {
  pd_error error;
  char *value = strchr(word, '=');
  *value++ = '\0';
  print(pd_flag_set_by_name(word, value, &error), &error);
}

static void wait_for(char *word) {
  pd_error error;
  char *value = strchr(word, '=');
  *value++ = '\0';
  print(pd_pending_set(word, value, NULL, &error), &error);
}

static void get(const char *name) {
  pd_flag *flag;
  pd_error error;
  char text[64];
  pd_status status = pd_flag_find(name, &flag, &error);
  if (status == PD_OK) status = pd_flag_get_text(flag, text, sizeof text, NULL, &error);
  if (status == PD_OK) {
    printf("%s\n", text);
  } else {
    print(status, &error);
  }
}

/* Open a plugin and print what was wrong with its flags. */
static void *open_plugin(const char *path) {
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  pd_error_list *errors = pd_error_list_new();
  for (pd_module *at = NULL; (at = pd_module_next(at));) pd_module_get_errors(at, errors, NULL);
  printf("%s\n", handle ? "opened" : dlerror());
  for (size_t i = 0; i < pd_error_list_count(errors); i++) {
    print(pd_error_list_at(errors, i)->status, pd_error_list_at(errors, i));
  }
  pd_error_list_free(errors);
  return handle;
}

/* What the table of the host lacks. */
static void print_holes(void) {
  const pd_table *table = (const pd_table *)(const void *)pd__module_v1.host;
#define HOLE_S(name, parameters, arguments)                                                        \
  if (!table->name) printf("%s ", #name);
#define HOLE_R(result, name, parameters, arguments) HOLE_S(name, , )
  PD_TABLE_MAP(HOLE_S, HOLE_R, HOLE_S)
  printf("\n");
}

static void parse(char *word) {
  char program[] = "host", *argv[] = {program, word, NULL};
  int argc = 2;
  pd_error error;
  print(pd_parse_argv(&argc, argv, NULL, &error), &error);
}

static void read_environment(void) {
  pd_error error;
  print(pd_environment_enable("FLAGS_", NULL, &error), &error);
}

static void drop(const char *text, size_t length, void *context) {
  (void)text, (void)length, (void)context;
}

static void print_help(void) {
  pd_error error;
  print(pd_report_help(NULL, drop, NULL, &error), &error);
}

/* Functions of another copy of the library, which is opened beside this one. */
static void ask_copy(const char *path) {
  void *copy = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!copy) {
    printf("%s\n", dlerror());
    return;
  }
  char program[] = "host", word[] = "--host_level=3", *argv[] = {program, word, NULL};
  int argc = 2;
  pd_error error;
  pd_status (*parse_argv)(int *, char **, const pd_parse_options *, pd_error *);
  pd_status (*set_by_name)(const char *, const char *, pd_error *);
  *(void **)&parse_argv = dlsym(copy, "pd_parse_argv");
  *(void **)&set_by_name = dlsym(copy, "pd_flag_set_by_name");
  print(parse_argv(&argc, argv, NULL, &error), &error);
  print(set_by_name("host_mode", "best", &error), &error);
}

int main(int count, char **words) {
  void *plugin = NULL;
  pd_config *config = NULL;
  for (int i = 1; i < count; i++) {
    const char *verb = words[i];
    if (!strcmp(verb, "version")) printf("%s\n", pd_version());
    if (!strcmp(verb, "holes")) print_holes();
    if (!strcmp(verb, "parse")) parse(words[++i]);
    if (!strcmp(verb, "environment")) read_environment();
    if (!strcmp(verb, "help")) print_help();
    if (!strcmp(verb, "close")) printf("%d\n", dlclose(plugin));
    if (!strcmp(verb, "cells"))
      printf("%d %s %g\n", (int)FLAGS_host_level, FLAGS_host_mode, FLAGS_alpha_rate);
    if (!strcmp(verb, "config"))
      printf("%d\n", pd_config_new(PD_SOURCE_FILE, &config, NULL) == PD_OK);
    if (!strcmp(verb, "set")) set(words[++i]);
    if (!strcmp(verb, "pending")) wait_for(words[++i]);
    if (!strcmp(verb, "get")) get(words[++i]);
    if (!strcmp(verb, "open")) plugin = open_plugin(words[++i]);
    if (!strcmp(verb, "copy")) ask_copy(words[++i]);
  }
  return 0;
}
