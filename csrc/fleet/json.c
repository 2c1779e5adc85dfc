/* What the rest of the module needs of JSON. */
#include "json.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 32 };

/* ---- Reading ---- */

/* jansson itself refuses what isn't UTF-8, lone surrogates, integers of over 64 bits, numbers that
 * aren't finite, and NUL in names. */
static bool is_shallow(const json_t *value, int levels) {
  if (!json_is_object(value) && !json_is_array(value)) return true;
  if (levels == 0) return false;
  size_t index;
  const char *key;
  json_t *each;
  json_array_foreach(value, index, each) {
    if (!is_shallow(each, levels - 1)) return false;
  }
  json_object_foreach((json_t *)(uintptr_t)value, key, each) {
    if (!is_shallow(each, levels - 1)) return false;
  }
  return true;
}

json_t *pd__json_read(const char *data, size_t length) {
  json_t *value = json_loadb(data, length, JSON_ALLOW_NUL, NULL);
  if (value && is_shallow(value, DEEPEST)) return value;
  json_decref(value);
  return NULL;
}

/* ---- Numbers ---- */

char *pd__number_text(double number) {
  json_t *value = json_real(number);
  char *text = json_dumps(value, JSON_ENCODE_ANY);
  json_decref(value);
  return text;
}

double pd__number_read(const char *text, size_t length) {
  json_t *value = json_loadb(text, length, JSON_DECODE_ANY, NULL);
  double number = json_is_number(value) ? json_number_value(value) : -1.0;
  json_decref(value);
  return number;
}

/* ---- Text ---- */

/* The length of the character of UTF-8 at `text`, as Python takes it; 0: there is none. */
static size_t character(const unsigned char *text) {
  static const struct {
    unsigned char first, last, low, high, more;
  } rows[] = {{0xC2, 0xDF, 0x80, 0xBF, 1}, {0xE0, 0xE0, 0xA0, 0xBF, 2}, {0xE1, 0xEC, 0x80, 0xBF, 2},
              {0xED, 0xED, 0x80, 0x9F, 2}, {0xEE, 0xEF, 0x80, 0xBF, 2}, {0xF0, 0xF0, 0x90, 0xBF, 3},
              {0xF1, 0xF3, 0x80, 0xBF, 3}, {0xF4, 0xF4, 0x80, 0x8F, 3}};
  if (text[0] < 0x80) return 1;
  for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
    if (text[0] < rows[row].first || text[0] > rows[row].last) continue;
    if (text[1] < rows[row].low || text[1] > rows[row].high) return 0;
    for (size_t at = 2; at <= rows[row].more; at++) {
      if (text[at] < 0x80 || text[at] > 0xBF) return 0;
    }
    return rows[row].more + 1U;
  }
  return 0;
}

json_t *pd__json_text(const char *text) {
  json_t *made = json_string(text);
  if (made) return made;
  char *shown = malloc(strlen(text) * 4 + 1), *end = shown;
  if (!shown) return NULL;
  while (*text) {
    size_t length = character((const unsigned char *)text);
    if (length) {
      memcpy(end, text, length);
      end += length;
    } else {
      end += snprintf(end, 5, "\\x%02x", *(const unsigned char *)text);
    }
    text += length ? length : 1;
  }
  made = json_stringn(shown, (size_t)(end - shown));
  free(shown);
  return made;
}

/* ---- Members of an object ---- */

double pd__json_number(const json_t *object, const char *name, double otherwise) {
  const json_t *value = json_object_get(object, name);
  return json_is_number(value) ? json_number_value(value) : otherwise;
}

int64_t pd__json_integer(const json_t *object, const char *name, int64_t otherwise) {
  const json_t *value = json_object_get(object, name);
  return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

const char *pd__json_string(const json_t *object, const char *name, const char *otherwise) {
  const char *text = json_string_value(json_object_get(object, name));
  return text ? text : otherwise;
}

bool pd__json_has(const json_t *object, const char *name) {
  const json_t *value = json_object_get(object, name);
  return value && !json_is_null(value);
}

json_t *pd__json_copy(json_t *object) {
  json_t *copy = object ? json_copy(object) : NULL;
  return copy ? copy : json_object();
}

/* ---- Sets of names ---- */

void pd__names_add(json_t *names, const char *name) {
  json_object_set_new(names, name, json_true());
}

bool pd__names_have(const json_t *names, const char *name) {
  return json_object_get(names, name) != NULL;
}

static int compare(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

const char **pd__json_sorted(const json_t *object) {
  size_t count = 0;
  const char **keys = calloc(json_object_size(object) + 1, sizeof *keys);
  const char *key;
  json_t *each;
  if (!keys) return NULL;
  json_object_foreach((json_t *)(uintptr_t)object, key, each) keys[count++] = key;
  qsort(keys, count, sizeof *keys, compare);
  return keys;
}

char *pd__names_list(const json_t *names, char *text, size_t size) {
  const char **keys = pd__json_sorted(names);
  size_t at = 0;
  text[0] = '\0';
  for (size_t each = 0; keys && keys[each] && at < size; each++) {
    int length = snprintf(text + at, size - at, "%s%s", each ? ", " : "", keys[each]);
    at += length > 0 ? (size_t)length : 0;
  }
  free(keys);
  return text;
}
