/* Plugins for tests that look at what happens while one comes or leaves: opened by the loader
 * or by the registry, and calls that stop until the test lets them go on. Every such test
 * begins with `begin`, for what it shows may also be that nothing goes on any more. */
#ifndef PLUGGED_H
#define PLUGGED_H

#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

/* Ends the child of a fork. exit() lets coverage be written; but LeakSanitizer takes what the lost
 * threads of the parent held for leaks. */
#ifdef __SANITIZE_ADDRESS__
#define END_CHILD() _exit(0)
#else
#define END_CHILD() exit(0)
#endif

/* A test that hangs ends by a signal, also on a slow and busy machine with a sanitizer: loading
 * 10,000 implementations took 20 s on one. */
static inline void begin(void) { alarm(240); }

static inline const char *plugin_path(const char *name) {
  static _Thread_local char paths[8][4096];
  static _Thread_local int last;
  char *path = paths[last++ % 8];
  snprintf(path, sizeof *paths, "%s/lib%s.so", getenv("PLUGINS"), name);
  return path;
}

/* By the loader, without the registry. */
static inline void *open_plugin(const char *name) {
  void *handle = dlopen(plugin_path(name), RTLD_NOW | RTLD_LOCAL);
  if (!handle) check_fail(__FILE__, __LINE__, "%s", dlerror());
  return handle;
}

static inline void close_plugin(void *handle) { CHECK(dlclose(handle) == 0); }

/* By the registry. */
static inline pd_module *load_module(const char *name) {
  pd_module *module = NULL;
  CHECK_OK(pd_module_load(plugin_path(name), NULL, &module, &err));
  return module;
}

static inline void *symbol(void *handle, const char *name) {
  void *found = dlsym(handle, name);
  if (!found) check_fail(__FILE__, __LINE__, "%s", dlerror());
  return found;
}

/* A symbol of a plugin that is open anyhow. */
static inline void *symbol_in(const char *plugin, const char *name) {
  void *handle = dlopen(plugin_path(plugin), RTLD_NOW | RTLD_NOLOAD);
  CHECK(handle);
  void *found = symbol(handle, name);
  dlclose(handle);
  return found;
}

static inline bool is_loaded(const char *name) {
  void *handle = dlopen(plugin_path(name), RTLD_NOW | RTLD_NOLOAD);
  if (handle) dlclose(handle);
  return handle != NULL;
}

/* musl never unmaps a library, and doesn't run its destructors before exit. */
#ifdef __GLIBC__
#define LOADER_UNMAPS 1
#else
#define LOADER_UNMAPS 0
#endif

/* ---- Calls that stop ---- */

/* `inside` is posted when a call has come in; it goes on when `leave` is posted. */
static sem_t inside, leave;

static inline void make_gate(void) { CHECK(!sem_init(&inside, 0, 0) && !sem_init(&leave, 0, 0)); }

static inline void wait_for(sem_t *event) {
  while (sem_wait(event) != 0) {
  }
}

/* Whether the event comes soon. What can't come, since somebody waits for us, doesn't. */
static inline bool comes_soon(sem_t *event) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += 300 * 1000 * 1000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  return sem_timedwait(event, &until) == 0;
}

static inline void stop_here(void) {
  sem_post(&inside);
  wait_for(&leave);
}

static inline pthread_t start(void *(*run)(void *), void *context) {
  pthread_t thread;
  CHECK(!pthread_create(&thread, NULL, run, context));
  return thread;
}

static inline void *finish(pthread_t thread) {
  void *result;
  CHECK(!pthread_join(thread, &result));
  return result;
}

/* ---- Setting on another thread ---- */

typedef struct setting {
  const char *name, *text;
  pd_status status;
  pd_error err;
} setting;

static inline void *set_by_name(void *wanted) {
  setting *one = wanted;
  one->status = pd_flag_set_by_name(one->name, one->text, &one->err);
  return NULL;
}

#endif /* PLUGGED_H */
