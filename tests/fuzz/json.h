/* A checker of JSON (RFC 8259) for the fuzz targets: stricter than any parser, and ASCII only. */
#ifndef FUZZ_JSON_H
#define FUZZ_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct json_at {
  const char *at, *end;
} json_at;

static inline bool json_value(json_at *in, int depth);

static inline void json_blank(json_at *in) {
  while (in->at < in->end && strchr(" \t\r\n", *in->at) && *in->at) in->at++;
}

static inline bool json_take(json_at *in, char c) {
  if (in->at == in->end || *in->at != c) return false;
  in->at++;
  return true;
}

static inline bool json_word(json_at *in, const char *word) {
  size_t length = strlen(word);
  if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length) != 0) return false;
  in->at += length;
  return true;
}

static inline bool json_escape(json_at *in) {
  if (in->at == in->end) return false;
  char c = *in->at++;
  if (c != 'u') return c && strchr("\"\\/bfnrt", c);
  for (int i = 0; i < 4; i++, in->at++) {
    if (in->at == in->end || !*in->at || !strchr("0123456789abcdefABCDEF", *in->at)) return false;
  }
  return true;
}

static inline bool json_string(json_at *in) {
  if (!json_take(in, '"')) return false;
  while (in->at < in->end && *in->at != '"') {
    unsigned char c = (unsigned char)*in->at++;
    if (c < ' ' || c > '~') return false;
    if (c == '\\' && !json_escape(in)) return false;
  }
  return json_take(in, '"');
}

static inline size_t json_digits(json_at *in) {
  const char *from = in->at;
  while (in->at < in->end && *in->at >= '0' && *in->at <= '9') in->at++;
  return (size_t)(in->at - from);
}

static inline bool json_number(json_at *in) {
  json_take(in, '-');
  if (!json_take(in, '0') && json_digits(in) == 0) return false;
  if (json_take(in, '.') && json_digits(in) == 0) return false;
  if (!json_take(in, 'e') && !json_take(in, 'E')) return true;
  if (!json_take(in, '+')) json_take(in, '-');
  return json_digits(in) > 0;
}

static inline bool json_member(json_at *in, bool object, int depth) {
  json_blank(in);
  if (object) {
    if (!json_string(in)) return false;
    json_blank(in);
    if (!json_take(in, ':')) return false;
  }
  if (!json_value(in, depth)) return false;
  json_blank(in);
  return true;
}

static inline bool json_container(json_at *in, bool object, int depth) {
  char closes = object ? '}' : ']';
  json_blank(in);
  if (json_take(in, closes)) return true;
  do {
    if (!json_member(in, object, depth)) return false;
  } while (json_take(in, ','));
  return json_take(in, closes);
}

static inline bool json_value(json_at *in, int depth) {
  json_blank(in);
  if (in->at == in->end || depth > 32) return false;
  if (*in->at == '"') return json_string(in);
  if (json_take(in, '{')) return json_container(in, true, depth + 1);
  if (json_take(in, '[')) return json_container(in, false, depth + 1);
  return json_word(in, "true") || json_word(in, "false") || json_word(in, "null") ||
         json_number(in);
}

/* Whether all of the text is one value. */
static inline bool json_valid(const char *text, size_t length) {
  json_at in = {text, text + length};
  if (!json_value(&in, 0)) return false;
  json_blank(&in);
  return in.at == in.end;
}

#endif /* FUZZ_JSON_H */
