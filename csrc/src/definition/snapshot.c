/* Snapshots: what all flags have, to be put back after a test. */
#include <stdlib.h>
#include <string.h>

#include "../registry/hook.h"
#include "../registry/journal.h"
#include "definition.h"
#include "pending.h"

/* What a name had. */
typedef struct saved_name {
  uint32_t generation;
  uint8_t type;
  bool known; /* it was a flag or an alias; otherwise the rest is 0 */
  bool defined;
  bool assigned;
  bool frozen;
  bool warned;
  bool sensitive;
  pd__entry current; /* if assigned: the value below the overrides, and those after it */
  pd__override_entry *overrides; /* only number, values and below */
} saved_name;

struct pd_snapshot {
  pd__arena arena;   /* has everything below but the pending values */
  saved_name *names; /* by the index of their nodes */
  uint32_t count;
  size_t entries;       /* of all histories and overrides */
  pd__pending *pending; /* prepared copies, in the order of arrival */
  bool startup_over;
  pd__new_flag_source source;
};

/* ---- Taking. The arena says whether memory was out. ---- */

static pd__entry *copy_entries(pd_snapshot *snapshot, const pd__entry *from) {
  pd__entry *first = NULL, **end = &first;
  for (; from; from = from->next) {
    pd__entry *made = pd__arena_alloc(&snapshot->arena, sizeof *made);
    if (!made) break;
    *made = *from;
    made->next = NULL;
    *end = made;
    end = &made->next;
    snapshot->entries++;
  }
  return first;
}

static pd__override_entry *copy_overrides(pd_snapshot *snapshot, const pd__override_entry *from) {
  pd__override_entry *first = NULL, **end = &first;
  for (; from; from = from->below) {
    pd__override_entry *made = pd__arena_alloc(&snapshot->arena, sizeof *made);
    if (!made) break;
    made->number = from->number;
    made->values = copy_entries(snapshot, from->values);
    *end = made;
    end = &made->below;
  }
  return first;
}

static void copy_name(pd_snapshot *snapshot, const pd_flag *node, saved_name *out) {
  *out = (saved_name){.generation = node->generation,
                      .type = node->type,
                      .known = true,
                      .defined = node->defined,
                      .assigned = node->assigned,
                      .frozen = node->frozen,
                      .warned = node->warned,
                      .sensitive = node->sensitive};
  out->overrides = copy_overrides(snapshot, pd__flag_override(node));
  if (!node->assigned) return;
  out->current.value = pd__flag_base(node);
  out->current.origin = pd__flag_origin(node);
  out->current.next = copy_entries(snapshot, node->history);
  snapshot->entries++;
}

static int compare_order(const void *a, const void *b) {
  uint64_t first = (*(pd__pending *const *)a)->order, second = (*(pd__pending *const *)b)->order;
  return first < second ? -1 : first > second;
}

/* Prepares a copy of each pending value of a list in order of arrival. */
static pd_status copy_pending_list(const pd__pending *const *from, size_t count, pd__pending **out,
                                   pd_error *err) {
  for (size_t i = 0; i < count; i++) {
    pd_status status = pd__pending_prepare(from[i], out, err);
    if (status != PD_OK) return status;
    out = &(*out)->following;
    *out = NULL;
  }
  return PD_OK;
}

static pd_status copy_pending(pd_snapshot *snapshot, pd__arena *arena, pd_error *err) {
  size_t count = 0;
  const pd__pending **all, *at = NULL;
  while ((at = pd__pending_next(at))) count++;
  all = pd__arena_alloc(arena, (count + 1) * sizeof *all);
  if (!all) return pd__fail_memory(err);
  count = 0;
  while ((at = pd__pending_next(at))) all[count++] = at;
  qsort(all, count, sizeof *all, compare_order);
  return copy_pending_list(all, count, &snapshot->pending, err);
}

static void drop_pending_list(pd__pending *list) {
  while (list) {
    pd__pending *gone = list;
    list = gone->following;
    pd__pending_drop(gone);
  }
}

static pd_status fill_snapshot(pd_snapshot *snapshot, pd__arena *arena, pd_error *err) {
  snapshot->startup_over = pd__startup_over;
  snapshot->source = pd__define_source;
  snapshot->count = pd__names_count();
  snapshot->names = pd__arena_alloc(&snapshot->arena, (snapshot->count + 1) * sizeof(saved_name));
  if (!snapshot->names) return pd__fail_memory(err);
  for (uint32_t i = 0; i < snapshot->count; i++) {
    const pd_flag *node = pd__names_at(i);
    if (node->known) copy_name(snapshot, node, &snapshot->names[i]);
  }
  if (snapshot->arena.failed) return pd__fail_memory(err);
  return pd__has_pending() ? copy_pending(snapshot, arena, err) : PD_OK;
}

static void free_snapshot(pd_snapshot *snapshot) {
  drop_pending_list(snapshot->pending);
  pd__arena_free(&snapshot->arena);
  free(snapshot);
}

pd_status pd_snapshot_take(pd_snapshot **out, pd_error *err) {
  if (!out) return pd__fail_null(err, "out");
  PD__LOCKED_OPERATION(operation);
  pd__adopt_all(&operation);
  pd_snapshot *made = calloc(1, sizeof *made);
  pd_status status = made ? fill_snapshot(made, &operation.arena, err) : pd__fail_memory(err);
  if (status == PD_OK) *out = made;
  if (status != PD_OK && made) free_snapshot(made);
  return pd__operation_return(&operation, status);
}

void pd_snapshot_free(pd_snapshot *snapshot) {
  if (!snapshot) return;
  PD__LOCKED_OPERATION(operation);
  free_snapshot(snapshot);
  pd__operation_end(&operation);
}

/* ---- Comparing ---- */

static bool is_same_origin(const pd_origin *a, const pd_origin *b) {
  return a->source == b->source && a->line == b->line && a->column == b->column &&
         a->place == b->place;
}

static bool has_same_entries(pd_type type, const pd__entry *a, const pd__entry *b) {
  for (; a && b; a = a->next, b = b->next) {
    if (a->replaced != b->replaced || !is_same_origin(&a->origin, &b->origin)) return false;
    if (!pd__value_is_equal(type, a->value, b->value)) return false;
  }
  return a == b;
}

static bool has_same_overrides(pd_type type, const pd__override_entry *a,
                               const pd__override_entry *b) {
  for (; a && b; a = a->below, b = b->below) {
    if (a->number != b->number || !has_same_entries(type, a->values, b->values)) return false;
  }
  return a == b;
}

/* What the snapshot has of a node. */
static const saved_name *find_saved_name(const pd_snapshot *snapshot, const pd_flag *node) {
  static const saved_name nothing;
  return node->index < snapshot->count ? &snapshot->names[node->index] : &nothing;
}

static bool is_as_saved(const pd_flag *flag, const saved_name *old) {
  if (flag->generation != old->generation || flag->type != old->type) return false;
  if (flag->assigned != old->assigned) return false;
  if (!has_same_overrides((pd_type)old->type, pd__flag_override(flag), old->overrides))
    return false;
  if (!flag->assigned) return true;
  pd__entry now = {pd__flag_base(flag), pd__flag_origin(flag), false, flag->history};
  return has_same_entries((pd_type)old->type, &now, &old->current);
}

/* Returns whether another value holds, or one from another source. */
static bool has_new_value(const pd_flag *flag, const saved_name *old) {
  if (!old->defined || flag->generation != old->generation) return false;
  pd_flag_entry now;
  pd__entry was = {.value = pd__def_default(pd__flag_def(flag))};
  if (old->assigned) was = old->current;
  if (old->overrides) was = *old->overrides->values;
  return !pd__history_at(flag, 0, &now) || now.origin.source != was.origin.source ||
         !pd__value_is_equal((pd_type)flag->type, now.value, was.value);
}

static bool has_new_definition(const pd_flag *flag, const saved_name *old) {
  return flag->generation != old->generation;
}

typedef bool test(const pd_flag *flag, const saved_name *old);

static pd_flag *find_next_flag(const pd_snapshot *snapshot, const pd_flag *previous, test *suits) {
  pd_flag *flag = NULL;
  if (!snapshot) return NULL;
  PD__LOCKED_OPERATION(operation);
  while ((flag = pd__names_next_listed(flag ? flag : previous))) {
    if (flag->assignable) pd__flag_adopt(&operation, flag);
    if (flag->defined && suits(flag, find_saved_name(snapshot, flag))) break;
  }
  pd__operation_end(&operation);
  return flag;
}

pd_flag *pd_snapshot_next_change(const pd_snapshot *snapshot, const pd_flag *previous) {
  return find_next_flag(snapshot, previous, has_new_value);
}

pd_flag *pd_snapshot_next_definition(const pd_snapshot *snapshot, const pd_flag *previous) {
  return find_next_flag(snapshot, previous, has_new_definition);
}

/* ---- Restoring: first everything that can fail ---- */

typedef struct restore_run {
  const pd_snapshot *snapshot;
  pd__operation *operation;
  pd__pending *pending; /* prepared copies */
  pd__notice **notices;
} restore_run;

static pd_status copy_saved_pending(restore_run *run, pd_error *err) {
  pd__pending **out = &run->pending;
  for (const pd__pending *at = run->snapshot->pending; at; at = at->following) {
    pd_status status = copy_pending_list(&at, 1, out, err);
    if (status != PD_OK) return status;
    out = &(*out)->following;
  }
  return PD_OK;
}

static pd_status prepare_restore(restore_run *run, pd_error *err) {
  pd__changes changes = {.operation = run->operation};
  if (!pd__history_reserve(run->snapshot->entries)) return pd__fail_memory(err);
  pd_status status = copy_saved_pending(run, err);
  run->notices = pd__notices_begin(run->operation);
  for (pd_flag *flag = NULL; status == PD_OK && (flag = pd__names_next_listed(flag));) {
    if (!flag->defined || !pd__flag_has_hooks(flag)) continue;
    if (!is_as_saved(flag, find_saved_name(run->snapshot, flag))) {
      status = pd__notices_add(&changes, flag, err);
    }
  }
  return status;
}

/* ---- Then everything that takes effect ---- */

static void restore_overrides(pd_flag *flag, const saved_name *old) {
  for (pd__override_entry *at = pd__flag_override(flag); at;) {
    pd__override_entry *below = at->below;
    const pd__override_entry *was = old->overrides;
    while (was && was->number != at->number) was = was->below;
    if (was) pd__entries_restore(&at->values, was->values);
    if (!was) pd__override_entry_drop(at);
    at = below;
  }
}

static bool is_not_default(pd_flag *flag, pd__entry *entry, bool current, void *context) {
  (void)flag, (void)current, (void)context;
  return entry->origin.source != PD_SOURCE_DEFAULT;
}

/* The values are of the old type; another definition keeps those that suit it, and has a default of
 * its own. */
static void restore_values(pd_flag *flag, const saved_name *old) {
  pd__report refused = {.first = NULL};
  uint8_t now = flag->type, was = old->known ? old->type : now;
  bool replaced = flag->generation != old->generation;
  bool assigned = old->assigned && !(replaced && old->current.origin.source == PD_SOURCE_DEFAULT);
  restore_overrides(flag, old);
  __atomic_store_n(&flag->type, was, __ATOMIC_RELAXED);
  pd__history_restore(flag, assigned ? &old->current : NULL);
  if (replaced) pd__entries_filter(&flag->history, flag, is_not_default, NULL);
  if (flag->defined) __atomic_store_n(&flag->type, now, __ATOMIC_RELAXED);
  if (flag->defined && replaced) pd__flag_review(flag, (pd_type)was, &refused);
  if (flag->defined) pd__flag_publish(flag);
}

static void restore_name(pd_flag *node, const saved_name *old) {
  if (!node->known) return;
  if (!is_as_saved(node, old)) restore_values(node, old);
  node->frozen = old->frozen;
  node->warned = old->warned;
  node->sensitive = old->sensitive || (node->defined && pd__flag_def(node)->sensitive);
}

static void restore_pending(pd__pending *list) {
  if (pd__has_pending()) pd__pending_forget(PD_SOURCE_DEFAULT);
  while (list) {
    pd__pending *next = list->following;
    pd__pending_store(list);
    list = next;
  }
}

/* The environment has a value for the flag: it waits with the others. */
static void add_late_value(const restore_run *run, pd_flag *flag) {
  const pd__new_flag_source *source = &pd__define_source;
  pd__late_value late = {.node = NULL};
  if (!source->find || flag->frozen) return;
  source->find(run->operation, source->prefix, pd__flag_def(flag), flag, &late, NULL);
  if (late.node) pd__pending_add(late.node->name, late.text, &late.origin, NULL);
}

/* Gives flags that are defined anew what waits for their definition. */
static void apply_waiting(const restore_run *run) {
  pd__report refused = {.first = NULL};
  if (!pd__define_source.find && !pd__has_pending()) return;
  for (pd_flag *flag = NULL; (flag = pd__names_next_listed(flag));) {
    if (!flag->defined || find_saved_name(run->snapshot, flag)->generation == flag->generation)
      continue;
    add_late_value(run, flag);
    pd__pending_apply(run->operation, flag, &refused);
  }
}

static void commit_restore(const restore_run *run) {
  for (pd_flag *node = NULL; (node = pd__names_next(node));) {
    restore_name(node, find_saved_name(run->snapshot, node));
  }
  restore_pending(run->pending);
  pd__startup_over = run->snapshot->startup_over;
  pd__journal_mark_stale();
  pd__define_source = run->snapshot->source;
  pd__notices_post(run->operation, run->notices);
  apply_waiting(run);
}

pd_status pd_snapshot_restore(const pd_snapshot *snapshot, pd_error *err) {
  if (!snapshot) return pd__fail_null(err, "snapshot");
  PD__LOCKED_OPERATION(operation);
  pd__adopt_all(&operation);
  restore_run run = {.snapshot = snapshot, .operation = &operation};
  pd_status status = prepare_restore(&run, err);
  if (status == PD_OK) {
    commit_restore(&run);
  } else {
    drop_pending_list(run.pending);
    if (run.notices) pd__notices_discard(&operation, run.notices);
  }
  return pd__operation_return(&operation, status);
}
