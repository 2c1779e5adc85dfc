/* Calls the validators with the values that the flags would have after the changes. */
#include "flag.h"
#include "loader.h"
#include "question.h"
#include "scope.h"

/* Give up if other threads have changed the values in this many rounds. */
#define ROUNDS 100

/* One round: all validators to call, with the proposed values. */
typedef struct validation {
  pd__changes *changes;
  uint64_t round;
  uint64_t added;      /* pd__validators_added at the start of the round */
  uint32_t visit_mark; /* the mark of the first change; the others follow in order */
  size_t *previous;    /* for each change, the one before it of the same flag, as index + 1 */
  pd__question *first, **end;
  bool memory_out;
} validation;

/* ---- Proposed values ---- */

/* Returns the index + 1 of the last change of the flag; 0 if there is none. */
static size_t find_last_change_number(const validation *all, const pd_flag *flag) {
  const pd__changes *changes = all->changes;
  uint32_t index = flag->visit_mark - all->visit_mark;
  return index < changes->count && changes->items[index].flag == flag ? index + 1 : 0;
}

/* Link each flag to its last change by its mark, and each change to the one before it of the same
 * flag. The marks hold until another operation gets the lock. */
static void link_changes_by_flag(validation *all) {
  uint32_t next = all->visit_mark = pd__names_reserve_visit_marks((uint32_t)all->changes->count);
  for (size_t i = 0; i < all->changes->count; i++) {
    pd_flag *flag = all->changes->items[i].flag;
    all->previous[i] = find_last_change_number(all, flag);
    flag->visit_mark = next++;
  }
}

/* Returns how many entries of temporary overrides are on top. A value that goes below them is
 * checked as the value that the flag will have when they end. */
static size_t count_temporary_entries(const pd_flag *flag) {
  size_t count = 0;
  const pd__override_entry *at = pd__flag_override(flag);
  for (; at && at->temporary; at = at->below) {
    for (const pd__entry *entry = at->values; entry; entry = entry->next) count++;
  }
  return count;
}

/* Compute the entry that the flag would have. The changes are visited from the last to the first: a
 * source that a change drops hides the values that earlier changes gave for it. */
static void compute_proposed_entry(const validation *all, const pd_flag *flag, pd_flag_entry *out) {
  const pd__change *best = NULL;  /* the value of the highest rank; of several, the latest */
  uint32_t dropped = 0, rank = 0; /* bits of the sources whose earlier values are dropped */
  for (size_t at = find_last_change_number(all, flag); at > 0; at = all->previous[at - 1]) {
    const pd__change *change = &all->changes->items[at - 1];
    pd_source source = pd__change_get_effective_source(change);
    dropped |= pd__change_drops(change);
    if (change->action != PD__ASSIGN || dropped & PD__SOURCE_BIT(source)) continue;
    if (best && pd_source_rank(source) <= rank) continue;
    best = change;
    rank = pd_source_rank(source);
  }
  const pd__scoped *scoped = all->changes->scopes ? pd__scope_find_value(flag) : NULL;
  bool goes = true, below = best && !all->changes->pushes;
  for (size_t index = below ? count_temporary_entries(flag) : 0;
       goes && pd__history_describe_entry(flag, index, out); index++) {
    goes = out->replaced || dropped & PD__SOURCE_BIT(out->origin.source) ||
           pd__refusals_is_hidden(&all->changes->refusals, flag, &out->origin);
  }
  if (scoped && !best) {
    out->value = pd__scoped_get_value(scoped);
    out->origin = scoped->origin;
    out->unset = scoped->unset;
  }
  if (!best || pd_source_rank(out->origin.source) > rank) return;
  out->value = best->value;
  out->origin = best->origin;
  bool unset = best->resets && flag->optional;
  out->origin.source = unset ? PD_SOURCE_DEFAULT : pd__change_get_effective_source(best);
  out->replaced = false;
  out->unset = unset;
}

/* ---- Collecting the validators ---- */

static uint64_t last_round; /* numbers the rounds, so that each visits a hook only once */

static void add_question(validation *all, pd__question *made) {
  all->memory_out |= !made;
  if (!made) return;
  for (size_t i = 0; i < made->count; i++) {
    compute_proposed_entry(all, made->subjects[i].flag, &made->subjects[i].entry);
  }
  *all->end = made;
  all->end = &made->next;
}

static void add_definition_validator(validation *all, pd_flag *flag) {
  const pd_flag_def *def = pd__flag_def(flag);
  if (!def || def->retired) return;
  /* The module of an assignable flag may change it. */
  pd_validator function = __atomic_load_n(&def->validate, __ATOMIC_ACQUIRE);
  if (!function) return;
  pd__handler call = {(pd__function *)function, def->context, pd__cell_module(flag->cells)};
  pd__question *made = pd__question_new(all->changes->operation, NULL, call, 1);
  if (made) made->subjects->flag = flag;
  if (made) made->subjects->generation = flag->generation;
  add_question(all, made);
}

static void add_hook_validator(validation *all, pd__hook *hook) {
  if (hook->watches || hook->round == all->round) return;
  hook->round = all->round;
  for (size_t i = 0; i < hook->count; i++) {
    const pd__target *target = &hook->targets[i];
    if (!target->flag->defined || target->flag->type != target->type) return;
  }
  /* The validator may wait for a thread that waits for the loader. */
  if (hook->deferrable && pd__loader_is_entered()) {
    pd__report_fail(all->changes->report, PD_ERR_REFUSED,
                    "--%s: one of its validators can't be called in constructors and destructors, "
                    "while a module is loaded or unloaded",
                    hook->targets[0].flag->name);
  } else {
    add_question(all, pd__question_new_for_hook(all->changes->operation, hook));
  }
}

static void collect_validators(validation *all) {
  const pd__changes *changes = all->changes;
  pd__hook *added = changes->added_validator ? pd__hook_find(changes->added_validator) : NULL;
  link_changes_by_flag(all);
  all->round = ++last_round;
  all->added = pd__validators_added;
  if (added) add_hook_validator(all, added);
  for (pd_flag *flag = NULL; changes->ask_all && (flag = pd__names_next(flag));) {
    add_definition_validator(all, flag);
  }
  for (pd__hook *hook = NULL; changes->ask_all && (hook = pd__hooks_next(hook));) {
    add_hook_validator(all, hook);
  }
  for (size_t i = 0; !changes->ask_all && i < changes->count && !all->memory_out; i++) {
    pd_flag *flag = changes->items[i].flag;
    if (all->previous[i]) continue;
    add_definition_validator(all, flag);
    for (pd__target *at = pd__hooks_first(flag); at; at = at->next) {
      add_hook_validator(all, at->hook);
    }
  }
}

static void check_required_flags(validation *all) {
  for (pd_flag *flag = NULL; (flag = pd__names_next(flag));) {
    const pd_flag_def *def = pd__flag_def(flag);
    pd_flag_entry entry;
    if (!def || !def->required) continue;
    compute_proposed_entry(all, flag, &entry);
    if (entry.origin.source != PD_SOURCE_DEFAULT) continue;
    bool any = def->type == PD_TYPE_string && !def->list && !pd__list_begin(def->choices);
    char expected[256] = "";
    if (!any) pd__value_write_expected(def, expected, sizeof expected);
    pd__report_fail(all->changes->report, PD_ERR_REFUSED, "--%s: is required%s%s", flag->name,
                    any ? "" : ", expected ", expected);
  }
}

/* Adopt the values that modules have assigned to variables of flags that validators will see. */
static void adopt_values_to_check(pd__changes *changes) {
  uint64_t round = ++last_round;
  if (changes->ask_all) pd__flags_adopt_assigned_values(changes->operation);
  for (size_t i = 0; !changes->ask_all && i < changes->count; i++) {
    const pd_flag *flag = changes->items[i].flag;
    for (pd__target *at = pd__hooks_first(flag); at; at = at->next) {
      for (size_t k = 0; at->hook->round != round && k < at->hook->count; k++) {
        pd_flag *other = at->hook->targets[k].flag;
        if (other->assignable) pd__flag_adopt_assigned_value(changes->operation, other);
      }
      at->hook->round = round;
    }
  }
}

/* Returns whether the validators have seen the values as they are now, and none was added. */
static bool is_validation_current(validation *all) {
  if (all->added != pd__validators_added) return false;
  link_changes_by_flag(all);
  for (const pd__question *each = all->first; each; each = each->next) {
    if (each->hook && each->hook->removed) return false;
    for (size_t i = 0; i < each->count; i++) {
      const pd__subject *seen = &each->subjects[i];
      pd_flag_entry now = {.size = sizeof now};
      if (!seen->flag->defined || seen->flag->generation != seen->generation) return false;
      compute_proposed_entry(all, seen->flag, &now);
      if (now.origin.source != seen->entry.origin.source) return false;
      if (!pd__value_is_equal(seen->flag->type, now.value, seen->entry.value)) return false;
    }
  }
  return true;
}

/* Returns false if another round is needed, because values have changed or modules had to be
 * pinned. */
static bool run_validation_round(pd__changes *changes) {
  pd__arena *arena = &changes->operation->arena;
  validation all = {.changes = changes, .end = &all.first};
  all.previous = pd__arena_alloc(arena, changes->count * sizeof *all.previous);
  all.memory_out = !all.previous;
  adopt_values_to_check(changes);
  if (all.previous) collect_validators(&all);
  if (all.memory_out) pd__report_fail_memory(changes->report);
  if (changes->report->status != PD_OK) return true;
  bool pinned = pd__questions_pin_modules(changes->operation, all.first);
  if (pinned && all.first) pd__questions_call_validators(changes->operation, all.first);
  if (!pinned || all.first) pd__prepare_changes_again(changes);
  if (changes->report->status != PD_OK) return true;
  if (!pinned || !is_validation_current(&all)) return false;
  if (changes->yields && pd__questions_collect_fleet_refusals(all.first, &changes->refusals, arena))
    return false;
  if (changes->ask_all) check_required_flags(&all);
  pd__questions_report_rejections(all.first, changes->report);
  return true;
}

void pd__validate_changes(pd__changes *changes) {
  for (int round = 0; round < ROUNDS; round++) {
    if (run_validation_round(changes)) return;
  }
  pd__report_fail(changes->report, PD_ERR_REFUSED,
                  "values kept changing while validators checked them");
}
