/* The fold of a log. Entries are immutable and shared; tables are copied where both sides live. */
#include "state.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 8 }; /* values of one flag, one below the other */

/* ---- Entries ---- */

int64_t pd__entry_revision(const json_t *entry) {
  return json_integer_value(json_array_get(entry, PD__REVISION));
}

const char *pd__entry_value(const json_t *entry) {
  return json_string_value(json_array_get(entry, PD__VALUE));
}

static bool is_null(const json_t *entry, size_t field) {
  return json_is_null(json_array_get(entry, field));
}

/* Without what is deeper than `depth`. Returns a new reference. */
static json_t *cut(json_t *entry, int depth) {
  json_t *below = json_array_get(entry, PD__BELOW);
  if (!json_is_array(below)) return json_incref(entry);
  json_t *copy = json_copy(entry);
  json_array_set_new(copy, PD__BELOW, depth > 1 ? cut(below, depth - 1) : json_null());
  return copy;
}

/* Returns the entry that a change makes where `before` was, or NULL: none. */
static json_t *make_entry(const pd__step *step, json_t *value, json_t *before) {
  const json_t *record = step->record;
  bool waits = pd__json_has(record, "at_step");
  bool passing = waits || pd__json_has(record, "duration");
  if (json_is_null(value) && (!passing || !before)) return NULL;
  json_t *below = passing && before ? before : json_null();
  if (!waits && json_is_array(below) && !is_null(below, PD__DURATION)) {
    below = json_array_get(below, PD__BELOW); /* a temporary value replaces another one */
  }
  json_t *made = json_pack("[O,I,O,O,O,O,O,O]", value, (json_int_t)step->revision,
                           json_object_get(record, "time"), json_object_get(record, "by"),
                           json_object_get(record, "reason"), json_object_get(record, "duration"),
                           json_object_get(record, "at_step"), below);
  json_t *found = made ? cut(made, DEEPEST) : NULL;
  json_decref(made);
  return found;
}

/* ---- Tables ---- */

static json_t *copy_tables(json_t *tables) {
  json_t *copy = json_object();
  const char *on;
  json_t *table;
  json_object_foreach(tables, on, table) json_object_set_new(copy, on, json_copy(table));
  return copy;
}

static void change(json_t *tables, const pd__step *step, const json_t *change) {
  const char *name = json_string_value(json_array_get(change, 0));
  const char *on = json_string_value(json_array_get(change, 2));
  json_t *table = json_object_get(tables, on);
  if (!table) {
    json_object_set_new(tables, on, json_object());
    table = json_object_get(tables, on);
  }
  json_t *made = make_entry(step, json_array_get(change, 1), json_object_get(table, name));
  if (made) {
    json_object_set_new(table, name, made);
  } else {
    json_object_del(table, name);
  }
  if (json_object_size(table) == 0) json_object_del(tables, on);
}

/* Change `tables` by a record. */
static void apply(json_t *tables, const pd__step *step) {
  size_t index;
  const json_t *each;
  if (!pd__step_holds(step)) return;
  if (pd__json_has(step->record, "reset")) json_object_clear(tables);
  json_array_foreach(json_object_get(step->record, "changes"), index, each) {
    change(tables, step, each);
  }
}

bool pd__step_holds(const pd__step *step) {
  return step->verdict == PD__COMMIT || !pd__record_is_proposal(step->record);
}

bool pd__step_is_open(const pd__step *step) {
  return step->verdict == PD__UNDECIDED && pd__record_is_proposal(step->record);
}

/* ---- The state ---- */

void pd__state_init(pd__state *state) {
  *state = (pd__state){.settled = json_object(), .tables = json_object()};
}

void pd__state_free(pd__state *state) {
  for (size_t at = 0; at < state->tail_count; at++) json_decref(state->tail[at].record);
  free(state->tail);
  free(state->fleet);
  json_decref(state->settled);
  json_decref(state->tables);
  *state = (pd__state){.revision = 0};
}

json_t *pd__state_if(const pd__state *state, int64_t revision) {
  json_t *tables = copy_tables(state->settled);
  for (size_t at = 0; at < state->tail_count; at++) {
    pd__step step = state->tail[at];
    if (step.revision == revision && pd__step_is_open(&step)) step.verdict = PD__COMMIT;
    apply(tables, &step);
  }
  return tables;
}

static void settle(pd__state *state) {
  size_t done = 0;
  while (done < state->tail_count && !pd__step_is_open(&state->tail[done])) done++;
  json_decref(state->tables); /* so that `settled` may be changed in place */
  for (size_t at = 0; at < done; at++) {
    apply(state->settled, &state->tail[at]);
    json_decref(state->tail[at].record);
  }
  state->tail_count -= done;
  if (done > 0 && state->tail_count > 0) {
    memmove(state->tail, state->tail + done, state->tail_count * sizeof *state->tail);
  }
  state->tables = state->tail_count ? pd__state_if(state, 0) : json_incref(state->settled);
}

pd_status pd__state_add(pd__state *state, json_t *record, enum pd__verdict verdict) {
  pd__step *tail = realloc(state->tail, (state->tail_count + 1) * sizeof *tail);
  if (!tail || !record) {
    if (tail) state->tail = tail;
    json_decref(record);
    return PD_ERR_MEMORY;
  }
  state->tail = tail;
  state->revision++;
  tail[state->tail_count++] = (pd__step){state->revision, record, verdict};
  const char *fleet = pd__json_string(record, "fleet", "");
  if (!state->fleet && *fleet) state->fleet = strdup(fleet);
  settle(state);
  return PD_OK;
}

void pd__state_decide(pd__state *state, int64_t revision, enum pd__verdict verdict) {
  for (size_t at = 0; at < state->tail_count; at++) {
    pd__step *step = &state->tail[at];
    if (step->revision == revision && pd__step_is_open(step)) step->verdict = verdict;
  }
  settle(state);
}

/* ---- Bases ---- */

static bool is_entry(const json_t *entry, int depth) {
  if (!json_is_array(entry) || json_array_size(entry) != PD__ENTRY_SIZE || depth == 0) return false;
  const json_t *value = json_array_get(entry, PD__VALUE);
  const json_t *duration = json_array_get(entry, PD__DURATION);
  const json_t *step = json_array_get(entry, PD__AT_STEP);
  const json_t *below = json_array_get(entry, PD__BELOW);
  const char *text = json_string_value(value);
  return (json_is_null(value) || (text && strlen(text) == json_string_length(value))) &&
         json_is_integer(json_array_get(entry, PD__REVISION)) &&
         json_is_number(json_array_get(entry, PD__TIME)) &&
         json_is_string(json_array_get(entry, PD__BY)) &&
         json_is_string(json_array_get(entry, PD__REASON)) &&
         (json_is_number(duration) || json_is_null(duration)) &&
         (json_is_integer(step) || json_is_null(step)) &&
         (json_is_null(below) || is_entry(below, depth - 1));
}

static bool are_tables(json_t *tables) {
  const char *on, *name;
  json_t *table, *entry;
  if (!json_is_object(tables)) return false;
  json_object_foreach(tables, on, table) {
    if (!pd__selector_is_valid(on) || !json_is_object(table)) return false;
    json_object_foreach(table, name, entry) {
      if (!is_entry(entry, DEEPEST)) return false;
    }
  }
  return true;
}

bool pd__state_read(pd__state *state, const char *data, size_t length) {
  json_t *read = pd__json_read(data, length);
  json_t *tables = json_object_get(read, "tables");
  const json_t *revision = json_object_get(read, "revision");
  const char *fleet = pd__json_string(read, "fleet", NULL);
  bool valid = json_is_integer(revision) && fleet && are_tables(tables);
  if (valid) {
    pd__state_free(state);
    state->revision = json_integer_value(revision);
    state->fleet = *fleet ? strdup(fleet) : NULL;
    state->settled = copy_tables(tables);
    state->tables = json_incref(state->settled);
  }
  json_decref(read);
  return valid;
}

/* ---- For one member ---- */

static bool add_selector(pd__selected *selected, const char *kind, const char *which) {
  char **out = &selected->selectors[selected->count];
  if (asprintf(out, "%s%s", kind, which) < 0) return false;
  selected->count++;
  return true;
}

bool pd__selected_init(pd__selected *selected, const char *name, const char *role,
                       const char *host) {
  *selected = (pd__selected){.count = 0};
  return add_selector(selected, "all", "") &&
         (!role || !*role || add_selector(selected, "role:", role)) &&
         add_selector(selected, "host:", host) && add_selector(selected, "member:", name);
}

void pd__selected_free(pd__selected *selected) {
  for (size_t at = 0; at < selected->count; at++) free(selected->selectors[at]);
  selected->count = 0;
}

/* What an entry says now. Returns NULL for nothing. Borrowed. */
static json_t *resolve(json_t *entry, pd__entry_test holds, void *context) {
  while (json_is_array(entry) && !holds(entry, context)) entry = json_array_get(entry, PD__BELOW);
  return json_is_array(entry) && pd__entry_value(entry) ? entry : NULL;
}

json_t *pd__values_of(const json_t *tables, const pd__selected *selected, pd__entry_test holds,
                      void *context) {
  json_t *found = json_object(), *entry;
  const char *name;
  for (size_t at = 0; at < selected->count; at++) {
    json_object_foreach(json_object_get(tables, selected->selectors[at]), name, entry) {
      json_t *now = resolve(entry, holds, context);
      if (now) json_object_set(found, name, now);
    }
  }
  return found;
}

json_t *pd__concerned(const json_t *record, const pd__selected *selected) {
  json_t *names = json_object();
  size_t index;
  const json_t *change;
  json_array_foreach(json_object_get(record, "changes"), index, change) {
    const char *on = json_string_value(json_array_get(change, 2));
    for (size_t at = 0; at < selected->count; at++) {
      if (strcmp(selected->selectors[at], on) != 0) continue;
      pd__names_add(names, json_string_value(json_array_get(change, 0)));
    }
  }
  return names;
}
