/* JSON-RPC 2.0: one request, one answer, each on a line. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

/* ---- Problems ---- */

/* The first one that occurs is that of the answer. Those of JSON-RPC itself have no data. */
static const struct {
  int code;
  const char *kind;
} kinds[] = {{-32700, "parse"},  {-32600, "request"}, {-32601, "method"}, {-32602, "params"},
             {400, "malformed"}, {404, "unknown"},    {403, "forbidden"}, {428, "confirm"},
             {409, "conflict"},  {422, "rejected"},   {503, "busy"},      {504, "timeout"},
             {500, "internal"}};

static size_t find_problem_row(const char *kind) {
  size_t row = 0;
  while (strcmp(kinds[row].kind, kind) != 0) row++;
  return row;
}

/* What failed must never happen because nobody could say so. */
static pd__problem no_memory = {.kind = "internal",
                                .error = {.status = PD_ERR_MEMORY, .message = "out of memory"}};

void pd__job_add_problem(pd__job *job, const char *kind, const char *name, pd_status status,
                         const char *format, ...) {
  va_list arguments;
  pd__problem *made = calloc(1, sizeof *made);
  if (!made && !job->problems) job->problems = &no_memory;
  if (!made) return;
  made->kind = kind;
  made->name = name ? strdup(name) : NULL;
  made->error.status = status;
  va_start(arguments, format);
  vsnprintf(made->error.message, sizeof made->error.message, format, arguments);
  va_end(arguments);
  *(job->last_problem ? &job->last_problem->next : &job->problems) = made;
  job->last_problem = made;
}

void pd__job_add_errors(pd__job *job, const pd_error_list *errors, const pd_error *err) {
  for (size_t i = 0; i < pd_error_list_count(errors); i++) {
    const pd_error *error = pd_error_list_at(errors, i);
    const pd_flag *flag = pd_error_list_get_flag(errors, i);
    const char *name = flag ? pd_flag_get_name(flag) : NULL;
    const char *kind = error->status == PD_ERR_MEMORY ? "internal" : "rejected";
    if (error->status == PD_ERR_UNDEFINED || error->status == PD_ERR_CONFLICT) kind = "conflict";
    pd__job_add_problem(job, kind, name, error->status, "%s", error->message);
  }
  if (!job->problems) pd__job_add_problem(job, "rejected", NULL, err->status, "%s", err->message);
}

static void free_problems(pd__job *job) {
  for (pd__problem *next; job->problems && job->problems != &no_memory; job->problems = next) {
    next = job->problems->next;
    free(job->problems->name);
    free(job->problems);
  }
}

/* ---- Answers ---- */

static void write_error_member(pd__text *to, const pd__job *job) {
  const pd__problem *worst = job->problems;
  for (const pd__problem *each = worst; each; each = each->next) {
    if (find_problem_row(each->kind) < find_problem_row(worst->kind)) worst = each;
  }
  size_t row = find_problem_row(worst ? worst->kind : "internal");
  pd__json_begin(to, "error", '{');
  pd__json_put_number(to, "code", kinds[row].code);
  pd__json_put_text(to, "message", worst ? worst->error.message : "out of memory");
  if (kinds[row].code < 0) {
    pd__json_end(to, "}");
    return;
  }
  pd__json_begin(to, "data", '{');
  pd__json_put_text(to, "kind", kinds[row].kind);
  pd__json_begin(to, "errors", '[');
  for (const pd__problem *each = job->problems; each; each = each->next) {
    pd__json_begin(to, NULL, '{');
    pd__json_put_text(to, "name", each->name);
    pd__json_put_text(to, "kind", each->kind);
    pd__json_put_text(to, "code", pd_status_name(each->error.status));
    pd__json_put_text(to, "detail", each->error.message);
    pd__json_end(to, "}");
  }
  pd__json_end(to, "]");
  if (job->current.length > 0) {
    pd__json_begin(to, "current", '{');
    pd__json_put_raw(to, NULL, job->current.data);
    pd__json_end(to, "}");
  }
  pd__json_end(to, "}}");
}

void pd__job_answer(const pd__job *job, pd__client *client) {
  pd__text *to = &client->out;
  if (!*job->id) return;
  pd__text_add(to, "{\"jsonrpc\":\"2.0\"", 16);
  pd__json_put_raw(to, "id", job->id);
  if (job->problems || !job->result.data || job->result.failed) {
    write_error_member(to, job);
  } else {
    pd__json_put_raw(to, "result", job->result.data);
  }
  pd__text_add(to, "}\n", 2);
}

void pd__client_answer_problem(pd__client *client, const char *id, const char *kind,
                               const char *why) {
  pd__job failed = {.client = client->number};
  snprintf(failed.id, sizeof failed.id, "%s", id);
  pd__job_add_problem(&failed, kind, NULL, PD_ERR_REFUSED, "%s", why);
  pd__job_answer(&failed, client);
  free_problems(&failed);
}

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
    {"flags.list", " since after ", pd__flags_list, NULL, false},
    {"flags.get", " name ", pd__flags_get, NULL, false},
    {"flags.set", " set unset expect reason for dry_run confirm on_behalf_of timeout ",
     pd__flags_set, pd__flags_check_set, true},
    {"changes.list", " before on_behalf_of ", pd__changes_list, NULL, false},
    {"changes.undo", " change reason dry_run on_behalf_of timeout ", pd__changes_undo, NULL, true},
    {"events.subscribe", " since ", pd__events_subscribe, NULL, false},
    {"fleet.apply", " fleet values dry_run by reason until timeout ", pd__fleet_apply, NULL, true},
    {"steps.get", " ", pd__steps_get, NULL, false},
    {"steps.gate", " step timeout ", pd__steps_gate, NULL, false},
    {"steps.wait", " step timeout ", pd__steps_wait, NULL, false},
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

void pd__job_free(pd__job *job) {
  if (!job) return;
  pthread_mutex_lock(&pd__lock);
  pd__server_release(job->server);
  pthread_mutex_unlock(&pd__lock);
  free_problems(job);
  pd__document_free(&job->document);
  pd__text_free(&job->current);
  pd__text_free(&job->result);
  free(job);
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
    if (pd__job_queue(job)) return;
    client->waiting--;
    pd__job_add_problem(job, "busy", NULL, PD_ERR_REFUSED,
                        "%d changes wait already: try again later", PD__JOBS_MAX);
  } else if (to) {
    to->run(job);
    if (job->answered_later) return;
  }
  pd__job_answer(job, client);
  pd__job_free(job);
}
