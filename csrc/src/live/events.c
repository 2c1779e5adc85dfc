/* GET /v1/events: server-sent events. */
#include "../registry/journal.h"
#include "live.h"

static void begin(pd__out *out, const char *name, uint64_t revision) {
  pd__out_add_text(out, "id: ");
  pd__id_write(out, revision);
  pd__out_add_format(out, "\nevent: %s\ndata: ", name);
}

static void begin_object(pd__json *json, uint64_t since, uint64_t revision) {
  pd__json_open(json, "{");
  pd__json_add_number(json, "from", (int64_t)since);
  pd__json_add_number(json, "revision", (int64_t)revision);
}

/* Writes what came after `since`, of which nothing is kept if `lost`. Returns where to go on. The
 * caller holds the lock. */
static uint64_t write_after(pd__out *out, uint64_t since, bool lost) {
  uint64_t revision = pd__journal_revision();
  pd__json json = {.out = out, .compact = true, .place = {.arena = out->arena}};
  if (lost || since < pd__journal_oldest() || since > revision) {
    begin(out, "gap", revision);
    begin_object(&json, since, revision);
  } else if (since < revision) {
    begin(out, "changes", revision);
    begin_object(&json, since, revision);
    pd__json_begin_member(&json, "changes");
    pd__json_open(&json, "[");
    for (uint64_t at = since; at < revision; at++) {
      pd__json_begin_item(&json);
      pd__event_write(&json, pd__journal_after(at));
    }
    pd__json_close(&json, "]");
  } else {
    return revision;
  }
  pd__json_close(&json, "}");
  pd__out_add_text(out, "\n\n");
  return revision;
}

/* The object of hello is made by pd__process_write, so call->out has it. */
static void write_hello(pd__call *call, uint64_t revision) {
  pd__process_write(call);
  pd__out data = call->out;
  call->out = (pd__out){.arena = call->arena};
  begin(&call->out, "hello", revision);
  pd__out_add(&call->out, data.text ? data.text : "", data.length);
  pd__out_add_text(&call->out, "\n\n");
}

/* Returns the id after which the client goes on; NULL if it begins. */
static const char *find_since(pd__call *call) {
  size_t count;
  const char *last = pd__call_find_header(call, "Last-Event-ID", &count);
  return last && *last ? last : pd__call_parameter(call, "since");
}

void pd__get_events(pd__call *call) {
  const char *text = find_since(call);
  uint64_t since = 0, revision = pd__revision_now();
  if (!text) write_hello(call, revision);
  PD__LOCKED_OPERATION(operation);
  pd__since how = text ? pd__since_parse(text, &since) : PD__SINCE_KNOWN;
  if (text && how != PD__SINCE_WRONG) {
    revision = write_after(&call->out, since, how == PD__SINCE_LOST);
  }
  pd__operation_end(&operation);
  if (how == PD__SINCE_WRONG) {
    pd__call_fail(call, PD__PROBLEM_MALFORMED,
                  "Last-Event-ID or since is malformed, expected EPOCH-REVISION");
    return;
  }
  if (call->live->polls) pd__out_add_text(&call->out, "retry: 1000\n\n");
  call->response->streams = !call->live->polls;
  call->response->revision = revision;
  pd__call_finish(call, 200, "text/event-stream");
}

pd_status pd_live_events(uint64_t since, pd_live_response *response, pd_error *err) {
  pd_status status = pd__response_begin(response, err);
  if (status != PD_OK) return status;
  pd__out out = {.arena = response->owner};
  PD__LOCKED_OPERATION(operation);
  response->revision = write_after(&out, since, false);
  pd__operation_end(&operation);
  response->status = 200;
  response->body = out.text;
  response->length = out.length;
  return pd__response_end(response, err);
}
