/* pd_live_serve and pd_live_stop. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "module.h"
#include "say.h"

pthread_mutex_t pd__servers_lock = PTHREAD_MUTEX_INITIALIZER;
pd_live_server *pd__servers;

static pd_status out_of_memory(pd_error *err) {
  return pd__say(err, PD_ERR_MEMORY, "%s", pd_status_text(PD_ERR_MEMORY));
}

/* ---- What runs ---- */

void pd__running_hold(pd__running *running) {
  pthread_mutex_lock(&running->lock);
  running->references++;
  pthread_mutex_unlock(&running->lock);
}

static void free_requests(pd__request *first) {
  for (pd__request *next; first; first = next) {
    next = first->next;
    pd__request_free(first);
  }
}

/* The last reference may be that of a worker, whose validator returned long after pd_live_stop. */
void pd__running_release(pd__running *running) {
  pthread_mutex_lock(&running->lock);
  bool last = --running->references == 0;
  pthread_mutex_unlock(&running->lock);
  if (!last) return;
  free_requests(running->done);
  free_requests(running->queue);
  pd__socket_close(&running->socket, false);
  if (running->wake >= 0) close(running->wake);
  pd_live_close(running->live);
  pthread_cond_destroy(&running->changed);
  pthread_mutex_destroy(&running->lock);
  free(running);
}

static pd_status open_live(const pd_live_server *server, pd__running *running, pd_error *err) {
  const pd__socket *socket = &running->socket;
  const char *hosts = server->hosts ? server->hosts : socket->hosts;
  if (!socket->local && !*hosts) {
    return pd__say(err, PD_ERR_ARGUMENT,
                   "hosts: %s is any address: expected the values of Host to allow", socket->where);
  }
  pd_live_options options = {.size = sizeof options,
                             .settable = server->settable,
                             .hosts = socket->local ? server->hosts : hosts,
                             .tokens = server->tokens,
                             .token_count = server->token_count,
                             .audit = server->audit ? pd__audit_write : NULL,
                             .context = server->audit};
  running->may = socket->local ? PD_LIVE_READ | PD_LIVE_CHANGE : 0;
  return pd_live_open(&options, &running->live, err);
}

static pd__running *make_running(void) {
  pd__running *running = calloc(1, sizeof *running);
  if (!running) return NULL;
  pthread_mutex_init(&running->lock, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&running->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  running->references = 1;
  running->maker = getpid();
  running->epoll = -1;
  running->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  running->socket = (pd__socket){.fd = -1, .directory = -1};
  return running;
}

static void publish(pd_live_server *server, pd__running *running, char *where) {
  pthread_mutex_lock(&pd__servers_lock);
  server->running = running;
  if (where) server->where = where; /* the old one stays: somebody may have it */
  pthread_mutex_unlock(&pd__servers_lock);
}

/* A program may end, or fork, as soon as somebody is served: so the server is known before. */
pd_status pd__server_run(pd_live_server *server, const char *address, pd_error *err) {
  pd_status status = PD_OK;
  pd__running *running = make_running();
  if (!running) return out_of_memory(err);
  if (running->wake < 0) status = pd__say_errno(err, "no eventfd", "pd_live_serve");
  if (status == PD_OK) status = pd__socket_listen(address, &running->socket, err);
  if (status == PD_OK) status = open_live(server, running, err);
  char *where = status == PD_OK ? strdup(running->socket.where) : NULL;
  if (status == PD_OK && !where) status = out_of_memory(err);
  if (status == PD_OK) {
    publish(server, running, where);
    status = pd__loop_start(running, err);
  }
  if (status == PD_OK) return PD_OK;
  publish(server, NULL, NULL);
  pd__socket_remove(&running->socket);
  pd__running_release(running);
  return status;
}

/* ---- Options ---- */

static bool copy_text(char **out, const char *text) {
  *out = text ? strdup(text) : NULL;
  return !text || *out;
}

static void free_tokens(pd_live_server *server) {
  for (size_t at = 0; server->tokens && at < server->token_count; at++) {
    char *text = (char *)(uintptr_t)server->tokens[at].text;
    if (text) explicit_bzero(text, strlen(text));
    free(text);
    free((char *)(uintptr_t)server->tokens[at].label);
  }
  free(server->tokens);
}

void pd__server_free(pd_live_server *server) {
  free_tokens(server);
  free(server->address);
  free(server->settable);
  free(server->hosts);
  free(server->audit_path);
  free(server->where);
  free(server);
}

static bool copy_tokens(pd_live_server *server, const pd_live_server_options *options) {
  server->tokens = calloc(options->token_count + 1, sizeof *server->tokens);
  if (!server->tokens) return false;
  for (size_t at = 0; at < options->token_count; at++) {
    pd_live_token *to = &server->tokens[server->token_count++];
    const pd_live_token *from = &options->tokens[at];
    *to = (pd_live_token){.may = from->may};
    if (!copy_text((char **)(uintptr_t)&to->text, from->text)) return false;
    if (!copy_text((char **)(uintptr_t)&to->label, from->label)) return false;
  }
  return true;
}

static pd_status check_options(const pd_live_server_options *options, pd_error *err) {
  bool tcp = options->address && !strchr(options->address, '/');
  if (tcp && options->token_count == 0) {
    return pd__say(err, PD_ERR_ARGUMENT, "tokens: at least one is needed on TCP");
  }
  if (options->token_count > 0 && !options->tokens) {
    return pd__say(err, PD_ERR_ARGUMENT, "tokens is NULL");
  }
  if (options->on_fork > PD_LIVE_FORK_REOPEN) {
    return pd__say(err, PD_ERR_ARGUMENT, "on_fork: expected PD_LIVE_FORK_CLOSE or _REOPEN");
  }
  const char *port = tcp ? strrchr(options->address, ':') : NULL;
  if (options->on_fork == PD_LIVE_FORK_REOPEN && port && strcmp(port, ":0") != 0) {
    return pd__say(err, PD_ERR_ARGUMENT,
                   "on_fork: a child can't listen at %.400s too: expected port 0, or a Unix socket",
                   options->address);
  }
  return PD_OK;
}

static pd_status copy_options(pd_live_server *server, const pd_live_server_options *options,
                              pd_error *err) {
  bool copied = copy_text(&server->address, options->address) &&
                copy_text(&server->settable, options->settable) &&
                copy_text(&server->hosts, options->hosts) &&
                copy_text(&server->audit_path, options->audit_path) && copy_tokens(server, options);
  if (!copied) return out_of_memory(err);
  server->audit_fsync = options->audit_fsync;
  server->on_fork = options->on_fork;
  if (!server->audit_path) return PD_OK;
  return pd__audit_open(server->audit_path, server->audit_fsync, &server->audit, err);
}

/* ---- The public functions ---- */

static void enlist(pd_live_server *server) {
  pthread_mutex_lock(&pd__servers_lock);
  server->next = pd__servers;
  pd__servers = server;
  pthread_mutex_unlock(&pd__servers_lock);
}

/* Returns whether the server is to be stopped later, by the thread that reopens it. */
static bool delist(pd_live_server *server) {
  pthread_mutex_lock(&pd__servers_lock);
  pd_live_server **at = &pd__servers;
  while (*at && *at != server) at = &(*at)->next;
  if (*at) *at = server->next;
  bool later = server->stopped = server->reopening;
  pthread_mutex_unlock(&pd__servers_lock);
  return later;
}

static pd_status serve(const pd_live_server_options *options, pd_live_server **out, pd_error *err) {
  pd_live_server *server = calloc(1, sizeof *server);
  if (!server) return out_of_memory(err);
  pd_status status = copy_options(server, options, err);
  if (status == PD_OK) status = pd__fork_watch(err);
  if (status == PD_OK) {
    enlist(server);
    status = pd__server_run(server, server->address, err);
  }
  if (status != PD_OK) {
    delist(server);
    pd__server_free(server);
    return status;
  }
  *out = server;
  return PD_OK;
}

PD_LIVE_API pd_status pd_live_serve(const pd_live_server_options *options, pd_live_server **out,
                                    pd_error *err) {
  pd_live_server_options all = {.size = sizeof all};
  if (!out) return pd__say(err, PD_ERR_ARGUMENT, "out is NULL");
  if (options && options->size < sizeof(size_t)) {
    return pd__say(err, PD_ERR_ARGUMENT, "options->size is %zu", options->size);
  }
  if (options) memcpy(&all, options, options->size < sizeof all ? options->size : sizeof all);
  pd_status status = check_options(&all, err);
  return status == PD_OK ? serve(&all, out, err) : status;
}

/* From the loop itself, as in a handler of warnings, there is nothing to wait for. */
void pd__running_stop(pd__running *running) {
  pthread_mutex_lock(&running->lock);
  running->stopping = true;
  pthread_mutex_unlock(&running->lock);
  pd__loop_wake(running);
  if (pthread_equal(running->loop, pthread_self())) {
    pthread_detach(running->loop);
  } else {
    pthread_join(running->loop, NULL);
  }
  pd__running_release(running);
}

PD_LIVE_API void pd_live_stop(pd_live_server *server) {
  if (!server) return;
  if (delist(server)) return;
  if (server->running) pd__running_stop(server->running);
  pd__server_free(server);
}

PD_LIVE_API const char *pd_live_get_address(const pd_live_server *server) {
  pthread_mutex_lock(&pd__servers_lock);
  const char *where = server && server->running ? server->where : "";
  pthread_mutex_unlock(&pd__servers_lock);
  return where;
}

/* ---- At exit ---- */

/* Remove the sockets and end the loops, so that libmicrohttpd isn't used after its own destructor.
 * Nothing is waited for for long: a validator may never return. */
__attribute__((destructor)) static void leave(void) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  until.tv_sec += 2;
  pthread_mutex_lock(&pd__servers_lock);
  pd_live_server *server = pd__servers;
  pd__servers = NULL;
  pthread_mutex_unlock(&pd__servers_lock);
  for (; server; server = server->next) {
    pd__running *running = server->running;
    if (!running || running->maker != getpid()) continue;
    pthread_mutex_lock(&running->lock);
    running->stopping = true;
    pd__loop_wake(running);
    while (!running->ended && !pthread_equal(running->loop, pthread_self())) {
      if (pthread_cond_timedwait(&running->changed, &running->lock, &until) != 0) break;
    }
    pthread_mutex_unlock(&running->lock);
    pd__socket_remove(&running->socket);
  }
}
