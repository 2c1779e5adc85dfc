/* Streams of events. Nothing is queued for a client: each has the revision up to which it has seen
 * all, and what came later is made when its connection can take more. A client that is too slow for
 * the library's log then gets a gap. */
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>

#include "module.h"

static void drop_pending(pd__stream *stream) {
  pd_live_response_free(&stream->pending);
  stream->pending = (pd_live_response){.size = sizeof stream->pending};
  stream->sent = 0;
}

static bool has_pending(const pd__stream *stream) {
  return stream->pending.body && stream->sent < stream->pending.length;
}

/* Returns false if the stream must end. */
static bool make_pending(pd__stream *stream, int64_t now) {
  if (now < stream->last + PD__TICK || stream->revision == pd_live_revision()) return true;
  if (pd_live_events(stream->revision, &stream->pending, NULL) != PD_OK) return false;
  stream->revision = stream->pending.revision;
  return true;
}

static ssize_t take(pd__stream *stream, char *buffer, size_t room) {
  size_t length = stream->pending.length - stream->sent;
  if (length > room) length = room;
  memcpy(buffer, stream->pending.body + stream->sent, length);
  stream->sent += length;
  if (!has_pending(stream)) drop_pending(stream);
  return (ssize_t)length;
}

/* Called while the connection can take more. */
static ssize_t read_stream(void *context, uint64_t position, char *buffer, size_t room) {
  (void)position;
  static const char comment[] = ":\n\n";
  pd__stream *stream = context;
  int64_t now = pd__now();
  if (stream->gone) return MHD_CONTENT_READER_END_WITH_ERROR;
  if (!has_pending(stream) && !make_pending(stream, now)) return MHD_CONTENT_READER_END_WITH_ERROR;
  bool silent = now >= stream->last + PD__COMMENT_TIME;
  if (has_pending(stream) || silent) stream->last = now;
  if (has_pending(stream)) return take(stream, buffer, room);
  if (silent && room >= sizeof comment) {
    memcpy(buffer, comment, sizeof comment - 1);
    return sizeof comment - 1;
  }
  pd__client_suspend(stream->client);
  return 0;
}

static void end_stream(void *context) {
  pd__stream *stream = context;
  stream->client->running->stream_count--;
  stream->client->stream = NULL;
  drop_pending(stream);
  free(stream);
}

struct MHD_Response *pd__stream_open(pd__request *request) {
  pd__stream *stream = calloc(1, sizeof *stream);
  if (!stream) return NULL;
  stream->client = request->client;
  stream->revision = request->response.revision;
  stream->last = pd__now();
  struct MHD_Response *made =
      MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, read_stream, stream, end_stream);
  if (!made) {
    free(stream);
    return NULL;
  }
  stream->pending = request->response;
  request->response = (pd_live_response){.size = sizeof request->response};
  request->client->stream = stream;
  request->running->stream_count++;
  return made;
}

void pd__streams_tick(pd__running *running, int64_t now) {
  uint64_t revision = pd_live_revision();
  for (pd__client *each = running->clients; each; each = each->next) {
    pd__stream *stream = each->stream;
    if (!stream || !each->suspended) continue;
    bool news = stream->revision != revision && now >= stream->last + PD__TICK;
    if (news || stream->gone || now >= stream->last + PD__COMMENT_TIME) pd__client_resume(each);
  }
}
