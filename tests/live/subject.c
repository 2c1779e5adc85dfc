/* A C program whose flags are served, and that does what it reads: the same as subject.py. The test
 * that builds it puts the definitions of live_flags.py in front, as flags.inc. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PD_NO_MODULE_RECORD
#include <pd_flags.h>

#define EVEN "expected an even number"
#define ORDERED "low must be below high"

static void fail(const char *what) {
  fprintf(stderr, "subject: %s\n", what);
  exit(1);
}

#include "serving.h"

static bool is_even(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  snprintf(why, size, "%s", EVEN);
  return entries[0]->value.i64 % 2 == 0;
}

static bool is_ordered(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  snprintf(why, size, "%s", ORDERED);
  return entries[0]->value.i64 < entries[1]->value.i64;
}

static void add(const pd_flag_def *def) {
  pd_error err;
  pd_flag *flag;
  if (pd_flag_register(def, &flag, &err) != PD_OK) fail(err.message);
}

#include "flags.inc"

static pd_flag *find(const char *name) {
  pd_flag *flag = NULL;
  if (pd_flag_find(name, &flag, NULL) != PD_OK) fail(name);
  return flag;
}

/* ---- Commands ---- */

static pd_override overrides[16];
static size_t override_count;

static pd_status set(const char *name, const char *text, pd_error *err) {
  return pd_flag_set_from_string(find(name), text, err);
}

/* Sets a flag to 1, 2, ... and the most. */
static pd_status count_up(const char *name, const char *most, pd_error *err) {
  char text[32];
  pd_status status = PD_OK;
  for (int i = 1; status == PD_OK && i <= atoi(most); i++) {
    snprintf(text, sizeof text, "%d", i);
    status = pd_flag_set_from_string(find(name), text, err);
  }
  return status;
}

static pd_status reset(const char *name, const char *text, pd_error *err) {
  (void)text;
  return pd_flag_reset(find(name), err);
}

static pd_status push(const char *name, const char *text, pd_error *err) {
  pd_assignment item = {.flag = find(name), .text = text};
  pd_origin origin = {.source = PD_SOURCE_OVERRIDE};
  return pd_override_push(&item, 1, &origin, NULL, &overrides[override_count++], err);
}

static pd_status pop(const char *name, const char *text, pd_error *err) {
  (void)name, (void)text;
  return pd_override_pop(overrides[--override_count], err);
}

static pd_status freeze(const char *name, const char *text, pd_error *err) {
  (void)text;
  return pd_flag_freeze(find(name), err);
}

static pd_status thaw(const char *name, const char *text, pd_error *err) {
  (void)text;
  return pd_flag_unfreeze(find(name), err);
}

static pd_status define(const char *name, const char *text, pd_error *err) {
  (void)text;
  pd_flag_def def;
  pd_flag *flag;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_int32);
  def.name = name;
  def.runtime = true;
  return pd_flag_register(&def, &flag, err);
}

static pd_status undefine(const char *name, const char *text, pd_error *err) {
  (void)text;
  return pd_flag_unregister(find(name), err);
}

static pd_status stop(const char *name, const char *text, pd_error *err) {
  (void)name, (void)text, (void)err;
  serving_stop();
  return PD_OK;
}

typedef struct command {
  const char *word;
  pd_status (*run)(const char *name, const char *text, pd_error *err);
} command;

static const command commands[] = {{"set", set},   {"count", count_up}, {"reset", reset},
                                   {"push", push}, {"pop", pop},        {"freeze", freeze},
                                   {"thaw", thaw}, {"define", define},  {"undefine", undefine},
                                   {"stop", stop}};

/* ---- Commands that say something ---- */

static void show(const char *name) {
  pd_flag_entry entry = {.size = sizeof entry};
  char text[4096];
  pd_flag_get_entry(find(name), 0, &entry, NULL);
  pd_flag_get_text(find(name), text, sizeof text, NULL, NULL);
  printf("ok %s\t%s\n", pd_source_name(entry.origin.source), text);
}

/* A child that lives until the test kills it. */
static void start_child(void) {
  pid_t child = fork();
  if (child == 0) {
    sleep(300);
    _exit(0);
  }
  printf("ok %d\n", (int)child);
}

static void serve(void) {
  serving_start();
  printf("ok ");
  serving_show();
}

static void obey(char *line) {
  char *rest = line, *word = strsep(&rest, "\t"), *name = strsep(&rest, "\t");
  pd_error err;
  if (!strcmp(word, "read")) show(name);
  if (!strcmp(word, "fork")) start_child();
  if (!strcmp(word, "serve")) serve();
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    if (strcmp(commands[i].word, word) != 0) continue;
    bool done = commands[i].run(name, rest, &err) == PD_OK;
    done ? puts("ok") : printf("error %s\n", err.message);
  }
}

/* Commands and answers are lines, their parts separated by tabs. */
int main(int count, char **arguments) {
  char *line = NULL;
  size_t room = 0;
  ssize_t length;
  pd_error err;
  define_flags();
  pd_flag *both[] = {find("low"), find("high")};
  if (pd_validator_add(both, 2, is_ordered, NULL, NULL, NULL, &err) != PD_OK) fail(err.message);
  setvbuf(stdout, NULL, _IOLBF, 0);
  serving_options(count, arguments);
  serving_start();
  serving_show();
  while ((length = getline(&line, &room, stdin)) > 0) {
    line[length - 1] = '\0';
    if (!strcmp(line, "quit")) break;
    obey(line);
  }
  serving_stop();
  free(line);
  return 0;
}
