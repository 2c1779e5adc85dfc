/* The changes' thread, and what waits for it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

static pd__job *queue, *running, *done; /* guarded by pd__lock */
static bool jobs_thread_runs;

/* ---- The changes' thread ---- */

/* Returns NULL, and lets the thread end, if nothing waits and there are no servers. */
static pd__job *wait_for_job(void) {
  pthread_mutex_lock(&pd__lock);
  while (!queue && pd__servers) pthread_cond_wait(&pd__lock_changed, &pd__lock);
  pd__job *job = running = queue;
  if (!job) {
    jobs_thread_runs = false;
    pthread_mutex_unlock(&pd__lock);
    return NULL;
  }
  queue = job->next;
  pthread_mutex_unlock(&pd__lock);
  return job;
}

/* Watchers are left to the callbacks' thread, so that no change waits for those of an earlier one.
 */
static void *run_jobs(void *unused) {
  pd_callbacks_postpone(true);
  for (pd__job *job; (job = wait_for_job());) {
    if (pd__job_try_change_state(job, PD__QUEUED, PD__ASKING)) {
      job->run(job);
    } else {
      pd__batch_audit_if_given_up(job, NULL);
    }
    pd__job_try_change_state(job, PD__ASKING, PD__DECIDED); /* it failed, and no one gave it up */
    pthread_mutex_lock(&pd__lock);
    running = NULL;
    job->next = done;
    done = job;
    pthread_mutex_unlock(&pd__lock);
    pd__loop_wake();
  }
  return unused;
}

bool pd__job_try_enqueue(pd__job *job) {
  pd__job **end = &queue;
  size_t waiting = 0;
  job->deadline = pd__get_steady_ms() + (int64_t)(job->timeout * 1000);
  pthread_mutex_lock(&pd__lock);
  if (!jobs_thread_runs) jobs_thread_runs = pd__thread_start(run_jobs, NULL);
  for (; *end; end = &(*end)->next) waiting++;
  bool started = jobs_thread_runs && waiting < PD__JOBS_MAX;
  if (started) *end = job;
  if (started) pthread_cond_broadcast(&pd__lock_changed);
  pthread_mutex_unlock(&pd__lock);
  return started;
}

/* ---- Answers, on the clients' thread ---- */

static void answer_done_jobs(void) {
  pthread_mutex_lock(&pd__lock);
  pd__job *list = done;
  done = NULL;
  pthread_mutex_unlock(&pd__lock);
  for (pd__job *next; list; list = next) {
    next = list->next;
    if (__atomic_load_n(&list->state, __ATOMIC_ACQUIRE) == PD__GIVEN_UP) {
      pd__job_free(list); /* its client is gone, or has an answer */
    } else {
      pd__client_finish_job(list);
    }
  }
}

static void append_flag_names(pd__text *to, const pd__value *at) {
  for (; at && to->length < 200; at = at->next) {
    pd__text_add_format(to, "%s%.60s", to->length > 0 ? ", " : "", at->name ? at->name : at->text);
  }
}

/* Returns what keeps a job waiting, in `why`. The caller holds pd__lock. */
static void describe_job_timeout(const pd__job *job, char why[512]) {
  const pd__job *first = running ? running : job;
  pd__text names = {.data = NULL};
  append_flag_names(&names, first->set);
  append_flag_names(&names, first->unset);
  if (first->values) append_flag_names(&names, first->values->first);
  if (first->undo) pd__text_add_format(&names, "change %llu", (unsigned long long)first->undo);
  const char *form = first == job
                         ? "given up after %g s: waiting for validators of %s, which may need a "
                           "lock that the program holds, such as Python's"
                         : "given up after %g s: an earlier change waits for validators of %s";
  snprintf(why, 512, form, job->timeout, names.data ? names.data : "");
  pd__text_free(&names);
}

/* Gives a job up, if it isn't too late, and answers. It is freed when the changes' thread is done.
 */
static void give_up_job(pd__job *job) {
  char why[512];
  bool given_up = pd__job_try_change_state(job, PD__QUEUED, PD__GIVEN_UP) ||
                  pd__job_try_change_state(job, PD__ASKING, PD__GIVEN_UP);
  pd__client *client = given_up ? pd__client_find(job->client) : NULL;
  if (!client) return;
  client->waiting--;
  describe_job_timeout(job, why);
  pd__problem_write_answer(&client->out, job->id, "timeout", why);
}

static int64_t enforce_job_deadline(pd__job *job, int64_t now, int64_t next) {
  if (__atomic_load_n(&job->state, __ATOMIC_ACQUIRE) > PD__ASKING) return next;
  if (job->deadline <= now) give_up_job(job);
  return job->deadline > now && job->deadline < next ? job->deadline : next;
}

int64_t pd__jobs_answer_and_expire(void) {
  int64_t now = pd__get_steady_ms(), next = INT64_MAX;
  answer_done_jobs();
  pthread_mutex_lock(&pd__lock);
  if (running) next = enforce_job_deadline(running, now, next);
  for (pd__job *job = queue; job; job = job->next) next = enforce_job_deadline(job, now, next);
  pthread_mutex_unlock(&pd__lock);
  return next;
}

void pd__jobs_cancel_for_client(uint64_t client) {
  pthread_mutex_lock(&pd__lock);
  for (pd__job *job = queue; job; job = job->next) {
    if (job->client == client) pd__job_try_change_state(job, PD__QUEUED, PD__GIVEN_UP);
  }
  if (running && running->client == client)
    pd__job_try_change_state(running, PD__ASKING, PD__GIVEN_UP);
  pthread_mutex_unlock(&pd__lock);
}

bool pd__jobs_has_unfinished(void) { return queue || running || done; }

/* The thread stayed in the parent, and so did what waits for it. What is running isn't freed: it
 * may be half changed. */
void pd__jobs_reset_in_child(void) {
  queue = running = done = NULL;
  jobs_thread_runs = false;
}
