/* Votes on proposals, and the gate of steps. The gate and a tick may meet: each writes first and
 * looks then, so at least one of them sees the other. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "member.h"

static void key_of(int64_t revision, char *key) { snprintf(key, 24, "%lld", (long long)revision); }

static bool is_mine(const pd__member *member, const pd__step *step) {
  json_t *names = pd__concerned(step->record, &member->selected);
  bool mine = json_object_size(names) > 0 || pd__json_has(step->record, "reset");
  json_decref(names);
  return mine;
}

/* ---- The gate ---- */

/* Let ticks of `step` and later ones wait. Writes why that is impossible, or "". */
static void close_gate(pd__member *member, int64_t step, char *why, size_t size) {
  int64_t before = __atomic_load_n(&member->gate, __ATOMIC_SEQ_CST);
  why[0] = '\0';
  __atomic_store_n(&member->gate, before < step ? before : step, __ATOMIC_SEQ_CST);
  int64_t last = __atomic_load_n(&member->last, __ATOMIC_SEQ_CST);
  if (last >= 0 && last < step) return;
  __atomic_store_n(&member->gate, before, __ATOMIC_SEQ_CST);
  if (last < 0) {
    snprintf(why, size, "counts no steps: it doesn't call fleet.tick");
  } else {
    snprintf(why, size, "has begun step %lld", (long long)last);
  }
}

/* Whether this member has accepted a proposal for a step. */
static bool is_accepted(const pd__member *member, const pd__step *step) {
  char key[24];
  if (!pd__step_is_open(step) || !pd__json_has(step->record, "at_step")) return false;
  key_of(step->revision, key);
  return strcmp(pd__json_string(member->votes, key, ""), "accept") == 0 && is_mine(member, step);
}

/* The next step that an entry, or one below it, waits for. */
static int64_t next_step(const pd__member *member, const json_t *entry) {
  int64_t next = PD__NEVER;
  for (; json_is_array(entry); entry = json_array_get(entry, PD__BELOW)) {
    const json_t *step = json_array_get(entry, PD__AT_STEP);
    if (!json_is_integer(step) || pd__is_reached(member, json_integer_value(step))) continue;
    if (json_integer_value(step) < next) next = json_integer_value(step);
  }
  return next;
}

void pd__member_set_gate(pd__member *member) {
  int64_t gate = PD__NEVER;
  const char *name;
  json_t *entry;
  for (size_t at = 0; at < member->selected.count; at++) {
    json_t *table = json_object_get(member->state.tables, member->selected.selectors[at]);
    json_object_foreach(table, name, entry) {
      int64_t next = next_step(member, entry);
      if (next < gate) gate = next;
    }
  }
  for (size_t at = 0; at < member->state.tail_count; at++) {
    const pd__step *step = &member->state.tail[at];
    int64_t wanted = pd__json_integer(step->record, "at_step", PD__NEVER);
    if (is_accepted(member, step) && wanted < gate) gate = wanted;
  }
  __atomic_store_n(&member->gate, gate, __ATOMIC_SEQ_CST);
}

json_t *pd__member_undecided(pd__member *member, int64_t step) {
  json_t *found = json_array();
  for (size_t at = 0; at < member->state.tail_count; at++) {
    const pd__step *each = &member->state.tail[at];
    if (!is_accepted(member, each)) continue;
    if (pd__json_integer(each->record, "at_step", PD__NEVER) > step) continue;
    json_array_append_new(found, json_integer(each->revision));
  }
  return found;
}

static void set_vote(pd__member *member, int64_t revision, const char *vote) {
  char key[24];
  key_of(revision, key);
  json_object_set_new(member->votes, key, pd__json_text(vote));
  member->news = true;
}

void pd__member_give_up(pd__member *member, const json_t *revisions) {
  size_t index;
  const json_t *each;
  json_array_foreach(revisions, index, each) {
    set_vote(member, json_integer_value(each), "reject: the step came before the decision");
  }
  pd__member_set_gate(member);
}

/* ---- Votes ---- */

typedef struct judging {
  pd__member *member;
  int64_t revision;
} judging;

static bool holds_if(const json_t *entry, void *context) {
  const judging *about = context;
  return pd__entry_revision(entry) == about->revision || pd__entry_holds(entry, about->member);
}

/* What would be answered if a proposal were committed. */
static json_t *imagine(pd__member *member, int64_t revision) {
  judging about = {member, revision};
  json_t *tables = pd__state_if(&member->state, revision);
  json_t *wanted = pd__values_of(tables, &member->selected, holds_if, &about);
  json_t *answer = pd__applier_check(&member->applier, wanted);
  json_decref(wanted);
  json_decref(tables);
  return answer;
}

/* The vote on a proposal; one for a step closes the gate before it looks. Free it. */
static char *judge(pd__member *member, const pd__step *step) {
  char why[128] = "", *vote = NULL;
  if (!is_mine(member, step)) return strdup("accept");
  if (pd__json_has(step->record, "at_step")) {
    close_gate(member, pd__json_integer(step->record, "at_step", 0), why, sizeof why);
    if (*why) return asprintf(&vote, "reject: %s", why) < 0 ? NULL : vote;
  }
  json_t *answer = imagine(member, step->revision);
  int length = 0;
  if (pd__answer_is(answer, PD__APPLIED) || pd__answer_is(answer, PD__PENDING)) {
    vote = strdup("accept");
  } else if (pd__answer_is(answer, PD__REJECTED)) {
    length = asprintf(&vote, "reject: %s", pd__answer_why(answer));
  } else {
    length = asprintf(&vote, "reject: %s: %s", json_string_value(json_array_get(answer, 0)),
                      pd__answer_why(answer));
  }
  json_decref(answer);
  return length < 0 ? NULL : vote;
}

/* Forget the votes on what has been decided. */
static void forget(pd__member *member) {
  json_t *votes = json_object();
  for (size_t at = 0; at < member->state.tail_count; at++) {
    char key[24];
    if (!pd__step_is_open(&member->state.tail[at])) continue;
    key_of(member->state.tail[at].revision, key);
    json_t *vote = json_object_get(member->votes, key);
    if (vote) json_object_set(votes, key, vote);
  }
  for (size_t at = member->deadlines.count; at-- > 0;) {
    char key[24];
    key_of(member->deadlines.list[at].revision, key);
    if (!pd__names_have(votes, key))
      pd__due_drop(&member->deadlines, member->deadlines.list[at].revision);
  }
  member->news |= json_object_size(votes) != json_object_size(member->votes);
  json_decref(member->votes);
  member->votes = votes;
}

static void vote_on(pd__member *member, const pd__step *step) {
  char key[24], why[96];
  key_of(step->revision, key);
  double patience = pd__json_number(step->record, "patience", 0.0);
  const pd__due *deadline = pd__due_of(&member->deadlines, step->revision);
  if (!pd__names_have(member->votes, key)) {
    char *vote = judge(member, step);
    set_vote(member, step->revision, vote ? vote : "reject: memory is out");
    free(vote);
    pd__due_set(&member->deadlines, step->revision, pd__monotonic() + patience);
  } else if (deadline && pd__monotonic() >= deadline->at) {
    snprintf(why, sizeof why, "abort: nobody had decided after %g s", patience);
    (void)pd__store_decide(member->store, step->revision, why, NULL);
  }
}

void pd__member_vote(pd__member *member) {
  forget(member);
  for (size_t at = 0; at < member->state.tail_count; at++) {
    if (pd__step_is_open(&member->state.tail[at])) vote_on(member, &member->state.tail[at]);
  }
  pd__member_set_gate(member);
}
