#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "utf8.h"

typedef struct listed {
  pd_error error;
  pd_flag *flag; /* or NULL */
} listed;

struct pd_error_list {
  pd__arena arena; /* owns `items` */
  listed *items;
  size_t count;
  size_t capacity;
};

/* Returns the length of the UTF-8 character at `text`; 0 for an invalid byte or a control
 * character. */
static size_t measure_printable_character(const char *text) {
  uint32_t code;
  size_t length = pd__utf8_decode(text, &code);
  return code < 0x20 || (code >= 0x7f && code < 0xa0) ? 0 : length;
}

/* Replace invalid and control bytes: paths and choices are inserted unquoted. */
static void replace_unprintable(char *message) {
  char *out = message;
  for (const char *at = message; *at; at++) {
    size_t length = measure_printable_character(at);
    *out++ = length == 0 ? '?' : *at;
    for (; length > 1; length--) *out++ = *++at;
  }
  *out = '\0';
}

static bool is_continuation_byte(char byte) { return ((unsigned char)byte & 0xc0) == 0x80; }

void pd__shorten_text(char *text, size_t size) {
  if (strlen(text) < size) return;
  size_t end = size - sizeof "...";
  while (end > 0 && is_continuation_byte(text[end])) end--;
  strcpy(text + end, "...");
}

const char *pd__path_tail(const char *path, size_t most) {
  size_t length = strlen(path);
  if (length <= most) return path;
  for (path += length - most; is_continuation_byte(*path);) path++;
  return path;
}

const char *pd__base_name(const char *path) {
  const char *base = path;
  for (; path && *path; path++) {
    if (*path == '/' || *path == '\\') base = path + 1;
  }
  return base;
}

static void format_error(pd_error *err, pd_status status, const char *format, va_list arguments) {
  int length = vsnprintf(err->message, sizeof err->message, format, arguments);
  if (length >= (int)sizeof err->message) pd__shorten_text(err->message, sizeof err->message - 1);
  err->status = status;
  replace_unprintable(err->message);
}

pd_status pd__fail(pd_error *err, pd_status status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  if (err) format_error(err, status, format, arguments);
  va_end(arguments);
  return status;
}

pd_status pd__fail_null(pd_error *err, const char *parameter) {
  return pd__fail(err, PD_ERR_ARGUMENT, "%s is NULL", parameter);
}

pd_status pd__fail_memory(pd_error *err) { return pd__fail(err, PD_ERR_MEMORY, "out of memory"); }

void pd__append_format(char *buffer, size_t size, const char *format, ...) {
  size_t used = strlen(buffer);
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(buffer + used, size - used, format, arguments);
  va_end(arguments);
  if (length >= (int)(size - used)) pd__shorten_text(buffer, size - 1);
}

bool pd__append_item(char *buffer, size_t size, const char *item) {
  const char *separator = *buffer ? ", " : "";
  bool fits = strlen(buffer) + strlen(separator) + strlen(item) + sizeof ", ..." <= size;
  pd__append_format(buffer, size, "%s%s", separator, fits ? item : "...");
  return fits;
}

const char *pd__escape_part(char out[PD__ESCAPED_SIZE], const char *text, size_t length) {
  const char *at = text, *end = text + length;
  size_t used = 0;
  while (at < end && used < PD__ESCAPED_SIZE - 8) {
    size_t bytes = measure_printable_character(at);
    if (bytes == 0) {
      used += (size_t)snprintf(out + used, 5, "\\x%02x", (unsigned char)*at++);
    } else {
      memcpy(out + used, at, bytes);
      used += bytes;
      at += bytes;
    }
  }
  strcpy(out + used, at < end ? "..." : "");
  return out;
}

const char *pd__escape_text(char out[PD__ESCAPED_SIZE], const char *text) {
  return pd__escape_part(out, text, strlen(text));
}

pd_status pd__fail_load(const char *path, const char *why, pd_error *err) {
  char shown[PD__ESCAPED_SIZE], reason[PD__ESCAPED_SIZE * 4];
  snprintf(reason, sizeof reason, "%s", why);
  for (char *at = reason; (at = strchr(at, '\n'));) *at = ' ';
  bool fits = strlen(path) < 512 && !strpbrk(path, "\n\r\t");
  if (!fits) path = pd__escape_text(shown, path);
  return pd__fail(err, PD_ERR_LOAD, "%s%s%s", path, *path ? ": " : "", reason);
}

#define STATUS_WORDS(name, number, text)                                                           \
  case PD_##name:                                                                                  \
    return is_text ? text : "PD_" #name;
static const char *get_status_words(pd_status status, bool is_text) {
  switch (status) { PD_STATUS_MAP(STATUS_WORDS) }
  return "unknown";
}

const char *pd_status_name(pd_status status) { return get_status_words(status, false); }
const char *pd_status_text(pd_status status) { return get_status_words(status, true); }

pd_error_list *pd_error_list_new(void) { return calloc(1, sizeof(pd_error_list)); }

void pd_error_list_free(pd_error_list *list) {
  if (!list) return;
  pd__arena_free(&list->arena);
  free(list);
}

size_t pd_error_list_count(const pd_error_list *list) { return list ? list->count : 0; }

const pd_error *pd_error_list_at(const pd_error_list *list, size_t index) {
  return list && index < list->count ? &list->items[index].error : NULL;
}

pd_flag *pd_error_list_get_flag(const pd_error_list *list, size_t index) {
  return list && index < list->count ? list->items[index].flag : NULL;
}

/* If memory is out, the error is dropped from the list; the first error and the status still reach
 * the caller. */
static void append_error(pd_error_list *list, const pd_error *err, pd_flag *flag) {
  listed *items = pd__arena_grow_if_full(&list->arena, list->items, list->count, &list->capacity,
                                         sizeof *items);
  if (!items) return;
  list->items = items;
  list->items[list->count++] = (listed){*err, flag};
}

void pd__report_add(pd__report *report, const pd_error *err) {
  if (report->list) append_error(report->list, err, report->flag);
  if (report->status != PD_OK) return;
  report->status = err->status;
  if (report->first) *report->first = *err;
}

void pd__report_fail(pd__report *report, pd_status status, const char *format, ...) {
  pd_error err;
  va_list arguments;
  va_start(arguments, format);
  format_error(&err, status, format, arguments);
  va_end(arguments);
  pd__report_add(report, &err);
}

void pd__report_add_error_list(pd__report *report, const pd_error_list *errors) {
  for (size_t i = 0; i < pd_error_list_count(errors); i++) {
    report->flag = pd_error_list_get_flag(errors, i);
    pd__report_add(report, pd_error_list_at(errors, i));
  }
  report->flag = NULL;
}

void pd__report_fail_memory(pd__report *report) {
  pd__report_fail(report, PD_ERR_MEMORY, "out of memory");
}
