/* One request: its headers and parameters, and the response to it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/sized.h"
#include "live.h"

/* ---- The request ---- */

static bool same_name(const char *a, const char *b) {
  for (; *a && *b; a++, b++) {
    char left = *a >= 'A' && *a <= 'Z' ? (char)(*a - 'A' + 'a') : *a;
    char right = *b >= 'A' && *b <= 'Z' ? (char)(*b - 'A' + 'a') : *b;
    if (left != right) return false;
  }
  return *a == *b;
}

const char *pd__call_find_header(const pd__call *call, const char *name, size_t *count) {
  const char *found = NULL;
  *count = 0;
  for (size_t i = 0; i < call->request->header_count; i++) {
    const pd_live_header *header = &call->request->headers[i];
    if (!header->name || !header->value || !same_name(header->name, name)) continue;
    found = header->value;
    ++*count;
  }
  return found;
}

const char *pd__call_parameter(const pd__call *call, const char *name) {
  for (size_t i = 0; i < call->parameter_count; i++) {
    if (!strcmp(call->parameters[i].name, name)) return call->parameters[i].value;
  }
  return NULL;
}

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

char *pd__call_decode(pd__call *call, const char *text, size_t length) {
  char *out = pd__arena_alloc(call->arena, length + 1), *to = out;
  const char *end = text + length;
  for (; out && text < end; text++) {
    int high = 0, low = 0;
    bool escaped = *text == '%';
    if (escaped) {
      high = end - text > 2 ? digit_of(text[1]) : -1;
      low = high < 0 ? -1 : digit_of(text[2]);
    }
    if (low < 0 || (escaped && high == 0 && low == 0)) return NULL;
    char byte = *text;
    if (escaped) byte = (char)(high << 4 | low);
    if (escaped) text += 2;
    *to++ = byte;
  }
  return out;
}

/* ---- The response ---- */

void pd__call_header(pd__call *call, const char *name, const char *value) {
  pd_live_response *response = call->response;
  if (!call->headers || response->header_count == PD__HEADERS_MAX) return;
  call->headers[response->header_count++] = (pd_live_header){name, value};
}

/* What every response says: it is of no use to other sites, and never kept. */
static void add_common_headers(pd__call *call) {
  static const char policy[] =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
      "img-src 'self' data:; form-action 'none'; base-uri 'none'; frame-ancestors 'none'";
  pd__call_header(call, "Cache-Control", "no-store");
  pd__call_header(call, "Content-Security-Policy", policy);
  pd__call_header(call, "Cross-Origin-Opener-Policy", "same-origin");
  pd__call_header(call, "Cross-Origin-Resource-Policy", "same-origin");
  pd__call_header(call, "Referrer-Policy", "no-referrer");
  pd__call_header(call, "X-Content-Type-Options", "nosniff");
  pd__call_header(call, "X-Frame-Options", "DENY");
}

void pd__call_finish(pd__call *call, uint32_t status, const char *type) {
  pd_live_response *response = call->response;
  response->status = status;
  response->body = call->out.text ? call->out.text : "";
  response->length = call->out.length;
  if (type) pd__call_header(call, "Content-Type", type);
  add_common_headers(call);
}

/* ---- Problem details (RFC 9457) ---- */

#define PROBLEM_ROW(name, status, end, title) {status, end, title},
static const struct {
  uint32_t status;
  const char *end, *title;
} rows[] = {PD__PROBLEM_MAP(PROBLEM_ROW)};

void pd__problem_begin(pd__call *call, pd__problem problem, const char *detail) {
  size_t row = 0;
  while (row + 1 < sizeof rows / sizeof *rows && rows[row].status != (uint32_t)problem) row++;
  pd__out_clear(&call->out);
  call->json = (pd__json){.out = &call->out, .compact = true, .place = {.arena = call->arena}};
  pd__json_open(&call->json, "{");
  pd__json_begin_member(&call->json, "type");
  pd__out_add_format(&call->out, "\"urn:paddle-flags:problem:%s\"", rows[row].end);
  pd__json_add_text(&call->json, "title", rows[row].title);
  pd__json_add_number(&call->json, "status", problem);
  pd__json_add_text(&call->json, "detail", detail);
}

void pd__problem_end(pd__call *call, pd__problem problem) {
  pd__json_close(&call->json, "}");
  if (problem == PD__PROBLEM_TOKEN) pd__call_header(call, "WWW-Authenticate", "Bearer");
  pd__call_finish(call, problem, "application/problem+json");
}

void pd__call_fail(pd__call *call, pd__problem problem, const char *format, ...) {
  pd_error text;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text.message, sizeof text.message, format, arguments);
  va_end(arguments);
  pd__problem_begin(call, problem, text.message);
  pd__problem_end(call, problem);
}

pd_live_who pd__call_who(const pd__call *call) {
  pd_live_who who = call->request->who;
  if (call->label) who.label = call->label;
  return who;
}

/* ---- Its memory ---- */

pd_status pd__response_begin(pd_live_response *response, pd_error *err) {
  size_t least = PD__SIZE_UP_TO(pd_live_response, owner);
  pd_status status = pd__sized_check(response, least, "response", err);
  if (status != PD_OK) return status;
  size_t size = response->size;
  memset(response, 0, size);
  response->size = size;
  response->owner = calloc(1, sizeof(pd__arena));
  return response->owner ? PD_OK : pd__fail_memory(err);
}

void pd_live_response_free(pd_live_response *response) {
  if (!response || !response->owner) return;
  pd__arena_free(response->owner);
  free(response->owner);
  size_t size = response->size;
  memset(response, 0, size);
  response->size = size;
}

pd_status pd__response_end(pd_live_response *response, pd_error *err) {
  const pd__arena *arena = response->owner;
  if (!arena->failed) return PD_OK;
  pd_live_response_free(response);
  return pd__fail_memory(err);
}
