/* fleet.apply: the values of a fleet become exactly these, or nothing changes. */
#include <stdlib.h>
#include <string.h>

#include "job.h"

/* ---- The request ---- */

static bool add_fleet_value(const pd__job *job, const pd__value *value, pd_config *config,
                            pd_error *err) {
  const pd__value *text = pd__value_find_member(value, "text");
  const pd__value *revision = pd__value_find_member(value, "revision");
  pd_value number = {.u64 = 0};
  bool read = text && text->kind == PD__STRING && revision && revision->kind == PD__NUMBER &&
              pd__values_count(value->first) == 2 &&
              pd_value_parse(PD_TYPE_uint32, NULL, revision->text, &number, NULL) == PD_OK;
  pd_origin origin = {PD_SOURCE_FLEET, (uint32_t)number.u64, job->fleet, 0};
  if (read && origin.line > 0) {
    return pd_config_add(config, value->name, text->text, 0, &origin, err) == PD_OK;
  }
  pd__live_fail(err, PD_ERR_ARGUMENT,
                "params: %.200s: expected an object with text, and revision, a number from 1 on",
                value->name);
  return false;
}

/* Returns NULL after it has added a problem. */
static pd_config *make_fleet_config(pd__job *job) {
  pd_error err = {.status = PD_ERR_ARGUMENT,
                  .message = "params: expected fleet, its address, and values, an object"};
  pd_config *made = NULL;
  bool whole = job->fleet && job->values && pd_config_new(PD_SOURCE_FLEET, &made, &err) == PD_OK;
  for (const pd__value *at = whole ? job->values->first : NULL; whole && at; at = at->next) {
    whole = add_fleet_value(job, at, made, &err);
  }
  if (whole) return made;
  const char *kind = err.status == PD_ERR_ARGUMENT ? "params" : "internal";
  pd__job_add_problem(job, kind, NULL, err.status, "%s", err.message);
  pd_config_free(made);
  return NULL;
}

/* ---- What has changed ---- */

typedef struct fleet_changes {
  pd_live_changed *flags;
  char (*numbers)[2][PD__VALUE_TEXT_SIZE]; /* their texts, unless they are the registry's */
  size_t count;
} fleet_changes;

/* A value of a higher rank is the program's own, set meanwhile. */
static bool can_be_fleet_event(const pd_journal_event *event) {
  return event->kind == PD_EVENT_VALUE &&
         pd_source_rank(event->origin.source) <= pd_source_rank(PD_SOURCE_FLEET);
}

/* Lists the events after a revision. If memory is out, there are none. */
static fleet_changes collect_value_changes_since(uint64_t revision) {
  fleet_changes all = {.count = 0};
  pd_journal_event event = {.size = sizeof event};
  size_t room = pd_journal_get_revision() - revision;
  all.flags = calloc(room + 1, sizeof *all.flags);
  all.numbers = calloc(room + 1, sizeof *all.numbers);
  bool goes = all.flags && all.numbers;
  for (; goes && all.count < room && pd_journal_get(revision, &event, NULL) == PD_OK;
       revision = event.revision) {
    char(*texts)[PD__VALUE_TEXT_SIZE] = all.numbers[all.count];
    const char *old_text = pd__value_format(event.old_type, event.old_value, texts[0]);
    const char *new_text = pd__value_format(event.new_type, event.new_value, texts[1]);
    if (!can_be_fleet_event(&event) || (old_text && new_text && !strcmp(old_text, new_text)))
      continue;
    if (event.sensitive) old_text = new_text = NULL;
    all.flags[all.count++] = (pd_live_changed){pd_flag_get_name(event.flag), old_text, new_text};
  }
  return all;
}

static void write_fleet_result(pd__job *job, const fleet_changes *all) {
  pd__text *to = &job->result;
  pd__json_begin(to, NULL, '{');
  pd__revision_write(to, pd_journal_get_revision());
  pd__json_put_bool(to, "dry_run", job->dry_run);
  pd__json_begin(to, "flags", '[');
  for (size_t i = 0; i < all->count; i++) {
    pd__json_begin(to, NULL, '{');
    pd__json_put_text(to, "name", all->flags[i].name);
    pd__json_put_text_or_digest(to, "old", all->flags[i].old_text);
    pd__json_put_text_or_digest(to, "new", all->flags[i].new_text);
    pd__json_end(to, "}");
  }
  pd__json_end(to, "]}");
}

static void report_fleet_changes(const pd__job *job, const fleet_changes *all) {
  pd_live_change change = {.size = sizeof change,
                           .by = job->by,
                           .fleet = job->fleet,
                           .reason = job->reason,
                           .until = (int64_t)job->until,
                           .flags = all->flags,
                           .count = all->count};
  if (all->count > 0) pd_live_report(&change, NULL);
}

/* Validators are asked twice: once while the change may be given up, and then when it is made. */
void pd__fleet_answer_apply(pd__job *job) {
  pd_error err;
  fleet_changes all = {.count = 0};
  pd_config *config = make_fleet_config(job);
  if (!config) return;
  pd_error_list *errors = pd_error_list_new();
  pd_status status = pd_config_check(config, true, errors, &err);
  bool goes = status == PD_OK && !job->dry_run;
  if (goes && pd__job_try_change_state(job, PD__ASKING, PD__DECIDED)) {
    uint64_t before = pd_journal_get_revision();
    status = pd_config_apply(config, true, errors, &err);
    if (status == PD_OK) all = collect_value_changes_since(before);
  }
  if (status == PD_OK) {
    write_fleet_result(job, &all);
    report_fleet_changes(job, &all);
  } else {
    pd__job_add_errors(job, errors, &err);
  }
  free(all.flags);
  free(all.numbers);
  pd_error_list_free(errors);
  pd_config_free(config);
}
