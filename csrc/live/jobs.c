/* The changes' thread, and what waits for it. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

static pd__job *queue, *running, *done; /* guarded by pd__lock, as `waiting` */
static size_t waiting;                  /* in the queue */
static bool thread_runs;
static pthread_cond_t queued = PTHREAD_COND_INITIALIZER;

/* ---- Problems ---- */

void pd__job_fail(pd__job *job, const char *kind, const char *name, pd_status status,
                  const char *format, ...) {
  va_list arguments;
  pd__problem *made = calloc(1, sizeof *made);
  if (!made) return;
  made->kind = kind;
  made->name = name ? strdup(name) : NULL;
  made->error.status = status;
  va_start(arguments, format);
  vsnprintf(made->error.message, sizeof made->error.message, format, arguments);
  va_end(arguments);
  *job->problems_end = made;
  job->problems_end = &made->next;
}

void pd__problems_free(pd__job *job) {
  for (pd__problem *next; job->problems; job->problems = next) {
    next = job->problems->next;
    free(job->problems->name);
    free(job->problems);
  }
}

/* The first one that occurs is that of the answer. */
static const struct {
  int code;
  const char *kind;
} kinds[] = {{400, "malformed"}, {404, "unknown"},  {403, "forbidden"},
             {428, "confirm"},   {409, "conflict"}, {422, "rejected"},
             {503, "busy"},      {504, "timeout"},  {500, "internal"}};

static size_t find_kind(const char *kind) {
  size_t row = 0;
  while (strcmp(kinds[row].kind, kind) != 0) row++;
  return row;
}

static const pd__problem *find_worst(const pd__job *job, size_t *row) {
  const pd__problem *worst = NULL;
  *row = sizeof kinds / sizeof *kinds - 1;
  for (const pd__problem *each = job->problems; each; each = each->next) {
    size_t own = find_kind(each->kind);
    if (worst && own >= *row) continue;
    worst = each;
    *row = own;
  }
  return worst;
}

void pd__job_write_error(pd__text *to, const pd__job *job) {
  size_t row;
  const pd__problem *worst = find_worst(job, &row);
  pd__json_name(to, "error");
  pd__json_open(to, '{');
  pd__json_add_number(to, "code", (uint64_t)kinds[row].code);
  pd__json_add_text(to, "message", worst ? worst->error.message : "out of memory");
  pd__json_name(to, "data");
  pd__json_open(to, '{');
  pd__json_add_text(to, "kind", kinds[row].kind);
  pd__json_name(to, "errors");
  pd__json_open(to, '[');
  for (const pd__problem *each = job->problems; each; each = each->next) {
    pd__json_open(to, '{');
    pd__json_add_text(to, "name", each->name);
    pd__json_add_text(to, "kind", each->kind);
    pd__json_add_text(to, "code", pd_status_name(each->error.status));
    pd__json_add_text(to, "detail", each->error.message);
    pd__json_close(to, '}');
  }
  pd__json_close(to, ']');
  if (job->current.length > 0) {
    pd__json_name(to, "current");
    pd__json_open(to, '{');
    pd__json_raw(to, job->current.data);
    pd__json_close(to, '}');
  }
  pd__json_close(to, '}');
  pd__json_close(to, '}');
}

/* ---- The changes' thread ---- */

/* Returns NULL, and lets the thread end, if nothing waits and there are no servers. */
static pd__job *next_job(void) {
  pthread_mutex_lock(&pd__lock);
  while (!queue && pd__servers) pthread_cond_wait(&queued, &pd__lock);
  pd__job *job = running = queue;
  if (!job) {
    thread_runs = false;
    pthread_mutex_unlock(&pd__lock);
    return NULL;
  }
  queue = job->next;
  waiting--;
  pthread_mutex_unlock(&pd__lock);
  return job;
}

static bool enter_state(pd__job *job, uint32_t from, uint32_t to) {
  return __atomic_compare_exchange_n(&job->state, &from, to, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

/* Watchers are left to the callbacks' thread, so that no change waits for those of an earlier one.
 */
static void *run_jobs(void *unused) {
  pd_callbacks_postpone(true);
  for (pd__job *job; (job = next_job());) {
    if (enter_state(job, PD__QUEUED, PD__ASKING)) (job->undoes ? pd__undo_run : pd__set_run)(job);
    enter_state(job, PD__ASKING, PD__DECIDED); /* it failed, and no one gave it up */
    pthread_mutex_lock(&pd__lock);
    running = NULL;
    job->next = done;
    done = job;
    pthread_mutex_unlock(&pd__lock);
    pd__loop_wake();
  }
  return unused;
}

static char *list_names(const pd__job *job) {
  pd__text names = {.data = NULL};
  const pd__value *set = pd__value_member(job->params, "set");
  const pd__value *unset = pd__value_member(job->params, "unset");
  for (const pd__value *at = set ? set->first : NULL; at && names.length < 200; at = at->next) {
    pd__text_add_format(&names, "%s%.60s", names.length > 0 ? ", " : "", at->name);
  }
  for (const pd__value *at = unset ? unset->first : NULL; at && names.length < 200; at = at->next) {
    pd__text_add_format(&names, "%s%.60s", names.length > 0 ? ", " : "", at->text);
  }
  if (job->undoes) pd__text_add_format(&names, "change %llu", (unsigned long long)job->undo);
  return names.data;
}

bool pd__job_start(pd__job *job) {
  job->deadline = pd__now() + (int64_t)(job->timeout * 1000);
  job->names = list_names(job);
  pthread_mutex_lock(&pd__lock);
  if (!thread_runs) thread_runs = pd__thread_start(run_jobs, NULL);
  bool started = thread_runs && waiting < PD__JOBS_MAX;
  pd__job **end = &queue;
  while (started && *end) end = &(*end)->next;
  if (started) {
    *end = job;
    waiting++;
    pthread_cond_signal(&queued);
  }
  pthread_mutex_unlock(&pd__lock);
  return started;
}

void pd__job_free(pd__job *job) {
  if (!job) return;
  pthread_mutex_lock(&pd__lock);
  if (job->server) pd__server_release(job->server);
  pthread_mutex_unlock(&pd__lock);
  pd__problems_free(job);
  pd__document_free(&job->document);
  pd__text_free(&job->current);
  pd__text_free(&job->result);
  free(job->names);
  free(job);
}

/* ---- Answers, on the clients' thread ---- */

static void answer(pd__client *client, const pd__job *job) {
  client->waiting--;
  if (!*job->id.text) return;
  pd__answer_begin(&client->out, &job->id);
  if (job->problems || !job->result.data || job->result.failed) {
    pd__job_write_error(&client->out, job);
  } else {
    pd__json_name(&client->out, "result");
    pd__json_raw(&client->out, job->result.data);
  }
  pd__answer_end(&client->out);
}

static void answer_done(void) {
  pthread_mutex_lock(&pd__lock);
  pd__job *list = done;
  done = NULL;
  pthread_mutex_unlock(&pd__lock);
  for (pd__job *next; list; list = next) {
    next = list->next;
    pd__client *client = pd__client_find(list->client); /* NULL: gone, or it has its answer */
    bool given_up = __atomic_load_n(&list->state, __ATOMIC_ACQUIRE) == PD__GIVEN_UP;
    if (client && !given_up) answer(client, list);
    pd__job_free(list);
  }
}

/* Returns what keeps a job waiting, in `why`. The caller holds pd__lock. */
static void describe_wait(const pd__job *job, char why[512]) {
  const pd__job *first = running && running != job ? running : NULL;
  const char *names = job->names ? job->names : "",
             *others = first && first->names ? first->names : "";
  if (first) {
    snprintf(why, 512, "given up after %g s: an earlier change waits for validators of %s",
             job->timeout, others);
  } else {
    snprintf(why, 512,
             "given up after %g s: waiting for validators of %s, which may need a lock that the "
             "program holds, such as Python's",
             job->timeout, names);
  }
}

/* Gives a job up, if it isn't too late, and answers. It is freed when the changes' thread is done.
 */
static void give_up(pd__job *job) {
  char why[512];
  bool given_up =
      enter_state(job, PD__QUEUED, PD__GIVEN_UP) || enter_state(job, PD__ASKING, PD__GIVEN_UP);
  if (!given_up) return;
  pd__client *client = pd__client_find(job->client);
  if (!client) return;
  pd__job late = {.id = job->id, .problems_end = &late.problems};
  describe_wait(job, why);
  pd__job_fail(&late, "timeout", NULL, PD_ERR_REFUSED, "%s", why);
  answer(client, &late);
  pd__problems_free(&late);
}

static int64_t check_deadline(pd__job *job, int64_t now, int64_t next) {
  if (__atomic_load_n(&job->state, __ATOMIC_ACQUIRE) > PD__ASKING) return next;
  if (job->deadline <= now) give_up(job);
  return job->deadline > now && (next < 0 || job->deadline < next) ? job->deadline : next;
}

int64_t pd__jobs_answer(void) {
  int64_t now = pd__now(), next = -1;
  answer_done();
  pthread_mutex_lock(&pd__lock);
  if (running) next = check_deadline(running, now, next);
  for (pd__job *job = queue; job; job = job->next) next = check_deadline(job, now, next);
  pthread_mutex_unlock(&pd__lock);
  return next;
}

void pd__jobs_cancel(uint64_t client) {
  pthread_mutex_lock(&pd__lock);
  for (pd__job *job = queue; job; job = job->next) {
    if (job->client == client) enter_state(job, PD__QUEUED, PD__GIVEN_UP);
  }
  if (running && running->client == client) enter_state(running, PD__ASKING, PD__GIVEN_UP);
  pthread_mutex_unlock(&pd__lock);
}

bool pd__jobs_wait(void) { return queue || running || done; }

void pd__jobs_wake(void) { pthread_cond_signal(&queued); }

/* The thread stayed in the parent, and so did what waits for it. What is running isn't freed: it
 * may be half changed. */
void pd__jobs_abandon(void) {
  queue = running = done = NULL;
  waiting = 0;
  thread_runs = false;
  pthread_cond_init(&queued, NULL);
}
