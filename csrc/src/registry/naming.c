/* The names of a definition. */
#include <string.h>

#include "define.h"

bool pd__naming_step(pd__naming *at) {
  const pd_flag_def *def = at->def;
  if (at->kind == PD__NAME_NONE) {
    *at = (pd__naming){def, PD__NAME_OWN, def->name, strlen(def->name), NULL};
    return true;
  }
  while (!at->rest && at->kind != PD__NAME_OLD) {
    at->kind++;
    at->rest = pd__list_begin(at->kind == PD__NAME_ALIAS ? def->aliases : def->old_names);
  }
  if (!at->rest) return false;
  at->name = at->rest;
  at->length = pd__list_advance_to_choice(&at->rest);
  return true;
}

bool pd__def_has_name(const pd_flag_def *def, const pd_flag *node) {
  pd__naming at = {.def = def};
  while (pd__naming_next(&at)) {
    if (pd__names_find(at.name, at.length) == node) return true;
  }
  return false;
}
