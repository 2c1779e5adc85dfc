/* The child of a fork. It has copies of the descriptors, but no threads: it closes what is the
 * parent's, and goes on with what is its own, such as temporary changes that are on. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "live.h"

/* Returns a server that this process has to open again, and hasn't tried yet. */
static pd_live_server *find_closed(void) {
  pd_live_server *at = pd__servers;
  while (at && (at->stopped || at->socket.fd >= 0 || at->on_fork != PD_LIVE_FORK_REOPEN ||
                at->process == getpid())) {
    at = at->next;
  }
  return at;
}

/* Not at once: most children call exec, and runtimes such as Python's must repair their locks
 * before watchers are called. */
static void *go_on(void *unused) {
  struct timespec pause = {.tv_nsec = 100000000};
  nanosleep(&pause, NULL);
  pthread_mutex_lock(&pd__lock);
  for (pd_live_server *each; (each = find_closed());) {
    pd_error err;
    each->process = getpid();
    pd__server_hold(each);
    pthread_mutex_unlock(&pd__lock);
    if (pd__server_reopen(each, &err) != PD_OK) {
      pd__warn("the flags of the forked process %ld are not served: %s", (long)getpid(),
               err.message);
    }
    pthread_mutex_lock(&pd__lock);
    if (each->stopped) pd__socket_remove(&each->socket); /* meanwhile */
    pd__server_release(each);
  }
  pd__loop_start();
  pthread_mutex_unlock(&pd__lock);
  return unused;
}

static void before(void) { pthread_mutex_lock(&pd__lock); }

static void in_parent(void) { pthread_mutex_unlock(&pd__lock); }

static void in_child(void) {
  bool reopens = false;
  pd__loop_abandon();
  pd__jobs_abandon();
  pd__audits_forked();
  pd__callbacks_forked();
  for (pd_live_server *each = pd__servers; each; each = each->next) {
    pd__socket_close(&each->socket, false);
    if (each->where) *each->where = '\0';
    reopens |= each->on_fork == PD_LIVE_FORK_REOPEN && !each->stopped;
  }
  bool waits = pd__changes_on() > 0;
  pthread_mutex_unlock(&pd__lock);
  if (reopens || waits) pd__thread_start(go_on, NULL);
  pd__start_forked();
}

static int registered;
static void watch(void) { registered = pthread_atfork(before, in_parent, in_child); }

pd_status pd__fork_watch(pd_error *err) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch);
  return registered == 0 ? PD_OK : pd__fail_memory(err);
}
