/* Problem details (RFC 9457). */
#include "live.h"

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
  pd__json_key(&call->json, "type");
  pd__out_format(&call->out, "\"urn:paddle-flags:problem:%s\"", rows[row].end);
  pd__json_add_text(&call->json, "title", rows[row].title);
  pd__json_add_number(&call->json, "status", problem);
  pd__json_add_text(&call->json, "detail", detail);
}

void pd__problem_end(pd__call *call, pd__problem problem) {
  pd__json_close(&call->json, "}");
  if (problem == PD__PROBLEM_TOKEN) pd__call_header(call, "WWW-Authenticate", "Bearer");
  pd__call_finish(call, problem, "application/problem+json");
}
