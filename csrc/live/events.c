/* What subscribers are told. */
#include "client.h"

enum { ALIVE_TIME = 15000 }; /* ms after which a silent subscriber gets a sign of life */

void pd__events_answer_subscribe(pd__job *job) {
  pd__client *client = pd__client_find(job->client);
  bool known = job->since.known || !job->since.given;
  client->subscribed = true;
  client->seen_revision = job->since.given ? job->since.revision : pd_journal_get_revision();
  client->missed_events = !known;
  pd__json_begin(&job->result, NULL, '{');
  pd__revision_write(&job->result, known ? client->seen_revision : pd_journal_get_revision());
  pd__json_end(&job->result, "}");
}

static void begin_notification(pd__text *to, const char *method) {
  pd__text_add_format(to, "{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":{", method);
}

static void end_notification(pd__text *to) { pd__text_add(to, "}}\n", 3); }

static void append_gap_notification(pd__client *client, uint64_t revision) {
  begin_notification(&client->out, "events.gap");
  pd__revision_write(&client->out, revision);
  pd__json_put_number(&client->out, "from", client->seen_revision);
  end_notification(&client->out);
  client->seen_revision = revision;
  client->missed_events = false;
}

/* Adds events until the notification is long enough. Returns the revision of the last one. */
static uint64_t write_events(pd__text *to, uint64_t since) {
  pd_journal_event event = {.size = sizeof event};
  size_t start = to->length;
  pd__json_begin(to, "changes", '[');
  while (to->length - start < PD__ANSWER_MAX && pd_journal_get(since, &event, NULL) == PD_OK) {
    pd__event_write(to, &event);
    since = event.revision;
  }
  pd__json_end(to, "]");
  return since;
}

static void append_events_notification(pd__client *client) {
  pd__text *to = &client->out;
  begin_notification(to, "events.changes");
  pd__json_put_text(to, "epoch", pd_journal_get_epoch());
  pd__json_put_number(to, "from", client->seen_revision);
  client->seen_revision = write_events(to, client->seen_revision);
  pd__json_put_number(to, "revision", client->seen_revision);
  end_notification(to);
}

/* A client that hasn't read what it was sent is told later, and then perhaps that it has missed
 * something. */
bool pd__subscribers_notify(void) {
  bool any = false;
  uint64_t revision = 0;
  pd_journal_event event = {.size = sizeof event};
  for (pd__client *client = pd__clients; client; client = client->next) {
    if (!client->subscribed || client->dead) continue;
    if (!any) revision = pd_journal_get_revision();
    any = true;
    if (client->out.length > 0) continue;
    bool lost = client->missed_events ||
                pd_journal_get(client->seen_revision, &event, NULL) == PD_ERR_ARGUMENT;
    if (lost) {
      append_gap_notification(client, revision);
    } else if (client->seen_revision < revision) {
      append_events_notification(client);
    } else if (pd__get_steady_ms() - client->active >= ALIVE_TIME) {
      begin_notification(&client->out, "events.alive");
      end_notification(&client->out);
    }
  }
  return any;
}
