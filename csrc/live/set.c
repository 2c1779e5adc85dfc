/* flags.set: all that is wrong is found before anything changes. */
#include <stdlib.h>
#include <string.h>

#include "live.h"

/* Values may change while they are looked at. Then all is done again, at most so often. */
enum { ROUNDS = 100 };

/* A flag that the client names. */
typedef struct wanted {
  const char *name; /* as the client writes it */
  const pd__value *value;
  bool takes_back;
  pd_flag *flag; /* NULL: there is none */
  pd_flag_info info;
} wanted;

/* One request, with room for all that it may need. */
typedef struct setting {
  pd__job *job;
  wanted *set, *expect;
  size_t set_count, expect_count;
  pd_flag **confirmed;
  size_t confirmed_count;
  pd_batch_change *items; /* what is known and different, as far as it is right */
  size_t *flag_of;        /* of each item: the index of its flag */
  size_t item_count, item_room;
  pd_flag_revision *unchanged;
  pd__change *made;
  bool failed; /* memory was out */
} setting;

/* ---- Names ---- */

static pd_flag *find_flag(setting *all, const char *name, pd_flag_info *info) {
  pd_flag *flag = NULL;
  pd_error err;
  *info = (pd_flag_info){.size = sizeof *info};
  pd_status status = pd_flag_find(name, &flag, &err);
  if (status == PD_OK) status = pd_flag_get_info(flag, info, &err);
  if (status == PD_OK) return flag;
  pd__job_fail(all->job, "unknown", name, status, "%s", err.message);
  return NULL;
}

static void add_wanted(setting *all, wanted *list, size_t *count, const pd__value *each,
                       const char *name) {
  wanted *one = &list[(*count)++];
  *one = (wanted){.name = name, .value = each, .takes_back = each->kind == PD__NULL};
  if (!each->name) one->takes_back = true; /* an item of `unset` */
  one->flag = find_flag(all, name, &one->info);
}

static const pd__value *first_of(const pd__job *job, const char *member) {
  const pd__value *found = pd__value_member(job->params, member);
  return found ? found->first : NULL;
}

static void find_flags(setting *all) {
  const pd__job *job = all->job;
  pd_flag_info info;
  for (const pd__value *at = first_of(job, "set"); at; at = at->next) {
    add_wanted(all, all->set, &all->set_count, at, at->name);
  }
  for (const pd__value *at = first_of(job, "unset"); at; at = at->next) {
    add_wanted(all, all->set, &all->set_count, at, at->text);
  }
  for (const pd__value *at = first_of(job, "expect"); at; at = at->next) {
    add_wanted(all, all->expect, &all->expect_count, at, at->name);
  }
  for (const pd__value *at = first_of(job, "confirm"); at; at = at->next) {
    pd_flag *flag = find_flag(all, at->text, &info);
    if (flag) all->confirmed[all->confirmed_count++] = flag;
  }
}

/* ---- Permission ---- */

static int compare_flags(const void *a, const void *b) {
  const wanted *const *one = a, *const *other = b;
  uintptr_t x = (uintptr_t)(*one)->flag, y = (uintptr_t)(*other)->flag;
  return x < y ? -1 : x > y;
}

/* Two spellings of one flag would set it twice. */
static void check_different(setting *all) {
  const wanted **sorted = calloc(all->set_count + 1, sizeof *sorted);
  all->failed |= !sorted;
  for (size_t i = 0; sorted && i < all->set_count; i++) sorted[i] = &all->set[i];
  if (sorted) qsort(sorted, all->set_count, sizeof *sorted, compare_flags);
  for (size_t i = 1; sorted && i < all->set_count; i++) {
    if (!sorted[i]->flag || sorted[i]->flag != sorted[i - 1]->flag) continue;
    pd__job_fail(all->job, "malformed", sorted[i]->name, PD_ERR_ARGUMENT,
                 "%s: is given twice, by its name or an alias", sorted[i]->info.name);
  }
  free(sorted);
}

static bool is_confirmed(const setting *all, const pd_flag *flag) {
  for (size_t i = 0; i < all->confirmed_count; i++) {
    if (all->confirmed[i] == flag) return true;
  }
  return false;
}

static void check_permission(setting *all) {
  for (size_t i = 0; i < all->set_count; i++) {
    const wanted *one = &all->set[i];
    if (!one->flag) continue;
    const char *why = pd__find_refusal(all->job->server, &one->info);
    bool closed = one->info.read_only || *one->info.retired;
    if (why) {
      pd__job_fail(all->job, "forbidden", one->name, closed ? PD_ERR_READ_ONLY : PD_ERR_FROZEN,
                   "%s: %s", one->info.name, why);
    } else if (one->info.unsafe && !is_confirmed(all, one->flag)) {
      pd__job_fail(all->job, "confirm", one->name, PD_ERR_REFUSED,
                   "%s: is unsafe to change: confirm it by its name", one->info.name);
    }
  }
}

/* ---- Expectations ---- */

static void add_current(setting *all, const wanted *one) {
  pd_flag_entry entry = {.size = sizeof entry};
  char number[PD__NUMBER_SIZE];
  if (pd_flag_get_entry(one->flag, 0, &entry, NULL) != PD_OK) return;
  pd_type type = entry.unset ? (pd_type)0 : entry.type;
  pd__json_add_shown(&all->job->current, one->name, pd__value_text(type, entry.value, number));
}

/* An expectation of a sensitive flag would reveal its value by guesses. */
static void check_expectations(setting *all) {
  all->job->current.length = 0;
  for (size_t i = 0; i < all->expect_count; i++) {
    const wanted *one = &all->expect[i];
    bool same = false;
    if (!one->flag) continue;
    all->unchanged[i] = (pd_flag_revision){one->flag, pd_flag_get_revision(one->flag)};
    if (one->info.sensitive) {
      pd__job_fail(all->job, "forbidden", one->name, PD_ERR_ARGUMENT,
                   "%s: is sensitive, and can't be in expect", one->info.name);
      continue;
    }
    add_current(all, one);
    pd_status status = pd_flag_compare_text(one->flag, one->value->text, &same, NULL);
    if (status == PD_OK && same) continue;
    pd__job_fail(all->job, "conflict", one->name, PD_ERR_CONFLICT,
                 "%s: doesn't have the expected value", one->info.name);
  }
}

/* ---- The batch ---- */

static uint32_t literal_of(const pd__value *value) {
  if (value->kind == PD__BOOL) return PD_TYPE_bool;
  if (value->kind != PD__NUMBER) return 0;
  return strpbrk(value->text, ".eE") ? PD_TYPE_double : PD_TYPE_int64;
}

static void add_item(setting *all, size_t index, pd_batch_change item) {
  if (all->item_count == all->item_room) {
    size_t room = 2 * all->item_room + 16;
    pd_batch_change *items = realloc(all->items, room * sizeof *items);
    if (items) all->items = items;
    size_t *flag_of = items ? realloc(all->flag_of, room * sizeof *flag_of) : NULL;
    if (flag_of) all->flag_of = flag_of;
    all->failed |= !flag_of;
    if (!flag_of) return;
    all->item_room = room;
  }
  all->flag_of[all->item_count] = index;
  all->items[all->item_count++] = item;
}

/* What is below goes first, so that readers see no value between the old and the new one. The list
 * of changes begins with the latest. */
static void add_overrides(setting *all, size_t index, pd_flag *flag, const pd__change *at) {
  if (!at) return;
  add_overrides(all, index, flag, at->older);
  for (size_t i = 0; at->state == PD__ON && i < at->count; i++) {
    if (at->flags[i].flag != flag || at->flags[i].over) continue;
    add_item(all, index, (pd_batch_change){.flag = flag, .override = at->override});
  }
}

static void prepare_items(setting *all) {
  all->item_count = 0;
  for (size_t i = 0; i < all->set_count; i++) {
    const wanted *one = &all->set[i];
    if (!one->flag) continue;
    if (!one->takes_back) {
      add_item(all, i, (pd_batch_change){one->flag, one->value->text, literal_of(one->value), 0});
      continue;
    }
    add_item(all, i, (pd_batch_change){.flag = one->flag});
    pthread_mutex_lock(&pd__lock);
    add_overrides(all, i, one->flag, pd__change_latest());
    pthread_mutex_unlock(&pd__lock);
  }
}

/* ---- The change ---- */

static pd__change *new_change(setting *all) {
  pd__job *job = all->job;
  pd__change *made = pd__change_new(all->set_count, &job->who, job->reason);
  for (size_t i = 0; made && i < all->set_count; i++) {
    const wanted *one = &all->set[i];
    pd__changed_flag *flag = &made->flags[i];
    *flag = (pd__changed_flag){.flag = one->flag, .generation = one->info.generation};
    flag->name = strdup(one->flag ? one->info.name : one->name);
    flag->type = one->info.type;
    flag->sensitive = !one->flag || one->info.sensitive;
    flag->drops = one->takes_back;
    flag->wanted = one->value->text;
    if (one->flag) flag->had_live = pd__live_value(one->flag, &flag->live_before);
    all->failed |= !flag->name;
  }
  all->failed |= !made;
  if (made && job->duration) {
    made->state = PD__ON;
    made->until = made->at + job->duration;
    made->deadline = pd__now() + job->duration;
    made->audit = job->server->audit;
  }
  return made;
}

/* ---- Errors of values ---- */

/* Leaves out the items that have an error, and returns whether there are any. */
static bool drop_wrong_items(setting *all, const pd_error_list *errors) {
  size_t kept = 0, count = all->item_count;
  for (size_t i = 0; i < count; i++) {
    bool wrong = false;
    for (size_t k = 0; !wrong && k < pd_error_list_count(errors); k++) {
      wrong = pd_error_list_get_flag(errors, k) == all->items[i].flag;
    }
    if (wrong) continue;
    all->items[kept] = all->items[i];
    all->flag_of[kept++] = all->flag_of[i];
  }
  all->item_count = kept;
  return kept < count && kept > 0;
}

/* Applies the batch, and reports what is wrong with it. Validators are asked only when all values
 * can be read: for the flags whose values can, a trial follows. */
static pd_status apply_items(setting *all, pd__batch *batch, bool dry_run, pd_error *err) {
  pd_override *override = all->job->duration && batch->made ? &batch->made->override : NULL;
  batch->job = all->job;
  batch->who = &all->job->who;
  batch->mark = batch->made ? batch->made->number : 0;
  batch->items = all->items;
  batch->count = all->item_count;
  batch->flag_of = all->flag_of;
  batch->errors = pd_error_list_new();
  pd_status status = pd__batch_apply(batch, dry_run, override, err);
  bool again = status == PD_ERR_CONFLICT && batch->unchanged_count > 0;
  bool given_up = __atomic_load_n(&all->job->state, __ATOMIC_ACQUIRE) == PD__GIVEN_UP;
  if (status != PD_OK && !again && !given_up) {
    pd__job_report(all->job, batch->errors);
    pd__batch rest = {.job = NULL};
    if (drop_wrong_items(all, batch->errors)) apply_items(all, &rest, true, err);
    if (!all->job->problems) pd__job_fail(all->job, "rejected", NULL, status, "%s", err->message);
  }
  pd_error_list_free(batch->errors);
  return status;
}

/* ---- All together ---- */

/* Takes note of what the flags have now, for undoing the change. */
static void note_values(setting *all) {
  for (size_t i = 0; i < all->made->count; i++) {
    pd__changed_flag *flag = &all->made->flags[i];
    if (!flag->drops) pd__live_value(flag->flag, &flag->given);
  }
}

/* Temporary changes lose the flags that were taken back; those without any flag are over. */
static void end_taken_back(const setting *all) {
  for (size_t i = 0; i < all->item_count; i++) {
    pd__change *change = NULL;
    bool empty = true;
    if (!all->items[i].override) continue;
    change = pd__change_of_override(all->items[i].override);
    for (size_t k = 0; change && k < change->count; k++) {
      if (change->flags[k].flag == all->items[i].flag) change->flags[k].over = true;
      empty &= change->flags[k].over;
    }
    if (change && empty) pd__change_end(change, PD__UNDONE);
  }
}

static void commit_change(setting *all) {
  pd__change *made = all->made;
  if (!all->job->duration) note_values(all);
  pthread_mutex_lock(&pd__lock);
  end_taken_back(all);
  pd__change_add(made);
  pthread_mutex_unlock(&pd__lock);
  if (made->state == PD__ON) pd__loop_wake(); /* it waits for the end */
  pd__batch_write_result(all->job, made);
  pd__audit_change(all->job->server->audit, made, "set");
  pd__change_leave(made);
  all->made = NULL;
}

static bool reserve_change(setting *all) {
  pthread_mutex_lock(&pd__lock);
  bool room = pd__change_reserve(all->made);
  size_t on = pd__changes_on();
  pthread_mutex_unlock(&pd__lock);
  if (!room) {
    pd__job_fail(all->job, "busy", NULL, PD_ERR_REFUSED,
                 "%zu temporary changes are on: undo some, or wait until some end", on);
  }
  return room;
}

/* Returns false if another round is needed, since an expected value has changed meanwhile. */
static bool try_once(setting *all) {
  pd__job *job = all->job;
  pd_error err;
  check_expectations(all);
  prepare_items(all);
  pd__change_drop(all->made);
  all->made = new_change(all);
  if (all->failed) pd__job_fail(job, "internal", NULL, PD_ERR_MEMORY, "out of memory");
  if (all->failed || (!job->problems && !job->dry_run && !reserve_change(all))) return true;
  pd__batch batch = {.made = job->problems ? NULL : all->made};
  if (!job->problems) batch.unchanged = all->unchanged;
  if (!job->problems) batch.unchanged_count = all->expect_count;
  pd_status status = apply_items(all, &batch, job->dry_run || job->problems, &err);
  if (status == PD_ERR_CONFLICT && batch.unchanged_count > 0) return false;
  if (status != PD_OK || job->problems) return true;
  if (job->dry_run) pd__batch_write_result(job, all->made);
  if (!job->dry_run) commit_change(all);
  return true;
}

void pd__set_run(pd__job *job) {
  const size_t most = PD__NAMES_MAX + 1;
  setting all = {.job = job};
  all.set = calloc(2 * most, sizeof *all.set);
  all.expect = calloc(most, sizeof *all.expect);
  all.confirmed = calloc(PD__VALUES_MAX, sizeof *all.confirmed);
  all.unchanged = calloc(most, sizeof *all.unchanged);
  if (all.set && all.expect && all.confirmed && all.unchanged) {
    find_flags(&all);
    check_different(&all);
    check_permission(&all);
    int round = 0;
    while (round < ROUNDS && !try_once(&all)) round++;
    if (round == ROUNDS) {
      pd__job_fail(job, "conflict", NULL, PD_ERR_CONFLICT, "the expected values kept changing");
    }
  } else {
    pd__job_fail(job, "internal", NULL, PD_ERR_MEMORY, "out of memory");
  }
  if (job->problems && !job->dry_run) pd__audit_refusal(job, all.made);
  pd__change_drop(all.made);
  free(all.set);
  free(all.expect);
  free(all.confirmed);
  free(all.unchanged);
  free(all.items);
  free(all.flag_of);
}
