/* Following and applying; temporary values, and those that wait for a step. */
#include "member.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Times ---- */

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double pd__monotonic(void) { return seconds_of(CLOCK_MONOTONIC); }
double pd__wall(void) { return seconds_of(CLOCK_REALTIME); }

pd__due *pd__due_of(pd__dues *dues, int64_t revision) {
  for (size_t at = 0; at < dues->count; at++) {
    if (dues->list[at].revision == revision) return &dues->list[at];
  }
  return NULL;
}

void pd__due_set(pd__dues *dues, int64_t revision, double at) {
  pd__due *list = realloc(dues->list, (dues->count + 1) * sizeof *list);
  if (!list) return;
  dues->list = list;
  list[dues->count++] = (pd__due){revision, at};
}

void pd__due_drop(pd__dues *dues, int64_t revision) {
  pd__due *found = pd__due_of(dues, revision);
  if (found) *found = dues->list[--dues->count];
}

/* ---- Answers ---- */

static void drop_note(pd__member *member, size_t at) {
  json_decref(member->notes[at].answer);
  json_decref(member->notes[at].names);
  member->note_count--;
  memmove(member->notes + at, member->notes + at + 1,
          (member->note_count - at) * sizeof *member->notes);
}

/* Keep an answer, in place of an earlier one. Owns both. */
static void note(int64_t revision, json_t *names, json_t *answer, void *context) {
  pd__member *member = context;
  size_t at = 0;
  while (at < member->note_count && member->notes[at].revision < revision) at++;
  if (at < member->note_count && member->notes[at].revision == revision) {
    member->news |= !json_equal(member->notes[at].answer, answer);
    json_decref(member->notes[at].answer);
    json_decref(member->notes[at].names);
  } else {
    member->news = true;
    memmove(member->notes + at + 1, member->notes + at,
            (member->note_count - at) * sizeof *member->notes);
    member->note_count++;
  }
  member->notes[at] = (pd__note){revision, answer, names};
  if (member->note_count > PD__ANSWERS_KEPT) drop_note(member, 0);
}

static json_t *one_name(const char *name) {
  json_t *names = json_object();
  pd__names_add(names, name);
  return names;
}

/* ---- Whether an entry holds ---- */

bool pd__is_reached(const pd__member *member, int64_t step) {
  return __atomic_load_n(&member->last, __ATOMIC_SEQ_CST) >= step && step >= 0;
}

/* When a temporary value ends. A member that sees it begin counts from then. One that sees it later
 * takes what is left by the clocks of the writer and its own. */
static double end_of(pd__member *member, const json_t *entry, double duration) {
  int64_t revision = pd__entry_revision(entry);
  const pd__due *known = pd__due_of(&member->ends, revision);
  if (known) return known->at;
  double left = duration;
  if (!member->live && json_is_null(json_array_get(entry, PD__AT_STEP))) {
    double begun = json_number_value(json_array_get(entry, PD__TIME));
    left = fmax(0.0, fmin(duration, begun + duration - pd__wall()));
  }
  pd__due_set(&member->ends, revision, pd__monotonic() + left);
  return pd__monotonic() + left;
}

static bool is_over(pd__member *member, const json_t *entry) {
  const json_t *duration = json_array_get(entry, PD__DURATION);
  if (!json_is_number(duration)) return false;
  return pd__monotonic() >= end_of(member, entry, json_number_value(duration));
}

bool pd__entry_holds(const json_t *entry, void *context) {
  pd__member *member = context;
  const json_t *step = json_array_get(entry, PD__AT_STEP);
  if (json_is_integer(step) && !pd__is_reached(member, json_integer_value(step))) return false;
  return !is_over(member, entry);
}

static json_t *wanted_of(pd__member *member) {
  return pd__values_of(member->state.tables, &member->selected, pd__entry_holds, member);
}

/* ---- Following ---- */

/* An answer to what was to happen at a step, when it has happened. Owns `answer`. */
static json_t *at_step(const pd__member *member, json_t *answer, int64_t step) {
  char why[96];
  int64_t last = __atomic_load_n(&member->last, __ATOMIC_SEQ_CST);
  if (!pd__answer_is(answer, PD__APPLIED) || last <= step) return answer;
  json_decref(answer);
  snprintf(why, sizeof why, "at step %lld, not %lld", (long long)last, (long long)step);
  return pd__answer(PD__APPLIED, why);
}

static json_t *waits(int64_t step) {
  char why[64];
  snprintf(why, sizeof why, "step %lld", (long long)step);
  return pd__answer(PD__WAITS, why);
}

/* Act on one record, or on a proposal that was decided. */
static void take(pd__member *member, const pd__step *step) {
  if (!pd__step_holds(step)) return;
  json_t *answer, *wanted = wanted_of(member);
  json_t *names = pd__applier_change(&member->applier, wanted, &answer);
  json_t *mine = pd__concerned(step->record, &member->selected);
  json_object_update(mine, names);
  json_decref(names);
  json_decref(wanted);
  if (json_object_size(mine) == 0 && !pd__json_has(step->record, "reset")) {
    json_decref(mine);
    json_decref(answer);
    return;
  }
  int64_t at = pd__json_integer(step->record, "at_step", -1);
  if (pd__json_has(step->record, "at_step") && pd__is_reached(member, at)) {
    answer = at_step(member, answer, at);
  } else if (pd__json_has(step->record, "at_step")) {
    json_decref(answer);
    answer = waits(at);
  }
  note(step->revision, mine, answer, member);
}

static void review(pd__member *member) {
  bool defined = false;
  for (size_t at = 0; at < member->note_count; at++) {
    pd__note *each = &member->notes[at];
    if (!pd__answer_is(each->answer, PD__HELD) && !pd__answer_is(each->answer, PD__PENDING)) {
      continue;
    }
    json_t *answer = pd__applier_review(&member->applier, each->names);
    bool differs = !json_equal(answer, each->answer);
    defined |= differs && pd__answer_is(each->answer, PD__PENDING);
    member->news |= differs;
    json_decref(each->answer);
    each->answer = answer;
  }
  if (defined) pd__applier_sift(&member->applier, note, member);
}

/* Note what has become of one value that has ended or begun. */
static void note_one(pd__member *member, const char *name, const json_t *old,
                     const json_t *answer) {
  bool good = pd__answer_is(answer, PD__APPLIED) || pd__answer_is(answer, PD__ENDED) ||
              pd__answer_is(answer, PD__PENDING);
  if (old && is_over(member, old)) {
    json_t *ended = good ? pd__answer(PD__ENDED, "") : json_copy((json_t *)(uintptr_t)answer);
    note(pd__entry_revision(old), one_name(name), ended, member);
  }
  const json_t *entry = json_object_get(member->applier.wanted, name);
  const json_t *step = json_array_get(entry, PD__AT_STEP);
  if (!json_is_integer(step)) return;
  json_t *copy = json_copy((json_t *)(uintptr_t)answer);
  note(pd__entry_revision(entry), one_name(name), at_step(member, copy, json_integer_value(step)),
       member);
}

/* Bring the values in line with clock, steps, and what a compaction has hidden. */
void pd__member_renew(pd__member *member) {
  json_t *before = json_incref(member->applier.wanted), *wanted = wanted_of(member);
  json_t *answer, *names = pd__applier_change(&member->applier, wanted, &answer), *each;
  const char *name;
  json_object_foreach(names, name, each) {
    note_one(member, name, json_object_get(before, name), answer);
  }
  json_decref(names);
  json_decref(answer);
  json_decref(before);
  json_decref(wanted);
  review(member);
}

void pd__member_apply_all(pd__member *member) {
  json_t *wanted = wanted_of(member);
  pd__applier_start(&member->applier, wanted, note, member);
  json_decref(wanted);
}

static void nothing(pd__member *member, const pd__step *step) { (void)member, (void)step; }

pd_status pd__member_start(pd__member *member, pd_error *err) {
  pd_status status = pd__follow(member, nothing, err);
  if (status != PD_OK) return status;
  pd__member_apply_all(member);
  member->live = true;
  pd__member_vote(member);
  return PD_OK;
}

pd_status pd__member_follow(pd__member *member, bool live, pd_error *err) {
  int64_t before = member->state.revision;
  member->live = live;
  review(member); /* what flags did not take that were defined since must stop nothing */
  pd_status status = pd__follow(member, take, err);
  member->news |= before != member->state.revision;
  if (status != PD_OK) return status;
  pd__member_renew(member);
  pd__member_vote(member);
  return PD_OK;
}

double pd__member_left(pd__member *member) {
  double due = HUGE_VAL, now = pd__monotonic();
  const char *name;
  json_t *entry;
  json_object_foreach(member->applier.wanted, name, entry) {
    const json_t *duration = json_array_get(entry, PD__DURATION);
    if (!json_is_number(duration)) continue;
    due = fmin(due, end_of(member, entry, json_number_value(duration)));
  }
  for (size_t at = 0; at < member->deadlines.count; at++) {
    due = fmin(due, member->deadlines.list[at].at);
  }
  return fmax(0.0, due - now);
}

/* ---- Making ---- */

bool pd__member_init(pd__member *member, pd__store *store, const char *name, const char *role,
                     const char *host) {
  *member = (pd__member){.store = store, .last = -1, .gate = PD__NEVER, .votes = json_object()};
  pd__state_init(&member->state);
  member->applier =
      (pd__applier){.place = store->url, .wanted = json_object(), .held = pd__applier_given()};
  return pd__selected_init(&member->selected, name, role, host);
}

void pd__member_free(pd__member *member) {
  while (member->note_count > 0) drop_note(member, member->note_count - 1);
  pd__state_free(&member->state);
  pd__selected_free(&member->selected);
  json_decref(member->applier.wanted);
  json_decref(member->applier.held);
  json_decref(member->votes);
  free(member->ends.list);
  free(member->deadlines.list);
  *member = (pd__member){.last = -1};
}
