/* What Linux and macOS share: the lock, fork, which holds it, and the background thread.
 *
 * Handlers that the program has registered before ours run between them: in the parent after
 * lock_before_fork and before unlock_after_fork, in the child before reset_and_unlock_child. They
 * may call the library, so the thread that forks passes through the lock; other threads wait. */
#define _GNU_SOURCE
#include "platform.h"

#ifndef _WIN32

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "posix.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Held for reading by each walk over the images, and for writing by fork. glibc doesn't reset its
 * own lock for walks in a forked child, so no thread may be in a walk during fork. */
static pthread_rwlock_t walks = PTHREAD_RWLOCK_INITIALIZER;

/* The thread for which fork holds the lock; 0: none. The other variables below belong to the thread
 * that holds the lock. */
static pthread_t forking;
static unsigned entered; /* how often that thread has acquired the lock since */
static bool holds_walks;
static pd__fork_state state; /* of this fork */

static void (*start_child)(void);

/* ---- Fork ---- */

static bool is_forking_thread(void) {
  pthread_t thread = __atomic_load_n(&forking, __ATOMIC_RELAXED);
  return thread && pthread_equal(thread, pthread_self());
}

static void acquire_lock_for_fork(void) {
  pthread_rwlock_wrlock(&walks);
  pthread_mutex_lock(&lock);
  holds_walks = true;
  __atomic_store_n(&forking, pthread_self(), __ATOMIC_RELAXED);
}

static void release_lock_of_fork(void) {
  bool held_walks = holds_walks;
  holds_walks = false;
  __atomic_store_n(&forking, (pthread_t)0, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&lock);
  if (held_walks) pthread_rwlock_unlock(&walks);
}

/* The thread that holds the lock of walks has another id in the child, so it can't unlock it:
 * initialize the lock again. */
static void reset_in_forked_child(void) {
  state.process = getpid();
  state.in_child = true;
  if (holds_walks) walks = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
  holds_walks = false;
  start_child();
}

/* A handler of the program may need the registry before reset_and_unlock_child has made it that of
 * the child. */
static void reset_if_forked_child(void) {
  if (getpid() != state.process) reset_in_forked_child();
}

static void lock_before_fork(void) {
  if (is_forking_thread()) { /* a handler forks */
    reset_if_forked_child();
    state.nested++;
    return;
  }
  acquire_lock_for_fork();
  state = (pd__fork_state){.process = getpid()};
}

/* Returns whether the fork that ends is that of a handler. */
static bool end_nested_fork(void) {
  bool nested = state.nested > 0;
  state.nested -= nested;
  return nested;
}

static void unlock_after_fork(void) {
  if (!is_forking_thread() || end_nested_fork()) return;
  release_lock_of_fork();
}

static void reset_and_unlock_child(void) {
  if (!is_forking_thread()) return;
  if (!state.in_child || getpid() != state.process) reset_in_forked_child();
  unlock_after_fork();
}

void pd__posix_watch_forks(void (*child)(void)) {
  start_child = child;
  pthread_atfork(lock_before_fork, unlock_after_fork, reset_and_unlock_child);
}

void pd__platform_release_fork_lock(pd__fork_state *out) {
  *out = (pd__fork_state){.released = false};
  if (!is_forking_thread()) return;
  reset_if_forked_child();
  *out = state;
  out->released = true;
  release_lock_of_fork();
}

void pd__platform_reacquire_fork_lock(const pd__fork_state *released) {
  if (!released->released) return;
  acquire_lock_for_fork();
  state = *released;
  state.process = getpid();
}

/* ---- The lock ---- */

/* Not inlined, so that pd__platform_lock needs no stack. */
static __attribute__((noinline)) void lock_unless_forking_thread(void) {
  if (is_forking_thread()) {
    reset_if_forked_child();
    entered++;
  } else {
    pthread_mutex_lock(&lock);
  }
}

/* While nobody forks, this costs one load and one test. */
void pd__platform_lock(void) {
  if (__builtin_expect(__atomic_load_n(&forking, __ATOMIC_RELAXED) != 0, 0)) {
    lock_unless_forking_thread();
  } else {
    pthread_mutex_lock(&lock);
  }
}

void pd__platform_unlock(void) {
  if (__builtin_expect(entered > 0, 0)) {
    entered--;
  } else {
    pthread_mutex_unlock(&lock);
  }
}

uintptr_t pd__platform_thread_id(void) { return (uintptr_t)pthread_self(); }

void pd__posix_begin_image_walk(pd__fork_state *fork_state) {
  pd__platform_release_fork_lock(fork_state);
  pthread_rwlock_rdlock(&walks);
}

void pd__posix_end_image_walk(const pd__fork_state *fork_state) {
  pthread_rwlock_unlock(&walks);
  pd__platform_reacquire_fork_lock(fork_state);
}

#endif /* _WIN32 */
