/* Serving a program whose own code doesn't, as the variable PADDLE_FLAGS_LIVE says: with
 * LD_PRELOAD, for example.
 *
 * Constructors of preloaded libraries run before those of the program, so its registry arrives
 * later and joins this module like any other; but a module isn't called when that happens. So a
 * thread looks for the host in the module's record, which is one load, for at most 10 seconds: long
 * enough for copies in the program and for what it loads when it starts, and short enough not to
 * trouble programs that have no registry at all. A registry that comes even later isn't served.
 *
 * Python's package reads the same variable and serves by itself, with more options. Where it is in
 * the process when the registry arrives, this file leaves the serving to it. */
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "system.h"
#include "text.h"

enum { WAIT_TIME = 10000, SHORT_TIME = 300 };

static int64_t waiting_since; /* ms, steady; 0: not waiting */
static int waiting;           /* atomic: a thread waits */

/* ---- Whether ---- */

/* Returns NULL for an empty variable, too, and in a setuid program. */
static const char *get_nonempty_variable(const char *name) {
  const char *value = secure_getenv(name);
  return value && *value ? value : NULL;
}

static bool is_serving_requested(void) {
  const char *value = get_nonempty_variable("PADDLE_FLAGS_LIVE");
  return value && strcmp(value, "0") != 0;
}

/* The package loads _fast first, and the library with it. */
static int is_paddle_flags_extension(struct dl_phdr_info *image, size_t size, void *context) {
  (void)size, (void)context;
  const char *path = image->dlpi_name ? image->dlpi_name : "";
  return strstr(path, "/paddle_flags/_fast.") || strstr(path, "/paddle_flags/_native.");
}

/* ---- Serving ---- */

/* A parent with the same variables may have the path, as its children have theirs. */
static pd_status serve_at_path_or_pid_path(const char *path, pd_error *err) {
  const char *fsync = get_nonempty_variable("PADDLE_FLAGS_LIVE_AUDIT_FSYNC");
  pd_live_server *server;
  char own[4096];
  pd_live_server_options options = {.size = sizeof options,
                                    .address = path,
                                    .settable = get_nonempty_variable("PADDLE_FLAGS_LIVE_SETTABLE"),
                                    .audit_path = get_nonempty_variable("PADDLE_FLAGS_LIVE_AUDIT"),
                                    .audit_fsync = fsync && strcmp(fsync, "1") == 0,
                                    .on_fork = PD_LIVE_FORK_REOPEN};
  pd_status status = pd_live_serve(&options, &server, err);
  if (status != PD_ERR_CONFLICT || !path || access(path, F_OK) != 0) return status;
  snprintf(own, sizeof own, "%s.%ld", path, (long)getpid());
  options.address = own;
  return pd_live_serve(&options, &server, NULL) == PD_OK ? PD_OK : status;
}

static void start_requested_server(void) {
  pd_error err;
  const char *value = get_nonempty_variable("PADDLE_FLAGS_LIVE");
  if (!value || dl_iterate_phdr(is_paddle_flags_extension, NULL)) return;
  pd_status status;
  if (strcmp(value, "1") == 0) {
    status = serve_at_path_or_pid_path(NULL, &err);
  } else if (strchr(value, '/')) {
    status = serve_at_path_or_pid_path(value, &err);
  } else {
    status = pd__live_fail(&err, PD_ERR_ARGUMENT,
                           "%.200s: expected 1, or the path of a socket with a slash", value);
  }
  if (status == PD_OK) return;
  pd__live_warn("environment: PADDLE_FLAGS_LIVE: the flags are not served: %s", err.message);
}

/* ---- Waiting ---- */

static void *serve_once_registry_exists(void *argument) {
  (void)argument;
  int64_t now = pd__get_steady_ms();
  while (!__atomic_load_n(&pd__module_v1.host, __ATOMIC_ACQUIRE)) {
    struct timespec pause = {.tv_nsec = now - waiting_since < SHORT_TIME ? 2000000 : 50000000};
    nanosleep(&pause, NULL);
    now = pd__get_steady_ms();
    if (now - waiting_since <= WAIT_TIME) continue;
    __atomic_store_n(&waiting, 0, __ATOMIC_RELEASE);
    return NULL;
  }
  start_requested_server();
  __atomic_store_n(&waiting, 0, __ATOMIC_RELEASE);
  return NULL;
}

static void start_waiting_for_registry(void) {
  __atomic_store_n(&waiting, 1, __ATOMIC_RELEASE);
  if (!pd__thread_start(serve_once_registry_exists, NULL)) waiting = 0;
}

/* The thread stayed in the parent. */
static void resume_waiting_in_child(void) {
  if (waiting) start_waiting_for_registry();
}

__attribute__((constructor)) static void start_when_loaded(void) {
  if (!is_serving_requested()) return;
  if (pthread_atfork(NULL, NULL, resume_waiting_in_child) != 0) return;
  waiting_since = pd__get_steady_ms();
  start_waiting_for_registry();
}
