/* JSON-RPC 2.0: one request, one answer, each on a line. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

enum {
  PARSE_ERROR = -32700,
  INVALID_REQUEST = -32600,
  NO_METHOD = -32601,
  INVALID_PARAMS = -32602
};

/* ---- Answers ---- */

void pd__answer_begin(pd__text *to, const pd__id *id) {
  pd__text_add(to, "{\"jsonrpc\":\"2.0\"", 16);
  pd__json_name(to, "id");
  pd__json_raw(to, id->text);
}

void pd__answer_end(pd__text *to) { pd__text_add(to, "}\n", 2); }

void pd__answer_error(pd__text *to, const pd__id *id, int code, const char *format, ...) {
  char message[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  pd__answer_begin(to, id);
  pd__json_name(to, "error");
  pd__json_open(to, '{');
  pd__json_name(to, "code");
  pd__text_add_format(to, "%d", code);
  pd__json_add_text(to, "message", message);
  pd__json_close(to, '}');
  pd__answer_end(to);
}

/* ---- Params ---- */

const char *pd__param_text(const pd__value *params, const char *name, bool *wrong) {
  const pd__value *found = pd__value_member(params, name);
  if (!found || found->kind == PD__NULL) return NULL;
  if (found->kind != PD__STRING) *wrong = true;
  return found->kind == PD__STRING ? found->text : NULL;
}

/* ---- Methods ---- */

typedef struct method {
  const char *name;
  const char *params;                               /* known ones, with blanks around */
  bool (*read)(pd__request *request, pd__text *to); /* NULL: it changes something */
} method;

static const method methods[] = {
    {"hello", " ", pd__hello_write},
    {"flags.list", " since after ", pd__flags_list},
    {"flags.get", " name ", pd__flags_get},
    {"flags.set", " set unset expect reason for dry_run confirm on_behalf_of timeout ", NULL},
    {"changes.list", " before on_behalf_of ", pd__changes_list},
    {"changes.undo", " change reason dry_run on_behalf_of timeout ", NULL},
    {"events.subscribe", " since ", pd__events_subscribe},
};

static const method *find_method(const char *name) {
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    if (strcmp(methods[i].name, name) == 0) return &methods[i];
  }
  return NULL;
}

/* Returns the name of a member that the method doesn't know; NULL: there is none. */
static const char *find_unknown(const method *to, const pd__value *params) {
  char wanted[64];
  for (const pd__value *each = params ? params->first : NULL; each; each = each->next) {
    int length = snprintf(wanted, sizeof wanted, " %s ", each->name);
    if (length >= (int)sizeof wanted || strchr(each->name, ' ')) return each->name;
    if (!strstr(to->params, wanted)) return each->name;
  }
  return NULL;
}

static void answer_read(const method *to, pd__request *request) {
  pd__text result = {.data = NULL};
  pd__text *out = &request->client->out;
  if (!to->read(request, &result)) {
    pd__text_free(&result);
    return;
  }
  if (result.failed) {
    pd__answer_error(out, &request->id, 500, "out of memory");
  } else if (*request->id.text) {
    pd__answer_begin(out, &request->id);
    pd__json_name(out, "result");
    pd__json_raw(out, result.data);
    pd__answer_end(out);
  }
  pd__text_free(&result);
}

/* The job takes over the document. */
static void start_job(const method *to, pd__request *request, pd__document *document) {
  char wrong[256];
  pd__client *client = request->client;
  pd__job *job = calloc(1, sizeof *job);
  if (!job) {
    pd__answer_error(&client->out, &request->id, 500, "out of memory");
    return;
  }
  *job = (pd__job){.document = *document, .params = request->params, .id = request->id};
  job->client = client->number;
  job->who = client->who;
  job->undoes = strcmp(to->name, "changes.undo") == 0;
  job->problems_end = &job->problems;
  *document = (pd__document){.memory = NULL};
  const char *why = pd__job_read(job, wrong);
  if (why) {
    pd__answer_error(&client->out, &job->id, INVALID_PARAMS, "%s", why);
    pd__job_free(job);
    return;
  }
  job->server = client->server;
  pthread_mutex_lock(&pd__lock);
  pd__server_hold(job->server);
  pthread_mutex_unlock(&pd__lock);
  pd__id id = job->id;
  client->waiting++;
  if (pd__job_start(job)) return;
  client->waiting--;
  pd__job_fail(job, "busy", NULL, PD_ERR_REFUSED, "%d changes wait already: try again later",
               PD__JOBS_MAX);
  pd__answer_begin(&client->out, &id);
  pd__job_write_error(&client->out, job);
  pd__answer_end(&client->out);
  pd__job_free(job);
}

/* ---- Requests ---- */

/* Returns what is wrong; NULL: it is a request. */
static const char *check_request(const pd__value *root, pd__request *request, const char **name) {
  if (root->kind == PD__ARRAY) return "batches aren't supported; flags.set changes several flags";
  if (root->kind != PD__OBJECT) return "expected an object";
  for (const pd__value *each = root->first; each; each = each->next) {
    if (!strcmp(each->name, "jsonrpc") || !strcmp(each->name, "id")) continue;
    if (!strcmp(each->name, "method") || !strcmp(each->name, "params")) continue;
    return "expected only jsonrpc, id, method and params";
  }
  const pd__value *version = pd__value_member(root, "jsonrpc");
  const pd__value *called = pd__value_member(root, "method");
  request->params = pd__value_member(root, "params");
  if (!version || version->kind != PD__STRING || strcmp(version->text, "2.0") != 0) {
    return "expected \"jsonrpc\": \"2.0\"";
  }
  if (!called || called->kind != PD__STRING) return "method: expected text";
  if (request->params && request->params->kind != PD__OBJECT) return "params: expected an object";
  *name = called->text;
  return NULL;
}

/* Returns false if it is no id. */
static bool read_id(const pd__value *root, pd__id *id) {
  const pd__value *found = pd__value_member(root, "id");
  pd__text text = {.data = NULL};
  id->text[0] = '\0';
  if (!found) return true;
  bool valid = found->kind == PD__STRING || found->kind == PD__NUMBER || found->kind == PD__NULL;
  if (!valid) return false;
  if (found->kind == PD__NUMBER) pd__json_raw(&text, found->text);
  if (found->kind != PD__NUMBER) pd__json_text(&text, found->text);
  valid = !text.failed && text.length < sizeof id->text;
  if (valid) memcpy(id->text, text.data, text.length + 1);
  pd__text_free(&text);
  return valid;
}

/* A request without id is a notification: nobody reads what is wrong with it. */
static void refuse(pd__client *client, const pd__id *id, int code, const char *why,
                   const char *what) {
  if (*id->text) pd__answer_error(&client->out, id, code, "%s%.200s", why, what);
}

static void carry_out(pd__client *client, pd__document *document) {
  static const pd__id none = {"null"};
  pd__request request = {.client = client};
  const char *name = NULL;
  if (document->root->kind == PD__OBJECT && !read_id(document->root, &request.id)) {
    refuse(client, &none, INVALID_REQUEST,
           "id: expected a number, null, or text of up to 100 bytes", "");
    return;
  }
  const char *why = check_request(document->root, &request, &name);
  if (why) {
    refuse(client, *request.id.text ? &request.id : &none, INVALID_REQUEST, why, "");
    return;
  }
  const method *to = find_method(name);
  const char *unknown = to ? find_unknown(to, request.params) : NULL;
  if (!to) {
    refuse(client, &request.id, NO_METHOD, "there is no method ", name);
  } else if (unknown) {
    refuse(client, &request.id, INVALID_PARAMS, "params: there is no member ", unknown);
  } else if (to->read) {
    answer_read(to, &request);
  } else {
    start_job(to, &request, document);
  }
}

void pd__request_answer(pd__client *client, const char *line, size_t length) {
  static const pd__id none = {"null"};
  pd__document document;
  size_t at;
  const char *why = pd__document_read(&document, line, length, &at);
  if (why) {
    pd__answer_error(&client->out, &none, PARSE_ERROR, "column %zu: %s", at + 1, why);
    client->closing = true;
    return;
  }
  carry_out(client, &document);
  pd__document_free(&document);
}
