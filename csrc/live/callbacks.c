/* The thread for watchers and audits, which may wait for locks of the program. */
#include "live.h"

static bool thread_runs, again; /* guarded by pd__lock */

static bool finish(void) {
  pthread_mutex_lock(&pd__lock);
  bool done = !again;
  again = false;
  if (done) thread_runs = false;
  pthread_mutex_unlock(&pd__lock);
  return done;
}

/* A watcher that ends its thread leaves the rest to a new one. */
static void leave(void *finished) {
  if (*(volatile bool *)finished) return;
  pthread_mutex_lock(&pd__lock);
  thread_runs = false;
  pthread_mutex_unlock(&pd__lock);
}

static void *run(void *unused) {
  volatile bool finished = false;
  pthread_cleanup_push(leave, (void *)&finished);
  do {
    pd_callbacks_run();
    while (pd__audits_call()) pd_callbacks_run();
  } while (!finish());
  finished = true;
  pthread_cleanup_pop(0);
  return unused;
}

void pd__callbacks_start(void) {
  pthread_mutex_lock(&pd__lock);
  again = thread_runs;
  if (!thread_runs) thread_runs = pd__thread_start(run, NULL);
  pthread_mutex_unlock(&pd__lock);
}

void pd__callbacks_forked(void) { thread_runs = again = false; }
