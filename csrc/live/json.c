#include "json.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MEMORY "out of memory"

/* Values and texts lie in one block: a text is never longer than it is written, and the values are
 * counted beforehand. */
typedef struct json_reader {
  const char *start, *at, *end;
  pd__value *values;
  size_t value_count, value_max;
  char *texts; /* where the next one goes */
  const char *wrong;
  int depth;
} json_reader;

static bool fail_json(json_reader *from, const char *wrong) {
  if (!from->wrong) from->wrong = wrong;
  return false;
}

static void skip_json_blanks(json_reader *from) {
  while (from->at < from->end && strchr(" \t\r\n", *from->at) && *from->at) from->at++;
}

static bool consume_character(json_reader *from, char sign) {
  bool is = from->at < from->end && *from->at == sign;
  if (is) from->at++;
  return is;
}

/* ---- Texts ---- */

static bool read_four_hex_digits(json_reader *from, uint32_t *code) {
  *code = 0;
  for (int i = 0; i < 4; i++) {
    static const char digits[] = "0123456789abcdefABCDEF";
    const char *digit = from->at < from->end && *from->at ? strchr(digits, *from->at) : NULL;
    if (!digit) return fail_json(from, "expected four hexadecimal digits");
    size_t value = (size_t)(digit - digits);
    *code = *code << 4 | (uint32_t)(value < 16 ? value : value - 6);
    from->at++;
  }
  return true;
}

static void write_utf8(char **to, uint32_t code) {
  int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char heads[] = {0, 0xc0, 0xe0, 0xf0};
  *(*to)++ = (char)(heads[more] | code >> 6 * more);
  while (more-- > 0) *(*to)++ = (char)(0x80 | (code >> 6 * more & 0x3f));
}

static bool read_unicode_escape(json_reader *from, char **to) {
  uint32_t code, low;
  if (!read_four_hex_digits(from, &code)) return false;
  if (code == 0) return fail_json(from, "a text has a NUL");
  if (code >= 0xd800 && code < 0xdc00) {
    if (!consume_character(from, '\\') || !consume_character(from, 'u'))
      return fail_json(from, "a lone surrogate");
    if (!read_four_hex_digits(from, &low)) return false;
    if (low < 0xdc00 || low > 0xdfff) return fail_json(from, "a lone surrogate");
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  } else if (code >= 0xdc00 && code <= 0xdfff) {
    return fail_json(from, "a lone surrogate");
  }
  write_utf8(to, code);
  return true;
}

static bool read_json_escape(json_reader *from, char **to) {
  static const char signs[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
  if (consume_character(from, 'u')) return read_unicode_escape(from, to);
  const char *found = from->at < from->end && *from->at ? strchr(signs, *from->at) : NULL;
  if (!found) return fail_json(from, "there is no such escape");
  *(*to)++ = meant[found - signs];
  from->at++;
  return true;
}

/* As table 3-7 of the Unicode standard says. */
size_t pd__utf8_sequence_length(const char *bytes, size_t left) {
  const unsigned char *at = (const unsigned char *)bytes;
  size_t length = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
  unsigned char low = *at == 0xe0 ? 0xa0 : *at == 0xf0 ? 0x90 : 0x80;
  unsigned char high = *at == 0xed ? 0x9f : *at == 0xf4 ? 0x8f : 0xbf;
  bool valid = *at >= 0xc2 && *at <= 0xf4 && left >= length && at[1] >= low && at[1] <= high;
  for (size_t i = 2; valid && i < length; i++) valid = (at[i] & 0xc0) == 0x80;
  return valid ? length : 0;
}

static bool copy_utf8_character(json_reader *from, char **to) {
  size_t length = pd__utf8_sequence_length(from->at, (size_t)(from->end - from->at));
  if (length == 0) return fail_json(from, "not UTF-8");
  memcpy(*to, from->at, length);
  *to += length;
  from->at += length;
  return true;
}

static const char *read_json_text(json_reader *from) {
  char *start = from->texts, *to = start;
  if (!consume_character(from, '"')) return fail_json(from, "expected a text"), NULL;
  while (!consume_character(from, '"')) {
    if (from->at == from->end) return fail_json(from, "a text has no end"), NULL;
    unsigned char sign = (unsigned char)*from->at;
    if (sign < 0x20) return fail_json(from, "a control character must be escaped"), NULL;
    if (sign >= 0x80) {
      if (!copy_utf8_character(from, &to)) return NULL;
    } else if (consume_character(from, '\\')) {
      if (!read_json_escape(from, &to)) return NULL;
    } else {
      *to++ = *from->at++;
    }
  }
  *to++ = '\0';
  from->texts = to;
  return start;
}

/* ---- Numbers and words ---- */

static size_t skip_digits(json_reader *from) {
  const char *start = from->at;
  while (from->at < from->end && *from->at >= '0' && *from->at <= '9') from->at++;
  return (size_t)(from->at - start);
}

static const char *read_json_number(json_reader *from) {
  const char *start = from->at;
  consume_character(from, '-');
  bool zero = from->at < from->end && *from->at == '0';
  size_t digits = skip_digits(from);
  bool right = digits > 0 && (!zero || digits == 1);
  if (right && consume_character(from, '.')) right = skip_digits(from) > 0;
  if (right && (consume_character(from, 'e') || consume_character(from, 'E'))) {
    if (!consume_character(from, '+')) consume_character(from, '-');
    right = skip_digits(from) > 0;
  }
  if (!right) return fail_json(from, "a number isn't as JSON writes it"), NULL;
  size_t length = (size_t)(from->at - start);
  char *out = memcpy(from->texts, start, length);
  out[length] = '\0';
  from->texts += length + 1;
  return out;
}

static bool read_json_literal(json_reader *from, pd__value *out) {
  static const char *const words[] = {"true", "false", "null"};
  for (size_t i = 0; i < 3; i++) {
    size_t length = strlen(words[i]);
    if ((size_t)(from->end - from->at) < length) continue;
    if (memcmp(from->at, words[i], length) != 0) continue;
    from->at += length;
    out->kind = i < 2 ? PD__BOOL : PD__NULL;
    out->text = i < 2 ? words[i] : NULL;
    return true;
  }
  return fail_json(from, "expected a value");
}

/* ---- Values ---- */

static pd__value *alloc_json_value(json_reader *from) {
  if (from->value_count == from->value_max) return fail_json(from, "too many values"), NULL;
  pd__value *out = &from->values[from->value_count++];
  *out = (pd__value){.kind = PD__NULL};
  return out;
}

static bool read_json_value(json_reader *from, pd__value *out);

static int compare_member_names(const void *a, const void *b) {
  const pd__value *const *one = a, *const *other = b;
  return strcmp((*one)->name, (*other)->name);
}

/* Sorted, the same names are neighbours. */
static bool check_unique_names(json_reader *from, const pd__value *object, size_t count) {
  bool different = true;
  if (count < 2) return true;
  const pd__value **members = malloc(count * sizeof *members);
  if (!members) return fail_json(from, MEMORY);
  size_t at = 0;
  for (const pd__value *each = object->first; each; each = each->next) members[at++] = each;
  qsort(members, count, sizeof *members, compare_member_names);
  for (size_t i = 1; i < count && different; i++) {
    different = strcmp(members[i - 1]->name, members[i]->name) != 0;
  }
  free(members);
  return different || fail_json(from, "two members have the same name");
}

static bool read_json_element(json_reader *from, bool named, pd__value ***end) {
  pd__value *made = alloc_json_value(from);
  if (!made) return false;
  skip_json_blanks(from);
  if (named) {
    made->name = read_json_text(from);
    if (!made->name) return false;
    skip_json_blanks(from);
    if (!consume_character(from, ':')) return fail_json(from, "expected a colon");
  }
  **end = made;
  *end = &made->next;
  return read_json_value(from, made);
}

static bool read_json_container(json_reader *from, pd__value *out, char close) {
  bool named = close == '}';
  pd__value **end = &out->first;
  size_t count = 0;
  if (++from->depth > PD__DEPTH_MAX) return fail_json(from, "nested too deeply");
  out->kind = named ? PD__OBJECT : PD__ARRAY;
  skip_json_blanks(from);
  bool closed = consume_character(from, close);
  while (!closed) {
    if (!read_json_element(from, named, &end)) return false;
    count++;
    skip_json_blanks(from);
    closed = consume_character(from, close);
    if (!closed && !consume_character(from, ','))
      return fail_json(from, "expected a comma or the end");
  }
  from->depth--;
  return !named || check_unique_names(from, out, count);
}

static bool read_json_value(json_reader *from, pd__value *out) {
  skip_json_blanks(from);
  char sign = from->at < from->end ? *from->at : '\0';
  if (consume_character(from, '{')) return read_json_container(from, out, '}');
  if (consume_character(from, '[')) return read_json_container(from, out, ']');
  if (sign == '"') {
    out->kind = PD__STRING;
    out->text = read_json_text(from);
    return out->text != NULL;
  }
  if (sign != '-' && (sign < '0' || sign > '9')) return read_json_literal(from, out);
  out->kind = PD__NUMBER;
  out->text = read_json_number(from);
  return out->text != NULL;
}

/* There are at most as many values as commas and brackets that open, and one; commas in texts
 * count, too. */
static size_t compute_max_value_count(const char *bytes, size_t length) {
  size_t count = 1;
  for (size_t i = 0; i < length && count < PD__VALUES_MAX; i++) {
    count += bytes[i] == ',' || bytes[i] == '[' || bytes[i] == '{';
  }
  return count;
}

const char *pd__document_read(pd__document *out, const char *bytes, size_t length, size_t *at) {
  size_t count = compute_max_value_count(bytes, length);
  *out = (pd__document){.memory = NULL};
  *at = 0;
  void *memory = malloc(count * sizeof(pd__value) + 2 * length + 2);
  if (!memory) return MEMORY;
  json_reader from = {.start = bytes, .at = bytes, .end = bytes + length, .values = memory};
  from.value_max = count;
  from.texts = (char *)(from.values + count);
  pd__value *root = alloc_json_value(&from);
  bool read = read_json_value(&from, root);
  skip_json_blanks(&from);
  if (read && from.at < from.end) fail_json(&from, "something follows the value");
  *at = (size_t)(from.at - from.start);
  if (from.wrong) free(memory);
  if (!from.wrong) *out = (pd__document){root, memory};
  return from.wrong;
}

void pd__document_free(pd__document *document) {
  free(document->memory);
  *document = (pd__document){.memory = NULL};
}

const pd__value *pd__value_find_member(const pd__value *object, const char *name) {
  const pd__value *at = object && object->kind == PD__OBJECT ? object->first : NULL;
  while (at && strcmp(at->name, name) != 0) at = at->next;
  return at;
}

size_t pd__values_count(const pd__value *first) {
  size_t count = 0;
  for (; first; first = first->next) count++;
  return count;
}
