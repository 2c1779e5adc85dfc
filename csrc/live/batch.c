/* Carrying out changes and undos: in rounds, since values may change while they are looked at. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

enum { ROUNDS = 100 };

/* ---- Applying ---- */

static void add_batch_item(pd__batch *batch, pd_batch_change item) {
  if (batch->count == batch->capacity) {
    size_t room = 2 * batch->capacity + 16;
    pd_batch_change *items = realloc(batch->items, room * sizeof *items);
    batch->memory_out |= !items;
    if (!items) return;
    batch->items = items;
    batch->capacity = room;
  }
  batch->items[batch->count++] = item;
}

static void store_effect_texts(pd__changed_flag *flag, const pd_batch_effect *effect) {
  free(flag->old_text);
  free(flag->new_text);
  flag->old_text = flag->new_text = NULL;
  flag->hidden = effect->hidden;
  if (flag->sensitive) return;
  flag->old_text = pd__text_to_json_or_digest(effect->old_text);
  flag->new_text = pd__text_to_json_or_digest(effect->new_text);
}

/* The last word: a client may have given up meanwhile. The items are in the order of the flags. */
static bool decide_and_store_effects(const pd_batch_effect *effects, size_t count, void *context) {
  pd__batch *batch = context;
  pd__changed_flag *flag = batch->change->flags;
  if (!pd__job_try_change_state(batch->job, PD__ASKING, PD__DECIDED)) return false;
  for (size_t i = 0; i < count; i++) {
    while (flag->flag != batch->items[i].flag) flag++;
    store_effect_texts(flag, &effects[i]);
  }
  return true;
}

static pd_status call_batch_apply(pd__batch *batch, bool trial, pd_error_list *errors,
                                  pd_error *err) {
  pd__change_record *made = batch->change;
  char place[32];
  snprintf(place, sizeof place, "uid %u", made->requester.uid);
  pd_origin origin = {.source = PD_SOURCE_LIVE,
                      .place = *made->requester.label ? made->requester.label : place};
  pd_batch_options options = {.size = sizeof options,
                              .origin = &origin,
                              .dry_run = trial || batch->job->dry_run,
                              .mark = made->number,
                              .errors = errors};
  if (!trial) {
    options.override = made->state == PD__CHANGE_ACTIVE ? &made->override : NULL;
    options.unchanged = batch->unchanged;
    options.unchanged_count = batch->unchanged_count;
    options.decide = decide_and_store_effects;
    options.context = batch;
  }
  return pd_batch_apply(batch->items, batch->count, &options, err);
}

/* ---- Errors of values ---- */

/* Leaves out the items that have an error, and returns whether there are any, and others. */
static bool drop_wrong_items(pd__batch *batch, const pd_error_list *errors) {
  size_t kept = 0, count = batch->count;
  for (size_t i = 0; i < count; i++) {
    bool wrong = false;
    for (size_t k = 0; !wrong && k < pd_error_list_count(errors); k++) {
      wrong = pd_error_list_get_flag(errors, k) == batch->items[i].flag;
    }
    if (!wrong) batch->items[kept++] = batch->items[i];
  }
  batch->count = kept;
  return kept < count && kept > 0;
}

/* Applies the items, and reports what is wrong with them. Validators are asked only when all values
 * can be read: for the flags whose values can, a trial follows. */
static pd_status apply_and_report_errors(pd__batch *batch, bool trial) {
  pd__job *job = batch->job;
  pd_error err;
  pd_error_list *errors = pd_error_list_new();
  pd_status status = call_batch_apply(batch, trial, errors, &err);
  bool again = status == PD_ERR_CONFLICT && !trial && batch->unchanged_count > 0;
  bool given_up = __atomic_load_n(&job->state, __ATOMIC_ACQUIRE) == PD__GIVEN_UP;
  if (status != PD_OK && !again && !given_up) {
    pd__job_add_errors(job, errors, &err);
    if (drop_wrong_items(batch, errors)) apply_and_report_errors(batch, true);
  }
  pd_error_list_free(errors);
  return status;
}

/* ---- Items ---- */

/* What is below goes first, so that readers see no value between the old and the new one. The list
 * of changes begins with the latest. */
static void add_items_ending_overrides(pd__batch *batch, pd_flag *flag,
                                       const pd__change_record *at) {
  if (!at) return;
  add_items_ending_overrides(batch, flag, at->older);
  for (size_t i = 0; at->state == PD__CHANGE_ACTIVE && i < at->count; i++) {
    if (at->flags[i].flag != flag || at->flags[i].ended) continue;
    add_batch_item(batch, (pd_batch_change){.flag = flag, .override = at->override});
  }
}

/* Taking back a value ends temporary ones, too. */
static void build_batch_items(pd__batch *batch) {
  batch->count = 0;
  for (size_t i = 0; i < batch->change->count; i++) {
    pd__changed_flag *each = &batch->change->flags[i];
    if (!each->flag) continue;
    pd_override override = batch->undone ? batch->undone->override : 0;
    add_batch_item(batch,
                   (pd_batch_change){each->flag, each->requested_text, each->literal, override});
    if (batch->undone) continue;
    each->had_live = pd__flag_find_live_value(each->flag, &each->live_before);
    if (!each->drops_value) continue;
    size_t before = batch->count;
    pthread_mutex_lock(&pd__lock);
    add_items_ending_overrides(batch, each->flag, pd__change_get_latest());
    pthread_mutex_unlock(&pd__lock);
    each->had_override = batch->count > before;
  }
}

/* ---- The change ---- */

static const char *get_new_source(const pd__changed_flag *flag, bool temporary) {
  pd_flag_info info = {.size = sizeof info};
  if (temporary) return pd_source_name(PD_SOURCE_OVERRIDE);
  if (!flag->drops_value) return pd_source_name(PD_SOURCE_LIVE);
  return pd_flag_get_info(flag->flag, &info, NULL) == PD_OK ? pd_source_name(info.source) : "";
}

static void write_batch_result(pd__job *job, const pd__change_record *made) {
  pd__text *to = &job->result;
  pd__json_begin(to, NULL, '{');
  if (job->dry_run) pd__json_put_text(to, "change", NULL);
  if (!job->dry_run) pd__json_put_number(to, "change", made->number);
  pd__json_put_number(to, "revision", pd_journal_get_revision());
  pd__json_put_bool(to, "dry_run", job->dry_run);
  pd__json_put_time(to, "until", made->until);
  pd__json_begin(to, "flags", '[');
  for (size_t i = 0; i < made->count; i++) {
    const pd__changed_flag *flag = &made->flags[i];
    pd__json_begin(to, NULL, '{');
    pd__changed_flag_write(to, flag);
    pd__json_put_text(to, "source", get_new_source(flag, made->until > 0));
    pd__json_put_bool(to, "hidden", flag->hidden);
    pd__json_end(to, "}");
  }
  pd__json_end(to, "]}");
}

/* Temporary changes lose the flags that were taken back; those without any flag are over. */
static void mark_ended_overrides(const pd__batch *batch) {
  for (size_t i = 0; i < batch->count; i++) {
    bool empty = true;
    if (!batch->items[i].override) continue;
    pd__change_record *change = pd__change_find_by_override(batch->items[i].override);
    for (size_t k = 0; change && k < change->count; k++) {
      if (change->flags[k].flag == batch->items[i].flag) change->flags[k].ended = true;
      empty &= change->flags[k].ended;
    }
    if (change && empty) pd__change_set_final_state(change, PD__CHANGE_UNDONE);
  }
}

/* Once the change is in the list, it may end, and be forgotten: what is said of it is written
 * before. */
static void list_and_audit_change(pd__batch *batch) {
  pd__change_record *made = batch->change;
  pd__text event = {.data = NULL};
  bool temporary = made->state == PD__CHANGE_ACTIVE;
  for (size_t i = 0; i < made->count; i++) {
    pd__changed_flag *flag = &made->flags[i];
    if (!flag->drops_value && !temporary) pd__flag_find_live_value(flag->flag, &flag->set_value);
  }
  write_batch_result(batch->job, made);
  pd__change_write_event(&event, made, batch->undone ? "undo" : "set");
  pthread_mutex_lock(&pd__lock);
  mark_ended_overrides(batch);
  if (batch->undone) pd__change_set_final_state(batch->undone, PD__CHANGE_UNDONE);
  pd__change_add(made);
  pthread_mutex_unlock(&pd__lock);
  batch->change = NULL;
  if (temporary) pd__loop_wake(); /* it waits for the end */
  pd__audit_write_and_free(batch->job->server->audit, &event);
}

/* What was asked for is in it by names alone, unless a flag is known and may be shown. */
static void audit_refusal(const pd__job *job, const pd__change_record *wanted) {
  pd__text line = {.data = NULL};
  pd__json_begin(&line, NULL, '{');
  pd__json_put_text(&line, "event", "refused");
  pd__json_put_text(&line, "result", "refused");
  pd__json_put_time(&line, "at", pd__get_wall_ms());
  pd__json_put_text(&line, "kind", job->problems->kind);
  pd__json_put_text(&line, "detail", job->problems->error.message);
  pd__requester_write_json(&line, "who", &job->requester);
  pd__json_put_text(&line, "reason", job->reason);
  pd__json_begin(&line, "flags", '[');
  for (size_t i = 0; wanted && i < wanted->count; i++) {
    const pd__changed_flag *each = &wanted->flags[i];
    bool shown = each->flag && !each->sensitive && each->requested_text && !wanted->undoes;
    pd__json_begin(&line, NULL, '{');
    pd__json_put_text(&line, "name", each->name);
    if (shown) pd__json_put_text_or_digest(&line, "new", each->requested_text);
    pd__json_end(&line, "}");
  }
  pd__json_end(&line, "]}");
  pd__audit_write_and_free(job->server->audit, &line);
}

/* The client has its answer, or is gone. */
void pd__batch_audit_if_given_up(pd__job *job, const pd__change_record *wanted) {
  if (__atomic_load_n(&job->state, __ATOMIC_ACQUIRE) != PD__GIVEN_UP) return;
  pd__job_add_problem(job, "timeout", NULL, PD_ERR_REFUSED, "the change was given up");
  if (!job->dry_run) audit_refusal(job, wanted);
}

/* ---- All together ---- */

static void number_or_refuse_change(pd__batch *batch) {
  pthread_mutex_lock(&pd__lock);
  bool room = pd__change_can_be_added(batch->change);
  pd__change_assign_number(batch->change);
  size_t on = pd__changes_count_temporary();
  pthread_mutex_unlock(&pd__lock);
  if (room) return;
  pd__job_add_problem(batch->job, "busy", NULL, PD_ERR_REFUSED,
                      "%zu temporary changes are on: undo some, or wait until some end", on);
}

/* Returns false if another round is needed, since a flag has changed meanwhile. */
static bool try_batch_round(pd__batch *batch, bool (*check)(pd__batch *batch)) {
  pd__job *job = batch->job;
  if (!check(batch)) return true;
  build_batch_items(batch);
  bool trial = job->problems != NULL;
  if (batch->memory_out) return true;
  pd_status status = apply_and_report_errors(batch, trial);
  if (status == PD_ERR_CONFLICT && !trial && batch->unchanged_count > 0) return false;
  if (status != PD_OK || job->problems) return true;
  if (job->dry_run) write_batch_result(job, batch->change);
  if (!job->dry_run) list_and_audit_change(batch);
  return true;
}

void pd__batch_run(pd__batch *batch, bool (*check)(pd__batch *batch)) {
  pd__job *job = batch->job;
  int round = 0;
  if (batch->change && !job->problems && !job->dry_run) number_or_refuse_change(batch);
  while (batch->change && !batch->memory_out && round < ROUNDS && !try_batch_round(batch, check))
    round++;
  if (round == ROUNDS) {
    pd__job_add_problem(job, "conflict", NULL, PD_ERR_CONFLICT,
                        "the flags kept changing meanwhile");
  }
  if (batch->memory_out) pd__job_add_problem(job, "internal", NULL, PD_ERR_MEMORY, "out of memory");
  if (job->problems && !job->dry_run) audit_refusal(job, batch->change);
  if (!job->problems) pd__batch_audit_if_given_up(job, batch->change);
  pd__change_discard(batch->change);
  free(batch->items);
  free(batch->unchanged);
}
