/* Threads that run changes: a validator may take long, or forever, and readers don't wait for it.
 * They are started when needed and end when idle. A connection has at most one request, so the
 * queue is as bounded as the connections. */
#include <errno.h>
#include <time.h>

#include "module.h"

enum { IDLE_SECONDS = 10 };

static pd__request *pop(pd__request **list) {
  pd__request *first = *list;
  if (first) *list = first->next;
  if (first) first->next = NULL;
  return first;
}

static void append(pd__request **list, pd__request *request) {
  while (*list) list = &(*list)->next;
  request->next = NULL;
  *list = request;
}

/* Wait for a request, under the lock. Returns NULL when the thread isn't needed any more. */
static pd__request *wait_for_request(pd__running *running) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += IDLE_SECONDS;
  int late = 0;
  running->idle++;
  while (!running->queue && !running->ended && !running->stopping && late == 0) {
    late = pthread_cond_timedwait(&running->changed, &running->lock, &until);
  }
  running->idle--;
  return running->stopping ? NULL : pop(&running->queue);
}

static void *work(void *argument) {
  pd__running *running = argument;
  pd__request *request;
  pthread_mutex_lock(&running->lock);
  while ((request = wait_for_request(running))) {
    pthread_mutex_unlock(&running->lock);
    pd__request_ask(request, true);
    pthread_mutex_lock(&running->lock);
    append(&running->done, request);
    pd__loop_wake(running);
  }
  running->workers--;
  pthread_mutex_unlock(&running->lock);
  pd__running_release(running);
  return NULL;
}

/* Under the lock. */
static bool add_worker(pd__running *running) {
  running->references++;
  if (pd__thread_start(NULL, true, work, running) != 0) {
    running->references--;
    return false;
  }
  running->workers++;
  return true;
}

bool pd__worker_take(pd__request *request) {
  pd__running *running = request->running;
  pthread_mutex_lock(&running->lock);
  unsigned waiting = 0;
  for (pd__request *each = running->queue; each; each = each->next) waiting++;
  bool another = waiting >= running->idle && running->workers < PD__WORKERS_MAX;
  if (another) add_worker(running);
  bool taken = running->workers > 0;
  if (taken) append(&running->queue, request);
  pthread_cond_broadcast(&running->changed);
  pthread_mutex_unlock(&running->lock);
  return taken;
}

/* A request that has waited too long, or whose client is gone, is never begun. */
static bool is_late(const pd__request *request, int64_t now) {
  return !request->client || now - request->queued > PD__QUEUE_TIME;
}

pd__request *pd__worker_done(pd__running *running, int64_t now) {
  pthread_mutex_lock(&running->lock);
  pd__request *done = running->done;
  running->done = NULL;
  for (pd__request **at = &running->queue; *at;) {
    pd__request *each = *at;
    if (!is_late(each, now)) {
      at = &each->next;
      continue;
    }
    *at = each->next;
    each->busy = true;
    append(&done, each);
  }
  pthread_mutex_unlock(&running->lock);
  return done;
}
