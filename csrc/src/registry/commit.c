/* The commit: first everything that can fail, then everything that takes effect. */
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "flag.h"
#include "scope.h"

/* A text published by a sensitive flag. It isn't interned, so that a wipe can overwrite it. */
typedef struct pd__secret {
  struct pd__secret *next;
  size_t size;
  char text[];
} pd__secret;

/* ---- What can fail ---- */

static const char *store_secret(pd_flag *flag, const char *text) {
  size_t size = strlen(text) + 1;
  pd__extra *extra = pd__flag_ensure_extra(flag);
  pd__secret *made = extra ? extra->secrets : NULL;
  while (made && strcmp(made->text, text) != 0) made = made->next;
  if (made) return made->text;
  made = extra ? malloc(sizeof *made + size) : NULL;
  if (!made) return NULL;
  made->size = size;
  memcpy(made->text, text, size);
  made->next = extra->secrets;
  extra->secrets = made;
  return made->text;
}

/* Stores the text of a value where it stays valid, so that readers may keep its address. A value
 * equal to the current one shares its text. */
static bool store_text(pd__change *change) {
  pd_flag *flag = change->flag;
  if (flag->type != PD_TYPE_string) return true;
  const char *text = change->value.str;
  if (flag->text && !strcmp(flag->text, text)) {
    change->value.str = flag->text;
    return true;
  }
  change->value.str = flag->sensitive ? store_secret(flag, text) : pd__intern_text(text);
  return change->value.str != NULL;
}

/* Interns the place. Consecutive changes often share one: *given and *kept are the last place and
 * its interned copy. */
static bool intern_change_location(pd__change *change, const char **given, const char **kept) {
  const char **place = &change->origin.place;
  if (*place != *given) {
    *given = *place;
    *kept = pd__intern_text(*place);
  }
  bool whole = *kept || !*place;
  *place = *kept;
  return whole;
}

/* What the visit mark of a flag says about it; each state has the mark after that of the one
 * before. Unlike the others, a flag of several changes shows its values only when all are made. */
typedef enum visit { ONE_CHANGE, SEVERAL_CHANGES, IS_OPEN, VISITS } visit;

/* Marks the flags of several changes, and returns the mark of ONE_CHANGE; 0 if there are none. */
static uint32_t mark_flags_by_change_count(const pd__changes *changes) {
  if (changes->count < 2 || changes->pushes) return 0;
  bool any = false;
  uint32_t first = pd__names_reserve_visit_marks(VISITS);
  for (size_t i = 0; i < changes->count; i++) {
    pd_flag *flag = changes->items[i].flag;
    bool repeated = flag->visit_mark >= first && !pd__flag_override(flag);
    flag->visit_mark = first + (repeated ? SEVERAL_CHANGES : ONE_CHANGE);
    any |= repeated;
  }
  return any ? first : 0;
}

/* Returns whether the commit may need a new entry in the history. */
static bool is_history_entry_needed(const pd__changes *changes, const pd__change *change) {
  return change->flag->assigned || changes->pushes || pd__flag_override(change->flag);
}

/* Each change may need an entry; an open flag has one more, for what was its current value. */
static bool reserve_commit_memory(pd__changes *changes, uint32_t marks) {
  const char *given = NULL, *kept = NULL;
  size_t entries = 0;
  for (size_t i = 0; i < changes->count; i++) {
    pd__change *change = &changes->items[i];
    bool repeated = marks && change->flag->visit_mark == marks + SEVERAL_CHANGES;
    entries += repeated;
    if (change->action != PD__ASSIGN) continue;
    entries += repeated || (!changes->scopes && is_history_entry_needed(changes, change));
    if (!store_text(change) || !intern_change_location(change, &given, &kept)) return false;
    if (changes->pushes && !pd__flag_ensure_extra(change->flag)) return false;
  }
  if (entries > 0 && !pd__history_reserve(entries)) return false;
  if (!changes->pushes || changes->scopes) return true;
  changes->override = pd__override_new(changes->count, changes->temporary);
  return changes->override != 0;
}

/* ---- What takes effect ---- */

/* Warns, once for each temporary value, of an assignment by the program below it. */
static void warn_of_temporary_override(pd_flag *flag, const pd_origin *origin) {
  char source[PD__SOURCE_SIZE];
  pd__override_entry *top = pd__flag_override(flag);
  if (!top || !top->temporary || top->warned || origin->source != PD_SOURCE_RUNTIME) return;
  top->warned = true;
  pd__fail(pd__warning_add(PD_WARNING_HIDDEN), PD_OK,
           "%s: takes effect when the temporary change by a client ends",
           pd__origin_write_message_subject(flag->name, origin, source));
}

static void assign_change(const pd__changes *changes, const pd__change *change) {
  pd_flag *flag = change->flag;
  const pd__override_entry *own = pd__flag_own_override(flag);
  bool over = own && change->origin.source == PD_SOURCE_RUNTIME;
  if (!changes->pushes) warn_of_temporary_override(flag, &change->origin);
  if (!changes->pushes && !over) {
    pd__history_assign_by_rank(flag, change->value, &change->origin);
    return;
  }
  pd_override number = changes->pushes ? changes->override : own->number;
  bool shows =
      pd__flag_assign_in_override(flag, number, change->value, &change->origin, change->resets);
  if (shows) pd__flag_store(flag, change->value);
}

/* While validators ran, the override may have ended, or lost its value of the flag. */
static bool is_override_entry_present(const pd__change *change) {
  size_t count;
  return pd__override_find_entries(change->popped, &count) &&
         change->override_entry->flag == change->flag;
}

/* A reset of a flag without values ends its being sensitive if the definition isn't. */
static void reset_sensitive_if_empty(const pd__change *change) {
  pd_flag *flag = change->flag;
  bool resets = change->action == PD__RESET || change->action == PD__WIPE;
  if (resets && !flag->assigned && !flag->history) flag->sensitive = pd__flag_def(flag)->sensitive;
}

static void commit_change(const pd__changes *changes, const pd__change *change) {
  pd_flag *flag = change->flag;
  if (change->action == PD__ASSIGN) assign_change(changes, change);
  if (change->action == PD__ASSIGN) pd__scope_warn(flag, &change->origin);
  if (change->action == PD__ASSIGN || change->action == PD__IDLE) return;
  uint32_t dropped = pd__change_drops(change);
  while (dropped & PD__SOURCE_BIT(PD_SOURCE_OVERRIDE) && pd__flag_override(flag)) {
    pd__override_entry_drop(flag->extra->overrides);
  }
  if (change->action == PD__POP && is_override_entry_present(change))
    pd__override_entry_drop(change->override_entry);
  if (dropped) pd__history_drop_sources(flag, dropped);
  reset_sensitive_if_empty(change);
  if (flag->defined) pd__flag_publish(flag);
}

/* Makes one of several changes of a flag, unseen by readers. */
static void commit_without_publishing(const pd__change *change, uint32_t marks) {
  pd_flag *flag = change->flag;
  if (flag->visit_mark != marks + IS_OPEN) pd__history_push_current(flag);
  flag->visit_mark = marks + IS_OPEN;
  bool assigns = change->action == PD__ASSIGN;
  pd__history_replace_values(flag, pd__change_drops(change), change->value,
                             assigns ? &change->origin : NULL);
  if (assigns) pd__scope_warn(flag, &change->origin);
  reset_sensitive_if_empty(change);
}

static void commit_all_changes(const pd__changes *changes, uint32_t marks) {
  for (size_t i = 0; i < changes->count; i++) {
    const pd__change *change = &changes->items[i];
    if (marks && change->flag->visit_mark > marks) {
      commit_without_publishing(change, marks);
    } else {
      commit_change(changes, change);
    }
  }
  for (size_t i = 0; marks && i < changes->count; i++) {
    pd_flag *flag = changes->items[i].flag;
    if (flag->visit_mark != marks + IS_OPEN) continue;
    flag->visit_mark = marks;
    pd__history_pop_current(flag);
    if (flag->defined) pd__flag_publish(flag);
  }
}

/* Collects the watchers of each flag, once. */
static pd_status collect_watchers(pd__changes *changes, pd_error *err) {
  pd_status status = PD_OK;
  uint32_t mark = pd__next_visit_mark();
  for (size_t i = 0; status == PD_OK && i < changes->count; i++) {
    pd_flag *flag = changes->items[i].flag;
    if (flag->visit_mark == mark) continue;
    flag->visit_mark = mark;
    status = pd__notices_add(changes, flag, err);
  }
  return status;
}

pd_status pd__commit_changes(pd__changes *changes, pd_error *err) {
  pd__operation *operation = changes->operation;
  bool notifies = changes->hooked && !changes->scopes;
  pd__notice **from = notifies ? pd__notices_get_end(operation) : NULL;
  pd_status status = from ? collect_watchers(changes, err) : PD_OK;
  uint32_t marks = mark_flags_by_change_count(changes);
  if (status == PD_OK && !reserve_commit_memory(changes, marks)) status = pd__fail_memory(err);
  if (status == PD_OK && changes->scopes) {
    return pd__scope_open(changes) ? PD_OK : pd__fail_memory(err);
  }
  if (status != PD_OK) {
    if (from) pd__notices_discard_from(operation, from);
    return status;
  }
  commit_all_changes(changes, marks);
  if (from) pd__notices_drop_unchanged(operation, from);
  return PD_OK;
}

/* ---- Wiping ---- */

/* The current text is the default, which stays readable. */
void pd__flag_wipe_secrets(pd_flag *flag) {
  for (pd__secret *each = flag->extra ? flag->extra->secrets : NULL; each; each = each->next) {
    if (each->text != flag->text) pd__wipe_memory(each->text, each->size);
  }
}
