/* Asking the validators about the values that are to be. */
#include <string.h>

#include "change.h"
#include "hook.h"
#include "loader.h"

/* Values that change all the time can't be validated. */
#define ROUNDS 100

/* What a validator is shown of one flag. */
typedef struct shown {
  pd_flag *flag;
  uint32_t generation;
  pd_flag_entry entry;
} shown;

/* A validator, and what it is asked. */
typedef struct asked {
  pd__hook *hook; /* NULL: the validator of a definition */
  pd__held held;
  pd__handler call;
  bool accepted;
  char why[PD__WHY_SIZE];
  struct asked *next;
  const pd_flag_entry **entries; /* of those that it is shown */
  size_t count;
  shown shown[];
} asked;

/* One round: all that is asked about the values as they would be now. */
typedef struct question {
  pd__changes *changes;
  uint64_t round;
  uint64_t added;   /* pd__validators_added then */
  uint32_t claim;   /* that of the first change; the others have the next ones */
  size_t *previous; /* of each change, that of the same flag: as last_of gives it */
  asked *first, **end;
  bool memory_out;
} question;

/* ---- The values that would be ---- */

/* The last change of the flag: its index + 1; 0: none. */
static size_t last_of(const question *all, const pd_flag *flag) {
  const pd__changes *changes = all->changes;
  uint32_t index = flag->claim - all->claim;
  return index < changes->count && changes->items[index].flag == flag ? index + 1 : 0;
}

/* Each change claims its flag, which leads to the last one, and that to those before. This holds
 * until somebody else claims the flags, who has had the lock meanwhile. */
static void link_changes(question *all) {
  all->claim = pd__next_claim() + 1;
  for (size_t i = 0; i < all->changes->count; i++) {
    pd_flag *flag = all->changes->items[i].flag;
    all->previous[i] = last_of(all, flag);
    flag->claim = pd__next_claim();
  }
}

/* The entry that will hold. From the last change of the flag to the first: what one drops, those
 * before it can't give. */
static void propose(const question *all, const pd_flag *flag, pd_flag_entry *out) {
  const pd__change *best = NULL;  /* the value of the highest rank, the latest of those */
  uint32_t dropped = 0, rank = 0; /* a bit for each source whose former values go */
  for (size_t at = last_of(all, flag); at > 0; at = all->previous[at - 1]) {
    const pd__change *change = &all->changes->items[at - 1];
    pd_source source = pd__change_source(change);
    dropped |= pd__change_drops(change);
    if (change->action != PD__ASSIGN || dropped & PD__SOURCE_BIT(source)) continue;
    if (best && pd__source_rank(source) <= rank) continue;
    best = change;
    rank = pd__source_rank(source);
  }
  bool goes = true;
  for (size_t index = 0; goes; index++) {
    pd__history_at(flag, index, out);
    goes = out->replaced || dropped & PD__SOURCE_BIT(out->origin.source);
  }
  if (!best || pd__source_rank(out->origin.source) > rank) return;
  out->value = best->value;
  out->origin = best->origin;
  out->origin.source = pd__change_source(best);
  out->replaced = false;
}

/* ---- Collecting the validators ---- */

static uint64_t last_round; /* of any question: a hook is looked at once in each */

/* Ask a hook about its flags; where it is NULL, a definition about its own. */
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
  /* It may wait for a thread that waits for the loader. */
  if (hook->waits && pd__loader_now.within) {
    pd__report_fail(all->changes->report, PD_ERR_REFUSED,
                    "--%s: one of its validators can't be asked in constructors and destructors, "
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

/* Take over what modules have assigned to the flags that validators will be shown. */
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

/* ---- Asking ---- */

/* Keep the modules of all that will be called; of definitions the generation tells whether they
 * are still there. False: they had to be asked for without the lock,
 * and all must be looked at again. */
static bool pin(question *all) {
  pd__operation *operation = all->changes->operation;
  bool pinned = true;
  for (asked *each = all->first; each; each = each->next) {
    pd__pinning how = pd__pin_module(operation, each->call.module);
    if (how == PD__LEAVING) each->call.function = NULL; /* nobody can say that the value is right */
    pinned &= how != PD__UNPINNED;
  }
  if (!pinned) pd__pins_take(operation);
  return pinned;
}

/* With the lock, which is let go meanwhile. */
static void run(question *all) {
  pd__operation_unlock(all->changes->operation);
  for (asked *each = all->first; each; each = each->next) {
    PD__IN_HOOK();
    pd_validator accepts = (pd_validator)each->call.function;
    each->accepted =
        accepts && accepts(each->entries, each->call.context, each->why, sizeof each->why);
  }
  pd__operation_lock(all->changes->operation);
}

/* Whether all values are still those that the validators have seen, and there is no other one. */
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

/* "--level=9" as it was given, or the names of several flags; "" for a group, which names them. */
#define SUBJECT_SIZE (PD__SOURCE_SIZE + PD__QUOTE_SIZE)
static void write_subject(const asked *one, char out[SUBJECT_SIZE]) {
  char source[PD__SOURCE_SIZE], number[PD__NUMBER_SIZE], quoted[PD__QUOTE_SIZE];
  const shown *seen = one->shown;
  out[0] = '\0';
  if ((pd_validator)one->call.function == pd__group_check) return;
  for (size_t i = 0; one->count > 1 && i < one->count; i++) {
    pd__append(out, SUBJECT_SIZE, "%s--%s", i ? ", " : "", seen[i].flag->name);
  }
  if (one->count > 1) return;
  bool sensitive = pd__flag_def(seen->flag)->sensitive;
  const char *text = pd__value_text(seen->flag->type, seen->entry.value, number);
  pd__append(out, SUBJECT_SIZE, "%s=%s",
             pd__source_of(seen->flag->name, &seen->entry.origin, source),
             sensitive ? PD__REDACTED : pd__quote(quoted, text));
}

/* Whether what the validator wrote shows the value of a sensitive flag. */
static bool gives_away(const asked *one) {
  char number[PD__NUMBER_SIZE];
  for (size_t i = 0; i < one->count; i++) {
    const shown *seen = &one->shown[i];
    if (!pd__flag_def(seen->flag)->sensitive) continue;
    const char *text = pd__value_text(seen->flag->type, seen->entry.value, number);
    if (*text && strstr(one->why, text)) return true;
  }
  return false;
}

/* All generations are those that were asked about: names and values are there. */
static void report_refusals(asked *each, pd__report *report) {
  for (; each; each = each->next) {
    char subject[SUBJECT_SIZE];
    if (each->accepted) continue;
    each->why[sizeof each->why - 1] = '\0';
    bool silent = !*each->why || gives_away(each);
    write_subject(each, subject);
    pd__report_fail(report, PD_ERR_REFUSED, "%.600s%s%s", subject, *subject ? ": " : "",
                    silent ? "a validator refuses it" : each->why);
  }
}

/* False: ask again, since values have changed, or modules could not be pinned at once. */
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
                  "values kept changing while validators looked at them");
}
