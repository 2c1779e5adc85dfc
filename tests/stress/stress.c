/* Runs the rounds: stress DIRECTORY_OF_PLUGINS SEED SECONDS
 *
 * Prints "done", or what is wrong. STRESS_SERIAL=1 lets no two calls that need the loader run at
 * the same time: what still fails then has another cause. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "stress.h"

#define ROUND 150 /* operations of each thread */

static actor actors[THREADS];
static pthread_barrier_t barrier;
static unsigned long long seed;
static time_t deadline;
static unsigned long rounds;
static bool is_over, serial;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1 /* its malloc isn't safe to fork beside threads that are in it */
#else
#define SANITIZED 0
#endif

/* A child of a process whose other threads are in the loader may hang in the loader, as the header
 * says: whatever may call the loader holds this for reading, and fork for writing. */
static pthread_rwlock_t loader;

void fail_at(const actor *who, const char *file, int line, const char *format, ...) {
  __builtin_va_list arguments;
  __builtin_va_start(arguments, format);
  flockfile(stderr);
  fprintf(stderr, "%s:%d: ", file, line);
  if (who) fprintf(stderr, "thread %d, %s: ", who->number, who->operation);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n  seed %llu, round %lu\n", seed, rounds);
  __builtin_va_end(arguments);
  _exit(1);
}

void check_status(const actor *who, const char *file, int line, const char *call, pd_status got,
                  pd_status expected) {
  if (got == expected) return;
  fail_at(who, file, line, "%s\n  is %s, expected %s", call, pd_status_name(got),
          pd_status_name(expected));
}

unsigned pick_number(actor *who, unsigned count) { /* xorshift */
  who->random ^= who->random << 13;
  who->random ^= who->random >> 7;
  who->random ^= who->random << 17;
  return (unsigned)(who->random >> 11) % count;
}

void yield_sometimes(void) {
  static unsigned calls;
  unsigned call = __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
  if (call % 3 == 0) sched_yield();
  if (call % 17 == 0) usleep(200);
}

/* ---- Fork ---- */

static void run_child(actor *who) {
  alarm(240);
  who->operation = "child of fork";
  check_child_owned(who);
  check_scopes(who);
  check_child_modules(who);
  _exit(0);
}

static void fork_child(actor *who) {
  int status = 0;
  pid_t child = fork();
  if (child < 0) FAIL(who, "fork failed");
  if (child == 0) run_child(who);
  while (waitpid(child, &status, 0) < 0) {
  }
  if (status != 0) FAIL(who, "a child of fork ended with status %#x", (unsigned)status);
}

/* ---- Rounds ---- */

typedef enum use_of_loader { NEVER, MAYBE, ALONE } use_of_loader;

static const struct {
  void (*run)(actor *who);
  const char *name;
  unsigned share;
  use_of_loader uses; /* whether it may call the loader: itself, or by the hook of a plugin */
} operations[] = {
    {set_owned, "set", 24, NEVER},
    {set_owned_batch, "batch", 8, NEVER},
    {reset_owned, "reset", 4, NEVER},
    {push_override, "push override", 6, NEVER},
    {pop_override, "pop override", 6, NEVER},
    {freeze_owned, "freeze", 3, NEVER},
    {hook_owned, "hook", 4, NEVER},
    {parse_line, "parse", 3, MAYBE},
    {drop_argv, "drop", 3, NEVER},
    {set_pair, "set pair", 4, MAYBE},
    {set_shared_text, "set text", 6, NEVER},
    {define_common, "define", 3, NEVER},
    {define_pending, "define pending", 2, NEVER},
    {list_all, "list", 1, NEVER},
    {write_reports, "report", 1, NEVER},
    {compare_snapshot, "snapshot", 1, NEVER},
    {apply_config, "config", 2, MAYBE},
    {load_plugin, "load", 14, MAYBE},
    {unload_plugin, "unload", 12, MAYBE},
    {open_by_loader, "dlopen", 3, MAYBE},
    {change_conflict, "conflict", 8, MAYBE},
    {set_plugin_pending, "pending", 3, MAYBE},
    {check_modules, "check modules", 1, NEVER},
    {use_hold, "use plugin", 8, MAYBE},
    {set_plugin_flags, "set plugin", 8, MAYBE},
    {watch_plugin_flag, "watch plugin", 3, MAYBE},
    {look_at_plugin, "look at plugin", 8, MAYBE},
    {choose_impl, "choose", 4, MAYBE},
    {call_operation, "call", 4, NEVER},
    {register_impl, "register", 4, MAYBE},
    {push_scope, "push scope", 6, NEVER},
    {pop_scope, "pop scope", 5, NEVER},
    {set_scoped, "set scoped", 4, NEVER},
    {lend_context, "lend context", 3, NEVER},
    {borrow_context, "attach", 4, NEVER},
    {fork_child, "fork", SANITIZED ? 0 : 1, ALONE},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static void run_operation(actor *who, size_t index) {
  use_of_loader uses = operations[index].uses;
  if (serial && uses == MAYBE) uses = ALONE;
  who->operation = operations[index].name;
  if (uses == MAYBE) pthread_rwlock_rdlock(&loader);
  if (uses == ALONE) pthread_rwlock_wrlock(&loader);
  operations[index].run(who);
  if (uses != NEVER) pthread_rwlock_unlock(&loader);
}

static void run_round(actor *who) {
  unsigned all = 0;
  for (size_t i = 0; i < OPERATIONS; i++) all += operations[i].share;
  for (int done = 0; done < ROUND; done++) {
    unsigned choice = pick_number(who, all);
    size_t at = 0;
    while (choice >= operations[at].share) choice -= operations[at++].share;
    run_operation(who, at);
  }
}

/* No other thread does anything. */
static void check_round(void) {
  check_plugins(actors);
  check_choice(actors);
  check_snapshot(actors);
  fork_child(&actors[0]);
  rounds++;
  is_over = time(NULL) >= deadline;
}

static void *run_actor(void *context) {
  actor *who = context;
  while (!is_over) {
    run_round(who);
    who->operation = "end of a round";
    check_owned(who);
    check_scopes(who);
    pthread_barrier_wait(&barrier);
    if (who->number == 0) check_round();
    pthread_barrier_wait(&barrier);
  }
  return NULL;
}

static void count_warning(const char *message, pd_warning kind, void *counter) {
  (void)message, (void)kind;
  __atomic_fetch_add((unsigned *)counter, 1, __ATOMIC_RELAXED);
}

static void prepare(const char *directory) {
  static unsigned warnings;
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
#ifdef __GLIBC__ /* a fork waits for those that are inside, not for those that come */
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
#endif
  pthread_rwlock_init(&loader, &attributes);
  pthread_barrier_init(&barrier, NULL, THREADS);
  MUST_BE(NULL, pd_warning_handle(count_warning, &warnings, NULL), PD_OK);
  define_shared();
  find_plugins(directory);
  begin_choices();
  for (int i = 0; i < THREADS; i++) {
    actors[i].number = i;
    actors[i].random = (seed + (unsigned)i + 1) * 0x9e3779b97f4a7c15u | 1;
    define_owned(&actors[i]);
  }
}

int main(int argc, char **argv) {
  pthread_t threads[THREADS];
  if (argc != 4) return 2;
  seed = strtoull(argv[2], NULL, 10);
  deadline = time(NULL) + atoi(argv[3]);
  serial = getenv("STRESS_SERIAL") != NULL;
  alarm((unsigned)atoi(argv[3]) + 120); /* a deadlock ends by a signal */
  prepare(argv[1]);
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, run_actor, &actors[i]);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  printf("%lu rounds\ndone\n", rounds);
  return 0;
}
