/* Requests of the live API, for tests in C. A body is given as flat fields: a path, a kind and a
 * text each. */
#ifndef ASKING_H
#define ASKING_H

#include "check.h"

static pd_live *live;
static char answer[1 << 20]; /* the body of the last response */
static char header_lines[4096];

__attribute__((unused)) static void serve(const char *settable) {
  pd_live_options options = {.size = sizeof options, .settable = settable};
  CHECK_OK(pd_live_open(&options, &live, &err));
}

static uint32_t send_request(pd_live_request *request) {
  pd_live_response response = {.size = sizeof response};
  header_lines[0] = '\0';
  CHECK_OK(pd_live_answer(live, request, &response, &err));
  size_t length = response.body ? response.length : 0;
  CHECK(length < sizeof answer);
  memcpy(answer, response.body ? response.body : "", length);
  answer[length] = '\0';
  for (size_t i = 0; i < response.header_count; i++) {
    strcat(strcat(header_lines, response.headers[i].name), ": ");
    strcat(strcat(header_lines, response.headers[i].value), "\n");
  }
  uint32_t status = response.status;
  pd_live_response_free(&response);
  return status;
}

static pd_live_request request_of(const char *method, const char *target) {
  pd_live_request request = {.size = sizeof request, .method = method, .target = target};
  request.may = PD_LIVE_READ | PD_LIVE_CHANGE;
  request.who = (pd_live_who){.uid = 1000, .pid = 77, .command = "test"};
  return request;
}

__attribute__((unused)) static uint32_t get(const char *target) {
  pd_live_request request = request_of("GET", target);
  return send_request(&request);
}

static uint32_t post_as(int64_t uid, const char *target, const pd_live_field *fields,
                        size_t count) {
  static const pd_live_header json = {"Content-Type", "application/json"};
  pd_live_request request = request_of("POST", target);
  request.headers = &json;
  request.header_count = 1;
  request.has_body = true;
  request.fields = fields;
  request.field_count = count;
  request.who.uid = uid;
  return send_request(&request);
}

#define OBJECT                                                                                     \
  { "", PD_LIVE_OBJECT, NULL }
#define TEXT(path, text)                                                                           \
  { path, PD_LIVE_TEXT, text }
#define POST(target, ...)                                                                          \
  post_as(1000, target, (const pd_live_field[]){OBJECT, __VA_ARGS__},                              \
          sizeof((const pd_live_field[]){OBJECT, __VA_ARGS__}) / sizeof(pd_live_field))
#define CHANGE(...) POST("/v1/changes", __VA_ARGS__)
#define UNDO(...) POST("/v1/undo", __VA_ARGS__)

#define CHECK_HAS(text, part)                                                                      \
  do {                                                                                             \
    if (!strstr(text, part)) check_fail(__FILE__, __LINE__, "%s\n  is not in\n%s", part, text);    \
  } while (0)

/* The events after a revision, in `answer`. */
__attribute__((unused)) static uint64_t read_events(uint64_t since) {
  pd_live_response response = {.size = sizeof response};
  CHECK_OK(pd_live_events(since, &response, &err));
  uint64_t next = response.revision;
  CHECK(response.length < sizeof answer);
  memcpy(answer, response.body ? response.body : "", response.length);
  answer[response.length] = '\0';
  pd_live_response_free(&response);
  return next;
}

#endif /* ASKING_H */
