/* The thread of a server. It alone calls libmicrohttpd, which therefore needs no threads of its own
 * and no locks; it waits for libmicrohttpd's epoll descriptor beside ours.
 *
 * libmicrohttpd ends the process where it finds something impossible, for example that the program
 * has closed a descriptor of ours (daemons close all that they don't know). A view of flags must
 * not end the program that it shows, so our panic handler jumps out of libmicrohttpd, and only the
 * server ends, with a warning; what it held is never touched again. The handler is one for the
 * process: for a panic on another thread, which is the program's own use of libmicrohttpd, it does
 * what libmicrohttpd's own handler does. */
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "module.h"
#include "say.h"

int64_t pd__now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void pd__loop_wake(pd__running *running) {
  uint64_t one = 1;
  (void)!write(running->wake, &one, sizeof one);
}

/* ---- Panics ---- */

typedef struct pd__escape {
  jmp_buf jump;
  char reason[200];
} pd__escape;

static _Thread_local pd__escape *escape;

static void panic(void *context, const char *file, unsigned line, const char *reason) {
  (void)context;
  pd__escape *from = escape;
  if (!from) {
    fprintf(stderr, "Fatal error in GNU libmicrohttpd %s:%u: %s\n", file, line, reason);
    abort();
  }
  snprintf(from->reason, sizeof from->reason, "%s", reason ? reason : "");
  escape = NULL;
  longjmp(from->jump, 1); /* NOLINT(cert-err52-cpp): there is no other way out */
}

/* ---- libmicrohttpd ---- */

static void *begin(void *running, const char *target, struct MHD_Connection *connection) {
  (void)running;
  return pd__request_begin(connection, target);
}

static enum MHD_Result go_on(void *running, struct MHD_Connection *connection, const char *url,
                             const char *method, const char *version, const char *data,
                             size_t *size, void **request) {
  (void)running, (void)url;
  if (!*request) return MHD_NO;
  return pd__request_continue(connection, *request, method, version, data, size) ? MHD_YES : MHD_NO;
}

static void end(void *running, struct MHD_Connection *connection, void **request,
                enum MHD_RequestTerminationCode code) {
  (void)running, (void)connection, (void)code;
  if (*request) pd__request_end(*request);
  *request = NULL;
}

static void connected(void *running, struct MHD_Connection *connection, void **context,
                      enum MHD_ConnectionNotificationCode code) {
  if (code == MHD_CONNECTION_NOTIFY_STARTED) {
    *context = pd__client_take(running, connection);
  } else if (*context) {
    pd__client_forget(*context);
    *context = NULL;
  }
}

/* Percent-encoding is left alone: the library reads the target itself. */
static size_t keep(void *context, struct MHD_Connection *connection,
                   char *text) { /* NOLINT(readability-non-const-parameter): as the type is */
  (void)context, (void)connection;
  size_t length = 0;
  while (text[length]) length++;
  return length;
}

/* What is wrong with a client isn't news for the program's standard error. */
static void ignore(void *context, const char *format, va_list arguments) {
  (void)context, (void)format, (void)arguments;
}

static struct MHD_Daemon *start_daemon(pd__running *running) {
  return MHD_start_daemon(
      MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
      NULL, NULL, go_on, running, MHD_OPTION_EXTERNAL_LOGGER, ignore, NULL,
      MHD_OPTION_URI_LOG_CALLBACK, begin, running, MHD_OPTION_NOTIFY_COMPLETED, end, running,
      MHD_OPTION_NOTIFY_CONNECTION, connected, running, MHD_OPTION_UNESCAPE_CALLBACK, keep, NULL,
      MHD_OPTION_CONNECTION_LIMIT, (unsigned)PD__CLIENTS_MAX + 8,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)PD__HEAD_MEMORY, MHD_OPTION_CONNECTION_TIMEOUT,
      (unsigned)PD__IDLE_TIME / 1000, MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1,
#if MHD_VERSION >= 0x00097603
      MHD_OPTION_CLIENT_DISCIPLINE_LVL, 1,
#endif
      MHD_OPTION_END);
}

/* ---- The loop ---- */

enum { WAKE, LISTEN, EPOLL, FIRST };

static bool is_stopping(pd__running *running) {
  pthread_mutex_lock(&running->lock);
  bool stopping = running->stopping;
  pthread_mutex_unlock(&running->lock);
  return stopping;
}

static int time_to_wait(pd__running *running, int64_t now) {
  MHD_UNSIGNED_LONG_LONG inside;
  int wait = running->stream_count > 0 ? PD__TICK : running->client_count > 0 ? 1000 : -1;
  if (running->accept_again > now) wait = PD__TICK;
  if (MHD_get_timeout(running->daemon, &inside) == MHD_YES &&
      (wait < 0 || inside < (unsigned)wait)) {
    wait = (int)inside;
  }
  return wait;
}

/* Waiting streams are suspended, so libmicrohttpd doesn't notice that their clients go. */
static nfds_t list_descriptors(const pd__running *running, struct pollfd *at, int64_t now) {
  nfds_t count = FIRST;
  at[WAKE] = (struct pollfd){.fd = running->wake, .events = POLLIN};
  bool accepts = running->accept_again <= now;
  at[LISTEN] = (struct pollfd){.fd = accepts ? running->socket.fd : -1, .events = POLLIN};
  at[EPOLL] = (struct pollfd){.fd = running->epoll, .events = POLLIN};
  for (pd__client *each = running->clients; each && count < FIRST + PD__CLIENTS_MAX;
       each = each->next) {
    if (!each->stream || !each->suspended) continue;
    at[count++] = (struct pollfd){.fd = each->fd, .events = POLLRDHUP};
  }
  return count;
}

static void note_gone(pd__running *running, const struct pollfd *at, nfds_t count) {
  nfds_t next = FIRST;
  for (pd__client *each = running->clients; each && next < count; each = each->next) {
    if (!each->stream || !each->suspended) continue;
    if (at[next++].revents) each->stream->gone = true;
  }
}

static void resume_done(pd__running *running, int64_t now) {
  for (pd__request *each = pd__worker_done(running, now), *next; each; each = next) {
    next = each->next;
    if (each->client) {
      pd__client_resume(each->client);
    } else {
      pd__request_free(each);
    }
  }
}

/* Returns false when the descriptors are no longer ours. */
static bool turn(pd__running *running) {
  struct pollfd at[FIRST + PD__CLIENTS_MAX];
  uint64_t count;
  int64_t now = pd__now();
  nfds_t length = list_descriptors(running, at, now);
  if (poll(at, length, time_to_wait(running, now)) < 0 && errno != EINTR) return false;
  if ((at[WAKE].revents | at[LISTEN].revents | at[EPOLL].revents) & POLLNVAL) return false;
  now = pd__now();
  if (at[WAKE].revents) (void)!read(running->wake, &count, sizeof count);
  note_gone(running, at, length);
  if (at[LISTEN].revents) pd__clients_accept(running, now);
  resume_done(running, now);
  if (running->stream_count > 0) pd__streams_tick(running, now);
  pd__clients_sweep(running, now);
  return MHD_run(running->daemon) == MHD_YES;
}

static void report_start(pd__running *running, pd_status status) {
  pthread_mutex_lock(&running->lock);
  running->started = status;
  running->ready = true;
  pthread_cond_broadcast(&running->changed);
  pthread_mutex_unlock(&running->lock);
}

static bool start(pd__running *running) {
  MHD_set_panic_func(panic, NULL);
  running->daemon = start_daemon(running);
  const union MHD_DaemonInfo *info = NULL;
  if (running->daemon) info = MHD_get_daemon_info(running->daemon, MHD_DAEMON_INFO_EPOLL_FD);
  if (info) running->epoll = info->epoll_fd;
  if (running->epoll < 0) {
    pd__say(running->why, PD_ERR_MEMORY, "libmicrohttpd can't be started");
    report_start(running, PD_ERR_MEMORY);
    return false;
  }
  report_start(running, PD_OK);
  return true;
}

/* Requests that a worker has stay with it; the others end with their connections. */
static void stop_daemon(pd__running *running) {
  for (pd__client *each = running->clients; each; each = each->next) {
    if (each->stream) each->stream->gone = true;
    pd__client_resume(each);
  }
  if (running->daemon) MHD_stop_daemon(running->daemon);
}

static void *run(void *argument) {
  pd__running *running = argument;
  pd__escape jump = {.reason = "its descriptors were closed by the program"};
  volatile bool whole = false, started = false;
  escape = &jump;
  if (setjmp(jump.jump) == 0) { /* NOLINT(cert-err52-cpp) */
    started = whole = start(running);
    while (whole && !is_stopping(running)) whole = turn(running);
    pd__socket_remove(&running->socket);
    if (whole) stop_daemon(running);
  } else {
    whole = false;
  }
  escape = NULL;
  if (!whole && started) {
    pd__socket_remove(&running->socket);
    pd__clients_close(running);
    pd__warn("the live server at %s has ended: %s", running->socket.where, jump.reason);
  }
  pthread_mutex_lock(&running->lock);
  pd__close_own(running->socket.fd, running->socket.inode);
  running->socket.fd = -1;
  running->ended = true;
  pthread_cond_broadcast(&running->changed);
  pthread_mutex_unlock(&running->lock);
  pd__running_release(running);
  return NULL;
}

/* ---- Threads ---- */

/* Signals are for the program's own threads. */
int pd__thread_start(pthread_t *out, bool detached, void *(*function)(void *), void *argument) {
  sigset_t all, before;
  pthread_t thread;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&thread, NULL, function, argument);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failed) return failed;
  pthread_setname_np(thread, "pd_live");
  if (detached) pthread_detach(thread);
  if (out) *out = thread;
  return 0;
}

pd_status pd__loop_start(pd__running *running, pd_error *err) {
  running->why = err;
  pd__running_hold(running);
  int failed = pd__thread_start(&running->loop, false, run, running);
  if (failed) {
    pd__running_release(running);
    return pd__say(err, PD_ERR_MEMORY, "no thread can be started (errno %d)", failed);
  }
  pthread_mutex_lock(&running->lock);
  while (!running->ready) pthread_cond_wait(&running->changed, &running->lock);
  pd_status status = running->started;
  running->why = NULL;
  pthread_mutex_unlock(&running->lock);
  if (status != PD_OK) pthread_join(running->loop, NULL);
  return status;
}
