/* From a pd_live_response to what libmicrohttpd sends. */
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "module.h"

/* A response whose body is being sent. */
static void release(void *context) {
  pd_live_response_free(context);
  free(context);
}

static struct MHD_Response *from_body(pd__request *request) {
  pd_live_response *kept = malloc(sizeof *kept);
  if (!kept) return NULL;
  *kept = request->response;
  struct MHD_Response *made = MHD_create_response_from_buffer_with_free_callback_cls(
      kept->length, (void *)(uintptr_t)(kept->body ? kept->body : ""), release, kept);
  if (!made) {
    free(kept);
    return NULL;
  }
  request->response = (pd_live_response){.size = sizeof request->response};
  return made;
}

static struct MHD_Response *from_asset(const char *data, size_t length) {
  return MHD_create_response_from_buffer(length, (void *)(uintptr_t)data, MHD_RESPMEM_PERSISTENT);
}

static void add_headers(const pd__request *request, const pd_live_response *from,
                        struct MHD_Response *to) {
  for (size_t at = 0; at < from->header_count; at++) {
    const pd_live_header *header = &from->headers[at];
    MHD_add_response_header(to, header->name, header->value);
  }
  if (request->close) MHD_add_response_header(to, MHD_HTTP_HEADER_CONNECTION, "close");
}

/* The headers are added first, as the bodies take over what they point to. */
static struct MHD_Response *make(pd__request *request) {
  pd_live_response headers = request->response, *response = &request->response;
  struct MHD_Response *made;
  size_t length;
  const char *data = response->asset ? pd__asset(response->asset, &length) : NULL;
  if (data) {
    made = from_asset(data, length);
  } else if (response->streams && request->streams_allowed) {
    made = pd__stream_open(request);
  } else {
    made = from_body(request);
  }
  if (made) add_headers(request, &headers, made);
  return made;
}

static bool send_response(pd__request *request) {
  uint32_t status = request->response.status; /* make() takes the response */
  struct MHD_Response *made = make(request);
  if (!made) return false;
  int64_t until = pd__now() + PD__IDLE_TIME;
  request->client->deadline = request->client->stream ? INT64_MAX : until;
  bool queued = MHD_queue_response(request->connection, status, made) == MHD_YES;
  MHD_destroy_response(made);
  return queued;
}

bool pd__respond_refusal(pd__request *request, uint32_t status, const char *detail) {
  pd_live_response_free(&request->response);
  request->response = (pd_live_response){.size = sizeof request->response};
  if (pd_live_refuse(status, detail, &request->response, NULL) != PD_OK) return false;
  return send_response(request);
}

bool pd__respond(pd__request *request) {
  size_t length;
  const char *asset = request->response.asset;
  if (request->status != PD_OK) return pd__respond_refusal(request, 500, "out of memory");
  if (asset && !pd__asset(asset, &length)) {
    return pd__respond_refusal(request, 404, "this build has no such file");
  }
  return send_response(request);
}
