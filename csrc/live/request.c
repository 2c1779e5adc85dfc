/* A request on its way from libmicrohttpd to pd_live_answer. */
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "body.h"
#include "module.h"

/* ---- Life ---- */

void pd__request_free(pd__request *request) {
  pd_live_response_free(&request->response);
  free(request->target);
  free(request->method);
  free(request->text);
  free(request->headers);
  if (request->body) explicit_bzero(request->body, request->length);
  free(request->body);
  free(request);
}

static void copy_who(pd__request *request, const pd__client *client) {
  memcpy(request->command, client->command, sizeof request->command);
  memcpy(request->host, client->host, sizeof request->host);
  request->who = (pd_live_who){.uid = client->uid,
                               .pid = client->pid,
                               .command = *request->command ? request->command : NULL,
                               .host = *request->host ? request->host : NULL};
}

void *pd__request_begin(struct MHD_Connection *connection, const char *target) {
  pd__client *client = pd__client_of(connection);
  pd__request *request = client ? calloc(1, sizeof *request) : NULL;
  if (!request) return NULL; /* then the connection ends */
  request->running = client->running;
  request->client = client;
  request->connection = connection;
  request->place = target;
  request->target = strdup(target ? target : "");
  request->response.size = sizeof request->response;
  copy_who(request, client);
  int64_t until = pd__now() + PD__REQUEST_TIME;
  if (client->deadline > until) client->deadline = until;
  return request;
}

/* The next request of the connection may come later, and must then be complete in time. */
void pd__request_end(pd__request *request) {
  if (request->client) request->client->deadline = pd__now() + PD__IDLE_TIME + PD__REQUEST_TIME;
  request->client = NULL;
  request->connection = NULL;
  if (request->phase != PD__WORKING) pd__request_free(request);
}

/* ---- Asking ---- */

void pd__request_ask(pd__request *request, bool whole) {
  pd__body body = {.error = NULL};
  if (whole) pd__body_read(&body, request->body ? request->body : "", request->length);
  pd_live_request asked = {.size = sizeof asked,
                           .method = request->method,
                           .target = request->target,
                           .headers = request->headers,
                           .header_count = request->header_count,
                           .may = request->running->may,
                           .who = request->who,
                           .has_body = whole,
                           .body_error = body.error,
                           .fields = body.fields,
                           .field_count = body.count};
  request->response.size = sizeof request->response;
  request->status = pd_live_answer(request->running->live, &asked, &request->response, NULL);
  pd__body_free(&body);
}

/* ---- Reading ---- */

static uint64_t announced_length(const pd__request *request) {
  const char *text = MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND,
                                                 MHD_HTTP_HEADER_CONTENT_LENGTH);
  return text ? strtoull(text, NULL, 10) : 0;
}

static bool refuse(pd__request *request, uint32_t status, const char *detail) {
  request->phase = PD__ANSWERED;
  request->close = true;
  return pd__respond_refusal(request, status, detail);
}

static bool answer(pd__request *request) {
  request->phase = PD__ANSWERED;
  return pd__respond(request);
}

static bool has_body(const pd__request *request) {
  return request->close || announced_length(request) > 0; /* it ends after a body in chunks */
}

/* With the head alone. A body is asked for only if the answer depends on it; otherwise the response
 * goes out before the body is read. libmicrohttpd closes the connection after each response that it
 * gets now, so without a body the next call is waited for, which comes at once. */
static bool begin(pd__request *request, const char *method, const char *version) {
  request->phase = PD__READING;
  const char *wrong = pd__head_take(request, method, version);
  if (wrong) return refuse(request, 400, wrong);
  request->streams_allowed = strcmp(request->method, "HEAD") != 0;
  pd__request_ask(request, false);
  bool answered = request->status != PD_OK || request->response.status != 0;
  if (answered && has_body(request)) return answer(request);
  if (answered) {
    request->phase = PD__READY;
    return true;
  }
  pd_live_response_free(&request->response);
  request->response = (pd_live_response){.size = sizeof request->response};
  if (announced_length(request) > PD_LIVE_BODY_MAX) {
    return refuse(request, 413, "the body has more than 1 MiB");
  }
  return true;
}

/* Of a chunked body that is too large, the rest is read and dropped: libmicrohttpd takes no
 * response meanwhile. Returns false to end the connection, when that goes on for too long. */
static bool take_body(pd__request *request, const char *data, size_t size) {
  size_t length = request->length + size;
  if (request->too_large || length > PD_LIVE_BODY_MAX) {
    request->too_large = true;
    request->length += size < SIZE_MAX - request->length ? size : 0;
    return request->length <= 4 * (size_t)PD_LIVE_BODY_MAX;
  }
  if (length > request->room) {
    size_t room = request->room ? request->room : 4096;
    while (room < length) room *= 2;
    char *larger = realloc(request->body, room);
    if (!larger) return false;
    request->body = larger;
    request->room = room;
  }
  memcpy(request->body + request->length, data, size);
  request->length = length;
  return true;
}

/* A worker asks, while the connection is suspended; without one, this thread does. */
static bool ask_elsewhere(pd__request *request) {
  request->client->deadline = INT64_MAX;
  request->phase = PD__WORKING;
  request->queued = pd__now();
  pd__client_suspend(request->client);
  if (pd__worker_take(request)) return true;
  pd__request_ask(request, true);
  pd__client_resume(request->client);
  return true;
}

static bool complete(pd__request *request) {
  if (request->phase == PD__READING && request->too_large) {
    request->length = 0;
    return refuse(request, 413, "the body has more than 1 MiB");
  }
  if (request->phase == PD__READING) return ask_elsewhere(request);
  if (request->busy) return refuse(request, 503, "earlier changes are still being validated");
  return answer(request);
}

/* libmicrohttpd calls this with the head, then with each part of the body, then with a size of 0
 * until there is a response. Returns 0 to end the connection. */
int pd__request_continue(struct MHD_Connection *connection, pd__request *request,
                         const char *method, const char *version, const char *data, size_t *size) {
  (void)connection;
  if (request->phase == PD__FRESH) return begin(request, method, version);
  if (request->phase == PD__ANSWERED) return 1;
  if (*size == 0) return complete(request);
  bool taken = take_body(request, data, *size);
  *size = 0;
  return taken;
}
