/* The values that a flag was given: a list, the current one first. */
#include "registry.h"
#include "text.h"

/* ---- Memory ---- */

static pd__entry *unused;

pd__entry *pd__entry_new(void) {
  pd__entry *made = unused;
  if (!made) return pd__forever(sizeof *made);
  unused = made->next;
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

/* ---- The list ---- */

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
  if (entry->replaces < PD_ENTRIES_KEPT) {
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
  pd__entry **at = &flag->entries;
  if (!entry->layer && entry->source == PD_SOURCE_RUNTIME && *at && (*at)->layer) {
    entry->layer = (*at)->layer;
    entry->source = PD_SOURCE_LAYER;
  }
  while (*at && (*at)->source > entry->source) at = &(*at)->next;
  if (*at && (*at)->source == entry->source && (*at)->layer == entry->layer) {
    replace(at, entry);
  } else {
    entry->next = *at;
    *at = entry;
  }
}

const pd__entry *pd__entries_at(const pd_flag *flag, size_t *index) {
  const pd__entry *entry = flag->entries;
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

static bool drops(const pd__change *change, const pd__entry *entry) {
  if (change->action == PD__DROP_LAYER) return entry->layer == change->what.layer;
  if (change->action == PD__DROP_ALL) return entry->source != PD_SOURCE_DEFAULT;
  return entry->source == change->source;
}

void pd__entries_drop(const pd__change *change) {
  for (pd__entry **at = &change->flag->entries; *at;) {
    pd__entry *entry = *at;
    if (drops(change, entry)) {
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
