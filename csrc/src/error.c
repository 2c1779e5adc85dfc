#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pd_error_list {
  pd_error *items;
  size_t count;
  size_t capacity;
};

pd_status pd__fail(pd_error *err, pd_status status, const char *format, ...) {
  if (err) {
    va_list arguments;
    va_start(arguments, format);
    err->status = status;
    vsnprintf(err->message, sizeof err->message, format, arguments);
    va_end(arguments);
  }
  return status;
}

pd_status pd__fail_null(pd_error *err, const char *parameter) {
  return pd__fail(err, PD_ERR_ARGUMENT, "%s is NULL", parameter);
}

pd_status pd__fail_memory(pd_error *err) {
  return pd__fail(err, PD_ERR_MEMORY, "out of memory");
}

/* Give the length of the UTF-8 character at `text`, 1 for a stray byte. */
static size_t character_length(const unsigned char *text) {
  size_t length = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : text[0] >= 0xc0 ? 2 : 1;
  for (size_t i = 1; i < length; i++) {
    if ((text[i] & 0xc0) != 0x80) return 1;
  }
  return length;
}

const char *pd__quote(char out[PD__QUOTE_SIZE], const char *text) {
  const unsigned char *at = (const unsigned char *)text;
  size_t used = 0;
  while (*at && used < PD__QUOTE_SIZE - 8) {
    size_t length = character_length(at);
    if (length == 1 && (*at < 0x20 || *at >= 0x7f)) {
      used += (size_t)snprintf(out + used, 5, "\\x%02x", *at);
    } else {
      memcpy(out + used, at, length);
      used += length;
    }
    at += length;
  }
  strcpy(out + used, *at ? "..." : "");
  return out;
}

#define STATUS_NAME(name, number, text)                                                            \
  case PD_##name:                                                                                  \
    return "PD_" #name;
const char *pd_status_name(pd_status status) {
  switch (status) { PD_STATUS_MAP(STATUS_NAME) }
  return "unknown";
}

#define STATUS_TEXT(name, number, text)                                                            \
  case PD_##name:                                                                                  \
    return text;
const char *pd_status_text(pd_status status) {
  switch (status) { PD_STATUS_MAP(STATUS_TEXT) }
  return "unknown";
}

pd_error_list *pd_error_list_new(void) { return calloc(1, sizeof(pd_error_list)); }

void pd_error_list_free(pd_error_list *list) {
  if (!list) return;
  free(list->items);
  free(list);
}

size_t pd_error_list_count(const pd_error_list *list) { return list ? list->count : 0; }

const pd_error *pd_error_list_at(const pd_error_list *list, size_t index) {
  return list && index < list->count ? &list->items[index] : NULL;
}

/* When memory is out the list ends here; the first error and the status still
 * reach the caller. */
static void append(pd_error_list *list, const pd_error *err) {
  if (list->count == list->capacity) {
    size_t capacity = list->capacity ? 2 * list->capacity : 4;
    pd_error *items = realloc(list->items, capacity * sizeof *items);
    if (!items) return;
    list->items = items;
    list->capacity = capacity;
  }
  list->items[list->count++] = *err;
}

void pd__report_add(pd__report *report, const pd_error *err) {
  if (report->list) append(report->list, err);
  if (report->status != PD_OK) return;
  report->status = err->status;
  if (report->first) *report->first = *err;
}

void pd__report_add_all(pd__report *report, const pd_error_list *errors) {
  for (size_t i = 0; i < pd_error_list_count(errors); i++) {
    pd__report_add(report, pd_error_list_at(errors, i));
  }
}

const char *pd_version(void) { return PD_VERSION; }
