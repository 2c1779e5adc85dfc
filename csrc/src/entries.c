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
}

/* ---- The list ---- */

/* Whether `entry` takes the place of `old`, which stays behind it as replaced. */
static bool replaces(const pd__entry *entry, const pd__entry *old) {
  return entry->origin.source == old->origin.source && entry->layer == old->layer;
}

/* Free what stands behind the first `kept` entries that `entry` replaces. */
static void trim(pd__entry *entry, uint32_t kept) {
  pd__entry *last = entry;
  for (uint32_t i = 0; i < kept; i++) last = last->next;
  while (entry->replaces > kept) {
    pd__entry *old = last->next;
    last->next = old->next;
    pd__entry_free(old);
    entry->replaces--;
  }
}

/* Link `entry` below the entries of higher rank, before those of its own. The list
 * is trimmed at twice its length, so that a set in a loop seldom walks it. */
static void link_entry(pd_flag *flag, pd__entry *entry) {
  pd__entry **at = &flag->entries;
  while (*at && (*at)->origin.source > entry->origin.source) at = &(*at)->next;
  entry->next = *at;
  *at = entry;
  if (!entry->next || !replaces(entry, entry->next)) return;
  entry->next->replaced = true;
  entry->replaces = entry->next->replaces + 1;
  if (entry->replaces > 2 * PD_ENTRIES_KEPT) trim(entry, PD_ENTRIES_KEPT);
}

void pd__entries_give(pd_flag *flag, pd__entry *entry) {
  const pd__entry *top = flag->entries;
  if (!entry->layer && entry->origin.source == PD_SOURCE_RUNTIME && top && top->layer) {
    entry->layer = top->layer;
    entry->origin.source = PD_SOURCE_LAYER;
  }
  link_entry(flag, entry);
}

static bool drops(const pd__change *change, const pd__entry *entry) {
  if (change->action == PD__DROP_LAYER) return entry->layer == change->layer;
  return change->action == PD__DROP_ALL || entry->origin.source == change->source;
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
    out->origin = entry->origin;
    out->replaced = entry->replaced;
  } else {
    out->value = pd__def_default(flag->def);
    out->origin = (pd_origin){PD_SOURCE_DEFAULT, flag->def->line, pd__intern(flag->def->file), 0};
    out->replaced = false;
  }
}
