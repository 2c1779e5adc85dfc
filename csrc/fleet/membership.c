/* pd_fleet_join, pd_fleet_tick and pd_fleet_leave; forks and the end of the process. */
#include "membership.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "say.h"

static pthread_mutex_t current_lock = PTHREAD_MUTEX_INITIALIZER;
static pd_fleet *current;     /* of this process, also while it joins */
static pd_fleet *left_behind; /* by the parent of this process: memory that may be half changed */

static pd_status out_of_memory(pd_error *err) {
  return pd__say(err, PD_ERR_MEMORY, "%s", pd_status_text(PD_ERR_MEMORY));
}

/* ---- Locks and waiting ---- */

int pd__fleet_lock(pd_fleet *fleet) {
  pthread_mutex_lock(&fleet->lock);
  return ++fleet->depth;
}

void pd__fleet_unlock(pd_fleet *fleet) {
  fleet->depth--;
  pthread_mutex_unlock(&fleet->lock);
}

bool pd__fleet_is_stopped(pd_fleet *fleet) {
  return __atomic_load_n(&fleet->stopped, __ATOMIC_SEQ_CST);
}

static struct timespec later(double seconds) {
  struct timespec until;
  clock_gettime(CLOCK_MONOTONIC, &until);
  double whole = floor(seconds);
  until.tv_sec += (time_t)whole;
  until.tv_nsec += (long)((seconds - whole) * 1e9);
  if (until.tv_nsec >= 1000000000) {
    until.tv_nsec -= 1000000000;
    until.tv_sec++;
  }
  return until;
}

void pd__fleet_pause(pd_fleet *fleet, double seconds) {
  struct timespec until = later(seconds);
  pthread_mutex_lock(&fleet->waiting);
  while (!fleet->stopped) {
    if (pthread_cond_timedwait(&fleet->changed, &fleet->waiting, &until) != 0) break;
  }
  pthread_mutex_unlock(&fleet->waiting);
}

static void stop(pd_fleet *fleet) {
  pthread_mutex_lock(&fleet->waiting);
  __atomic_store_n(&fleet->stopped, true, __ATOMIC_SEQ_CST);
  pthread_cond_broadcast(&fleet->changed);
  pthread_mutex_unlock(&fleet->waiting);
}

/* ---- Making ---- */

static void init_locks(pd_fleet *fleet) {
  pthread_mutexattr_t recursive;
  pthread_condattr_t monotonic;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&fleet->lock, &recursive);
  pthread_mutexattr_destroy(&recursive);
  pthread_mutex_init(&fleet->waiting, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&fleet->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
}

static void free_fleet(pd_fleet *fleet) {
  pd__member_free(&fleet->member);
  pd__store_close(&fleet->store);
  json_decref(fleet->published);
  json_decref(fleet->check);
  if (fleet->key) explicit_bzero(fleet->key, strlen(fleet->key));
  free(fleet->key);
  pthread_cond_destroy(&fleet->changed);
  pthread_mutex_destroy(&fleet->waiting);
  pthread_mutex_destroy(&fleet->lock);
  free(fleet);
}

/* The last reference is the owner's, or the thread's, from which pd_fleet_leave was called. */
void pd__fleet_release(pd_fleet *fleet) {
  pthread_mutex_lock(&fleet->waiting);
  bool last = --fleet->references == 0;
  fleet->ended = true;
  pthread_cond_broadcast(&fleet->changed);
  pthread_mutex_unlock(&fleet->waiting);
  if (last) free_fleet(fleet);
}

/* ---- Options ---- */

static pd_status check_seconds(const char *name, double *value, double otherwise, pd_error *err) {
  if (*value == 0.0) *value = otherwise;
  if (*value > 0.0 && isfinite(*value)) return PD_OK;
  return pd__say(err, PD_ERR_ARGUMENT, "%s is %g: expected a number of seconds, more than 0", name,
                 *value);
}

static pd_status take_name(pd_fleet *fleet, const pd_fleet_options *options, pd_error *err) {
  const char *role = options->role;
  if (role && strlen(role) >= sizeof fleet->place.role) {
    return pd__say(err, PD_ERR_ARGUMENT, "role: expected at most %d bytes", PD__NAME_SIZE - 1);
  }
  if (role) memcpy(fleet->place.role, role, strlen(role) + 1);
  if (options->has_rank) fleet->place.rank = options->rank < 0 ? -1 : options->rank;
  if (!options->name) {
    pd__name_for(&fleet->place, fleet->name);
    return PD_OK;
  }
  if (!pd__name_is_valid(options->name)) {
    return pd__say(err, PD_ERR_ARGUMENT,
                   "name: '%.200s': expected at most %d letters, digits and . _ @ -, with a letter "
                   "or digit first",
                   options->name, PD__NAME_SIZE - 1);
  }
  memcpy(fleet->name, options->name, strlen(options->name) + 1);
  return PD_OK;
}

static pd_status take_options(pd_fleet *fleet, const pd_fleet_options *given, pd_error *err) {
  pd_fleet_options options = {.size = sizeof options};
  memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
  if (!options.url) return pd__say(err, PD_ERR_ARGUMENT, "url is NULL");
  if (options.on_lost > PD_FLEET_EXIT) {
    return pd__say(err, PD_ERR_ARGUMENT, "on_lost: expected PD_FLEET_KEEP, _DEFAULT or _EXIT");
  }
  pd_status status = check_seconds("ttl", &options.ttl, 10.0, err);
  if (status == PD_OK) status = check_seconds("tick_timeout", &options.tick_timeout, 60.0, err);
  if (status == PD_OK) status = pd__place_find(&fleet->place, err);
  if (status == PD_OK) status = take_name(fleet, &options, err);
  if (status != PD_OK) return status;
  const char *key = options.key ? options.key : getenv("PADDLE_FLAGS_FLEET_KEY");
  fleet->key = key && *key ? strdup(key) : NULL;
  fleet->ttl = options.ttl;
  fleet->tick_timeout = options.tick_timeout;
  fleet->on_lost = options.on_lost;
  fleet->late_ticks = options.late_ticks;
  return pd__store_open(options.url, &fleet->store, err);
}

/* ---- Joining ---- */

/* One that has ended, and was not waited for, doesn't run. */
static bool is_running(int64_t pid) {
  char path[64], text[512];
  snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return access("/proc/self", F_OK) != 0 && kill((pid_t)pid, 0) == 0;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  text[length > 0 ? length : 0] = '\0';
  const char *state = strrchr(text, ')');
  return !state || !strchr("ZX", state[1] ? state[2] : 'Z');
}

/* A process of this machine that runs may have the name. One that was killed has a successor. */
static pd_status refuse_double(pd_fleet *fleet, pd_error *err) {
  pd_status status = PD_OK;
  json_t *other = pd__store_member(&fleet->store, fleet->name);
  int64_t pid = pd__json_integer(other, "pid", 0);
  bool here = strcmp(pd__json_string(other, "host", ""), fleet->place.host) == 0;
  if (here && pid > 0 && pid != getpid() && is_running(pid)) {
    status = pd__say(err, PD_ERR_CONFLICT,
                     "%.300s: %s is a member already, process %lld of this machine; give another "
                     "name or rank",
                     fleet->store.url, fleet->name, (long long)pid);
  }
  json_decref(other);
  return status;
}

static pd_status start_thread(pd_fleet *fleet, pd_error *err) {
  sigset_t all, before;
  sigfillset(&all);
  fleet->references++;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&fleet->thread, NULL, pd__fleet_run, fleet);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  fleet->has_thread = failed == 0;
  if (!failed) {
    pthread_setname_np(fleet->thread, "pd_fleet");
    return PD_OK;
  }
  fleet->references--;
  return pd__say(err, PD_ERR_MEMORY, "no thread can be started (errno %d)", failed);
}

static pd_status start(pd_fleet *fleet, const pd_fleet_options *options, pd_error *err) {
  pd_config *probe = NULL; /* no registry, or an old one, refuses the source */
  pd_status status = pd_config_new(PD_SOURCE_FLEET, &probe, err);
  pd_config_free(probe);
  if (status == PD_ERR_ARGUMENT) status = PD_ERR_UNSUPPORTED;
  if (status == PD_OK) status = take_options(fleet, options, err);
  if (status != PD_OK) return status;
  const char *role = *fleet->place.role ? fleet->place.role : NULL;
  if (!pd__member_init(&fleet->member, &fleet->store, fleet->name, role, fleet->place.host)) {
    return out_of_memory(err);
  }
  pd__fleet_lock(fleet);
  status = refuse_double(fleet, err);
  if (status == PD_OK) status = pd__member_start(&fleet->member, err);
  if (status == PD_OK) status = pd__fleet_announce(fleet, err);
  pd__fleet_unlock(fleet);
  return status == PD_OK ? start_thread(fleet, err) : status;
}

/* ---- Forks ---- */

static void before_fork(void) { pthread_mutex_lock(&current_lock); }
static void in_parent(void) { pthread_mutex_unlock(&current_lock); }

static void in_child(void) {
  if (current) current->forked = true;
  current = NULL;
  pthread_mutex_unlock(&current_lock);
}

static int registered;
static void watch_forks(void) { registered = pthread_atfork(before_fork, in_parent, in_child); }

/* ---- The public functions ---- */

static bool enlist(pd_fleet *fleet) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  pthread_mutex_lock(&current_lock);
  bool first = !current && registered == 0;
  if (first) current = fleet;
  pthread_mutex_unlock(&current_lock);
  return first;
}

static void delist(const pd_fleet *fleet) {
  pthread_mutex_lock(&current_lock);
  if (current == fleet) current = NULL;
  pthread_mutex_unlock(&current_lock);
}

PD_FLEET_API pd_status pd_fleet_join(const pd_fleet_options *options, pd_fleet **out,
                                     pd_error *err) {
  if (!out || !options) return pd__say(err, PD_ERR_ARGUMENT, "%s is NULL", out ? "options" : "out");
  if (options->size < sizeof(size_t)) {
    return pd__say(err, PD_ERR_ARGUMENT, "options->size is %zu", options->size);
  }
  pd_fleet *fleet = calloc(1, sizeof *fleet);
  if (!fleet) return out_of_memory(err);
  init_locks(fleet);
  fleet->references = 1;
  fleet->started = pd__wall();
  if (!enlist(fleet)) {
    free_fleet(fleet);
    return pd__say(err, PD_ERR_CONFLICT, "this process is a member of a fleet already");
  }
  pd_status status = start(fleet, options, err);
  if (status != PD_OK) {
    delist(fleet);
    if (fleet->published) pd__store_withdraw(&fleet->store, fleet->name);
    free_fleet(fleet);
    return status;
  }
  *out = fleet;
  return PD_OK;
}

PD_FLEET_API void pd_fleet_leave(pd_fleet *fleet) {
  if (!fleet) return;
  delist(fleet);
  if (fleet->forked) {
    fleet->next = left_behind;
    left_behind = fleet;
    return;
  }
  stop(fleet);
  if (pthread_equal(fleet->thread, pthread_self())) {
    pthread_detach(fleet->thread);
  } else {
    pthread_join(fleet->thread, NULL);
  }
  pd__fleet_say_farewell(fleet);
  pd__fleet_release(fleet);
}

PD_FLEET_API int64_t pd_fleet_get_revision(const pd_fleet *fleet) {
  if (!fleet || fleet->forked) return 0;
  pd_fleet *locked = (pd_fleet *)(uintptr_t)fleet;
  pd__fleet_lock(locked);
  int64_t revision = fleet->member.state.revision;
  pd__fleet_unlock(locked);
  return revision;
}

PD_FLEET_API const char *pd_fleet_get_name(const pd_fleet *fleet) {
  return fleet ? fleet->name : "";
}

/* ---- At exit ---- */

/* Nothing is waited for for long: a validator may never return. */
__attribute__((destructor)) static void leave_at_exit(void) {
  struct timespec until = later(2.0);
  pthread_mutex_lock(&current_lock);
  pd_fleet *fleet = current;
  current = NULL;
  pthread_mutex_unlock(&current_lock);
  if (!fleet || !fleet->has_thread) return;
  stop(fleet);
  pthread_mutex_lock(&fleet->waiting);
  while (!fleet->ended && !pthread_equal(fleet->thread, pthread_self())) {
    if (pthread_cond_timedwait(&fleet->changed, &fleet->waiting, &until) != 0) break;
  }
  bool ended = fleet->ended;
  pthread_mutex_unlock(&fleet->waiting);
  if (ended) {
    pd__fleet_say_farewell(fleet);
  } else {
    pd__store_withdraw(&fleet->store, fleet->name);
  }
}
