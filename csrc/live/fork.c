/* The child of a fork. It has copies of the descriptors, but no threads: it closes what is the
 * parent's, and never touches libmicrohttpd, whose state may be half changed. One descriptor stays
 * open, the eventfd that libmicrohttpd keeps to itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "module.h"
#include "say.h"
#include "start.h"

/* Where the child listens, or NULL if memory is out. */
static char *own_address(const pd_live_server *server) {
  char *text = NULL;
  if (!strchr(server->address, '/')) return strdup(server->address);
  return asprintf(&text, "%s.%ld", server->address, (long)getpid()) < 0 ? NULL : text;
}

static void open_for_child(pd_live_server *server) {
  char *address = server->address ? own_address(server) : NULL;
  pd_error err;
  if (pd__server_run(server, address, &err) != PD_OK) {
    pd__warn("the flags of the forked process %ld are not served: %s", (long)getpid(), err.message);
  }
  free(address);
}

/* A server of the child isn't opened at once: most children call exec. */
static void *reopen(void *argument) {
  pd_live_server *server = argument;
  struct timespec pause = {.tv_nsec = 100000000};
  nanosleep(&pause, NULL);
  pthread_mutex_lock(&pd__servers_lock);
  bool stopped = server->stopped;
  pthread_mutex_unlock(&pd__servers_lock);
  if (!stopped) open_for_child(server);
  pthread_mutex_lock(&pd__servers_lock);
  stopped = server->stopped;
  server->reopening = false;
  pthread_mutex_unlock(&pd__servers_lock);
  if (!stopped) return NULL;
  if (server->running) pd__running_stop(server->running);
  pd__server_free(server);
  return NULL;
}

static void close_all(pd__running *running) {
  for (pd__client *each = running->clients; each; each = each->next) {
    pd__close_own(each->fd, each->inode);
  }
  pd__close_own(running->socket.fd, running->socket.inode);
  if (running->epoll >= 0) close(running->epoll);
  if (running->wake >= 0) close(running->wake);
  if (running->socket.directory >= 0) close(running->socket.directory);
}

static void before(void) { pthread_mutex_lock(&pd__servers_lock); }

static void in_parent(void) { pthread_mutex_unlock(&pd__servers_lock); }

static void in_child(void) {
  pd__audits_forked();
  for (pd_live_server *each = pd__servers; each; each = each->next) {
    if (each->running) close_all(each->running);
    each->running = NULL;
  }
  pthread_mutex_unlock(&pd__servers_lock);
  for (pd_live_server *each = pd__servers; each; each = each->next) {
    each->reopening = each->on_fork == PD_LIVE_FORK_REOPEN;
    if (each->reopening && pd__thread_start(NULL, true, reopen, each) != 0) each->reopening = false;
  }
  pd__start_forked();
}

static int registered;
static void watch(void) { registered = pthread_atfork(before, in_parent, in_child); }

pd_status pd__fork_watch(pd_error *err) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch);
  if (registered == 0) return PD_OK;
  return pd__say(err, PD_ERR_MEMORY, "%s", pd_status_text(PD_ERR_MEMORY));
}
