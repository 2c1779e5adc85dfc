/* The journal of changes: a ring of events, and what was last seen of each flag. */
#include "journal.h"

#include <stdlib.h>
#include <string.h>

#include "flag.h"

bool pd__journal_on;
uint64_t pd__journal_mark;

static pd__event *ring;   /* of PD_JOURNAL_KEPT events; that of revision r is at r modulo this */
static uint64_t revision; /* of the last event; changed under the lock */
static uint64_t oldest;
static bool overlooked;
static pd__journal_state *seen; /* by the index of the flag's node */
static size_t seen_count;

/* ---- Revisions ---- */

uint64_t pd__journal_get_last_revision(void) {
  return __atomic_load_n(&revision, __ATOMIC_ACQUIRE);
}

uint64_t pd__journal_get_oldest_revision(void) {
  return revision > PD_JOURNAL_KEPT && oldest < revision - PD_JOURNAL_KEPT
             ? revision - PD_JOURNAL_KEPT
             : oldest;
}

const pd__event *pd__journal_find_first_after(uint64_t since) {
  if (since >= revision) return NULL;
  uint64_t first = pd__journal_get_oldest_revision();
  return &ring[((since < first ? first : since) + 1) % PD_JOURNAL_KEPT];
}

uint64_t pd__journal_get_flag_revision(const pd_flag *flag) {
  return flag->index < seen_count ? seen[flag->index].revision : 0;
}

/* ---- Epochs ---- */

static char epoch[17];

static void make_epoch(void) {
  static const char digits[] = "0123456789abcdef";
  uint64_t number = (uint64_t)pd__platform_get_wall_ms() * 0x9e3779b97f4a7c15u ^ (uintptr_t)&number;
  pd__platform_fill_random(&number, sizeof number);
  for (size_t i = 0; i < 16; i++) epoch[i] = digits[number >> (4 * i) & 0xf];
}

const char *pd__journal_get_epoch(void) { return epoch; }

void pd__journal_renew_epoch(void) {
  if (pd__journal_on) make_epoch();
}

/* ---- Noting ---- */

static bool is_frozen_now(const pd_flag *flag) {
  return flag->frozen || (pd__flag_def(flag)->startup_only && pd__startup_over);
}

static pd__journal_state snapshot_flag_state(const pd_flag *flag) {
  pd__journal_state now = {.type = flag->type, .generation = flag->generation};
  if (!flag->defined) return now;
  const pd__override_entry *top = pd__flag_override(flag);
  pd_origin origin = top ? top->values->origin : pd__flag_origin(flag);
  if (!top && !flag->assigned) origin = (pd_origin){.source = PD_SOURCE_DEFAULT};
  now.defined = true;
  now.value = pd__flag_value(flag);
  now.source = (uint8_t)origin.source;
  now.place = origin.place;
  now.line = origin.line;
  now.column = origin.column;
  now.frozen = is_frozen_now(flag);
  now.unset = flag->optional && origin.source == PD_SOURCE_DEFAULT;
  now.sensitive = flag->sensitive;
  return now;
}

static bool has_same_value(const pd__journal_state *a, const pd__journal_state *b) {
  return a->type == b->type && a->unset == b->unset && a->sensitive == b->sensitive &&
         pd__value_is_equal((pd_type)a->type, a->value, b->value);
}

static bool has_same_origin(const pd__journal_state *a, const pd__journal_state *b) {
  return a->source == b->source && a->place == b->place && a->line == b->line &&
         a->column == b->column;
}

/* Returns false if nothing has changed. */
static bool classify_state_change(const pd__journal_state *before, const pd__journal_state *now,
                                  pd_event *kind) {
  if (before->defined != now->defined) {
    *kind = now->defined ? PD_EVENT_DEFINED : PD_EVENT_REMOVED;
    return true;
  }
  if (!now->defined) return false;
  *kind = before->generation != now->generation ? PD_EVENT_DEFINED
          : before->frozen != now->frozen       ? PD_EVENT_FROZEN
                                                : PD_EVENT_VALUE;
  return *kind != PD_EVENT_VALUE || !has_same_value(before, now) || !has_same_origin(before, now);
}

/* Returns what was seen of a flag; NULL if memory is out: then readers must read everything again.
 */
static pd__journal_state *find_or_add_state(const pd_flag *flag) {
  if (flag->index >= seen_count) {
    size_t count = 2 * (size_t)flag->index + 64;
    pd__journal_state *grown = realloc(seen, count * sizeof *seen);
    if (!grown) {
      oldest = revision + 1;
      __atomic_store_n(&revision, oldest, __ATOMIC_RELEASE);
      return NULL;
    }
    memset(grown + seen_count, 0, (count - seen_count) * sizeof *seen);
    seen = grown;
    seen_count = count;
  }
  return &seen[flag->index];
}

void pd__journal_record_if_changed(pd_flag *flag) {
  pd_event kind;
  pd__journal_state now = snapshot_flag_state(flag), *last = find_or_add_state(flag);
  if (!last || !classify_state_change(last, &now, &kind)) return;
  now.revision = revision + 1;
  ring[now.revision % PD_JOURNAL_KEPT] = (pd__event){.revision = now.revision,
                                                     .at = pd__platform_get_wall_ms(),
                                                     .mark = pd__journal_mark,
                                                     .flag = flag,
                                                     .before = *last,
                                                     .after = now,
                                                     .kind = (uint8_t)kind};
  *last = now;
  __atomic_store_n(&revision, now.revision, __ATOMIC_RELEASE);
}

/* ---- Looking ---- */

void pd__journal_mark_stale(void) { __atomic_store_n(&overlooked, true, __ATOMIC_RELEASE); }

bool pd__journal_is_stale(void) { return __atomic_load_n(&overlooked, __ATOMIC_ACQUIRE); }

void pd__journal_record_missed_changes(void) {
  if (!overlooked) return;
  __atomic_store_n(&overlooked, false, __ATOMIC_RELEASE);
  for (pd_flag *flag = NULL; (flag = pd__names_next(flag));) pd__journal_record_if_changed(flag);
}

bool pd__journal_start(void) {
  if (pd__journal_on) return true;
  if (!ring) ring = calloc(PD_JOURNAL_KEPT, sizeof *ring);
  if (!ring) return false;
  for (pd_flag *flag = NULL; (flag = pd__names_next(flag));) {
    pd__journal_state *first = find_or_add_state(flag);
    if (!first) return false;
    *first = snapshot_flag_state(flag);
  }
  make_epoch();
  pd__journal_on = true;
  return true;
}
