/* The values that a flag was given. The current one is stored in the flag itself. A list has the
 * others, sorted by rank, the latest of each rank first. */
#include "change.h"
#include "flag.h"

#include "../base/text.h"

/* ---- Memory ---- */

static pd__entry *unused;
static size_t unused_count;

bool pd__history_reserve(size_t count) {
  while (unused_count < count) {
    pd__entry *made = pd__alloc_forever(sizeof *made);
    if (!made) return false;
    pd__entry_return_to_pool(made);
  }
  return true;
}

pd__entry *pd__entry_take_from_pool(pd_value value, const pd_origin *origin) {
  pd__entry *made = unused;
  unused = made->next;
  unused_count--;
  *made = (pd__entry){.value = value, .origin = *origin};
  return made;
}

void pd__entry_return_to_pool(pd__entry *entry) {
  entry->next = unused;
  unused = entry;
  unused_count++;
}

static void remove_entry(pd__entry **at) {
  pd__entry *entry = *at;
  *at = entry->next;
  pd__entry_return_to_pool(entry);
}

/* ---- Assigning ---- */

/* Called when a value of `source` was put before the list `at`. Marks the values of that source in
 * the list as replaced, and keeps only the latest PD_HISTORY_KEPT of them. */
static void mark_replaced_entries(pd__entry **at, pd_source source) {
  size_t kept = 0;
  while (*at) {
    if ((*at)->origin.source != source) {
      at = &(*at)->next;
    } else if (kept == PD_HISTORY_KEPT) {
      remove_entry(at);
    } else {
      (*at)->replaced = true;
      kept++;
      at = &(*at)->next;
    }
  }
}

/* Code that sets a flag in a loop has one entry, with the latest value. */
void pd__entries_prepend_or_update(pd__entry **list, pd__entry *fresh) {
  if (*list && pd__origin_is_same(&fresh->origin, &(*list)->origin)) {
    (*list)->value = fresh->value;
    pd__entry_return_to_pool(fresh);
    return;
  }
  fresh->next = *list;
  *list = fresh;
  mark_replaced_entries(&fresh->next, fresh->origin.source);
}

/* Stores the value below the overrides. Without overrides it goes to the node and, if `publish` is
 * true, to all cells. */
static inline void set_value_below_overrides(pd_flag *flag, pd_value value, bool publish) {
  if (pd__flag_override(flag)) {
    flag->extra->base = value;
  } else if (publish) {
    pd__flag_store(flag, value);
  } else {
    pd__cell_store(flag->type, pd__flag_address(flag, flag->type), value);
  }
}

static bool has_location(const pd_origin *origin) {
  return origin->place || origin->line || origin->column;
}

static bool is_current_origin(const pd_flag *flag, const pd_origin *origin) {
  bool placed = has_location(origin);
  if (flag->source != origin->source || flag->placed != placed) return false;
  return !placed || (flag->line == origin->line && flag->place == origin->place &&
                     flag->column == origin->column);
}

static void set_origin(pd_flag *flag, const pd_origin *origin) {
  flag->source = (uint8_t)origin->source;
  if (!flag->placed && !has_location(origin)) return;
  flag->placed = has_location(origin);
  flag->line = origin->line;
  flag->column = origin->column;
  flag->place = origin->place;
}

bool pd__history_update_if_same_origin(pd_flag *flag, pd_value value, const pd_origin *origin) {
  if (!flag->assigned) {
    flag->assigned = true;
    set_origin(flag, origin);
  } else if (!is_current_origin(flag, origin)) {
    return false;
  }
  set_value_below_overrides(flag, value, true);
  return true;
}

/* Puts a value that isn't the current one into the list. */
static void insert_by_rank(pd_flag *flag, pd_value value, const pd_origin *origin) {
  uint32_t rank = pd_source_rank(origin->source);
  pd__entry **at = &flag->history;
  while (*at && pd_source_rank((*at)->origin.source) > rank) at = &(*at)->next;
  pd__entries_prepend_or_update(at, pd__entry_take_from_pool(value, origin));
}

static void push_current_entry(pd_flag *flag) {
  pd_origin origin = pd__flag_origin(flag);
  pd__entry *old = pd__entry_take_from_pool(pd__flag_value_without_overrides(flag), &origin);
  old->next = flag->history;
  flag->history = old;
}

void pd__history_assign_by_rank(pd_flag *flag, pd_value value, const pd_origin *origin) {
  if (pd__history_update_if_same_origin(flag, value, origin)) return;
  if (pd_source_rank((pd_source)flag->source) > pd_source_rank(origin->source)) {
    insert_by_rank(flag, value, origin);
    return;
  }
  push_current_entry(flag);
  mark_replaced_entries(&flag->history, origin->source);
  set_origin(flag, origin);
  set_value_below_overrides(flag, value, true);
}

/* ---- Dropping ---- */

/* Makes the first value of the list the current one; if the list is empty, the default. */
static void promote_first_entry(pd_flag *flag) {
  pd__entry *next = flag->history;
  if (!next) {
    flag->assigned = false;
    flag->source = PD_SOURCE_DEFAULT;
    return;
  }
  set_origin(flag, &next->origin);
  set_value_below_overrides(flag, next->value, flag->defined);
  remove_entry(&flag->history);
}

static bool has_other_source(pd_flag *flag, pd__entry *entry, bool current, void *context) {
  const uint32_t *dropped = context;
  (void)flag;
  (void)current;
  return !(*dropped & PD__SOURCE_BIT(entry->origin.source));
}

void pd__history_drop_sources(pd_flag *flag, uint32_t sources) {
  pd__history_filter_with_current(flag, pd__flag_value_without_overrides(flag), has_other_source,
                                  &sources);
}

void pd__entries_filter(pd__entry **list, pd_flag *flag, pd__entry_test *keeps, void *context) {
  while (*list) {
    if (keeps(flag, *list, !(*list)->replaced, context)) {
      list = &(*list)->next;
    } else {
      remove_entry(list);
    }
  }
}

void pd__history_filter_with_current(pd_flag *flag, pd_value base, pd__entry_test *keeps,
                                     void *context) {
  pd__entry now = {.value = base, .origin = pd__flag_origin(flag)};
  if (!flag->assigned) return;
  pd__values_revision++;
  bool kept = keeps(flag, &now, true, context);
  if (kept) set_value_below_overrides(flag, now.value, false);
  pd__entries_filter(&flag->history, flag, keeps, context);
  if (!kept) promote_first_entry(flag);
}

/* ---- Several changes of one flag ---- */

void pd__history_push_current(pd_flag *flag) {
  if (flag->assigned) push_current_entry(flag);
  flag->assigned = false;
}

void pd__history_replace_values(pd_flag *flag, uint32_t dropped, pd_value value,
                                const pd_origin *assigned) {
  if (dropped) {
    pd__values_revision++;
    pd__entries_filter(&flag->history, flag, has_other_source, &dropped);
  }
  if (assigned) insert_by_rank(flag, value, assigned);
}

void pd__history_pop_current(pd_flag *flag) {
  flag->assigned = true;
  promote_first_entry(flag);
}

/* ---- Putting back what was copied ---- */

void pd__entries_restore(pd__entry **list, const pd__entry *values) {
  while (*list) remove_entry(list);
  for (; values; values = values->next) {
    pd__entry *made = pd__entry_take_from_pool(values->value, &values->origin);
    made->replaced = values->replaced;
    *list = made;
    list = &made->next;
  }
}

void pd__history_restore(pd_flag *flag, const pd__entry *current) {
  pd__values_revision++;
  pd__entries_restore(&flag->history, current ? current->next : NULL);
  flag->assigned = current != NULL;
  flag->source = PD_SOURCE_DEFAULT;
  if (!current) return;
  set_origin(flag, &current->origin);
  set_value_below_overrides(flag, current->value, false);
}

/* ---- Lookup ---- */

/* Returns the current value below the overrides as an entry in front of the list. The flag must be
 * assigned. */
static pd__entry make_current_entry(const pd_flag *flag) {
  return (pd__entry){pd__flag_value_without_overrides(flag), pd__flag_origin(flag), false,
                     flag->history};
}

bool pd__history_find_source_entry(const pd_flag *flag, pd_source source, pd__entry *out) {
  pd__entry own = make_current_entry(flag);
  const pd__entry *entry = flag->assigned ? &own : NULL;
  while (entry && entry->origin.source != source) entry = entry->next;
  if (entry) *out = *entry;
  return entry != NULL;
}

static pd__entry make_default_entry(const pd_flag_def *def) {
  pd_origin origin = {PD_SOURCE_DEFAULT, def->line, pd__intern_text(def->file), 0};
  return (pd__entry){.value = pd__def_intern_default(def), .origin = origin};
}

/* Returns the entry *left steps further, or NULL if the list is too short; decreases *left by the
 * number of steps. */
static const pd__entry *skip_entries(const pd__entry *entry, size_t *left) {
  for (; entry && *left > 0; --*left) entry = entry->next;
  return entry;
}

/* Sets what a caller needs to read the values of the flag. */
static void describe_type(const pd_flag *flag, pd_flag_entry *out) {
  const pd_flag_def *def = pd__flag_def(flag);
  out->type = flag->type;
  out->list = def ? def->list : 0;
  out->context = def ? def->context : NULL;
  out->sensitive = flag->sensitive;
}

void pd__entry_describe(const pd_flag *flag, pd_value value, const pd_origin *origin,
                        pd_flag_entry *out) {
  *out = (pd_flag_entry){.size = sizeof *out, .value = value, .origin = *origin};
  describe_type(flag, out);
}

bool pd__history_describe_entry(const pd_flag *flag, size_t index, pd_flag_entry *out) {
  size_t left = index;
  const pd__entry *found = NULL;
  pd__entry own = make_current_entry(flag);
  out->override = 0;
  for (const pd__override_entry *at = pd__flag_override(flag); at && !found; at = at->below) {
    found = skip_entries(at->values, &left);
    if (found) out->override = at->number;
  }
  bool below = !found;
  if (below && flag->assigned) found = skip_entries(&own, &left);
  bool given = below && found;
  if (!found && left > 0) return false;
  if (!found) own = make_default_entry(pd__flag_def(flag));
  if (!found) found = &own;
  out->value = found->value;
  out->origin = found->origin;
  out->replaced = found->replaced;
  out->unset = flag->optional && !given && found->origin.source == PD_SOURCE_DEFAULT;
  describe_type(flag, out);
  return true;
}

pd_value pd__flag_get_current_default(const pd_flag *flag) {
  pd__entry given;
  bool found = pd__history_find_source_entry(flag, PD_SOURCE_DEFAULT, &given);
  return found ? given.value : pd__def_intern_default(pd__flag_def(flag));
}
