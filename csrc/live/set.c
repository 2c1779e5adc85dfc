/* flags.set: all that is wrong is found before anything changes. */
#include <stdlib.h>
#include <string.h>

#include "job.h"

/* ---- The flags to change ---- */

static void check_server_allows_change(pd__job *job, pd__changed_flag *each,
                                       const pd_flag_info *info) {
  const char *why = pd__server_find_refusal(job->server, info);
  bool closed = info->read_only || *info->retired;
  each->unconfirmed = info->unsafe && !why;
  if (!why) return;
  pd__job_add_problem(job, "forbidden", each->requested_name,
                      closed ? PD_ERR_READ_ONLY : PD_ERR_FROZEN, "%s: %s", info->name, why);
}

static uint32_t get_literal_type(const pd__value *value) {
  if (value->kind == PD__BOOL) return PD_TYPE_bool;
  if (value->kind != PD__NUMBER) return 0;
  return strpbrk(value->text, ".eE") ? PD_TYPE_double : PD_TYPE_int64;
}

/* `value` is a member of `set`, or an item of `unset`. */
static void read_requested_flag(pd__batch *batch, pd__changed_flag *each, const pd__value *value) {
  pd_flag_info info;
  each->requested_name = value->name ? value->name : value->text;
  each->drops_value = !value->name || value->kind == PD__NULL;
  each->flag = pd__job_find_flag(batch->job, each->requested_name, &info);
  each->name = strdup(each->flag ? info.name : each->requested_name);
  each->sensitive = !each->flag || info.sensitive;
  batch->memory_out |= !each->name;
  if (!each->flag) return;
  each->generation = info.generation;
  each->type = info.type;
  each->requested_text = each->drops_value ? NULL : value->text;
  each->literal = get_literal_type(value);
  check_server_allows_change(batch->job, each, &info);
}

/* Two spellings of one flag would set it twice. There are at most 1000 flags (params.c). */
static void check_no_duplicate_flags(pd__job *job, const pd__change_record *made) {
  for (size_t i = 0; i < made->count; i++) {
    const pd__changed_flag *each = &made->flags[i];
    bool twice = false;
    for (size_t k = 0; k < i && each->flag; k++) twice |= made->flags[k].flag == each->flag;
    if (!twice) continue;
    pd__job_add_problem(job, "malformed", each->requested_name, PD_ERR_ARGUMENT,
                        "%s: is given twice, by its name or an alias", each->name);
  }
}

static void check_unsafe_flags_confirmed(pd__job *job, pd__change_record *made) {
  pd_flag_info info;
  for (const pd__value *at = job->confirm; at; at = at->next) {
    const pd_flag *flag = pd__job_find_flag(job, at->text, &info);
    for (size_t i = 0; i < made->count; i++) {
      made->flags[i].unconfirmed &= made->flags[i].flag != flag;
    }
  }
  for (size_t i = 0; i < made->count; i++) {
    if (!made->flags[i].unconfirmed) continue;
    pd__job_add_problem(job, "confirm", made->flags[i].requested_name, PD_ERR_REFUSED,
                        "%s: is unsafe to change: confirm it by its name", made->flags[i].name);
  }
}

static void prepare_requested_change(pd__batch *batch) {
  pd__job *job = batch->job;
  pd__change_record *made = batch->change;
  pd__changed_flag *next = made->flags;
  for (const pd__value *at = job->set; at; at = at->next) read_requested_flag(batch, next++, at);
  for (const pd__value *at = job->unset; at; at = at->next) read_requested_flag(batch, next++, at);
  check_no_duplicate_flags(job, made);
  check_unsafe_flags_confirmed(job, made);
  if (job->duration > 0) {
    int64_t length = (int64_t)(job->duration * 1000);
    made->state = PD__CHANGE_ACTIVE;
    made->until = made->at + length;
    made->deadline = pd__get_steady_ms() + length;
    made->audit = job->server->audit;
  }
}

/* ---- Expectations ---- */

/* An expectation of a sensitive flag would reveal its value by guesses. */
static void resolve_expected_flags(pd__batch *batch) {
  pd_flag_revision *next = batch->unchanged;
  for (const pd__value *at = batch->job->expect; at; at = at->next, next++) {
    pd_flag_info info;
    pd_flag *flag = pd__job_find_flag(batch->job, at->name, &info);
    if (flag && info.sensitive) {
      pd__job_add_problem(batch->job, "forbidden", at->name, PD_ERR_ARGUMENT,
                          "%s: is sensitive, and can't be in expect", info.name);
    } else {
      next->flag = flag;
    }
  }
}

static void write_current_value(pd__text *to, const char *name, pd_flag *flag) {
  pd_flag_entry entry = {.size = sizeof entry};
  char number[PD__VALUE_TEXT_SIZE];
  if (pd_flag_get_entry(flag, 0, &entry, NULL) != PD_OK) return;
  pd_type type = entry.unset ? (pd_type)0 : entry.type;
  pd__json_put_text_or_digest(to, name, pd__value_format(type, entry.value, number));
}

static bool check_expectations(pd__batch *batch) {
  pd__job *job = batch->job;
  pd_flag_revision *next = batch->unchanged;
  job->current.length = 0;
  for (const pd__value *at = job->expect; at; at = at->next, next++) {
    pd_flag *flag = (pd_flag *)next->flag;
    bool same = false;
    if (!flag) continue;
    next->revision = pd_flag_get_revision(flag);
    write_current_value(&job->current, at->name, flag);
    pd_status status = pd_flag_compare_text(flag, at->text, &same, NULL);
    if (status == PD_OK && same) continue;
    pd__job_add_problem(job, "conflict", at->name, PD_ERR_CONFLICT,
                        "%s: doesn't have the expected value", pd_flag_get_name(flag));
  }
  return true;
}

void pd__flags_answer_set(pd__job *job) {
  size_t count = pd__values_count(job->set) + pd__values_count(job->unset);
  pd__batch batch = {.job = job, .unchanged_count = pd__values_count(job->expect)};
  batch.unchanged = calloc(batch.unchanged_count + 1, sizeof *batch.unchanged);
  batch.change = pd__change_new(count, &job->requester, job->reason);
  batch.memory_out = !batch.unchanged || !batch.change;
  if (!batch.memory_out) {
    prepare_requested_change(&batch);
    resolve_expected_flags(&batch);
  }
  pd__batch_run(&batch, check_expectations);
}
