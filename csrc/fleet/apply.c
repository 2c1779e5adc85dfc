/* Calls of pd_config_apply and pd_config_check, and what they are answered with. */
#include "apply.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WHY = 4096 }; /* bytes of a reason */

/* ---- Answers ---- */

json_t *pd__answer(const char *state, const char *why) {
  return json_pack("[s,o]", state, pd__json_text(why));
}

bool pd__answer_is(const json_t *answer, const char *state) {
  const char *text = json_string_value(json_array_get(answer, 0));
  return text && strcmp(text, state) == 0;
}

const char *pd__answer_why(const json_t *answer) {
  const char *text = json_string_value(json_array_get(answer, 1));
  return text ? text : "";
}

/* ---- Flags ---- */

static bool find(const char *name, pd_flag_info *info, pd_error *err) {
  pd_flag *flag = NULL;
  *info = (pd_flag_info){.size = sizeof *info};
  return pd_flag_find(name, &flag, err) == PD_OK && pd_flag_get_info(flag, info, err) == PD_OK;
}

static bool is_above(pd_source source) {
  return source == PD_SOURCE_RUNTIME || source == PD_SOURCE_LIVE || source == PD_SOURCE_OVERRIDE;
}

static void add(char *why, const char *between, const char *text, const char *more) {
  size_t at = strlen(why);
  snprintf(why + at, WHY - at, "%s%s%s", at ? between : "", text, more);
}

/* Whether values take effect that passed all checks. */
static json_t *answer_for(const json_t *names, const json_t *values) {
  char holding[WHY] = "", pending[WHY] = "", by[64];
  const char **sorted = pd__json_sorted(names);
  for (size_t at = 0; sorted && sorted[at]; at++) {
    pd_error err;
    pd_flag_info info;
    if (!pd__names_have(values, sorted[at])) continue;
    if (!find(sorted[at], &info, &err)) {
      add(pending, "; ", err.message, "");
    } else if (is_above(info.source)) {
      snprintf(by, sizeof by, " by %s", pd_source_name(info.source));
      add(holding, ", ", sorted[at], by);
    }
  }
  free(sorted);
  if (*holding) return pd__answer(PD__HELD, holding);
  return *pending ? pd__answer(PD__PENDING, pending) : pd__answer(PD__APPLIED, "");
}

static bool is_same_value(const json_t *left, const json_t *right) {
  if (!left || !right) return left == right;
  return strcmp(pd__entry_value(left), pd__entry_value(right)) == 0;
}

static json_t *listed(const char *state, const json_t *names, const char *what) {
  char list[WHY / 2], why[WHY];
  snprintf(why, sizeof why, "%s: %s", pd__names_list(names, list, sizeof list), what);
  return pd__answer(state, why);
}

static bool runs(const pd__applier *applier) {
  return __atomic_load_n(&applier->started, __ATOMIC_RELAXED) || pd_startup_over();
}

/* Those of the names whose flags are sensitive. */
static json_t *secrets_of(const json_t *names) {
  json_t *secret = json_object(), *each;
  const char *name;
  json_object_foreach((json_t *)(uintptr_t)names, name, each) {
    pd_flag_info info;
    if (find(name, &info, NULL) && info.sensitive) pd__names_add(secret, name);
  }
  return secret;
}

/* Why the flags of a batch can't change here, whatever their values; NULL: they can. */
static json_t *limits(const pd__applier *applier, const json_t *names, const json_t *attempt) {
  json_t *secret = json_object(), *closed = json_object(), *answer = NULL, *each;
  const char *name;
  json_object_foreach((json_t *)(uintptr_t)names, name, each) {
    pd_flag_info info;
    const json_t *value = json_object_get(attempt, name);
    if (!find(name, &info, NULL)) continue;
    if (info.sensitive && value) pd__names_add(secret, name);
    bool differs = !is_same_value(value, json_object_get(applier->held, name));
    if (runs(applier) && !info.runtime && differs) pd__names_add(closed, name);
  }
  if (json_object_size(secret)) {
    answer = listed(PD__REJECTED, secret, "is sensitive, and a fleet publishes values");
  } else if (json_object_size(closed)) {
    answer = listed(PD__RESTART, closed, "has no attribute runtime");
  }
  json_decref(secret);
  json_decref(closed);
  return answer;
}

/* ---- Giving ---- */

typedef pd_status (*giver)(const pd_config *, bool, pd_error_list *, pd_error *);

typedef struct pair {
  int64_t revision;
  size_t order;
  const char *name, *value;
} pair;

static int compare(const void *left, const void *right) {
  const pair *a = left, *b = right;
  if (a->revision != b->revision) return a->revision < b->revision ? -1 : 1;
  return a->order < b->order ? -1 : 1;
}

static pair *pairs_of(const json_t *values, size_t *count) {
  pair *pairs = calloc(json_object_size(values) + 1, sizeof *pairs);
  const char *name;
  json_t *entry;
  *count = 0;
  if (!pairs) return NULL;
  json_object_foreach((json_t *)(uintptr_t)values, name, entry) {
    pairs[*count] = (pair){pd__entry_revision(entry), *count, name, pd__entry_value(entry)};
    ++*count;
  }
  qsort(pairs, *count, sizeof *pairs, compare);
  return pairs;
}

static pd_status fill(const pd__applier *applier, const json_t *values, pd_config *config,
                      pd_error *err) {
  size_t count;
  pair *pairs = pairs_of(values, &count);
  for (size_t at = 0; at < count; at++) {
    pd_origin origin = {
        .source = PD_SOURCE_FLEET, .line = (uint32_t)pairs[at].revision, .place = applier->place};
    (void)pd_config_add(config, pairs[at].name, pairs[at].value, 0, &origin, err);
  }
  free(pairs);
  return PD_OK;
}

/* Check or apply values. Returns true, or writes what is wrong to `why`. */
static bool give(const pd__applier *applier, const json_t *values, giver function, char *why) {
  pd_config *config = NULL;
  pd_error err = {.status = PD_OK};
  pd_error_list *errors = pd_error_list_new();
  why[0] = '\0';
  pd_status status = pd_config_new(PD_SOURCE_FLEET, &config, &err);
  if (status == PD_OK) status = fill(applier, values, config, &err);
  if (status == PD_OK) status = function(config, true, errors, &err);
  for (size_t at = 0; status != PD_OK && at < pd_error_list_count(errors); at++) {
    add(why, "; ", pd_error_list_at(errors, at)->message, "");
  }
  if (status != PD_OK && !*why) add(why, "", err.message, "");
  pd_error_list_free(errors);
  pd_config_free(config);
  return status == PD_OK;
}

static bool check(const pd__applier *applier, const json_t *values, char *why) {
  return give(applier, values, pd_config_check, why);
}

static bool apply(const pd__applier *applier, const json_t *values, char *why) {
  return give(applier, values, pd_config_apply, why);
}

/* ---- Batches ---- */

static bool is_same_entry(const json_t *left, const json_t *right) {
  if (!left || !right) return left == right;
  return pd__entry_revision(left) == pd__entry_revision(right) && is_same_value(left, right);
}

/* The names whose entries are different from what was wanted before. */
static json_t *changed(const pd__applier *applier, json_t *wanted) {
  json_t *names = json_object(), *entry;
  const char *name;
  json_object_foreach(wanted, name, entry) {
    if (!is_same_entry(entry, json_object_get(applier->wanted, name))) pd__names_add(names, name);
  }
  json_object_foreach(applier->wanted, name, entry) {
    if (!pd__names_have(wanted, name)) pd__names_add(names, name);
  }
  return names;
}

/* What is held, with the entries of some names replaced. */
static json_t *attempt_of(const pd__applier *applier, const json_t *names, const json_t *wanted) {
  json_t *attempt = pd__json_copy(applier->held), *each;
  const char *name;
  json_object_foreach((json_t *)(uintptr_t)names, name, each) {
    json_t *entry = json_object_get(wanted, name);
    json_object_del(attempt, name);
    if (entry) json_object_set(attempt, name, entry);
  }
  return attempt;
}

/* What the registry has of a fleet, also when its membership has ended, and in a forked child. */
static json_t *given;

json_t *pd__applier_given(void) {
  json_t *now = __atomic_exchange_n(&given, NULL, __ATOMIC_SEQ_CST), *copy = pd__json_copy(now);
  json_decref(__atomic_exchange_n(&given, now, __ATOMIC_SEQ_CST));
  return copy;
}

static void hold(pd__applier *applier, json_t *values) {
  pd__changes_report(applier->place, applier->held, values);
  json_decref(applier->held);
  applier->held = values;
  json_decref(__atomic_exchange_n(&given, json_incref(values), __ATOMIC_SEQ_CST));
}

/* Give exactly these values, which are owned. */
static bool apply_and_hold(pd__applier *applier, json_t *values, char *why) {
  bool done = apply(applier, values, why);
  if (done) {
    hold(applier, values);
  } else {
    json_decref(values);
  }
  return done;
}

static void want(pd__applier *applier, json_t *wanted) {
  json_incref(wanted);
  json_decref(applier->wanted);
  applier->wanted = wanted;
}

static json_t *take(pd__applier *applier, const json_t *names, const json_t *wanted) {
  char why[WHY];
  json_t *attempt = attempt_of(applier, names, wanted);
  json_t *answer = limits(applier, names, attempt);
  if (!answer && !apply(applier, attempt, why)) answer = pd__answer(PD__REJECTED, why);
  if (answer) {
    json_decref(attempt);
    return answer;
  }
  hold(applier, attempt);
  return answer_for(names, attempt);
}

json_t *pd__applier_change(pd__applier *applier, json_t *wanted, json_t **answer) {
  json_t *names = changed(applier, wanted);
  want(applier, wanted);
  *answer = json_object_size(names) ? take(applier, names, wanted) : pd__answer(PD__APPLIED, "");
  return names;
}

json_t *pd__applier_check(const pd__applier *applier, json_t *wanted) {
  char why[WHY];
  json_t *names = changed(applier, wanted);
  json_t *attempt = attempt_of(applier, names, wanted);
  json_t *answer = limits(applier, names, attempt);
  if (!answer && !check(applier, attempt, why)) answer = pd__answer(PD__REJECTED, why);
  if (!answer) answer = answer_for(names, attempt);
  json_decref(names);
  json_decref(attempt);
  return answer;
}

json_t *pd__applier_review(const pd__applier *applier, const json_t *names) {
  return answer_for(names, applier->held);
}

/* ---- The start, and the engine's absence ---- */

static json_t *names_of(const pair *pairs, size_t count) {
  json_t *names = json_object();
  for (size_t at = 0; at < count; at++) pd__names_add(names, pairs[at].name);
  return names;
}

/* Take values back, but not those of `names`, nor of flags that can't change now. */
static void drop_others(pd__applier *applier, const json_t *names) {
  char why[WHY];
  json_t *kept = json_object(), *entry;
  const char *name;
  json_object_foreach(applier->held, name, entry) {
    pd_flag_info info;
    bool closed = runs(applier) && find(name, &info, NULL) && !info.runtime;
    if (closed || pd__names_have(names, name)) json_object_set(kept, name, entry);
  }
  if (json_object_size(kept) == json_object_size(applier->held)) {
    json_decref(kept);
  } else {
    (void)apply_and_hold(applier, kept, why);
  }
}

void pd__applier_drop(pd__applier *applier) { drop_others(applier, NULL); }

void pd__applier_start(pd__applier *applier, json_t *wanted, pd__answered tell, void *context) {
  char why[WHY];
  size_t count, end;
  pair *pairs = pairs_of(wanted, &count);
  drop_others(applier, wanted);
  json_t *limit = limits(applier, wanted, wanted), *together = pd__json_copy(applier->held);
  json_object_update(together, wanted);
  bool whole = !limit && apply_and_hold(applier, json_incref(together), why);
  json_decref(together);
  json_decref(limit);
  want(applier, wanted);
  for (size_t begin = 0; begin < count; begin = end) {
    for (end = begin; end < count && pairs[end].revision == pairs[begin].revision;) end++;
    json_t *names = names_of(pairs + begin, end - begin);
    json_t *answer = whole ? answer_for(names, wanted) : take(applier, names, wanted);
    tell(pairs[begin].revision, names, answer, context);
  }
  free(pairs);
}

/* ---- Values that flags, defined later, did not take ---- */

/* A flag that has the value and can't change now. */
static json_t *staying(const pd__applier *applier) {
  json_t *kept = json_object(), *entry;
  const char *name;
  json_object_foreach(applier->held, name, entry) {
    pd_flag_info info;
    bool stays = runs(applier) && find(name, &info, NULL) && !info.runtime;
    if (stays && info.source == PD_SOURCE_FLEET) json_object_set(kept, name, entry);
  }
  return kept;
}

/* What is wrong with values; NULL: nothing. */
static json_t *refusal(const pd__applier *applier, const json_t *names, const json_t *attempt) {
  char why[WHY];
  json_t *secret = secrets_of(names), *answer = NULL;
  if (json_object_size(secret)) {
    answer = listed(PD__REJECTED, secret, "is sensitive, and a fleet publishes values");
  } else if (!check(applier, attempt, why)) {
    answer = pd__answer(PD__REJECTED, why);
  }
  json_decref(secret);
  return answer;
}

void pd__applier_sift(pd__applier *applier, pd__answered tell, void *context) {
  char why[WHY];
  size_t count, end;
  json_t *wrong = refusal(applier, applier->held, applier->held);
  if (!wrong) return;
  json_decref(wrong);
  json_t *before = json_incref(applier->held), *kept = staying(applier);
  pair *pairs = pairs_of(before, &count);
  for (size_t begin = 0; begin < count; begin = end) {
    json_t *attempt = pd__json_copy(kept);
    for (end = begin; end < count && pairs[end].revision == pairs[begin].revision; end++) {
      json_object_set(attempt, pairs[end].name, json_object_get(before, pairs[end].name));
    }
    json_t *names = names_of(pairs + begin, end - begin);
    json_t *answer = refusal(applier, names, attempt);
    if (answer) {
      json_decref(attempt);
      tell(pairs[begin].revision, names, answer, context);
    } else {
      json_decref(names);
      json_decref(kept);
      kept = attempt;
    }
  }
  (void)apply_and_hold(applier, kept, why);
  free(pairs);
  json_decref(before);
}
