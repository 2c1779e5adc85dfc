/* Validators that note what they are asked (plugins/noting.c), and definitions for them. */
#ifndef NOTED_H
#define NOTED_H

#include "joined.h"

#include "plugged.h"

static char *seen; /* what the validator of the plugin was asked, "n=5 from file; ..." */
static int64_t *refused;

static void (**during)(void); /* what the validator calls */

__attribute__((unused)) static pd_validator find_validator(void) {
  void *plugin = open_plugin("noting");
  seen = symbol(plugin, "noting_seen");
  refused = symbol(plugin, "noting_refused");
  during = symbol(plugin, "noting_during");
  return (pd_validator)(intptr_t)symbol(plugin, "noting_validate");
}

__attribute__((unused)) static const char *seen_since(void) {
  static char last[1024];
  snprintf(last, sizeof last, "%s", seen);
  *seen = '\0';
  return last;
}

__attribute__((unused)) static const char *const n_alone[] = {"n", NULL};

__attribute__((unused)) static pd_flag_def validated(const char *name) {
  pd_flag_def def = definition(PD_TYPE_int64, name);
  def.validate = find_validator();
  def.context = (void *)(uintptr_t)n_alone;
  return def;
}

__attribute__((unused)) static void let_wait(const char *name, const char *text, pd_source source) {
  pd_origin origin = {source, 0, NULL, 0};
  CHECK_OK(pd_pending_set(name, text, &origin, &err));
}

__attribute__((unused)) static void set_from(pd_flag *flag, pd_source source, const char *text) {
  pd_assignment item = {.flag = flag, .text = text};
  pd_origin origin = {source, 0, NULL, 0};
  CHECK_OK(pd_batch_set(&item, 1, &origin, NULL, &err));
}

__attribute__((unused)) static pd_flag *define(const pd_flag_def *def) {
  pd_flag *flag = NULL;
  CHECK_OK(pd_flag_register(def, &flag, &err));
  return flag;
}

#endif /* NOTED_H */
