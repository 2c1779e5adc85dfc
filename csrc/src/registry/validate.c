/* Asking the validators about the values that are to be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks.h"
#include "../platform/platform.h"

/* Values that change all the time can't be validated. */
#define ROUNDS 100

/* What a validator is shown of one flag. */
typedef struct shown {
  pd_flag *flag;
  const pd_flag_def *def;
  pd_flag_entry entry;
} shown;

/* A validator, and what it is asked. */
typedef struct asked {
  pd__call call;
  pd__hook *hook; /* NULL: the validator of a definition */
  pd_validator validate;
  bool accepted;
  char why[PD__WHY_SIZE];
  struct asked *next;
  const pd_flag_entry **entries;
  size_t count;
  shown shown[];
} asked;

typedef struct question {
  pd__changes *changes;
  uint64_t round;
  asked *first, **end;
  bool memory_out;
} question;

/* ---- What is to be ---- */

static void propose(pd__changes *changes) {
  for (size_t i = 0; i < changes->count; i++) {
    pd__change *change = pd__changes_at(changes, i);
    pd__extra *extra = pd__flag_make_extra(change->flag); /* pd__changes_finish made it */
    change->number = extra->change;
    extra->change = (uint32_t)i + 1;
  }
}

static void forget_proposals(pd__changes *changes) {
  for (size_t i = 0; i < changes->count; i++) {
    pd__flag_make_extra(pd__changes_at(changes, i)->flag)->change = 0;
  }
}

/* What is set at run time goes to the topmost override. */
static pd_source rank_of(const pd__entry *entry, const pd_flag *flag) {
  bool overridden = flag->given.entries && flag->given.entries->override;
  return overridden && entry->source == PD_SOURCE_RUNTIME ? PD_SOURCE_OVERRIDE : (pd_source)entry->source;
}

/* The entry that will hold; NULL: the default. The later of one rank wins, and what a
 * change drops, those before it can't give. */
static const pd__entry *entry_of(pd__changes *changes, const pd_flag *flag) {
  const pd__entry *best = NULL;
  const pd__entry *entry = flag->given.entries; /* none that concerns a hook is brief */
  unsigned dropped = 0;                         /* a bit for each source */
  for (uint32_t i = pd__flag_extra(flag)->change; i > 0;) {
    const pd__change *at = pd__changes_at(changes, i - 1);
    i = at->number;
    if (at->action == PD__DROP_ALL) dropped = ~(1u << PD_SOURCE_DEFAULT);
    if (at->action == PD__DROP_SOURCE) dropped |= 1u << at->source;
    const pd__entry *given = pd__change_entry(at);
    if (!given || dropped >> rank_of(given, flag) & 1) continue;
    if (!best || rank_of(given, flag) > rank_of(best, flag)) best = given;
  }
  while (entry && dropped >> entry->source & 1) entry = entry->next;
  bool stays = entry && (!best || entry->source > rank_of(best, flag));
  return stays ? entry : best;
}

/* ---- Collecting the validators ---- */

static asked *add(question *all, pd__hook *hook, pd_validator validate, size_t count) {
  asked *made = calloc(1, sizeof *made + count * (sizeof(shown) + sizeof *made->entries));
  if (!made) {
    all->memory_out = true;
    return NULL;
  }
  made->hook = hook;
  made->validate = validate;
  made->count = count;
  made->entries = (const pd_flag_entry **)(void *)(made->shown + count);
  for (size_t i = 0; i < count; i++) made->entries[i] = &made->shown[i].entry;
  *all->end = made;
  all->end = &made->next;
  return made;
}

static void show(pd__changes *changes, shown *out, pd_flag *flag) {
  out->flag = flag;
  out->def = pd__flag_def(flag);
  out->entry.size = sizeof out->entry;
  pd__entry_show(flag, entry_of(changes, flag), &out->entry);
}

static void add_definition(question *all, pd_flag *flag) {
  if (!flag->defined || !pd__flag_def(flag)->validate || pd__flag_def(flag)->retired) return;
  asked *made = add(all, NULL, pd__flag_def(flag)->validate, 1);
  if (made) show(all->changes, &made->shown[0], flag);
}

static void add_hook(question *all, pd__hook *hook) {
  if (!hook->validate || hook->round == all->round) return;
  hook->round = all->round;
  for (size_t i = 0; i < hook->count; i++) {
    const pd__target *target = &hook->targets[i];
    if (!target->flag->defined || target->flag->type != target->type) return;
  }
  asked *made = add(all, hook, hook->validate, hook->count);
  if (!made) return;
  pd__hook_take(hook);
  for (size_t i = 0; i < hook->count; i++)
    show(all->changes, &made->shown[i], hook->targets[i].flag);
}

static void collect(question *all) {
  static uint64_t round;
  pd_flag *flag;
  all->round = ++round;
  for (size_t i = 0; i < all->changes->count; i++) {
    const pd__change *change = pd__changes_at(all->changes, i);
    if (change->number || all->changes->ask_all) continue;
    add_definition(all, change->flag);
    for (pd__target *at = pd__flag_extra(change->flag)->targets; at; at = at->next)
      add_hook(all, at->hook);
  }
  if (!all->changes->ask_all) return;
  for (uint32_t i = 0; (flag = pd__names_at(i)); i++) add_definition(all, flag);
  for (pd__hook *hook = pd__hooks_first(); hook; hook = hook->next) add_hook(all, hook);
}

static void check_required(pd__changes *changes) {
  pd_flag *flag;
  for (uint32_t i = 0; (flag = pd__names_at(i)); i++) {
    const pd_flag_def *def = pd__flag_def(flag);
    if (!def || !def->required) continue;
    const pd__entry *entry = entry_of(changes, flag);
    if (entry && entry->source > PD_SOURCE_DEFAULT) continue;
    bool any = def->type == PD_TYPE_string && !def->list && !pd__list_begin(def->choices);
    char expected[256] = "";
    if (!any) pd__value_expected(def, expected, sizeof expected);
    pd__report_fail(changes->report, PD_ERR_REFUSED, "--%s: is required%s%s", flag->name,
                    any ? "" : ", expected ", expected);
  }
}

/* ---- Asking ---- */

/* With the lock, which is let go meanwhile. */
static void run(asked *list) {
  for (asked *each = list; each; each = each->next) {
    pd__call_begin(&each->call, (uintptr_t)each->validate);
  }
  pd__platform_unlock();
  for (asked *each = list; each; each = each->next) {
    void *context = each->hook ? each->hook->context : each->shown[0].def->context;
    each->accepted = each->validate(each->entries, context, each->why, sizeof each->why);
  }
  pd__platform_lock();
  for (asked *each = list; each; each = each->next) pd__call_end(&each->call);
}

static void give_up(asked *list) {
  while (list) {
    asked *each = list;
    list = each->next;
    if (each->hook) pd__hook_drop(each->hook);
    free(each);
  }
}

/* Whether all values are still those that the validators have seen. */
static bool holds(pd__changes *changes, const asked *list) {
  for (; list; list = list->next) {
    if (list->hook && list->hook->removed) return false;
    for (size_t i = 0; i < list->count; i++) {
      const shown *seen = &list->shown[i];
      pd_flag_entry now = {.size = sizeof now};
      if (pd__flag_def(seen->flag) != seen->def) return false;
      pd__entry_show(seen->flag, entry_of(changes, seen->flag), &now);
      if (now.origin.source != seen->entry.origin.source) return false;
      if (!pd__value_equal(seen->flag->type, now.value, seen->entry.value)) return false;
    }
  }
  return true;
}

/* "--level=9" as it was given, or the names of several flags. */
#define SUBJECT_SIZE (PD__SOURCE_SIZE + PD__QUOTE_SIZE)
static void write_subject(const asked *one, char out[SUBJECT_SIZE]) {
  char source[PD__SOURCE_SIZE], number[PD__NUMBER_SIZE], quoted[PD__QUOTE_SIZE];
  if (one->count == 1) {
    const shown *seen = &one->shown[0];
    const char *text = pd__value_text(seen->flag->type, seen->entry.value, number);
    pd__source_of(seen->flag->name, &seen->entry.origin, source);
    snprintf(out, SUBJECT_SIZE, "%s=%s", source,
             seen->def->sensitive ? PD__REDACTED : pd__quote(quoted, text));
    return;
  }
  size_t used = 0;
  for (size_t i = 0; i < one->count && used < SUBJECT_SIZE; i++) {
    const char *comma = i ? ", " : "";
    used += (size_t)snprintf(out + used, SUBJECT_SIZE - used, "%s--%s", comma,
                             one->shown[i].flag->name);
  }
}

/* Whether what the validator wrote shows the value of a sensitive flag. */
static bool gives_away(const asked *one) {
  char number[PD__NUMBER_SIZE];
  for (size_t i = 0; i < one->count; i++) {
    const shown *seen = &one->shown[i];
    if (!seen->def->sensitive) continue;
    const char *text = pd__value_text(seen->flag->type, seen->entry.value, number);
    if (*text && strstr(one->why, text)) return true;
  }
  return false;
}

static void report_refusals(asked *list, pd__report *report) {
  for (; list; list = list->next) {
    char subject[SUBJECT_SIZE];
    if (list->accepted) continue;
    list->why[sizeof list->why - 1] = '\0';
    bool silent = !*list->why || gives_away(list);
    const char *why = silent ? "a validator refuses it" : list->why;
    if (list->validate == pd__group_check) {
      pd__report_fail(report, PD_ERR_REFUSED, "%s", why);
    } else {
      write_subject(list, subject);
      pd__report_fail(report, PD_ERR_REFUSED, "%.600s: %s", subject, why);
    }
  }
}

/* While validators ran, modules may have left, and flags may have been frozen. */
static void check_again(pd__changes *changes, const pd_flag_def *const *before) {
  for (size_t i = 0; i < changes->count; i++) {
    const pd__change *change = pd__changes_at(changes, i);
    const pd__entry *entry = pd__change_entry(change);
    pd_origin origin = entry ? pd__entry_origin(entry) : pd__at_run_time;
    pd_error err;
    pd_status status = PD_OK;
    if (pd__flag_def(change->flag) != before[i]) {
      status = pd__fail(&err, PD_ERR_UNDEFINED, "%s: its module left, or came again, meanwhile",
                        change->flag->name);
    } else if (!changes->early) {
      status = pd__flag_check_open(change->flag, &origin, &err);
    }
    if (status != PD_OK) pd__report_add(changes->report, &err);
  }
}

/* The definitions that the changes are for; NULL when memory is out. */
static const pd_flag_def **defs_of(pd__changes *changes) {
  const pd_flag_def **defs = calloc(changes->count + 1, sizeof *defs);
  for (size_t i = 0; defs && i < changes->count; i++) {
    defs[i] = pd__flag_def(pd__changes_at(changes, i)->flag);
  }
  return defs;
}

/* Take over what modules have assigned to the flags that validators will be shown. */
static void adopt(pd__changes *changes) {
  if (changes->ask_all) pd__adopt_all();
  for (size_t i = 0; !changes->ask_all && i < changes->count; i++) {
    const pd_flag *flag = pd__changes_at(changes, i)->flag;
    for (pd__target *at = pd__flag_extra(flag)->targets; at; at = at->next) {
      for (size_t k = 0; k < at->hook->count; k++) {
        pd_flag *other = at->hook->targets[k].flag;
        if (other->assignable) pd__flag_adopt(other);
      }
    }
  }
}

/* Gives whether all is said. */
static bool ask_once(pd__changes *changes) {
  question all = {.changes = changes};
  adopt(changes);
  all.end = &all.first;
  propose(changes);
  collect(&all);
  if (changes->ask_all) check_required(changes);
  forget_proposals(changes);
  const pd_flag_def **before = all.first ? defs_of(changes) : NULL;
  if (all.memory_out || (all.first && !before)) {
    pd_error err;
    pd__fail_memory(&err);
    pd__report_add(changes->report, &err);
  }
  if (!before || all.memory_out) {
    free(before);
    give_up(all.first);
    return true;
  }
  run(all.first);
  check_again(changes, before);
  free(before);
  bool done = changes->report->status != PD_OK;
  if (!done) {
    propose(changes);
    done = holds(changes, all.first);
    forget_proposals(changes);
  }
  if (done) report_refusals(all.first, changes->report);
  give_up(all.first);
  return done;
}

void pd__validators_ask(pd__changes *changes) {
  for (int round = 0; round < ROUNDS; round++) {
    if (ask_once(changes)) return;
  }
  pd__report_fail(changes->report, PD_ERR_REFUSED,
                  "values kept changing while validators looked at them");
}

pd_status pd__do_flags_validate(pd_error_list *errors, pd_error *err) {
  pd__report report = {.list = errors, .first = err};
  pd__changes changes = {.report = &report, .ask_all = true};
  pd__platform_lock();
  pd_status status = pd__changes_finish(&changes);
  pd__platform_unlock();
  pd__tell();
  return status;
}
