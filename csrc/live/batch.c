/* What changes, undos and ends share: applying a batch, and what it has done. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

/* ---- Applying ---- */

static void keep_texts(pd__changed_flag *flag, const pd_batch_effect *effect) {
  free(flag->old_text);
  free(flag->new_text);
  flag->old_text = flag->new_text = NULL;
  flag->hidden = effect->hidden;
  if (flag->sensitive) return;
  flag->old_text = pd__text_as_json(effect->old_text);
  flag->new_text = pd__text_as_json(effect->new_text);
}

/* The last word: a client may have given up meanwhile. */
static bool decide(const pd_batch_effect *effects, size_t count, void *context) {
  pd__batch *batch = context;
  uint32_t asking = PD__ASKING;
  bool holds =
      !batch->job || __atomic_compare_exchange_n(&batch->job->state, &asking, PD__DECIDED, false,
                                                 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  if (!holds) return false;
  for (size_t i = 0; i < count; i++)
    keep_texts(&batch->made->flags[batch->flag_of[i]], &effects[i]);
  return true;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): `override` is written through the options */
pd_status pd__batch_apply(pd__batch *batch, bool dry_run, pd_override *override, pd_error *err) {
  pd_origin origin = {.source = PD_SOURCE_LIVE};
  char place[32 + PD__LABEL_MAX];
  const pd__who *who = batch->who;
  snprintf(place, sizeof place, "uid %u", who->uid);
  origin.place = *who->label ? who->label : place;
  pd_batch_options options = {.size = sizeof options,
                              .origin = &origin,
                              .dry_run = dry_run,
                              .override = override,
                              .unchanged = batch->unchanged,
                              .unchanged_count = batch->unchanged_count,
                              .mark = batch->mark,
                              .decide = batch->made ? decide : NULL,
                              .context = batch,
                              .errors = batch->errors};
  return pd_batch_apply(batch->items, batch->count, &options, err);
}

void pd__job_report(pd__job *job, const pd_error_list *errors) {
  for (size_t i = 0; i < pd_error_list_count(errors); i++) {
    const pd_error *error = pd_error_list_at(errors, i);
    const pd_flag *flag = pd_error_list_get_flag(errors, i);
    const char *name = flag ? pd_flag_get_name(flag) : NULL;
    const char *kind = error->status == PD_ERR_MEMORY ? "internal" : "rejected";
    if (error->status == PD_ERR_UNDEFINED || error->status == PD_ERR_CONFLICT) kind = "conflict";
    pd__job_fail(job, kind, name, error->status, "%s", error->message);
  }
}

bool pd__live_value(pd_flag *flag, pd_value *value) {
  pd_flag_entry entry = {.size = sizeof entry};
  for (size_t i = 0; pd_flag_get_entry(flag, i, &entry, NULL) == PD_OK; i++) {
    if (entry.origin.source != PD_SOURCE_LIVE || entry.replaced) continue;
    *value = entry.value;
    return true;
  }
  return false;
}

/* ---- The result ---- */

static const char *source_of(const pd__changed_flag *flag, bool temporary) {
  pd_flag_info info = {.size = sizeof info};
  if (temporary) return pd_source_name(PD_SOURCE_OVERRIDE);
  if (!flag->drops) return pd_source_name(PD_SOURCE_LIVE);
  return pd_flag_get_info(flag->flag, &info, NULL) == PD_OK ? pd_source_name(info.source) : "";
}

void pd__batch_write_result(pd__job *job, const pd__change *made) {
  pd__text *to = &job->result;
  pd__json_open(to, NULL, '{');
  if (job->dry_run) pd__json_text(to, "change", NULL);
  if (!job->dry_run) pd__json_number(to, "change", made->number);
  pd__json_number(to, "revision", pd_journal_get_revision());
  pd__json_bool(to, "dry_run", job->dry_run);
  pd__json_time(to, "until", job->duration > 0 ? made->until : 0);
  pd__json_open(to, "flags", '[');
  for (size_t i = 0; i < made->count; i++) {
    const pd__changed_flag *flag = &made->flags[i];
    pd__json_open(to, NULL, '{');
    pd__changed_flag_write(to, flag);
    pd__json_text(to, "source", source_of(flag, job->duration > 0));
    pd__json_bool(to, "hidden", flag->hidden);
    pd__json_close(to, "}");
  }
  pd__json_close(to, "]}");
}

/* ---- The audit ---- */

void pd__audit_change(pd__audit *audit, const pd__change *change, const char *event) {
  pd__text line = {.data = NULL};
  if (!audit) return;
  pd__change_write_event(&line, change, event);
  if (!line.failed) pd__audit_write(audit, line.data, line.length);
  pd__text_free(&line);
}

/* What was asked for is in it by names alone, unless a flag is known and may be shown. */
void pd__audit_refusal(const pd__job *job, const pd__change *wanted) {
  pd__text line = {.data = NULL};
  if (!job->server->audit || !job->problems) return;
  pd__json_open(&line, NULL, '{');
  pd__json_text(&line, "event", "refused");
  pd__json_text(&line, "result", "refused");
  pd__json_time(&line, "at", pd__time_now());
  pd__json_text(&line, "kind", job->problems->kind);
  pd__json_text(&line, "detail", job->problems->error.message);
  pd__who_write(&line, "who", &job->who);
  pd__json_text(&line, "reason", job->reason);
  pd__json_open(&line, "flags", '[');
  for (size_t i = 0; wanted && i < wanted->count; i++) {
    const pd__changed_flag *each = &wanted->flags[i];
    pd__json_open(&line, NULL, '{');
    pd__json_text(&line, "name", each->name);
    if (each->flag && !each->sensitive && each->wanted) pd__json_shown(&line, "new", each->wanted);
    pd__json_close(&line, "}");
  }
  pd__json_close(&line, "]}");
  if (!line.failed) pd__audit_write(job->server->audit, line.data, line.length);
  pd__text_free(&line);
}
