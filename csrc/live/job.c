/* A job: its state, what is wrong with it, and its answer. */
#include "job.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pd__job_try_change_state(pd__job *job, uint32_t from, uint32_t to) {
  return __atomic_compare_exchange_n(&job->state, &from, to, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

/* ---- Problems ---- */

/* The first one that occurs is that of the answer. Those of JSON-RPC itself have no data. */
static const struct {
  int code;
  const char *kind;
} kinds[] = {{-32700, "parse"},  {-32600, "request"}, {-32601, "method"}, {-32602, "params"},
             {400, "malformed"}, {404, "unknown"},    {403, "forbidden"}, {428, "confirm"},
             {409, "conflict"},  {422, "rejected"},   {503, "busy"},      {504, "timeout"},
             {500, "internal"}};

static size_t get_problem_severity(const char *kind) {
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

/* ---- Answers ---- */

static void write_error_member(pd__text *to, const pd__job *job) {
  const pd__problem *worst = job->problems;
  for (const pd__problem *each = worst; each; each = each->next) {
    if (get_problem_severity(each->kind) < get_problem_severity(worst->kind)) worst = each;
  }
  size_t row = get_problem_severity(worst ? worst->kind : "internal");
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

void pd__job_write_answer(const pd__job *job, pd__text *to) {
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

void pd__problem_write_answer(pd__text *to, const char *id, const char *kind, const char *why) {
  pd__job failed = {.problems = NULL};
  snprintf(failed.id, sizeof failed.id, "%s", id);
  pd__job_add_problem(&failed, kind, NULL, PD_ERR_REFUSED, "%s", why);
  pd__job_write_answer(&failed, to);
  free_problems(&failed);
}
