/* Calls the validators with the values that the flags would have after the changes. */
#include <stdio.h>
#include <string.h>

#include "change.h"
#include "hook.h"
#include "loader.h"
#include "scope.h"

/* Give up if other threads have changed the values in this many rounds. */
#define ROUNDS 100

/* What a validator sees of one flag. */
typedef struct shown {
  pd_flag *flag;
  uint32_t generation;
  pd_flag_entry entry;
} shown;

/* A validator with its arguments and its answer. */
typedef struct asked {
  pd__hook *hook; /* NULL: the validator of a definition */
  pd__held held;
  pd__handler call;
  bool accepted;
  char why[PD__WHY_SIZE];
  struct asked *next;
  const pd_flag_entry **entries; /* pointers into `shown` */
  size_t count;
  shown shown[];
} asked;

/* One round: all validators to call, with the proposed values. */
typedef struct question {
  pd__changes *changes;
  uint64_t round;
  uint64_t added;   /* pd__validators_added at the start of the round */
  uint32_t claim;   /* the claim of the first change; the others follow in order */
  size_t *previous; /* for each change, the one before it of the same flag, as index + 1 */
  asked *first, **end;
  bool memory_out;
} question;

/* ---- Proposed values ---- */

/* Returns the index + 1 of the last change of the flag; 0 if there is none. */
static size_t last_of(const question *all, const pd_flag *flag) {
  const pd__changes *changes = all->changes;
  uint32_t index = flag->claim - all->claim;
  return index < changes->count && changes->items[index].flag == flag ? index + 1 : 0;
}

/* Link each flag to its last change by its claim, and each change to the one before it of the same
 * flag. The claims hold until another operation gets the lock. */
static void link_changes(question *all) {
  all->claim = pd__next_claim() + 1;
  for (size_t i = 0; i < all->changes->count; i++) {
    pd_flag *flag = all->changes->items[i].flag;
    all->previous[i] = last_of(all, flag);
    flag->claim = pd__next_claim();
  }
}

/* Returns how many entries of temporary overrides are on top. A value that goes below them is
 * checked as the value that the flag will have when they end. */
static size_t count_temporary(const pd_flag *flag) {
  size_t count = 0;
  const pd__overridden *at = pd__flag_override(flag);
  for (; at && at->temporary; at = at->below) {
    for (const pd__entry *entry = at->values; entry; entry = entry->next) count++;
  }
  return count;
}

/* Compute the entry that the flag would have. The changes are visited from the last to the first: a
 * source that a change drops hides the values that earlier changes gave for it. */
static void propose(const question *all, const pd_flag *flag, pd_flag_entry *out) {
  const pd__change *best = NULL;  /* the value of the highest rank; of several, the latest */
  uint32_t dropped = 0, rank = 0; /* bits of the sources whose earlier values are dropped */
  for (size_t at = last_of(all, flag); at > 0; at = all->previous[at - 1]) {
    const pd__change *change = &all->changes->items[at - 1];
    pd_source source = pd__change_source(change);
    dropped |= pd__change_drops(change);
    if (change->action != PD__ASSIGN || dropped & PD__SOURCE_BIT(source)) continue;
    if (best && pd__source_rank(source) <= rank) continue;
    best = change;
    rank = pd__source_rank(source);
  }
  const pd__scoped *scoped = all->changes->scope ? pd__scope_find(flag) : NULL;
  bool goes = true, below = best && !all->changes->pushes;
  for (size_t index = below ? count_temporary(flag) : 0; goes && pd__history_at(flag, index, out);
       index++) {
    goes = out->replaced || dropped & PD__SOURCE_BIT(out->origin.source);
  }
  if (scoped && !best) {
    out->value = pd__scoped_value(scoped);
    out->origin = scoped->origin;
    out->unset = scoped->unset;
  }
  if (!best || pd__source_rank(out->origin.source) > rank) return;
  out->value = best->value;
  out->origin = best->origin;
  bool unset = best->resets && flag->optional;
  out->origin.source = unset ? PD_SOURCE_DEFAULT : pd__change_source(best);
  out->replaced = false;
  out->unset = unset;
}

/* ---- Collecting the validators ---- */

static uint64_t last_round; /* numbers the rounds, so that each visits a hook only once */

/* Adds a hook with its targets or, if `hook` is NULL, the validator of the definition of `own`. */
static void add(question *all, pd__hook *hook, pd__handler call, pd_flag *own) {
  size_t count = hook ? hook->count : 1;
  size_t size = sizeof(asked) + count * (sizeof(shown) + sizeof(pd_flag_entry *));
  asked *made = pd__arena_take(&all->changes->operation->arena, size);
  all->memory_out |= !made;
  if (!made) return;
  made->hook = hook;
  made->call = call;
  made->count = count;
  made->entries = (const pd_flag_entry **)&made->shown[count];
  if (hook) pd__hook_hold(all->changes->operation, hook, &made->held);
  for (size_t i = 0; i < count; i++) {
    pd_flag *flag = hook ? hook->targets[i].flag : own;
    shown *seen = &made->shown[i];
    *seen = (shown){flag, flag->generation, {.size = sizeof seen->entry}};
    propose(all, flag, &seen->entry);
    made->entries[i] = &seen->entry;
  }
  *all->end = made;
  all->end = &made->next;
}

static void add_definition(question *all, pd_flag *flag) {
  const pd_flag_def *def = pd__flag_def(flag);
  if (!def || !def->validate || def->retired) return;
  add(all, NULL,
      (pd__handler){(pd__function *)def->validate, def->context, pd__cell_module(flag->cells)},
      flag);
}

static void add_hook(question *all, pd__hook *hook) {
  if (hook->watches || hook->round == all->round) return;
  hook->round = all->round;
  for (size_t i = 0; i < hook->count; i++) {
    const pd__target *target = &hook->targets[i];
    if (!target->flag->defined || target->flag->type != target->type) return;
  }
  /* The validator may wait for a thread that waits for the loader. */
  if (hook->waits && pd__loader_now.within) {
    pd__report_fail(all->changes->report, PD_ERR_REFUSED,
                    "--%s: one of its validators can't be called in constructors and destructors, "
                    "while a module is loaded or unloaded",
                    hook->targets[0].flag->name);
  } else {
    add(all, hook, hook->call, NULL);
  }
}

static void collect(question *all) {
  const pd__changes *changes = all->changes;
  link_changes(all);
  all->round = ++last_round;
  all->added = pd__validators_added;
  for (pd_flag *flag = NULL; changes->ask_all && (flag = pd__names_next(flag));) {
    add_definition(all, flag);
  }
  for (pd__hook *hook = NULL; changes->ask_all && (hook = pd__hooks_next(hook));) {
    add_hook(all, hook);
  }
  for (size_t i = 0; !changes->ask_all && i < changes->count && !all->memory_out; i++) {
    pd_flag *flag = changes->items[i].flag;
    if (all->previous[i]) continue;
    add_definition(all, flag);
    for (pd__target *at = pd__hooks_of(flag); at; at = at->next) {
      add_hook(all, at->hook);
    }
  }
}

static void check_required(question *all) {
  for (pd_flag *flag = NULL; (flag = pd__names_next(flag));) {
    const pd_flag_def *def = pd__flag_def(flag);
    pd_flag_entry entry;
    if (!def || !def->required) continue;
    propose(all, flag, &entry);
    if (entry.origin.source != PD_SOURCE_DEFAULT) continue;
    bool any = def->type == PD_TYPE_string && !def->list && !pd__list_begin(def->choices);
    char expected[256] = "";
    if (!any) pd__value_expected(def, expected, sizeof expected);
    pd__report_fail(all->changes->report, PD_ERR_REFUSED, "--%s: is required%s%s", flag->name,
                    any ? "" : ", expected ", expected);
  }
}

/* Adopt the values that modules have assigned to variables of flags that validators will see. */
static void adopt(pd__changes *changes) {
  uint64_t round = ++last_round;
  if (changes->ask_all) pd__adopt_all(changes->operation);
  for (size_t i = 0; !changes->ask_all && i < changes->count; i++) {
    const pd_flag *flag = changes->items[i].flag;
    for (pd__target *at = pd__hooks_of(flag); at; at = at->next) {
      for (size_t k = 0; at->hook->round != round && k < at->hook->count; k++) {
        pd_flag *other = at->hook->targets[k].flag;
        if (other->assignable) pd__flag_adopt(changes->operation, other);
      }
      at->hook->round = round;
    }
  }
}

/* ---- Calling ---- */

/* Pins the modules of all validators to call. Returns false if the lock had to be released for
 * that: the round must then start again. */
static bool pin(question *all) {
  pd__operation *operation = all->changes->operation;
  bool pinned = true;
  for (asked *each = all->first; each; each = each->next) {
    pd__pinning how = pd__pin_module(operation, each->call.module);
    if (how == PD__LEAVING) each->call.function = NULL; /* not called: counts as a rejection */
    pinned &= how != PD__UNPINNED;
  }
  if (!pinned) pd__pins_take(operation);
  return pinned;
}

/* The caller holds the lock, which is released while the validators run. */
static void run(question *all) {
  pd__operation *operation = all->changes->operation;
  pd__hooks_prepare(operation);
  pd__operation_unlock(operation);
  for (asked *each = all->first; each; each = each->next) {
    PD__IN_HOOK(operation);
    pd_validator accepts = (pd_validator)each->call.function;
    each->accepted =
        accepts && accepts(each->entries, each->call.context, each->why, sizeof each->why);
  }
  pd__operation_lock(operation);
}

/* Returns whether the validators have seen the values as they are now, and none was added. */
static bool holds(question *all) {
  if (all->added != pd__validators_added) return false;
  link_changes(all);
  for (const asked *each = all->first; each; each = each->next) {
    if (each->hook && each->hook->removed) return false;
    for (size_t i = 0; i < each->count; i++) {
      const shown *seen = &each->shown[i];
      pd_flag_entry now = {.size = sizeof now};
      if (!seen->flag->defined || seen->flag->generation != seen->generation) return false;
      propose(all, seen->flag, &now);
      if (now.origin.source != seen->entry.origin.source) return false;
      if (!pd__value_equal(seen->flag->type, now.value, seen->entry.value)) return false;
    }
  }
  return true;
}

#define ITEM_SIZE (PD__QUOTE_SIZE * 3 + 8)
#define VALUES_SIZE 400 /* leaves room for the reason */
#define SUBJECT_SIZE (PD__SOURCE_SIZE + PD__QUOTE_SIZE)

static const char *show_value(const shown *seen, char quoted[PD__QUOTE_SIZE]) {
  char number[PD__NUMBER_SIZE];
  if (seen->flag->sensitive) return PD__REDACTED;
  return pd__quote(quoted, pd__value_text(seen->flag->type, seen->entry.value, number));
}

/* Writes the values that were checked, as "--low=9 (argv[1]), --high=3 (default)". `given` leaves
 * out the defaults. */
static void write_values(const asked *one, bool given, char out[VALUES_SIZE]) {
  bool fits = true;
  out[0] = '\0';
  for (size_t i = 0; fits && i < one->count; i++) {
    char item[ITEM_SIZE], name[PD__QUOTE_SIZE], value[PD__QUOTE_SIZE], place[PD__QUOTE_SIZE];
    const shown *seen = &one->shown[i];
    if (given && seen->entry.origin.source == PD_SOURCE_DEFAULT) continue;
    snprintf(item, sizeof item, "--%s=%s (%s)", pd__quote(name, seen->flag->name),
             show_value(seen, value), pd__origin_shown(&seen->entry.origin, place));
    fits = pd__append_item(out, VALUES_SIZE, item);
  }
}

/* Writes what was checked: "--level=9", with its source, or the values of several flags. */
static void write_subject(const asked *one, char out[SUBJECT_SIZE]) {
  char source[PD__SOURCE_SIZE], quoted[PD__QUOTE_SIZE];
  if (one->count > 1) {
    write_values(one, false, out);
  } else {
    snprintf(out, SUBJECT_SIZE, "%s=%s",
             pd__source_of(one->shown->flag->name, &one->shown->entry.origin, source),
             show_value(one->shown, quoted));
  }
  pd__shorten(out, 600);
}

/* Returns whether the validator's reason contains the value of a sensitive flag. */
static bool gives_away(const asked *one) {
  char number[PD__NUMBER_SIZE];
  for (size_t i = 0; i < one->count; i++) {
    const shown *seen = &one->shown[i];
    if (!seen->flag->sensitive) continue;
    const char *text = pd__value_text(seen->flag->type, seen->entry.value, number);
    if (*text && strstr(one->why, text)) return true;
  }
  return false;
}

/* If the validator gave no reason, name the module that it is in, if that is known. */
static void report_silent(const asked *one, const char *subject, pd__report *report) {
  char quoted[PD__QUOTE_SIZE];
  const char *name = one->call.module ? one->call.module->path : "";
  for (const char *at = name; *at; at++) {
    if (*at == '/' || *at == '\\') name = at + 1;
  }
  pd__report_fail(report, PD_ERR_REFUSED, "%s: rejected by %s validator%s%s", subject,
                  one->hook ? "a" : "its", *name ? " in " : "", pd__quote(quoted, name));
}

/* The reason of a group already names its flags. */
static void report_group(const asked *one, pd__report *report) {
  char given[VALUES_SIZE];
  write_values(one, true, given);
  pd__report_fail(report, PD_ERR_REFUSED, "%s%s%s", one->why, *given ? "; given: " : "", given);
}

/* The generations are unchanged, so names and values are still valid. */
static void report_refusals(asked *each, pd__report *report) {
  for (; each; each = each->next) {
    char subject[SUBJECT_SIZE];
    if (each->accepted) continue;
    each->why[sizeof each->why - 1] = '\0';
    write_subject(each, subject);
    if ((pd_validator)each->call.function == pd__group_check) {
      report_group(each, report);
    } else if (!*each->why || gives_away(each)) {
      report_silent(each, subject, report);
    } else {
      pd__report_fail(report, PD_ERR_REFUSED, "%s: %s", subject, each->why);
    }
  }
}

/* Returns false if another round is needed, because values have changed or modules had to be
 * pinned. */
static bool ask_once(pd__changes *changes) {
  pd__arena *arena = &changes->operation->arena;
  question all = {.changes = changes, .end = &all.first};
  all.previous = pd__arena_take(arena, (changes->count + 1) * sizeof *all.previous);
  all.memory_out = !all.previous;
  adopt(changes);
  if (all.previous) collect(&all);
  if (all.memory_out) pd__report_memory(changes->report);
  if (changes->report->status != PD_OK) return true;
  bool pinned = pin(&all);
  if (pinned && all.first) run(&all);
  if (!pinned || all.first) pd__prepare_again(changes);
  if (changes->report->status != PD_OK) return true;
  if (!pinned || !holds(&all)) return false;
  if (changes->ask_all) check_required(&all);
  report_refusals(all.first, changes->report);
  return true;
}

void pd__validate(pd__changes *changes) {
  for (int round = 0; round < ROUNDS; round++) {
    if (ask_once(changes)) return;
  }
  pd__report_fail(changes->report, PD_ERR_REFUSED,
                  "values kept changing while validators checked them");
}
