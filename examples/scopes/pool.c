/* A pool of threads that runs each job in the scopes of the thread that submitted it, also when
 * these have ended by then.
 *
 *     cc -pthread pool.c $(python -m paddle_flags config --cflags --libs) -o pool
 */
#include <pd_flags.h>
#include <pthread.h>
#include <stdio.h>

PD_DEFINE_SCOPED_string(mode, "fast", "How to search", .choices = "fast|best");

enum { WORKERS = 2, JOBS = 4 };

typedef struct job {
  const char *name;
  pd_scope_context *context; /* owned */
  const char *result;
} job;

static job jobs[JOBS];
static int submitted, taken;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void submit(const char *name) {
  job *fresh = &jobs[submitted++];
  fresh->name = name;
  pd_scope_capture(&fresh->context, NULL);
}

static job *take(void) {
  pthread_mutex_lock(&lock);
  job *next = taken < submitted ? &jobs[taken++] : NULL;
  pthread_mutex_unlock(&lock);
  return next;
}

static void *work(void *unused) {
  (void)unused;
  for (job *mine; (mine = take());) {
    pd_scope attached;
    pd_scope_attach(mine->context, &attached, NULL);
    mine->result = PD_SCOPED(mode);
    pd_scope_detach(attached, NULL);
    pd_scope_release(mine->context);
  }
  return NULL;
}

static pd_scope begin(const char *mode) {
  pd_scope scope = 0;
  pd_assignment values[] = {{.flag = PD_SCOPED_FLAG(mode), .text = mode}};
  pd_scope_push(values, 1, NULL, NULL, &scope, NULL);
  return scope;
}

int main(void) {
  pthread_t workers[WORKERS];
  submit("first");
  pd_scope best = begin("best");
  submit("second");
  pd_scope fast = begin("fast");
  submit("third");
  pd_scope_pop(fast, NULL);
  submit("fourth");
  pd_scope_pop(best, NULL);
  for (int i = 0; i < WORKERS; i++) pthread_create(&workers[i], NULL, work, NULL);
  for (int i = 0; i < WORKERS; i++) pthread_join(workers[i], NULL);
  for (int i = 0; i < JOBS; i++) printf("%s: %s\n", jobs[i].name, jobs[i].result);
  return 0;
}
