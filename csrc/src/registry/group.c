/* Groups: rules about several flags, checked by a validator of the registry itself. */
#include <stdio.h>
#include <stdlib.h>

#include "../base/text.h"
#include "flag.h"
#include "hook.h"

typedef struct group {
  pd_group kind;
  size_t count;
  const char *names[]; /* of the flags; interned */
} group;

#define GROUP_TEXT(name, number, text) [number] = text,
static const char texts[][64] = {PD_GROUP_MAP(GROUP_TEXT)};

static bool is_satisfied(pd_group kind, size_t given, size_t count) {
  if (kind == PD_GROUP_ALL_OR_NONE) return given == 0 || given == count;
  if (kind == PD_GROUP_ALL) return given == count;
  size_t least = kind == PD_GROUP_AT_MOST_ONE ? 0 : 1;
  size_t most = kind == PD_GROUP_AT_LEAST_ONE ? count : 1;
  return least <= given && given <= most;
}

/* --nofast and --slow don't exclude each other. */
static bool is_given_in_group(pd_group kind, const pd_flag_entry *entry) {
  bool excludes = kind == PD_GROUP_AT_MOST_ONE || kind == PD_GROUP_EXACTLY_ONE;
  if (excludes && entry->type == PD_TYPE_bool && !entry->value.b) return false;
  return entry->origin.source != PD_SOURCE_DEFAULT;
}

static size_t count_given(const group *all, const pd_flag_entry *const *entries) {
  size_t given = 0;
  for (size_t i = 0; i < all->count; i++) given += is_given_in_group(all->kind, entries[i]);
  return given;
}

bool pd__group_check(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  const group *all = context;
  char names[PD__WHY_SIZE / 2] = "";
  if (is_satisfied(all->kind, count_given(all, entries), all->count)) return true;
  for (size_t i = 0; i < all->count; i++) {
    char escaped[PD__ESCAPED_SIZE], item[PD__ESCAPED_SIZE + 2];
    snprintf(item, sizeof item, "--%s", pd__escape_text(escaped, all->names[i]));
    if (!pd__append_item(names, sizeof names, item)) break;
  }
  snprintf(why, size, texts[all->kind], names); /* NOLINT: the texts are our own */
  return false;
}

pd_status pd_group_add(pd_group kind, pd_flag *const *flags, size_t count, pd_hook *out,
                       pd_error *err) {
  if (!flags) return pd__fail_null(err, "flags");
  if (count == 0) return pd__fail(err, PD_ERR_ARGUMENT, "count is 0, expected some flags");
  if ((size_t)kind >= sizeof texts / sizeof *texts) {
    return pd__fail(err, PD_ERR_ARGUMENT, "group is %d, expected a pd_group", (int)kind);
  }
  group *made = malloc(sizeof *made + count * sizeof *made->names);
  if (!made) return pd__fail_memory(err);
  made->kind = kind;
  made->count = count;
  pd__hook like = {.call = {(pd__function *)pd__group_check, made, NULL},
                   .release = {(pd__function *)free, made, NULL}};
  PD__LOCKED_OPERATION(operation);
  pd_status status = PD_OK;
  for (size_t i = 0; status == PD_OK && i < count; i++) {
    made->names[i] = pd__intern_text(flags[i] ? flags[i]->name : ""); /* outlives the module */
    if (!made->names[i]) status = pd__fail_memory(err);
  }
  if (status == PD_OK) status = pd__hook_add(&like, flags, count, out, err);
  if (status != PD_OK) free(made);                 /* otherwise the hook owns it */
  return pd__operation_return(&operation, status); /* NOLINT */
}
