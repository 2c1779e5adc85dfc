/* Starting and stopping servers, also in the child of a fork. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "change.h"
#include "client.h"

static int fork_error; /* of pthread_atfork */

/* ---- Starting ---- */

static bool copy_optional_text(const char *from, char **to) {
  *to = from ? strdup(from) : NULL;
  return *to || !from;
}

static pd_status open_server_socket(pd_live_server *server, const char *address, pd_error *err) {
  pd__socket made;
  pd_status status = pd__socket_listen(address, &made, err);
  if (status != PD_OK) return status;
  pthread_mutex_lock(&pd__lock);
  free(server->socket.path);
  server->socket = made;
  server->process = getpid();
  pthread_mutex_unlock(&pd__lock);
  return status;
}

static pd_status check_settable_patterns(const char *patterns, pd_error *err) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-.*?,";
  bool empty = !*patterns || *patterns == ',' || strstr(patterns, ",,") ||
               patterns[strlen(patterns) - 1] == ',';
  if (!empty && strspn(patterns, allowed) == strlen(patterns)) return PD_OK;
  return pd__live_fail(
      err, PD_ERR_ARGUMENT,
      "settable: '%.200s': expected names or patterns with * and ?, with commas between", patterns);
}

static pd_status check_server_options(const pd_live_server_options *options, pd_error *err) {
  if (options->on_fork > PD_LIVE_FORK_REOPEN) {
    return pd__live_fail(err, PD_ERR_ARGUMENT, "on_fork: %u: expected a pd_live_fork",
                         options->on_fork);
  }
  if (options->address && !strchr(options->address, '/')) {
    return pd__live_fail(err, PD_ERR_ARGUMENT, "address: %.400s: expected a path with a slash",
                         options->address);
  }
  return options->settable ? check_settable_patterns(options->settable, err) : PD_OK;
}

/* Callers of another version of the header may know fewer fields, or more that they leave 0. */
static pd_status copy_server_options(const pd_live_server_options *options,
                                     pd_live_server_options *out, pd_error *err) {
  *out = (pd_live_server_options){.size = sizeof *out};
  if (!options) return PD_OK;
  if (options->size < sizeof options->size || options->size > 4096) {
    return pd__live_fail(err, PD_ERR_ARGUMENT,
                         "options->size is %zu: expected sizeof(pd_live_server_options)",
                         options->size);
  }
  for (size_t i = sizeof *out; i < options->size; i++) {
    if (!((const char *)options)[i]) continue;
    return pd__live_fail(err, PD_ERR_UNSUPPORTED, "options: a field isn't known to this version");
  }
  memcpy(out, options, options->size < sizeof *out ? options->size : sizeof *out);
  return check_server_options(out, err);
}

static pd_status register_and_start_loop(pd_live_server *server, pd_error *err) {
  pthread_mutex_lock(&pd__lock);
  server->next = pd__servers;
  pd__servers = server;
  bool runs = pd__loop_start();
  server->listed = runs;
  if (!runs) pd__servers = server->next;
  pthread_mutex_unlock(&pd__lock);
  return runs ? PD_OK : pd__live_fail(err, PD_ERR_MEMORY, "there can't be another thread");
}

static pd_status start_server(pd_live_server *server, const pd_live_server_options *options,
                              pd_error *err) {
  server->holders = 1;
  server->socket.listening.fd = server->socket.directory.fd = -1;
  server->on_fork = options->on_fork;
  bool copied = copy_optional_text(options->address, &server->address) &&
                copy_optional_text(options->program, &server->program) &&
                copy_optional_text(options->settable, &server->settable);
  pd_status status =
      copied ? pd__audit_open(options, &server->audit, err) : pd__live_fail_memory(err);
  if (status == PD_OK) status = open_server_socket(server, server->address, err);
  return status == PD_OK ? register_and_start_loop(server, err) : status;
}

pd_status pd_live_serve(const pd_live_server_options *given, pd_live_server **out, pd_error *err) {
  pd_live_server_options options;
  if (!out) return pd__live_fail(err, PD_ERR_ARGUMENT, "out is NULL");
  pd_status status = copy_server_options(given, &options, err);
  if (status == PD_OK) status = pd_journal_start(err); /* PD_ERR_UNSUPPORTED without a registry */
  if (status == PD_OK && fork_error != 0) status = pd__live_fail_memory(err);
  if (status != PD_OK) return status;
  pd_live_server *made = calloc(1, sizeof *made);
  if (!made) return pd__live_fail_memory(err);
  status = start_server(made, &options, err);
  if (status == PD_OK) {
    *out = made;
    return status;
  }
  pthread_mutex_lock(&pd__lock);
  pd__server_release(made);
  pthread_mutex_unlock(&pd__lock);
  return status;
}

/* ---- Stopping ---- */

void pd_live_stop(pd_live_server *server) {
  if (!server) return;
  pthread_mutex_lock(&pd__lock);
  __atomic_store_n(&server->stopped, true, __ATOMIC_RELAXED); /* read without the lock, too */
  pd__socket_unlink_file(&server->socket);
  if (!pd__loop_is_running()) pd__servers_remove_stopped();
  pd__loop_wake();
  while (server->listed) pthread_cond_wait(&pd__lock_changed, &pd__lock);
  pd__server_release(server);
  pthread_mutex_unlock(&pd__lock);
}

const char *pd_live_get_address(const pd_live_server *server) {
  return server && server->socket.path ? server->socket.path : "";
}

/* ---- The child of a fork. It has copies of the descriptors, but no threads: it closes what is the
 * parent's, and goes on with what is its own, such as temporary changes that are on. ---- */

/* Listens for a server again. What the parent listens at has a shorter path than PATH_MAX. */
static pd_status reopen_server(pd_live_server *server, pd_error *err) {
  char address[PATH_MAX + 64];
  if (!server->address) return open_server_socket(server, NULL, err);
  snprintf(address, sizeof address, "%s.%ld", server->address, (long)getpid());
  return open_server_socket(server, address, err);
}

/* Returns a server that this process has to open and hasn't tried to; NULL: there is none. */
static pd_live_server *find_unopened_server(void) {
  pd_live_server *at = pd__servers;
  while (at && (at->stopped || at->process == getpid() || at->on_fork != PD_LIVE_FORK_REOPEN)) {
    at = at->next;
  }
  return at;
}

/* Not at once: most children call exec, and runtimes such as Python's must repair their locks
 * before watchers are called. */
static void *reopen_servers_after_delay(void *unused) {
  struct timespec pause = {.tv_nsec = 100000000};
  nanosleep(&pause, NULL);
  pthread_mutex_lock(&pd__lock);
  for (pd_live_server *each; (each = find_unopened_server());) {
    pd_error err;
    each->process = getpid();
    pd__server_retain(each);
    pthread_mutex_unlock(&pd__lock);
    if (reopen_server(each, &err) != PD_OK) {
      pd__live_warn("the flags of the forked process %ld are not served: %s", (long)getpid(),
                    err.message);
    }
    pthread_mutex_lock(&pd__lock);
    if (each->stopped) pd__socket_unlink_file(&each->socket); /* meanwhile */
    pd__server_release(each);
  }
  pd__loop_start();
  pthread_mutex_unlock(&pd__lock);
  return unused;
}

static void lock_live_before_fork(void) { pthread_mutex_lock(&pd__lock); }

static void unlock_live_in_parent(void) { pthread_mutex_unlock(&pd__lock); }

static void reset_live_in_child(void) {
  bool reopens = false;
  pthread_cond_init(&pd__lock_changed, NULL);
  pd__loop_reset_in_child();
  pd__jobs_reset_in_child();
  pd__steps_reset_in_child();
  pd__audits_reset_in_child();
  for (pd_live_server *each = pd__servers; each; each = each->next) {
    pd__socket_close(&each->socket, false);
    each->process = 0; /* the PID of the parent may be ours in another namespace */
    if (each->socket.path) *each->socket.path = '\0';
    reopens |= each->on_fork == PD_LIVE_FORK_REOPEN && !each->stopped;
  }
  bool waits = pd__changes_count_temporary() > 0;
  pthread_mutex_unlock(&pd__lock);
  if (reopens || waits) pd__thread_start(reopen_servers_after_delay, NULL);
}

__attribute__((constructor)) static void register_fork_handlers(void) {
  fork_error = pthread_atfork(lock_live_before_fork, unlock_live_in_parent, reset_live_in_child);
}

/* ---- The end of the process ---- */

/* A forked child has copies of its parent's sockets, whose files aren't its own. */
__attribute__((destructor)) static void remove_sockets(void) {
  pthread_mutex_lock(&pd__lock);
  for (pd_live_server *each = pd__servers; each; each = each->next) {
    if (each->process == getpid()) pd__socket_unlink_file(&each->socket);
  }
  pthread_mutex_unlock(&pd__lock);
}
