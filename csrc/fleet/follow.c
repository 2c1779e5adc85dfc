/* From the log in a folder to the state. */
#include <stdlib.h>
#include <string.h>

#include "member.h"
#include "say.h"

static pd_status lost(const pd__member *member, const char *now, int64_t number, pd_error *err) {
  const pd__state *state = &member->state;
  return pd__say(
      err, PD_ERR_VALUE,
      "%.300s: the engine has lost its state: it %.100s %lld, and revision %lld of fleet "
      "'%.100s' was read before",
      member->store->url, now, (long long)number, (long long)state->revision,
      state->fleet ? state->fleet : "");
}

static pd_status check_fleet(const pd__member *member, const char *fleet, pd_error *err) {
  const char *own = member->state.fleet;
  if (!own || !fleet || !*fleet || strcmp(own, fleet) == 0) return PD_OK;
  return pd__say(
      err, PD_ERR_VALUE,
      "%.300s: the engine has lost its state: it is fleet '%.100s', and revision %lld of "
      "fleet '%.100s' was read before",
      member->store->url, fleet, (long long)member->state.revision, own);
}

/* ---- Decisions ---- */

static pd_status read_verdict(const pd__member *member, int64_t revision, enum pd__verdict *out,
                              pd_error *err) {
  pd__data data;
  *out = PD__UNDECIDED;
  pd_status status = pd__store_decision(member->store, revision, &data, err);
  if (status == PD_OK && data.text) {
    *out = strcmp(data.text, "commit") == 0 ? PD__COMMIT : PD__ABORT;
  }
  free(data.text);
  return status;
}

/* Find the proposals that were decided since. */
static pd_status read_decisions(pd__member *member, pd__found found, pd_error *err) {
  size_t count = member->state.tail_count;
  pd__step *open = calloc(count + 1, sizeof *open);
  if (!open) return pd__say(err, PD_ERR_MEMORY, "%s", pd_status_text(PD_ERR_MEMORY));
  pd_status status = PD_OK;
  for (size_t at = 0; at < count; at++) {
    open[at] = member->state.tail[at];
    json_incref(open[at].record);
  }
  for (size_t at = 0; at < count && status == PD_OK; at++) {
    if (!pd__step_is_open(&open[at])) continue;
    status = read_verdict(member, open[at].revision, &open[at].verdict, err);
    if (status != PD_OK || open[at].verdict == PD__UNDECIDED) continue;
    pd__state_decide(&member->state, open[at].revision, open[at].verdict);
    found(member, &open[at]);
  }
  for (size_t at = 0; at < count; at++) json_decref(open[at].record);
  free(open);
  return status;
}

/* ---- Records ---- */

static pd_status take(pd__member *member, const pd__data *data, pd__found found, pd_error *err) {
  int64_t number = member->state.revision + 1;
  pd__step step = {number, pd__record_read(data->text, data->length), PD__UNDECIDED};
  pd_status status = check_fleet(member, pd__json_string(step.record, "fleet", ""), err);
  if (status == PD_OK && pd__record_is_proposal(step.record)) {
    status = read_verdict(member, number, &step.verdict, err);
  }
  if (status == PD_OK) {
    status = pd__state_add(&member->state, json_incref(step.record), step.verdict);
    if (status != PD_OK) pd__say(err, status, "%s", pd_status_text(status));
  }
  if (status == PD_OK) found(member, &step);
  json_decref(step.record);
  return status;
}

static pd_status read_base(pd__member *member, pd_error *err) {
  pd__data data;
  int64_t number;
  pd__state state;
  pd_status status = pd__store_base(member->store, &number, &data, err);
  if (status != PD_OK) return status;
  pd__state_init(&state);
  if (number <= member->state.revision) {
    status = lost(member, "begins behind revision", number, err);
  } else if (!pd__state_read(&state, data.text, data.length) || state.revision != number) {
    status = pd__say(err, PD_ERR_VALUE, "%.300s: base %lld: expected the values of a fleet",
                     member->store->url, (long long)number);
  } else {
    status = check_fleet(member, state.fleet, err);
  }
  free(data.text);
  if (status == PD_OK) {
    pd__state_free(&member->state);
    member->state = state;
  } else {
    pd__state_free(&state);
  }
  return status;
}

pd_status pd__follow(pd__member *member, pd__found found, pd_error *err) {
  pd__data data;
  int64_t last = 0;
  pd_status status = read_decisions(member, found, err);
  while (status == PD_OK) {
    status = pd__store_read(member->store, member->state.revision + 1, &data, err);
    if (status == PD_OK) {
      status = take(member, &data, found, err);
      free(data.text);
    } else if (status == PD_ERR_RANGE) {
      status = read_base(member, err);
    }
  }
  if (status != PD_ERR_UNDEFINED) return status;
  status = pd__store_last(member->store, &last, err);
  if (status == PD_OK && last < member->state.revision) {
    return lost(member, "ends with revision", last, err);
  }
  return status;
}

/* ---- Whether it is the same log ---- */

static pd_status verify_base(const pd__member *member, const pd__data *data, pd_error *err) {
  pd__state state;
  pd__state_init(&state);
  pd_status status = PD_OK;
  if (pd__state_read(&state, data->text, data->length)) {
    status = check_fleet(member, state.fleet, err);
  }
  pd__state_free(&state);
  return status;
}

pd_status pd__follow_verify(pd__member *member, pd_error *err) {
  pd__data data;
  int64_t number, last;
  if (member->state.revision == 0) return PD_OK;
  pd_status status = pd__store_base(member->store, &number, &data, err);
  if (status != PD_OK) return status;
  if (number >= member->state.revision) status = verify_base(member, &data, err);
  free(data.text);
  if (status != PD_OK || number >= member->state.revision) return status;
  status = pd__store_read(member->store, member->state.revision, &data, err);
  if (status == PD_ERR_RANGE) return PD_OK; /* meanwhile: the next call reads that base */
  if (status == PD_ERR_UNDEFINED) {
    status = pd__store_last(member->store, &last, err);
    return status == PD_OK ? lost(member, "ends with revision", last, err) : status;
  }
  if (status != PD_OK) return status;
  json_t *record = pd__record_read(data.text, data.length);
  status = check_fleet(member, pd__json_string(record, "fleet", ""), err);
  json_decref(record);
  free(data.text);
  return status;
}
