/* Which request gets which answer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/sized.h"
#include "live.h"

#define BODY_MAX_TEXT "1048576"

/* ---- Routes ---- */

typedef struct route {
  const char *path;
  void (*get)(pd__call *call);  /* or NULL */
  void (*post)(pd__call *call); /* or NULL */
} route;

static const route routes[] = {
    {"/v1/process", pd__get_process, NULL},
    {"/v1/flags", pd__get_flags, NULL},
    {"/v1/changes", pd__get_changes, pd__post_changes},
    {"/v1/undo", NULL, pd__post_undo},
    {"/v1/events", pd__get_events, NULL},
    {"/v1/fleet", pd__get_fleet, NULL},
    {"/v1/fleet/changes", NULL, pd__post_fleet},
};

static const route *find_route(const char *path) {
  for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
    if (!strcmp(routes[i].path, path)) return &routes[i];
  }
  return NULL;
}

/* ---- Files that everybody may read ---- */

typedef struct asset {
  const char *begins, *ends, *type;
} asset;

static const asset assets[] = {
    {"/page", ".js", "text/javascript; charset=utf-8"},
    {"/page", ".css", "text/css; charset=utf-8"},
    {"/v1/openapi", ".json", "application/json"},
    {"/v1/schemas/", ".json", "application/json"},
};

/* Names have small letters, digits and hyphens, so none leads out of the folder. */
static bool is_asset(const asset *row, const char *path) {
  size_t begins = strlen(row->begins), ends = strlen(row->ends), length = strlen(path);
  if (length < begins + ends || strncmp(path, row->begins, begins) != 0) return false;
  if (strcmp(path + length - ends, row->ends) != 0) return false;
  size_t middle = strspn(path + begins, "abcdefghijklmnopqrstuvwxyz0123456789-");
  return middle == length - begins - ends;
}

static const char *find_asset(const char *path, const char **type) {
  *type = "text/html; charset=utf-8";
  if (!strcmp(path, "/")) return "page.html";
  for (size_t i = 0; i < sizeof assets / sizeof *assets; i++) {
    if (!is_asset(&assets[i], path)) continue;
    *type = assets[i].type;
    return strncmp(path, "/v1/", 4) == 0 ? path + 4 : path + 1;
  }
  return NULL;
}

/* ---- Methods, parameters and bodies ---- */

static bool is_method(const pd__call *call, const char *name) {
  return !strcmp(call->request->method, name);
}

static bool is_read(const pd__call *call) {
  return is_method(call, "GET") || is_method(call, "HEAD");
}

static void fail_method(pd__call *call, const char *allowed) {
  char shown[PD__QUOTE_SIZE];
  pd__call_header(call, "Allow", allowed);
  pd__call_fail(call, PD__PROBLEM_METHOD, "%s is not for this resource, expected %s",
                pd__quote_text(shown, call->request->method), allowed);
}

static bool check_parameters(pd__call *call, const char *known) {
  for (size_t i = 0; i < call->parameter_count; i++) {
    char shown[PD__QUOTE_SIZE];
    if (known && !strcmp(call->parameters[i].name, known)) continue;
    pd__call_fail(call, PD__PROBLEM_MALFORMED, "there is no parameter %s%s%s here",
                  pd__quote_text(shown, call->parameters[i].name), known ? ", only " : "",
                  known ? known : "");
    return false;
  }
  return true;
}

static bool is_json(const char *type) {
  static const char json[] = "application/json";
  size_t length = strcspn(type, "; \t");
  if (length != sizeof json - 1) return false;
  for (size_t i = 0; i < length; i++) {
    char c = type[i] >= 'A' && type[i] <= 'Z' ? (char)(type[i] + 32) : type[i];
    if (c != json[i]) return false;
  }
  return true;
}

/* Returns false after it has ended the call, or if the body must be read first. */
static bool has_body(pd__call *call) {
  size_t count;
  const char *type = pd__call_find_header(call, "Content-Type", &count);
  if (count != 1 || !is_json(type)) {
    pd__call_fail(call, PD__PROBLEM_MEDIA_TYPE,
                  "expected the header Content-Type: application/json");
    return false;
  }
  const char *length = pd__call_find_header(call, "Content-Length", &count);
  if (length && (strlen(length) > 18 || strtol(length, NULL, 10) > PD_LIVE_BODY_MAX)) {
    pd__call_fail(call, PD__PROBLEM_TOO_LARGE, "the body is larger than " BODY_MAX_TEXT " bytes");
    return false;
  }
  return call->request->has_body;
}

/* ---- Dispatching ---- */

static void send_asset(pd__call *call, const char *name, const char *type) {
  if (!is_read(call)) {
    fail_method(call, "GET, HEAD");
  } else if (check_parameters(call, NULL)) {
    pd__call_finish(call, 200, type);
    call->response->body = NULL;
    call->response->asset = name;
  }
}

static void send_flag(pd__call *call, const char *encoded) {
  const char *name = pd__call_decode(call, encoded, strlen(encoded));
  if (!is_read(call)) {
    fail_method(call, "GET, HEAD");
  } else if (!name || strchr(encoded, '/')) {
    pd__call_fail(call, PD__PROBLEM_MALFORMED, "the name of the flag is malformed");
  } else if (check_parameters(call, NULL)) {
    pd__get_flag(call, name);
  }
}

static void dispatch(pd__call *call, const route *to) {
  bool events = to->get == pd__get_events;
  bool reads = is_read(call) && to->get, posts = is_method(call, "POST") && to->post;
  if (!reads && !posts) {
    fail_method(call, !to->post ? "GET, HEAD" : to->get ? "GET, HEAD, POST" : "POST");
  } else if (!check_parameters(call, events || to->get == pd__get_flags ? "since" : NULL)) {
    return;
  } else if (reads) {
    to->get(call);
    if (is_method(call, "HEAD")) call->response->streams = false;
  } else if (has_body(call)) {
    to->post(call);
  }
}

static void answer(pd__call *call) {
  static const char flags[] = "/v1/flags/";
  const char *type;
  if (!pd__guard_parse(call) || !pd__guard_site(call)) return;
  const char *file = find_asset(call->path, &type);
  if (!pd__guard_token(call, file, is_read(call) ? PD_LIVE_READ : PD_LIVE_CHANGE)) return;
  const route *found = find_route(call->path);
  if (file) {
    send_asset(call, file, type);
  } else if (found) {
    dispatch(call, found);
  } else if (strncmp(call->path, flags, sizeof flags - 1) == 0) {
    send_flag(call, call->path + sizeof flags - 1);
  } else {
    char shown[PD__QUOTE_SIZE];
    pd__call_fail(call, PD__PROBLEM_UNKNOWN, "%s: no such resource",
                  pd__quote_text(shown, call->path));
  }
}

/* ---- Functions for servers ---- */

static void begin_call(pd__call *call, pd_live_response *response) {
  call->arena = response->owner;
  call->response = response;
  call->headers = pd__arena_alloc(call->arena, PD__HEADERS_MAX * sizeof *call->headers);
  response->headers = call->headers;
  call->out.arena = call->arena;
  call->json = (pd__json){.out = &call->out, .compact = true, .place = {.arena = call->arena}};
}

static pd_status check_request(const pd_live_request *request, pd_error *err) {
  if (!request->method) return pd__fail_null(err, "request->method");
  if (!request->target) return pd__fail_null(err, "request->target");
  if (!request->headers && request->header_count > 0) return pd__fail_null(err, "request->headers");
  if (!request->fields && request->field_count > 0) return pd__fail_null(err, "request->fields");
  for (size_t i = 0; i < request->field_count; i++) {
    const pd_live_field *field = &request->fields[i];
    bool text = field->kind >= PD_LIVE_BOOL && field->kind <= PD_LIVE_TEXT;
    bool right = field->path && field->kind <= PD_LIVE_ARRAY && text == (field->text != NULL);
    if (!right) return pd__fail(err, PD_ERR_ARGUMENT, "request->fields[%zu] is malformed", i);
  }
  return PD_OK;
}

pd_status pd_live_answer(pd_live *live, const pd_live_request *given, pd_live_response *response,
                         pd_error *err) {
  pd_live_request request;
  if (!live) return pd__fail_null(err, "live");
  size_t least = PD__SIZE_UP_TO(pd_live_request, field_count);
  pd_status status = pd__sized_copy_in(given, least, &request, sizeof request, "request", err);
  if (status == PD_OK) status = check_request(&request, err);
  if (status == PD_OK) status = pd__response_begin(response, err);
  if (status != PD_OK) return status;
  pd__call call = {.live = live, .request = &request};
  begin_call(&call, response);
  answer(&call);
  return pd__response_end(response, err);
}

pd_status pd_live_refuse(uint32_t status, const char *detail, pd_live_response *response,
                         pd_error *err) {
  if (!detail) return pd__fail_null(err, "detail");
  pd_status begun = pd__response_begin(response, err);
  if (begun != PD_OK) return begun;
  pd__call call = {.live = NULL};
  begin_call(&call, response);
  pd__call_fail(&call, (pd__problem)status, "%s", detail);
  return pd__response_end(response, err);
}
