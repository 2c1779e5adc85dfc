/* Folds logs as libpd_flags_fleet.so does, for tests that compare it with Python's fold: each line
 * is a log, {"base": {...} or null, "records": [text, ...], "decisions": {revision: verdict},
 * "later": [[revision, verdict], ...], "name": N, "role": R or null, "host": H, "step": S,
 * "ended": [revision, ...]}, and is answered with what it says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

static json_t *input;

static bool holds(const json_t *entry, void *context) {
  const json_t *step = json_array_get(entry, PD__AT_STEP), *each;
  size_t index;
  (void)context;
  if (json_is_integer(step) && json_integer_value(step) > pd__json_integer(input, "step", -1)) {
    return false;
  }
  json_array_foreach(json_object_get(input, "ended"), index, each) {
    bool over = !json_is_null(json_array_get(entry, PD__DURATION));
    if (over && json_integer_value(each) == pd__entry_revision(entry)) return false;
  }
  return true;
}

static enum pd__verdict verdict_of(const json_t *text) {
  if (!text) return PD__UNDECIDED;
  return strcmp(json_string_value(text), "commit") == 0 ? PD__COMMIT : PD__ABORT;
}

static void add(pd__state *state, const json_t *text) {
  char key[24];
  json_t *record = pd__record_read(json_string_value(text), json_string_length(text));
  snprintf(key, sizeof key, "%lld", (long long)state->revision + 1);
  const json_t *decision = json_object_get(json_object_get(input, "decisions"), key);
  bool proposed = pd__record_is_proposal(record);
  if (pd__state_add(state, record, proposed ? verdict_of(decision) : PD__UNDECIDED) != PD_OK)
    abort();
}

static json_t *folded(pd__state *state) {
  const json_t *each;
  size_t index;
  json_t *open = json_array();
  json_array_foreach(json_object_get(input, "records"), index, each) add(state, each);
  json_array_foreach(json_object_get(input, "later"), index, each) {
    pd__state_decide(state, json_integer_value(json_array_get(each, 0)),
                     verdict_of(json_array_get(each, 1)));
  }
  for (size_t at = 0; at < state->tail_count; at++) {
    if (!pd__step_is_open(&state->tail[at])) continue;
    json_array_append_new(open, json_integer(state->tail[at].revision));
  }
  return open;
}

static json_t *answer(void) {
  pd__state state;
  pd__selected selected;
  pd__state_init(&state);
  const json_t *base = json_object_get(input, "base");
  const char *text = json_string_value(base);
  if (text && !pd__state_read(&state, text, json_string_length(base))) {
    pd__state_free(&state);
    return json_pack("{s:b}", "refused", 1);
  }
  json_t *open = folded(&state);
  if (!pd__selected_init(&selected, pd__json_string(input, "name", ""),
                         pd__json_string(input, "role", NULL),
                         pd__json_string(input, "host", ""))) {
    abort();
  }
  json_t *values = pd__values_of(state.tables, &selected, holds, NULL);
  json_t *answer = json_pack("{s:I,s:s,s:O,s:o,s:o}", "revision", (json_int_t)state.revision,
                             "fleet", state.fleet ? state.fleet : "", "tables", state.tables,
                             "open", open, "values", values);
  pd__selected_free(&selected);
  pd__state_free(&state);
  return answer;
}

int main(void) {
  char *line = NULL;
  size_t size = 0;
  while (getline(&line, &size, stdin) > 0) {
    input = json_loads(line, JSON_ALLOW_NUL, NULL);
    json_t *said = input ? answer() : json_null();
    char *text = json_dumps(said, JSON_COMPACT | JSON_ENCODE_ANY);
    puts(text ? text : "null");
    fflush(stdout);
    free(text);
    json_decref(said);
    json_decref(input);
  }
  free(line);
  return 0;
}
