#include "definition.h"

#include <stdio.h>
#include <string.h>

pd_status pd__namespace_check(const char *name_space, pd_error *err) {
  char escaped[PD__ESCAPED_SIZE];
  if (pd__name_is_valid(name_space, strlen(name_space))) return PD_OK;
  return pd__fail(err, PD_ERR_NAME,
                  "namespace '%s': expected a letter or _, then letters, digits, _ . -",
                  pd__escape_text(escaped, name_space));
}

/* Turns "old|older" into "beta.old|beta.older"; NULL if memory is out. */
static const char *prefix_each(pd__arena *arena, const char *name_space, const char *names) {
  size_t length = strlen(name_space), count = 1;
  for (const char *bar = names; (bar = strchr(bar, '|')); bar++) count++;
  char *joined = pd__arena_alloc(arena, strlen(names) + count * (length + 1) + 1), *at = joined;
  if (!joined) return NULL;
  for (const char *cursor = names; cursor;) {
    const char *name = cursor;
    int own = (int)pd__list_advance_to_choice(&cursor);
    at += sprintf(at, "%s%s.%.*s", at == joined ? "" : "|", name_space, own, name);
  }
  return joined;
}

pd_status pd__namespace_prefix_names(pd__arena *arena, const char *name_space, pd_flag_def *def,
                                     pd_error *err) {
  const char **names[] = {&def->name, &def->aliases, &def->old_names};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const char **each = names[i];
    if (*each && **each && !(*each = prefix_each(arena, name_space, *each))) {
      return pd__fail_memory(err);
    }
  }
  return PD_OK;
}
