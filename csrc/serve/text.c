#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void pd__text_free(pd__text *text) {
  free(text->data);
  *text = (pd__text){.data = NULL};
}

static bool make_room(pd__text *text, size_t length) {
  size_t needed = text->length + length + 1;
  if (text->failed) return false;
  if (needed <= text->capacity) return true;
  size_t capacity = needed < 512 ? 512 : needed + needed / 2;
  char *data = realloc(text->data, capacity);
  text->failed = !data;
  if (!data) return false;
  text->data = data;
  text->capacity = capacity;
  return true;
}

void pd__text_add(pd__text *text, const char *bytes, size_t length) {
  if (!make_room(text, length)) return;
  memcpy(text->data + text->length, bytes, length);
  text->length += length;
  text->data[text->length] = '\0';
}

void pd__text_add_format(pd__text *text, const char *format, ...) {
  char buffer[256];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(buffer, sizeof buffer, format, arguments);
  va_end(arguments);
  if (length >= (int)sizeof buffer) length = sizeof buffer - 1;
  if (length > 0) pd__text_add(text, buffer, (size_t)length);
}

/* ---- JSON ---- */

/* A value follows another one unless it is the first, or has its name before it. */
static void begin_value(pd__text *to) {
  char last = to->length > 0 ? to->data[to->length - 1] : '\n';
  if (!strchr("{[:\n", last)) pd__text_add(to, ",", 1);
}

void pd__json_raw(pd__text *to, const char *json) {
  begin_value(to);
  pd__text_add(to, json, strlen(json));
}

void pd__json_open(pd__text *to, char sign) {
  begin_value(to);
  pd__text_add(to, &sign, 1);
}

void pd__json_close(pd__text *to, char sign) { pd__text_add(to, &sign, 1); }

/* Reads the character at `at`, which isn't ASCII, and returns its length; 0: it isn't UTF-8. */
static size_t read_character(const unsigned char *at, uint32_t *code) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  size_t length = *at >= 0xf0 ? 4 : *at >= 0xe0 ? 3 : 2;
  if (*at < 0xc2 || *at > 0xf4) return 0;
  *code = *at & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0; /* also the NUL */
    *code = *code << 6 | (at[i] & 0x3fu);
  }
  bool valid = *code >= least[length] && *code <= 0x10ffff && (*code < 0xd800 || *code > 0xdfff);
  return valid ? length : 0;
}

static size_t add_escaped(pd__text *to, const unsigned char *at) {
  uint32_t code = *at;
  size_t length = 1;
  if (*at >= 0x80) {
    length = read_character(at, &code);
    if (length == 0) code = 0xdc00 + *at;
  }
  if (code > 0xffff) {
    code -= 0x10000;
    pd__text_add_format(to, "\\u%04x\\u%04x", 0xd800 + (code >> 10), 0xdc00 + (code & 0x3ff));
  } else if (code == '"' || code == '\\') {
    pd__text_add_format(to, "\\%c", (int)code);
  } else {
    pd__text_add_format(to, "\\u%04x", code);
  }
  return length > 0 ? length : 1;
}

static void add_quoted(pd__text *to, const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  pd__text_add(to, "\"", 1);
  while (*at) {
    const unsigned char *plain = at;
    while (*at >= 0x20 && *at < 0x7f && *at != '"' && *at != '\\') at++;
    pd__text_add(to, (const char *)plain, (size_t)(at - plain));
    if (*at) at += add_escaped(to, at);
  }
  pd__text_add(to, "\"", 1);
}

void pd__json_name(pd__text *to, const char *name) {
  begin_value(to);
  add_quoted(to, name);
  pd__text_add(to, ":", 1);
}

void pd__json_text(pd__text *to, const char *text) {
  begin_value(to);
  if (text) add_quoted(to, text);
  if (!text) pd__text_add(to, "null", 4);
}

void pd__json_number(pd__text *to, uint64_t number) {
  begin_value(to);
  pd__text_add_format(to, "%llu", (unsigned long long)number);
}

void pd__json_shown(pd__text *to, const char *text) {
  char digest[65];
  size_t length = text ? strlen(text) : 0;
  if (length <= PD__SHOWN_MAX) {
    pd__json_text(to, text);
    return;
  }
  pd__sha256(text, length, digest);
  pd__json_open(to, '{');
  pd__json_add_number(to, "length", length);
  pd__json_add_text(to, "sha256", digest);
  pd__json_close(to, '}');
}

void pd__json_add_text(pd__text *to, const char *name, const char *text) {
  pd__json_name(to, name);
  pd__json_text(to, text);
}

void pd__json_add_optional(pd__text *to, const char *name, const char *text) {
  if (text && *text) pd__json_add_text(to, name, text);
}

void pd__json_add_shown(pd__text *to, const char *name, const char *text) {
  pd__json_name(to, name);
  pd__json_shown(to, text);
}

void pd__json_add_number(pd__text *to, const char *name, uint64_t number) {
  pd__json_name(to, name);
  pd__json_number(to, number);
}

void pd__json_add_bool(pd__text *to, const char *name, bool value) {
  pd__json_name(to, name);
  pd__json_raw(to, value ? "true" : "false");
}

void pd__json_add_time(pd__text *to, const char *name, int64_t at) {
  char text[64];
  struct tm parts;
  time_t seconds = (time_t)(at / 1000);
  pd__json_name(to, name);
  if (at == 0 || !gmtime_r(&seconds, &parts)) {
    pd__json_text(to, NULL);
    return;
  }
  size_t length = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  snprintf(text + length, sizeof text - length, ".%03dZ", (int)(at % 1000));
  pd__json_text(to, text);
}
