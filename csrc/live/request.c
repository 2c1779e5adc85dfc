/* JSON-RPC 2.0: one request, one answer, each on a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

/* ---- Methods ---- */

typedef struct method {
  const char *name;
  const char *params;          /* known ones, with blanks around */
  void (*run)(pd__job *job);   /* writes the result, or adds problems */
  void (*check)(pd__job *job); /* whether the params go together; or NULL */
  bool changes;                /* it runs on the changes' thread */
} method;

static const method methods[] = {
    {"hello", " ", pd__hello_answer, NULL, false},
    {"flags.list", " since after ", pd__flags_answer_list, NULL, false},
    {"flags.get", " name ", pd__flags_answer_get, NULL, false},
    {"flags.set", " set unset expect reason for dry_run confirm on_behalf_of timeout ",
     pd__flags_answer_set, pd__check_flags_set_params, true},
    {"changes.list", " before on_behalf_of ", pd__changes_answer_list, NULL, false},
    {"changes.undo", " change reason dry_run on_behalf_of timeout ", pd__changes_answer_undo, NULL,
     true},
    {"events.subscribe", " since ", pd__events_answer_subscribe, NULL, false},
    {"fleet.apply", " fleet values dry_run by reason until timeout ", pd__fleet_answer_apply, NULL,
     true},
    {"steps.get", " ", pd__steps_answer_get, NULL, false},
    {"steps.gate", " step timeout ", pd__steps_answer_gate, NULL, false},
    {"steps.wait", " step timeout ", pd__steps_answer_wait, NULL, false},
};

static const method *find_method(pd__job *job, const char *name) {
  char known[200] = "";
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    if (strcmp(methods[i].name, name) == 0) return &methods[i];
    strcat(strcat(known, " "), methods[i].name);
  }
  pd__job_add_problem(job, "method", NULL, PD_ERR_ARGUMENT,
                      "there is no method %.200s: expected one of%s", name, known);
  return NULL;
}

/* ---- Requests ---- */

/* Returns false if it is no id. */
static bool read_request_id(const pd__value *found, char id[PD__ID_SIZE]) {
  pd__text text = {.data = NULL};
  if (!found) return true; /* a notification */
  if (found->kind == PD__NUMBER) pd__json_put_raw(&text, NULL, found->text);
  if (found->kind == PD__STRING || found->kind == PD__NULL)
    pd__json_put_text(&text, NULL, found->text);
  bool valid = text.data && !text.failed && text.length < PD__ID_SIZE;
  if (valid) memcpy(id, text.data, text.length + 1);
  pd__text_free(&text);
  return valid;
}

/* Returns what is wrong; NULL: it is a request. */
static const char *find_request_fault(const pd__value *root, char id[PD__ID_SIZE]) {
  if (root->kind == PD__ARRAY) return "batches aren't supported; flags.set changes several flags";
  if (root->kind != PD__OBJECT) return "expected an object";
  if (!read_request_id(pd__value_find_member(root, "id"), id)) {
    return "id: expected a number, null, or text of up to 100 bytes";
  }
  for (const pd__value *each = root->first; each; each = each->next) {
    if (!strcmp(each->name, "jsonrpc") || !strcmp(each->name, "id")) continue;
    if (!strcmp(each->name, "method") || !strcmp(each->name, "params")) continue;
    return "expected only jsonrpc, id, method and params";
  }
  const pd__value *version = pd__value_find_member(root, "jsonrpc");
  const pd__value *called = pd__value_find_member(root, "method");
  const pd__value *params = pd__value_find_member(root, "params");
  if (!version || version->kind != PD__STRING || strcmp(version->text, "2.0") != 0) {
    return "expected \"jsonrpc\": \"2.0\"";
  }
  if (!called || called->kind != PD__STRING) return "method: expected text";
  if (params && params->kind != PD__OBJECT) return "params: expected an object";
  return NULL;
}

/* Returns NULL if it can't be carried out. What isn't a request has an answer without its id. */
static const method *parse_request(pd__job *job, const char *line, size_t length) {
  size_t at;
  const char *why = pd__document_read(&job->document, line, length, &at);
  if (why) {
    pd__job_add_problem(job, "parse", NULL, PD_ERR_ARGUMENT, "column %zu: %s", at + 1, why);
  } else {
    why = find_request_fault(job->document.root, job->id);
    if (why) pd__job_add_problem(job, "request", NULL, PD_ERR_ARGUMENT, "%s", why);
  }
  if (why && !*job->id) strcpy(job->id, "null");
  if (why) return NULL;
  const char *name = pd__value_find_member(job->document.root, "method")->text;
  const method *to = find_method(job, name);
  if (to) pd__params_parse(job, to->params, pd__value_find_member(job->document.root, "params"));
  if (to && to->check && !job->problems) to->check(job);
  return job->problems ? NULL : to;
}

static pd__job *make_job(const pd__client *client) {
  pd__job *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->client = client->number;
  made->server = client->server;
  made->requester = client->requester;
  made->before = UINT64_MAX;
  made->timeout = 10;
  pthread_mutex_lock(&pd__lock);
  pd__server_retain(made->server);
  pthread_mutex_unlock(&pd__lock);
  return made;
}

void pd__client_handle_request(pd__client *client, const char *line, size_t length) {
  pd__job *job = make_job(client);
  client->dead |= !job;
  if (!job) return;
  const method *to = parse_request(job, line, length);
  client->closing |= !job->document.memory;
  if (to && to->changes) {
    job->run = to->run;
    client->waiting++;
    if (pd__job_try_enqueue(job)) return;
    client->waiting--;
    pd__job_add_problem(job, "busy", NULL, PD_ERR_REFUSED,
                        "%d changes wait already: try again later", PD__JOBS_MAX);
  } else if (to) {
    to->run(job);
    if (job->answered_later) return;
  }
  pd__job_write_answer(job, &client->out);
  pd__job_free(job);
}
