/* The steps of the program's loop: which one it has begun, and a gate by which a client holds it
 * back. The program writes its step and then looks at the gate; a client writes the gate and then
 * looks at the step. So at least one of them sees the other. */
#include <time.h>

#include "client.h"

#define NONE INT64_MIN
#define OPEN INT64_MAX

static int64_t last = NONE, gate = OPEN; /* atomic */
static int64_t gate_timeout;             /* ms that the program waits at the gate; atomic */
/* These belong to the clients' thread. */
static uint64_t gate_owner;   /* the client that has moved the gate last */
static pd__job *waiting_jobs; /* of steps.wait */

/* ---- The program ---- */

/* A gate that nobody opens in time is opened, so that the program waits there once. */
static pd_status wait_or_force_gate(int64_t step, pd_error *err) {
  int64_t began = pd__get_steady_ms(), closed;
  pd__loop_wake(); /* clients may wait for this step */
  while (step >= (closed = __atomic_load_n(&gate, __ATOMIC_SEQ_CST))) {
    struct timespec pause = {.tv_nsec = 1000000};
    int64_t most = __atomic_load_n(&gate_timeout, __ATOMIC_RELAXED);
    nanosleep(&pause, NULL);
    if (pd__get_steady_ms() - began < most) continue;
    if (!__atomic_compare_exchange_n(&gate, &closed, OPEN, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
      continue;
    return pd__live_fail(
        err, PD_ERR_REFUSED,
        "step %lld: a client has closed the gate at step %lld, and hasn't opened it "
        "within %g s",
        (long long)step, (long long)closed, (double)most / 1000);
  }
  return PD_OK;
}

pd_status pd_live_step(int64_t step, pd_error *err) {
  __atomic_store_n(&last, step, __ATOMIC_SEQ_CST);
  if (step < __atomic_load_n(&gate, __ATOMIC_SEQ_CST)) return PD_OK;
  return wait_or_force_gate(step, err);
}

/* ---- Clients ---- */

/* The last step begun, or NONE. Other threads of the program may begin earlier ones next, so a
 * decision reads it once. */
static int64_t load_last_step(void) { return __atomic_load_n(&last, __ATOMIC_SEQ_CST); }

static bool is_step_reached(int64_t step, int64_t wanted) { return step != NONE && step >= wanted; }

static void write_step_result(pd__job *job, int64_t step) {
  pd__json_begin(&job->result, NULL, '{');
  if (step == NONE) pd__json_put_text(&job->result, "step", NULL);
  if (step != NONE) pd__json_put_number(&job->result, "step", step);
  pd__json_end(&job->result, "}");
}

void pd__steps_answer_get(pd__job *job) { write_step_result(job, load_last_step()); }

void pd__steps_answer_gate(pd__job *job) {
  int64_t closed = __atomic_load_n(&gate, __ATOMIC_SEQ_CST);
  if (closed != OPEN && gate_owner != job->client) {
    pd__job_add_problem(job, "conflict", NULL, PD_ERR_CONFLICT,
                        "another client has closed the gate at step %lld", (long long)closed);
    return;
  }
  gate_owner = job->client;
  __atomic_store_n(&gate_timeout, (int64_t)(job->timeout * 1000), __ATOMIC_RELAXED);
  __atomic_store_n(&gate, job->step.given ? job->step.number : OPEN, __ATOMIC_SEQ_CST);
  pd__steps_answer_get(job);
}

void pd__steps_answer_wait(pd__job *job) {
  int64_t step = load_last_step();
  size_t count = 0;
  for (const pd__job *each = waiting_jobs; each; each = each->next) count++;
  if (!job->step.given) {
    pd__job_add_problem(job, "params", NULL, PD_ERR_ARGUMENT,
                        "params: step: expected a whole number");
  } else if (is_step_reached(step, job->step.number)) {
    write_step_result(job, step);
  } else if (count == PD__JOBS_MAX) {
    pd__job_add_problem(job, "busy", NULL, PD_ERR_REFUSED, "%d requests wait for a step already",
                        PD__JOBS_MAX);
  } else {
    job->deadline = pd__get_steady_ms() + (int64_t)(job->timeout * 1000);
    job->next = waiting_jobs;
    waiting_jobs = job;
    job->answered_later = true;
    pd__client_find(job->client)->waiting++;
  }
}

/* ---- Who waits, on the clients' thread ---- */

static void answer_step_wait(pd__job *job, int64_t step) {
  if (is_step_reached(step, job->step.number)) {
    write_step_result(job, step);
  } else {
    pd__job_add_problem(job, "timeout", NULL, PD_ERR_REFUSED,
                        "given up after %g s: the program hasn't begun step %lld", job->timeout,
                        (long long)job->step.number);
  }
  pd__client_finish_job(job);
}

int64_t pd__steps_answer_waiting_jobs(void) {
  int64_t now = pd__get_steady_ms();
  for (pd__job **at = &waiting_jobs; *at;) {
    pd__job *each = *at;
    int64_t step = load_last_step();
    if (is_step_reached(step, each->step.number) || each->deadline <= now) {
      *at = each->next;
      answer_step_wait(each, step);
    } else {
      at = &each->next;
    }
  }
  return waiting_jobs ? now + PD__POLL_TIME : INT64_MAX;
}

void pd__steps_release_client(uint64_t client) {
  for (pd__job **at = &waiting_jobs; *at;) {
    pd__job *each = *at;
    if (each->client == client) {
      *at = each->next;
      pd__job_free(each);
    } else {
      at = &each->next;
    }
  }
  if (gate_owner == client) __atomic_store_n(&gate, OPEN, __ATOMIC_SEQ_CST);
}

void pd__steps_reset_in_child(void) {
  last = NONE;
  gate = OPEN;
  waiting_jobs = NULL;
}
