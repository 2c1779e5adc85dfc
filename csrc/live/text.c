#include "text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "json.h"

void pd__text_free(pd__text *text) {
  free(text->data);
  *text = (pd__text){.data = NULL};
}

static bool reserve_text(pd__text *text, size_t length) {
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
  if (!reserve_text(text, length)) return;
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
static void write_comma_if_needed(pd__text *to) {
  char last = to->length > 0 ? to->data[to->length - 1] : '\n';
  if (!strchr("{[:\n", last)) pd__text_add(to, ",", 1);
}

/* Copies a character that isn't plain ASCII, or writes what stands for it; returns its length. */
static size_t write_special_character(pd__text *to, const char *at) {
  unsigned char sign = (unsigned char)*at;
  size_t length = sign >= 0x80 ? pd__utf8_sequence_length(at, strnlen(at, 4)) : 0;
  if (length > 0)
    pd__text_add(to, at, length);
  else if (sign == '"' || sign == '\\')
    pd__text_add_format(to, "\\%c", sign);
  else
    pd__text_add_format(to, "\\u%04x", sign < 0x80 ? sign : 0xdc00u + sign);
  return length > 0 ? length : 1;
}

static void write_quoted_text(pd__text *to, const char *text) {
  pd__text_add(to, "\"", 1);
  while (*text) {
    const char *plain = text;
    while (*text >= 0x20 && *text < 0x7f && *text != '"' && *text != '\\') text++;
    pd__text_add(to, plain, (size_t)(text - plain));
    if (*text) text += write_special_character(to, text);
  }
  pd__text_add(to, "\"", 1);
}

void pd__json_put_name(pd__text *to, const char *name) {
  write_comma_if_needed(to);
  if (!name) return;
  write_quoted_text(to, name);
  pd__text_add(to, ":", 1);
}

void pd__json_begin(pd__text *to, const char *name, char sign) {
  pd__json_put_name(to, name);
  pd__text_add(to, &sign, 1);
}

void pd__json_end(pd__text *to, const char *signs) { pd__text_add(to, signs, strlen(signs)); }

void pd__json_put_raw(pd__text *to, const char *name, const char *json) {
  pd__json_put_name(to, name);
  pd__text_add(to, json, strlen(json));
}

void pd__json_put_text(pd__text *to, const char *name, const char *text) {
  pd__json_put_name(to, name);
  if (text) write_quoted_text(to, text);
  if (!text) pd__text_add(to, "null", 4);
}

void pd__json_put_nonempty_text(pd__text *to, const char *name, const char *text) {
  if (text && *text) pd__json_put_text(to, name, text);
}

void pd__json_put_number(pd__text *to, const char *name, int64_t number) {
  pd__json_put_name(to, name);
  pd__text_add_format(to, "%lld", (long long)number);
}

void pd__json_put_bool(pd__text *to, const char *name, bool value) {
  pd__json_put_raw(to, name, value ? "true" : "false");
}

void pd__json_put_text_or_digest(pd__text *to, const char *name, const char *text) {
  char digest[65];
  size_t length = text ? strlen(text) : 0;
  if (length <= PD__PLAIN_TEXT_MAX) {
    pd__json_put_text(to, name, text);
    return;
  }
  pd__sha256_write_hex(text, length, digest);
  pd__json_begin(to, name, '{');
  pd__json_put_number(to, "length", length);
  pd__json_put_text(to, "sha256", digest);
  pd__json_end(to, "}");
}

char *pd__text_to_json_or_digest(const char *text) {
  pd__text out = {.data = NULL};
  if (!text) return NULL;
  pd__json_put_text_or_digest(&out, NULL, text);
  if (out.failed) pd__text_free(&out);
  return out.data;
}

void pd__json_put_time(pd__text *to, const char *name, int64_t at) {
  char text[64];
  struct tm parts;
  time_t seconds = (time_t)(at / 1000);
  bool known = at != 0 && gmtime_r(&seconds, &parts);
  size_t length = known ? strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts) : 0;
  snprintf(text + length, sizeof text - length, ".%03dZ", (int)(at % 1000));
  pd__json_put_text(to, name, known ? text : NULL);
}

/* ---- Errors and warnings ---- */

pd_status pd__live_fail(pd_error *err, pd_status status, const char *format, ...) {
  if (!err) return status;
  va_list arguments;
  va_start(arguments, format);
  err->status = status;
  vsnprintf(err->message, sizeof err->message, format, arguments);
  va_end(arguments);
  return status;
}

pd_status pd__live_fail_memory(pd_error *err) {
  return pd__live_fail(err, PD_ERR_MEMORY, "%s", pd_status_text(PD_ERR_MEMORY));
}

pd_status pd__live_fail_errno(pd_error *err, const char *what, const char *path) {
  return pd__live_fail(err, PD_ERR_FILE, "%s: %.400s: %m", path, what);
}

void pd__live_warn(const char *format, ...) {
  char text[1400]; /* a message of an error, and where it comes from */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  pd_warning_report(text, NULL);
}
