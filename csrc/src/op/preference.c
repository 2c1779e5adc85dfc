/* The text of impl.<name>: a list of implementations in order of preference. */
#include <stdio.h>
#include <string.h>

#include "../base/text.h"
#include "../registry/hook.h"
#include "op.h"

_Thread_local bool pd__preference_strict;

/* ---- Reading ---- */

bool pd__preference_next(const char **cursor, pd__preference *out) {
  const char *at = *cursor;
  if (!at || !*at) return false;
  at += strspn(at, " \t");
  size_t length = strcspn(at, ",");
  *cursor = at[length] ? at + length + 1 : NULL;
  while (length > 0 && strchr(" \t", at[length - 1])) length--;
  *out = (pd__preference){PD__PREFER, at, length};
  if (length == 1 && *at == '*') {
    out->kind = PD__REST;
  } else if (*at == '-' || *at == '?') {
    *out = (pd__preference){*at == '-' ? PD__NEVER : PD__IF_THERE, at + 1, length - 1};
  } else if (length > 0 && at[length - 1] == '!') {
    *out = (pd__preference){PD__ONLY, at, length - 1};
  }
  return true;
}

bool pd__preference_is_named(const pd__preference *item, const char *name) {
  return !strncmp(item->name, name, item->length) && !name[item->length];
}

size_t pd__preference_find_rank(const char *list, const char *name, bool *named) {
  size_t found = 0, rest = 0, place = 0;
  pd__preference item;
  *named = false;
  while (pd__preference_next(&list, &item)) {
    place++;
    if (item.kind == PD__REST) {
      rest = place;
    } else if (pd__preference_is_named(&item, name)) {
      *named = true;
      if (item.kind == PD__NEVER) return 0;
      found = place;
    }
  }
  return *named ? found : rest;
}

bool pd__preference_has_candidate(const pd__family *family, const pd__preference *item) {
  for (const pd__op *op = family->ops; op; op = op->next) {
    const pd__impl *each = op->candidates;
    while (each && !pd__preference_is_named(item, each->name)) each = each->next_candidate;
    if (each) return true;
  }
  return false;
}
