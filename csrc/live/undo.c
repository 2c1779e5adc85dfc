/* changes.undo and changes.list. A change can be undone while all its flags have what it gave them.
 */
#include <stdlib.h>
#include <string.h>

#include "job.h"

/* ---- Whether it stands ---- */

static bool has_override(pd_flag *flag, pd_override override) {
  pd_flag_entry entry = {.size = sizeof entry};
  for (size_t i = 0; pd_flag_get_entry(flag, i, &entry, NULL) == PD_OK && entry.override; i++) {
    if (entry.override == override) return true;
  }
  return false;
}

static bool is_equal_as_text(pd_type type, pd_value a, pd_value b) {
  char one[PD__VALUE_TEXT_SIZE], other[PD__VALUE_TEXT_SIZE];
  return strcmp(pd__value_format(type, a, one), pd__value_format(type, b, other)) == 0;
}

/* Returns whether the flag has what the change gave it, and nothing came later from the program. */
static bool is_change_in_effect(const pd__change_record *change, const pd__changed_flag *each) {
  pd_value now;
  pd_flag_info info = {.size = sizeof info};
  if (pd_flag_get_info(each->flag, &info, NULL) != PD_OK) return false;
  if (info.generation != each->generation) return false;
  if (change->override) return has_override(each->flag, change->override);
  bool given = pd__flag_find_live_value(each->flag, &now);
  if (each->drops_value) return !given;
  return given && info.source == PD_SOURCE_LIVE &&
         is_equal_as_text(each->type, now, each->set_value);
}

/* Returns why the change can't be undone by anybody any more; NULL: it can be, if its flags stand.
 */
static const char *find_undo_obstacle(const pd__change_record *change) {
  if (change->from_fleet) return "came from a fleet: undo it there";
  if (change->undoes) return "is an undo";
  if (change->state == PD__CHANGE_ENDED) return "has ended";
  return change->state == PD__CHANGE_UNDONE ? "is undone already" : NULL;
}

/* Returns why the value that the flag had before can't be given again; NULL: it can. */
static const char *find_lost_value(const pd__change_record *change, const pd__changed_flag *each) {
  if (change->override) return NULL;
  if (each->sensitive && each->had_live) return "is sensitive, and its former value isn't kept";
  return each->had_override ? "had a temporary value, which has ended for good" : NULL;
}

/* ---- changes.list ---- */

static bool is_flag_frozen(pd_flag *flag) {
  pd_flag_info info = {.size = sizeof info};
  return pd_flag_get_info(flag, &info, NULL) == PD_OK && info.frozen;
}

static bool can_restore_flags(const pd__change_record *change) {
  for (size_t i = 0; i < change->count; i++) {
    const pd__changed_flag *each = &change->flags[i];
    if (!is_change_in_effect(change, each) || is_flag_frozen(each->flag) ||
        find_lost_value(change, each))
      return false;
  }
  return true;
}

void pd__changes_answer_list(pd__job *job) {
  pd__text *to = &job->result;
  uint64_t before = job->before;
  pd__json_begin(to, NULL, '{');
  pd__revision_write(to, pd_journal_get_revision());
  pd__json_begin(to, "changes", '[');
  pthread_mutex_lock(&pd__lock);
  pd__change_record *at = pd__change_get_latest();
  while (at && at->number >= before) at = at->older;
  for (; at && to->length < PD__ANSWER_MAX; at = at->older) {
    bool own = !find_undo_obstacle(at) && pd__requester_is_same(&at->requester, &job->requester);
    pd__json_begin(to, NULL, '{');
    pd__change_write(to, at);
    at->holders++;
    pthread_mutex_unlock(&pd__lock);
    pd__json_put_bool(to, "undoable", own && can_restore_flags(at));
    pthread_mutex_lock(&pd__lock);
    at->holders--;
    pd__json_end(to, "}");
    before = at->number;
  }
  bool more = at != NULL;
  pthread_mutex_unlock(&pd__lock);
  pd__json_end(to, "]");
  if (more) pd__json_put_number(to, "next", before);
  if (!more) pd__json_put_text(to, "next", NULL);
  pd__json_end(to, "}");
}

/* ---- Which change ---- */

/* The caller holds pd__lock. */
static pd__change_record *find_change_to_undo(pd__job *job) {
  pd__change_record *at = job->undo ? pd__change_find(job->undo) : pd__change_get_latest();
  while (!job->undo && at &&
         (find_undo_obstacle(at) || !pd__requester_is_same(&at->requester, &job->requester)))
    at = at->older;
  const char *obstacle = at ? find_undo_obstacle(at) : NULL;
  unsigned long long number = job->undo;
  if (!at && !number) {
    pd__job_add_problem(job, "conflict", NULL, PD_ERR_CONFLICT,
                        "there is no change of yours to undo");
  } else if (!at) {
    pd__job_add_problem(job, "unknown", NULL, PD_ERR_ARGUMENT, "there is no change %llu", number);
  } else if (obstacle) {
    pd__job_add_problem(job, "conflict", NULL, PD_ERR_CONFLICT, "change %llu %s", number, obstacle);
  } else if (!pd__requester_is_same(&at->requester, &job->requester)) {
    pd__job_add_problem(job, "forbidden", NULL, PD_ERR_REFUSED, "change %llu is by another client",
                        number);
  }
  if (job->problems) return NULL;
  job->undo = at->number;
  return at;
}

/* ---- Taking it back ---- */

/* The former values as text; numbers are in `numbers`. */
static void fill_undo_batch(pd__batch *batch, char (*numbers)[PD__VALUE_TEXT_SIZE]) {
  const pd__change_record *from = batch->undone;
  batch->change->undoes = from->number;
  for (size_t i = 0; i < from->count; i++) {
    const pd__changed_flag *each = &from->flags[i];
    pd__changed_flag *to = &batch->change->flags[i];
    *to = (pd__changed_flag){.flag = each->flag,
                             .name = strdup(each->name),
                             .generation = each->generation,
                             .sensitive = each->sensitive,
                             .drops_value = true,
                             .type = each->type};
    if (!from->override && each->had_live) {
      to->requested_text = pd__value_format(each->type, each->live_before, numbers[i]);
    }
    batch->memory_out |= !to->name;
  }
}

static bool check_unchanged_flags(pd__batch *batch) {
  pd__job *job = batch->job;
  for (size_t i = 0; i < batch->undone->count; i++) {
    const pd__changed_flag *each = &batch->undone->flags[i];
    const char *loss = find_lost_value(batch->undone, each);
    batch->unchanged[i] = (pd_flag_revision){each->flag, pd_flag_get_revision(each->flag)};
    if (!is_change_in_effect(batch->undone, each)) {
      pd__job_add_problem(job, "conflict", each->name, PD_ERR_CONFLICT,
                          "%s: has changed since change %llu", each->name,
                          (unsigned long long)batch->undone->number);
    } else if (loss) {
      pd__job_add_problem(job, "conflict", each->name, PD_ERR_CONFLICT, "%s: %s", each->name, loss);
    }
  }
  return job->problems == NULL;
}

void pd__changes_answer_undo(pd__job *job) {
  char(*numbers)[PD__VALUE_TEXT_SIZE] = NULL;
  pd__batch batch = {.job = job};
  pthread_mutex_lock(&pd__lock);
  batch.undone = find_change_to_undo(job);
  if (batch.undone) batch.undone->holders++;
  pthread_mutex_unlock(&pd__lock);
  if (batch.undone) {
    batch.unchanged_count = batch.undone->count;
    batch.unchanged = calloc(batch.undone->count, sizeof *batch.unchanged);
    batch.change = pd__change_new(batch.undone->count, &job->requester, job->reason);
    numbers = calloc(batch.undone->count, sizeof *numbers);
    batch.memory_out = !batch.unchanged || !batch.change || !numbers;
    if (!batch.memory_out) fill_undo_batch(&batch, numbers);
  }
  pd__batch_run(&batch, check_unchanged_flags);
  free(numbers);
  pthread_mutex_lock(&pd__lock);
  if (batch.undone) batch.undone->holders--;
  pthread_mutex_unlock(&pd__lock);
}
