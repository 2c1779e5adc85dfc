/* JSON bodies, read by jansson: it refuses names that are repeated, NULs, text that isn't UTF-8 and
 * integers that don't fit int64, none of which can then mean one thing here and another elsewhere.
 */
#include "body.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 16, FIELDS_MAX = 20000, PATH_MAX_LENGTH = 4096 };

/* Text of fields, in pieces that never move. */
typedef struct pd__piece {
  struct pd__piece *next;
  size_t used, size;
  char text[];
} pd__piece;

typedef struct path {
  char text[PATH_MAX_LENGTH];
  size_t length;
} path;

static bool fail(pd__body *body, const char *message) {
  snprintf(body->message, sizeof body->message, "%s", message);
  body->error = body->message;
  return false;
}

static const char *keep(pd__body *body, const char *text, size_t length) {
  pd__piece *piece = body->text;
  if (!piece || piece->size - piece->used < length + 1) {
    size_t size = length + 1 > 4096 ? length + 1 : 4096;
    piece = malloc(sizeof *piece + size);
    if (!piece) return NULL;
    *piece = (pd__piece){.next = body->text, .size = size};
    body->text = piece;
  }
  char *copy = piece->text + piece->used;
  memcpy(copy, text, length);
  copy[length] = '\0';
  piece->used += length + 1;
  return copy;
}

static bool add(pd__body *body, const path *at, pd_live_kind kind, const char *text,
                size_t length) {
  if (body->count == FIELDS_MAX) return fail(body, "more than 20000 values");
  if (body->count == body->room) {
    size_t room = body->room ? body->room * 2 : 64;
    pd_live_field *larger = realloc(body->fields, room * sizeof *larger);
    if (!larger) return fail(body, "out of memory");
    body->fields = larger;
    body->room = room;
  }
  pd_live_field field = {.path = keep(body, at->text, at->length), .kind = kind};
  if (text) field.text = keep(body, text, length);
  if (!field.path || (text && !field.text)) return fail(body, "out of memory");
  body->fields[body->count++] = field;
  return true;
}

/* ---- Places ---- */

static bool put(path *at, char c) {
  if (at->length + 1 >= sizeof at->text) return false;
  at->text[at->length++] = c;
  return true;
}

/* A step of a JSON pointer, in which ~ is ~0 and / is ~1. */
static bool enter(pd__body *body, path *at, const char *name) {
  bool fits = put(at, '/');
  for (; fits && *name; name++) {
    if (*name == '~' || *name == '/') {
      fits = put(at, '~') && put(at, *name == '~' ? '0' : '1');
    } else {
      fits = put(at, *name);
    }
  }
  return fits || fail(body, "a name is too long");
}

/* ---- Values ---- */

static bool flatten(pd__body *body, path *at, json_t *value, int depth);

static bool flatten_object(pd__body *body, path *at, json_t *object, int depth) {
  const char *name;
  json_t *each;
  if (!add(body, at, PD_LIVE_OBJECT, NULL, 0)) return false;
  json_object_foreach(object, name, each) {
    size_t before = at->length;
    if (!enter(body, at, name) || !flatten(body, at, each, depth + 1)) return false;
    at->length = before;
  }
  return true;
}

static bool flatten_array(pd__body *body, path *at, json_t *array, int depth) {
  size_t index;
  json_t *each;
  if (!add(body, at, PD_LIVE_ARRAY, NULL, 0)) return false;
  json_array_foreach(array, index, each) {
    size_t before = at->length;
    char name[24];
    snprintf(name, sizeof name, "%zu", index);
    if (!enter(body, at, name) || !flatten(body, at, each, depth + 1)) return false;
    at->length = before;
  }
  return true;
}

/* jansson writes numbers with a point in every locale. */
static bool flatten_number(pd__body *body, const path *at, const json_t *value) {
  char text[64];
  size_t length = json_dumpb(value, text, sizeof text, JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
  if (length == 0 || length > sizeof text) return fail(body, "out of memory");
  return add(body, at, PD_LIVE_NUMBER, text, length);
}

static bool flatten(pd__body *body, path *at, json_t *value, int depth) {
  if (depth > DEPTH_MAX) return fail(body, "nested more than 16 levels deep");
  switch (json_typeof(value)) {
    case JSON_OBJECT:
      return flatten_object(body, at, value, depth);
    case JSON_ARRAY:
      return flatten_array(body, at, value, depth);
    case JSON_STRING:
      return add(body, at, PD_LIVE_TEXT, json_string_value(value), json_string_length(value));
    case JSON_INTEGER:
    case JSON_REAL:
      return flatten_number(body, at, value);
    case JSON_TRUE:
      return add(body, at, PD_LIVE_BOOL, "true", 4);
    case JSON_FALSE:
      return add(body, at, PD_LIVE_BOOL, "false", 5);
    case JSON_NULL:
      break;
  }
  return add(body, at, PD_LIVE_NULL, NULL, 0);
}

/* ---- The whole ---- */

/* Says where, but repeats nothing of the body, which may be a secret. */
static void explain(pd__body *body, const json_error_t *error) {
  const char *what = "not JSON";
  switch (json_error_code(error)) {
    case json_error_numeric_overflow:
      what = "a number is too large: an integer must fit int64, write others as text";
      break;
    case json_error_duplicate_key:
      what = "a name is given twice";
      break;
    case json_error_invalid_utf8:
      what = "not UTF-8";
      break;
    case json_error_null_character:
    case json_error_null_byte_in_key:
      what = "a text has a NUL";
      break;
    case json_error_stack_overflow:
      what = "nested more than 16 levels deep";
      break;
    case json_error_premature_end_of_input:
      what = "the JSON ends too early";
      break;
    case json_error_end_of_input_expected:
      what = "something follows the JSON";
      break;
    default:
      break;
  }
  snprintf(body->message, sizeof body->message, "%s (line %d, column %d)", what, error->line,
           error->column);
  body->error = body->message;
}

void pd__body_read(pd__body *body, const char *text, size_t length) {
  json_error_t error;
  json_t *value = json_loadb(text, length, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);
  if (!value) {
    explain(body, &error);
    return;
  }
  path at = {.length = 0};
  flatten(body, &at, value, 1);
  json_decref(value);
}

void pd__body_free(pd__body *body) {
  for (pd__piece *each = body->text, *next; each; each = next) {
    next = each->next;
    free(each);
  }
  free(body->fields);
}
