/* changes.undo and changes.list. A change can be undone while all its flags have what it gave them.
 */
#include <stdlib.h>
#include <string.h>

#include "live.h"

enum { ROUNDS = 100 };

/* ---- Whether it stands ---- */

static bool has_override(pd_flag *flag, pd_override override) {
  pd_flag_entry entry = {.size = sizeof entry};
  for (size_t i = 0; pd_flag_get_entry(flag, i, &entry, NULL) == PD_OK && entry.override; i++) {
    if (entry.override == override) return true;
  }
  return false;
}

static bool is_equal(pd_type type, pd_value a, pd_value b) {
  char one[PD__NUMBER_SIZE], other[PD__NUMBER_SIZE];
  return strcmp(pd__value_text(type, a, one), pd__value_text(type, b, other)) == 0;
}

/* Returns whether the flag has what the change gave it, and nothing came later from the program. */
static bool stands(const pd__change *change, const pd__changed_flag *each) {
  pd_value now;
  pd_flag_info info = {.size = sizeof info};
  if (pd_flag_get_info(each->flag, &info, NULL) != PD_OK) return false;
  if (info.generation != each->generation) return false;
  if (change->override) return !each->over && has_override(each->flag, change->override);
  bool given = pd__live_value(each->flag, &now);
  if (each->drops) return !given;
  return given && info.source == PD_SOURCE_LIVE && is_equal(each->type, now, each->given);
}

/* Returns why the change can't be undone by anybody any more; NULL: it can be, if its flags stand.
 */
static const char *find_obstacle(const pd__change *change) {
  if (change->of_fleet) return "came from a fleet: undo it there";
  if (change->undoes) return "is an undo";
  if (change->state == PD__ENDED) return "has ended";
  return change->state == PD__UNDONE ? "is undone already" : NULL;
}

/* ---- changes.list ---- */

static bool is_frozen(pd_flag *flag) {
  pd_flag_info info = {.size = sizeof info};
  return pd_flag_get_info(flag, &info, NULL) == PD_OK && info.frozen;
}

static bool is_undoable(const pd__change *change, const pd__who *who) {
  if (find_obstacle(change) || !pd__who_is_same(&change->who, who)) return false;
  for (size_t i = 0; i < change->count; i++) {
    const pd__changed_flag *each = &change->flags[i];
    if (!stands(change, each) || is_frozen(each->flag)) return false;
    if (each->sensitive && each->had_live) return false;
  }
  return true;
}

static bool read_before(pd__request *request, uint64_t *before) {
  pd_value value = {.u64 = UINT64_MAX};
  const pd__value *found = pd__value_member(request->params, "before");
  bool given = found && found->kind != PD__NULL;
  bool right = !given || (found->kind == PD__NUMBER &&
                          pd_value_parse(PD_TYPE_uint64, NULL, found->text, &value, NULL) == PD_OK);
  *before = value.u64;
  if (!right && *request->id.text) {
    pd__answer_error(&request->client->out, &request->id, -32602,
                     "params: before: expected the number of a change");
  }
  return right;
}

bool pd__changes_list(pd__request *request, pd__text *to) {
  uint64_t before;
  pd__who who = request->client->who;
  const char *wrong = pd__behalf_read(request->params, &who);
  if (wrong && *request->id.text) {
    pd__answer_error(&request->client->out, &request->id, -32602, "%s", wrong);
  }
  if (wrong || !read_before(request, &before)) return false;
  pd__json_open(to, '{');
  pd__head_write(to, pd_journal_get_revision());
  pd__json_name(to, "changes");
  pd__json_open(to, '[');
  pthread_mutex_lock(&pd__lock);
  const pd__change *at = pd__change_latest();
  while (at && at->number >= before) at = at->older;
  for (; at && to->length < PD__ANSWER_MAX; at = at->older) {
    pd__json_open(to, '{');
    pd__change_write(to, at);
    pd__json_add_bool(to, "undoable", is_undoable(at, &who));
    pd__json_close(to, '}');
    before = at->number;
  }
  bool more = at != NULL;
  pthread_mutex_unlock(&pd__lock);
  pd__json_close(to, ']');
  if (more) pd__json_add_number(to, "next", before);
  if (!more) pd__json_add_text(to, "next", NULL);
  pd__json_close(to, '}');
  return true;
}

/* ---- Which change ---- */

/* The caller holds pd__lock. */
static pd__change *find_change(pd__job *job) {
  pd__change *at = job->undo ? pd__change_find(job->undo) : pd__change_latest();
  while (!job->undo && at && (find_obstacle(at) || !pd__who_is_same(&at->who, &job->who)))
    at = at->older;
  const char *obstacle = at ? find_obstacle(at) : NULL;
  unsigned long long number = job->undo;
  if (!at && !number) {
    pd__job_fail(job, "conflict", NULL, PD_ERR_CONFLICT, "there is no change of yours to undo");
  } else if (!at) {
    pd__job_fail(job, "unknown", NULL, PD_ERR_ARGUMENT, "there is no change %llu", number);
  } else if (obstacle) {
    pd__job_fail(job, "conflict", NULL, PD_ERR_CONFLICT, "change %llu %s", number, obstacle);
  } else if (!pd__who_is_same(&at->who, &job->who)) {
    pd__job_fail(job, "forbidden", NULL, PD_ERR_REFUSED, "change %llu is by another client",
                 number);
  }
  return job->problems ? NULL : at;
}

/* ---- Taking it back ---- */

static bool check_standing(pd__job *job, const pd__change *from, pd_flag_revision *unchanged) {
  for (size_t i = 0; i < from->count; i++) {
    const pd__changed_flag *each = &from->flags[i];
    unchanged[i] = (pd_flag_revision){each->flag, pd_flag_get_revision(each->flag)};
    if (!stands(from, each)) {
      pd__job_fail(job, "conflict", each->name, PD_ERR_CONFLICT, "%s: has changed since",
                   each->name);
    } else if (each->sensitive && each->had_live && !from->override) {
      pd__job_fail(job, "conflict", each->name, PD_ERR_CONFLICT,
                   "%s: is sensitive, and its former value isn't kept", each->name);
    }
  }
  return job->problems == NULL;
}

/* The former value as text; `number` holds it. */
static pd_batch_change change_back(const pd__change *from, const pd__changed_flag *each,
                                   char number[PD__NUMBER_SIZE]) {
  pd_batch_change item = {.flag = each->flag, .override = from->override};
  if (!from->override && each->had_live)
    item.text = pd__value_text(each->type, each->live_before, number);
  return item;
}

static pd__change *new_undo(const pd__job *job, const pd__change *from) {
  pd__change *made = pd__change_new(from->count, &job->who, job->reason);
  bool whole = made != NULL;
  for (size_t i = 0; whole && i < from->count; i++) {
    const pd__changed_flag *each = &from->flags[i];
    made->flags[i] = (pd__changed_flag){.flag = each->flag,
                                        .generation = each->generation,
                                        .sensitive = each->sensitive,
                                        .drops = true,
                                        .type = each->type};
    made->flags[i].name = strdup(each->name);
    whole = made->flags[i].name != NULL;
  }
  if (made) made->undoes = from->number;
  if (whole) return made;
  pd__change_free(made);
  return NULL;
}

typedef struct undoing {
  pd__job *job;
  pd__change *from, *made;
  pd_batch_change *items;
  pd_flag_revision *unchanged;
  size_t *flag_of;
  char (*numbers)[PD__NUMBER_SIZE];
} undoing;

static bool make_room(undoing *all, size_t count) {
  all->items = calloc(count + 1, sizeof *all->items);
  all->unchanged = calloc(count + 1, sizeof *all->unchanged);
  all->flag_of = calloc(count + 1, sizeof *all->flag_of);
  all->numbers = calloc(count + 1, sizeof *all->numbers);
  return all->items && all->unchanged && all->flag_of && all->numbers && all->made;
}

static void finish(undoing *all) {
  pthread_mutex_lock(&pd__lock);
  pd__change_end(all->from, PD__UNDONE);
  pd__change_add(all->made);
  pthread_mutex_unlock(&pd__lock);
  pd__batch_write_result(all->job, all->made);
  pd__audit_change(all->job->server->audit, all->made, "undo");
  pd__change_leave(all->made);
  all->made = NULL;
}

/* Returns false if another round is needed, since a flag has changed meanwhile. */
static bool try_once(undoing *all) {
  pd__job *job = all->job;
  pd_error err;
  size_t count = all->from->count;
  if (!check_standing(job, all->from, all->unchanged)) return true;
  for (size_t i = 0; i < count; i++) {
    all->items[i] = change_back(all->from, &all->from->flags[i], all->numbers[i]);
    all->flag_of[i] = i;
  }
  pd__batch batch = {.job = job, .who = &job->who, .mark = all->made->number};
  batch.items = all->items;
  batch.count = batch.unchanged_count = count;
  batch.unchanged = all->unchanged;
  batch.flag_of = all->flag_of;
  batch.made = all->made;
  batch.errors = pd_error_list_new();
  pd_status status = pd__batch_apply(&batch, job->dry_run, NULL, &err);
  if (status != PD_OK && status != PD_ERR_CONFLICT) pd__job_report(job, batch.errors);
  pd_error_list_free(batch.errors);
  if (status == PD_ERR_CONFLICT) return false;
  if (status != PD_OK) {
    if (!job->problems) pd__job_fail(job, "rejected", NULL, status, "%s", err.message);
  } else if (job->dry_run) {
    pd__batch_write_result(job, all->made);
  } else {
    finish(all);
  }
  return true;
}

void pd__undo_run(pd__job *job) {
  undoing all = {.job = job};
  pthread_mutex_lock(&pd__lock);
  all.from = find_change(job);
  if (all.from) pd__change_use(all.from);
  all.made = all.from ? new_undo(job, all.from) : NULL;
  if (all.made && !job->dry_run) pd__change_reserve(all.made);
  pthread_mutex_unlock(&pd__lock);
  if (all.from && make_room(&all, all.from->count)) {
    int round = 0;
    while (round < ROUNDS && !try_once(&all)) round++;
    if (round == ROUNDS) {
      pd__job_fail(job, "conflict", NULL, PD_ERR_CONFLICT, "the flags of the change keep changing");
    }
  } else if (!job->problems) {
    pd__job_fail(job, "internal", NULL, PD_ERR_MEMORY, "out of memory");
  }
  if (job->problems && !job->dry_run) pd__audit_refusal(job, all.made);
  pd__change_drop(all.made);
  if (all.from) pd__change_leave(all.from);
  free(all.items);
  free(all.unchanged);
  free(all.flag_of);
  free(all.numbers);
}
