/* A record of a fleet's log: one batch of changes, and its checks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "state.h"

enum kind { TEXT, NUMBER, INTEGER, BOOLEAN };

/* The fields that may be missing, and what they are then. */
static const struct field {
  const char *name;
  enum kind kind;
  bool null; /* else 0, false or "" */
} fields[] = {{"id", TEXT, false},        {"fleet", TEXT, false},      {"by", TEXT, false},
              {"time", NUMBER, false},    {"reason", TEXT, false},     {"duration", NUMBER, true},
              {"at_step", INTEGER, true}, {"dry_run", BOOLEAN, false}, {"patience", NUMBER, false},
              {"reset", INTEGER, true}};

static bool fits(const json_t *value, enum kind kind) {
  if (kind == TEXT) return json_is_string(value);
  if (kind == BOOLEAN) return json_is_boolean(value);
  return json_is_integer(value) || (kind == NUMBER && json_is_real(value));
}

static json_t *missing(const struct field *field) {
  if (field->null) return json_null();
  if (field->kind == TEXT) return json_string("");
  return field->kind == BOOLEAN ? json_false() : json_real(0.0);
}

/* ---- Changes ---- */

/* Write a name with _ in place of - to `out`. */
static bool take_name(const char *name, char *out) {
  size_t length = strlen(name);
  if (length == 0 || length > PD_NAME_MAX) return false;
  for (size_t at = 0; at <= length; at++) {
    char c = name[at] == '-' ? '_' : name[at];
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '\0';
    bool later = (c >= '0' && c <= '9') || c == '.';
    if (!letter && !(later && at > 0)) return false;
    out[at] = c;
  }
  return true;
}

bool pd__selector_is_valid(const char *on) {
  static const char *const kinds[] = {"role:", "host:", "member:"};
  if (strcmp(on, "all") == 0) return true;
  for (size_t at = 0; at < sizeof kinds / sizeof kinds[0]; at++) {
    size_t length = strlen(kinds[at]);
    if (strncmp(on, kinds[at], length) == 0) return on[length] != '\0';
  }
  return false;
}

static bool has_nul(const json_t *text) {
  return json_is_string(text) && strlen(json_string_value(text)) != json_string_length(text);
}

/* Add [name, value, selector] to `out`, or return false. */
static bool take_change(const json_t *change, json_t *out) {
  char name[PD_NAME_MAX + 1];
  size_t size = json_array_size(change);
  const char *given = json_string_value(json_array_get(change, 0));
  json_t *value = json_array_get(change, 1);
  const json_t *on = json_array_get(change, 2);
  const char *selector = size == 3 ? json_string_value(on) : "all";
  if (!json_is_array(change) || size < 2 || size > 3 || !given || !selector) return false;
  if (!take_name(given, name) || !pd__selector_is_valid(selector)) return false;
  if (!json_is_string(value) && !json_is_null(value)) return false;
  if (has_nul(json_array_get(change, 0)) || has_nul(value) || has_nul(on)) return false;
  return json_array_append_new(out, json_pack("[s,O,s]", name, value, selector)) == 0;
}

static bool take_changes(const json_t *changes, json_t *record) {
  size_t index;
  const json_t *each;
  json_t *taken = json_array();
  json_object_set_new(record, "changes", taken);
  if (!json_is_array(changes)) return false;
  json_array_foreach(changes, index, each) {
    if (!take_change(each, taken)) return false;
  }
  return true;
}

/* ---- Records ---- */

static bool are_texts(const json_t *list) {
  size_t index;
  const json_t *each;
  if (!list) return true;
  if (!json_is_array(list)) return false;
  json_array_foreach(list, index, each) {
    if (!json_is_string(each)) return false;
  }
  return true;
}

static bool take_fields(const json_t *read, json_t *record) {
  const char *kind = pd__json_string(read, "kind", "");
  if (strcmp(kind, "change") != 0 && strcmp(kind, "propose") != 0) return false;
  json_object_set(record, "kind", json_object_get(read, "kind"));
  for (size_t at = 0; at < sizeof fields / sizeof fields[0]; at++) {
    json_t *value = json_object_get(read, fields[at].name);
    if (value && !fits(value, fields[at].kind)) return false;
    if (value) json_object_set(record, fields[at].name, value);
  }
  return are_texts(json_object_get(read, "members")) &&
         take_changes(json_object_get(read, "changes"), record);
}

static json_t *new_record(void) {
  json_t *record = json_pack("{s:s,s:[]}", "kind", "change", "changes");
  for (size_t at = 0; record && at < sizeof fields / sizeof fields[0]; at++) {
    json_object_set_new(record, fields[at].name, missing(&fields[at]));
  }
  return record;
}

json_t *pd__record_read(const char *data, size_t length) {
  json_t *read = pd__json_read(data, length), *record = new_record();
  if (!take_fields(read, record)) {
    json_decref(record);
    record = new_record();
  }
  json_decref(read);
  return record;
}

bool pd__record_is_proposal(const json_t *record) {
  return strcmp(pd__json_string(record, "kind", ""), "propose") == 0;
}
