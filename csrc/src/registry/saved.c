/* What all flags have, saved for snapshots. */
#include "saved.h"

#include "define.h"
#include "flag.h"
#include "journal.h"

/* What a name had. */
struct pd__saved_node {
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
};

/* ---- Saving. The arena says whether memory was out. ---- */

typedef struct copying {
  pd__arena *arena;
  size_t entries;
} copying;

static pd__entry *copy_entries(copying *run, const pd__entry *from) {
  pd__entry *first = NULL, **end = &first;
  for (; from; from = from->next) {
    pd__entry *made = pd__arena_alloc(run->arena, sizeof *made);
    if (!made) break;
    *made = *from;
    made->next = NULL;
    *end = made;
    end = &made->next;
    run->entries++;
  }
  return first;
}

static pd__override_entry *copy_overrides(copying *run, const pd__override_entry *from) {
  pd__override_entry *first = NULL, **end = &first;
  for (; from; from = from->below) {
    pd__override_entry *made = pd__arena_alloc(run->arena, sizeof *made);
    if (!made) break;
    made->number = from->number;
    made->values = copy_entries(run, from->values);
    *end = made;
    end = &made->below;
  }
  return first;
}

static void save_node_state(copying *run, const pd_flag *node, pd__saved_node *out) {
  *out = (pd__saved_node){.generation = node->generation,
                          .type = node->type,
                          .known = true,
                          .defined = node->defined,
                          .assigned = node->assigned,
                          .frozen = node->frozen,
                          .warned = node->warned,
                          .sensitive = node->sensitive};
  out->overrides = copy_overrides(run, pd__flag_override(node));
  if (!node->assigned) return;
  out->current.value = pd__flag_value_without_overrides(node);
  out->current.origin = pd__flag_origin(node);
  out->current.next = copy_entries(run, node->history);
  run->entries++;
}

bool pd__saved_capture(pd__saved *saved, pd__arena *arena) {
  copying run = {.arena = arena};
  saved->startup_over = pd__startup_over;
  saved->count = pd__names_count();
  saved->names = pd__arena_alloc(arena, (saved->count + 1) * sizeof *saved->names);
  for (uint32_t i = 0; saved->names && i < saved->count; i++) {
    const pd_flag *node = pd__names_get_node(i);
    if (node->known) save_node_state(&run, node, &saved->names[i]);
  }
  saved->entries = run.entries;
  return !arena->failed;
}

/* ---- Comparing ---- */

static bool has_same_entries(pd_type type, const pd__entry *a, const pd__entry *b) {
  for (; a && b; a = a->next, b = b->next) {
    if (a->replaced != b->replaced || !pd__origin_is_same(&a->origin, &b->origin)) return false;
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
static const pd__saved_node *find_saved_node(const pd__saved *saved, const pd_flag *node) {
  static const pd__saved_node nothing;
  return node->index < saved->count ? &saved->names[node->index] : &nothing;
}

static bool has_saved_values(const pd_flag *flag, const pd__saved_node *old) {
  if (flag->generation != old->generation || flag->type != old->type) return false;
  if (flag->assigned != old->assigned) return false;
  if (!has_same_overrides((pd_type)old->type, pd__flag_override(flag), old->overrides))
    return false;
  if (!flag->assigned) return true;
  pd__entry now = {pd__flag_value_without_overrides(flag), pd__flag_origin(flag), false,
                   flag->history};
  return has_same_entries((pd_type)old->type, &now, &old->current);
}

bool pd__saved_has_other_value(const pd__saved *saved, const pd_flag *flag) {
  const pd__saved_node *old = find_saved_node(saved, flag);
  if (!old->defined || flag->generation != old->generation) return false;
  pd_flag_entry now;
  pd__entry was = {.value = pd__def_intern_default(pd__flag_def(flag))};
  if (old->assigned) was = old->current;
  if (old->overrides) was = *old->overrides->values;
  return !pd__history_describe_entry(flag, 0, &now) || now.origin.source != was.origin.source ||
         !pd__value_is_equal((pd_type)flag->type, now.value, was.value);
}

bool pd__saved_has_other_definition(const pd__saved *saved, const pd_flag *flag) {
  return flag->generation != find_saved_node(saved, flag)->generation;
}

/* ---- Restoring ---- */

pd_status pd__saved_prepare_restore(const pd__saved *saved, pd__operation *operation,
                                    pd_error *err) {
  pd__changes changes = {.operation = operation};
  pd_status status = PD_OK;
  if (!pd__history_reserve(saved->entries)) return pd__fail_memory(err);
  for (pd_flag *flag = NULL; status == PD_OK && (flag = pd__names_next_listed(flag));) {
    if (!flag->defined || !pd__flag_has_hooks(flag)) continue;
    if (!has_saved_values(flag, find_saved_node(saved, flag))) {
      status = pd__notices_add(&changes, flag, err);
    }
  }
  return status;
}

static void restore_overrides(pd_flag *flag, const pd__saved_node *old) {
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
static void restore_values(pd_flag *flag, const pd__saved_node *old) {
  pd__report refused = {.first = NULL};
  uint8_t now = flag->type, was = old->known ? old->type : now;
  bool replaced = flag->generation != old->generation;
  bool assigned = old->assigned && !(replaced && old->current.origin.source == PD_SOURCE_DEFAULT);
  restore_overrides(flag, old);
  __atomic_store_n(&flag->type, was, __ATOMIC_RELAXED);
  pd__history_restore(flag, assigned ? &old->current : NULL);
  if (replaced) pd__entries_filter(&flag->history, flag, is_not_default, NULL);
  if (flag->defined) __atomic_store_n(&flag->type, now, __ATOMIC_RELAXED);
  if (flag->defined && replaced) pd__flag_convert_former_values(flag, (pd_type)was, &refused);
  if (flag->defined) pd__flag_publish(flag);
}

static void restore_node(pd_flag *node, const pd__saved_node *old) {
  if (!node->known) return;
  if (!has_saved_values(node, old)) restore_values(node, old);
  node->frozen = old->frozen;
  node->warned = old->warned;
  bool secret = old->sensitive && (!node->defined || pd__flag_has_values(node));
  node->sensitive = secret || (node->defined && pd__flag_def(node)->sensitive);
}

void pd__saved_restore(const pd__saved *saved) {
  for (pd_flag *node = NULL; (node = pd__names_next(node));) {
    restore_node(node, find_saved_node(saved, node));
  }
  pd__startup_over = saved->startup_over;
  pd__journal_mark_stale();
}
