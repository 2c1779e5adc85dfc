/* The values that a flag was given: a list, the current one first. */
#include "registry.h"
#include "../base/text.h"

/* ---- Memory ---- */

static pd__entry *unused;

static void fill(pd__entry *entry, pd_value value, const pd_origin *origin) {
  *entry = (pd__entry){.value = value,
                       .place = origin->place,
                       .line = origin->line,
                       .column = origin->column,
                       .source = origin->source};
}

pd__entry *pd__entry_new(pd_value value, const pd_origin *origin) {
  pd__entry *made = unused;
  if (made) {
    unused = made->next;
  } else {
    made = pd__forever(sizeof *made);
  }
  if (made) fill(made, value, origin);
  return made;
}

void pd__entry_free(pd__entry *entry) {
  if (!entry) return;
  entry->next = unused;
  unused = entry;
  if (!entry->past) return;
  unused = entry->past->next; /* from the oldest to the newest */
  entry->past->next = entry;
}

/* ---- The one that is brief ---- */

static const pd__entry *show_brief(const pd_flag *flag, pd__entry *room) {
  pd_origin origin = pd__brief_origin(flag->given.brief);
  fill(room, pd__flag_value(flag), &origin);
  return room;
}

bool pd__entries_open(pd_flag *flag) {
  if (!pd__flag_brief(flag)) return true;
  pd_origin origin = pd__brief_origin(flag->given.brief);
  pd__entry *entry = pd__entry_new(pd__flag_value(flag), &origin);
  if (entry) flag->given.entries = entry;
  return entry != NULL;
}

/* ---- The list ---- */

const pd__entry *pd__flag_entry_of(const pd_flag *flag, pd_source source, pd__entry *room) {
  if (pd__flag_brief(flag)) {
    return pd__brief_origin(flag->given.brief).source == source ? show_brief(flag, room) : NULL;
  }
  const pd__entry *entry = flag->given.entries;
  while (entry && entry->source != source) entry = entry->next;
  return entry;
}

void pd__entry_add_past(pd__entry *entry, pd__entry *old) {
  pd__entry *newest = entry->past;
  old->replaced = true;
  old->past = NULL;
  entry->past = old;
  if (!newest) {
    old->next = old;
    entry->replaces = 1;
    return;
  }
  old->next = newest->next;
  newest->next = old;
  if (entry->replaces < PD_HISTORY_KEPT) {
    entry->replaces++;
    return;
  }
  pd__entry *oldest = old->next;
  old->next = oldest->next;
  pd__entry_free(oldest);
}

/* Text is stored once: its address tells. */
static bool same_place(const pd__entry *a, const pd__entry *b) {
  return a->line == b->line && a->place == b->place && a->column == b->column;
}

/* Put `entry` in the place of the one at `at`, of the same source. A line of code that
 * sets a flag again and again isn't remembered for each time. */
static void replace(pd__entry **at, pd__entry *entry) {
  pd__entry *old = *at;
  if (same_place(old, entry)) {
    old->value = entry->value;
    pd__entry_free(entry);
    return;
  }
  entry->next = old->next;
  entry->past = old->past;
  entry->replaces = old->replaces;
  *at = entry;
  pd__entry_add_past(entry, old);
}

void pd__entries_give(pd_flag *flag, pd__entry *entry) {
  pd__entry *spare = entry->next;
  if (pd__flag_brief(flag)) {
    show_brief(flag, spare);
    flag->given.entries = spare;
  } else if (!PD__LACKS_SHORTCUTS) {
    pd__entry_free(spare);
  }
  pd__entry **at = &flag->given.entries;
  if (!entry->override && entry->source == PD_SOURCE_RUNTIME && *at && (*at)->override) {
    entry->override = (*at)->override;
    entry->source = PD_SOURCE_OVERRIDE;
  }
  while (*at && (*at)->source > entry->source) at = &(*at)->next;
  if (*at && (*at)->source == entry->source && (*at)->override == entry->override) {
    replace(at, entry);
  } else {
    entry->next = *at;
    *at = entry;
  }
}

const pd__entry *pd__entries_at(const pd_flag *flag, size_t *index, pd__entry *room) {
  const pd__entry *entry = pd__flag_brief(flag) ? show_brief(flag, room) : flag->given.entries;
  while (entry && *index > entry->replaces) {
    *index -= 1 + entry->replaces;
    entry = entry->next;
  }
  if (!entry || *index == 0) return entry;
  const pd__entry *past = entry->past;
  for (size_t i = *index; i <= entry->replaces; i++) past = past->next; /* the oldest first */
  *index = 0;
  return past;
}

static bool drops(const pd__change *change, pd_source source, uint64_t override) {
  if (change->action == PD__DROP_OVERRIDE) return override == change->what.override;
  if (change->action == PD__DROP_ALL) return source != PD_SOURCE_DEFAULT;
  return source == change->source;
}

void pd__entries_drop(const pd__change *change) {
  pd_flag *flag = change->flag;
  if (pd__flag_brief(flag)) {
    if (drops(change, pd__brief_origin(flag->given.brief).source, 0)) flag->given.entries = NULL;
    return;
  }
  for (pd__entry **at = &flag->given.entries; *at;) {
    pd__entry *entry = *at;
    if (drops(change, (pd_source)entry->source, entry->override)) {
      *at = entry->next;
      pd__entry_free(entry);
    } else {
      at = &entry->next;
    }
  }
}

void pd__entry_show(const pd_flag *flag, const pd__entry *entry, pd_flag_entry *out) {
  if (entry) {
    out->value = entry->value;
    out->origin = pd__entry_origin(entry);
    out->replaced = entry->replaced;
  } else {
    out->value = pd__def_default(pd__flag_def(flag));
    out->origin = (pd_origin){PD_SOURCE_DEFAULT, pd__flag_def(flag)->line,
                              pd__intern(pd__flag_def(flag)->file), 0};
    out->replaced = false;
  }
}
