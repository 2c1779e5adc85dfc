/* Ends temporary changes in time, on a thread that exists while there are any and calls nobody's
 * code. */
#include <stdlib.h>
#include <string.h>

#include "../registry/change.h"
#include "../registry/journal.h"
#include "live.h"

static pd__kept *next_due(void) {
  pd__kept *first = NULL;
  for (pd__kept *at = pd__kept_after(0); at; at = pd__kept_after(at->number)) {
    if (at->state == PD__ON && (!first || at->deadline < first->deadline)) first = at;
  }
  return first;
}

/* Returns the text of the flag's current value; NULL if it has none. */
static const char *text_of(pd__arena *arena, const pd__kept_flag *each) {
  char buffer[PD__NUMBER_SIZE];
  const pd_flag *flag = each->flag;
  if (each->sensitive || pd__flag_is_sensitive(flag) || !pd__flag_def(flag) ||
      pd__flag_is_unset(flag))
    return NULL;
  const char *text = pd__value_text(pd__flag_type(flag), pd__flag_value(flag), buffer);
  return pd__arena_copy_text(arena, text, strlen(text));
}

static void write_end(pd__out *event, const pd__kept *kept, const char *const *before) {
  pd__json json = {.out = event, .compact = true, .place = {.arena = event->arena}};
  pd__audit_begin(&json, "ended");
  pd__json_add_text(&json, "result", "applied");
  pd__kept_write_head(&json, kept, pd__platform_time());
  pd__json_begin_member(&json, "flags");
  pd__json_open(&json, "[");
  for (size_t i = 0; i < kept->count; i++) {
    const pd__kept_flag *each = &kept->flags[i];
    pd__step_write(&json, each, before ? before[i] : NULL, text_of(event->arena, each));
  }
  pd__json_close(&json, "]");
  pd__json_close(&json, "}");
}

/* Ends a change, and writes the event for the audit. If memory is out it stays on, and the next
 * round tries again. */
static bool end(pd__operation *operation, pd__kept *kept, pd__out *event) {
  const char **before = pd__arena_alloc(event->arena, kept->count * sizeof *before);
  for (size_t i = 0; before && i < kept->count; i++) {
    before[i] = text_of(event->arena, &kept->flags[i]);
  }
  pd__journal_mark = kept->number;
  pd_status status = pd__override_end(operation, kept->override, NULL);
  pd__journal_mark = 0;
  if (status == PD_ERR_MEMORY) return false;
  pd__kept_end(kept, PD__ENDED);
  write_end(event, kept, before);
  return true;
}

/* ---- Telling ----
 *
 * Watchers and the audit may take their time, or end their thread, and the next change must end
 * nevertheless. So another thread calls them. */

typedef struct told {
  struct told *next;
  pd_live *live;
  pd__notice *notices;
  size_t length;
  char text[];
} told;

static told *first, **last = &first;
static bool telling; /* there is a thread for it */

/* Leaves an event and the watchers of the operation to the other thread. If memory is out, whoever
 * ends an operation next notifies the watchers. */
static void post(pd__operation *operation, pd_live *live, const pd__out *event) {
  size_t length = event->text ? event->length : 0;
  told *made = malloc(sizeof *made + length + 1);
  if (!made) {
    pd__notices_abandon(operation);
    pd__live_release(live);
    return;
  }
  *made = (told){.live = live, .notices = pd__notices_detach(operation), .length = length};
  memcpy(made->text, length > 0 ? event->text : "", length);
  made->text[length] = '\0';
  *last = made;
  last = &made->next;
}

static told *take(void) {
  pd__platform_lock();
  told *taken = first;
  if (taken) first = taken->next;
  if (!first) last = &first;
  if (!taken) telling = false;
  pd__platform_unlock();
  return taken;
}

/* Frees an event, and notifies the watchers. */
static void finish(told *event) {
  PD__LOCKED_OPERATION(operation);
  pd__live_release(event->live);
  pd__notices_attach(&operation, event->notices);
  free(event);
  pd__operation_end(&operation);
}

/* A watcher may have ended the thread. */
static void stop_telling(const volatile bool *finished) {
  if (*finished) return;
  pd__platform_lock();
  telling = false;
  pd__platform_unlock();
}

static void tell_all(void) {
  volatile bool finished __attribute__((cleanup(stop_telling))) = false;
  for (told *next; (next = take());) {
    PD__OPERATION(operation);
    if (next->length > 0) pd__audit(next->live, &operation, next->text, next->length);
    pd__operation_end(&operation);
    finish(next);
  }
  finished = true;
}

/* ---- The thread ---- */

/* Ends all changes that are due. Returns when the next one is; 0 if there is none. */
static int64_t end_due(pd__operation *operation) {
  for (pd__kept *kept; (kept = next_due());) {
    pd__out event = {.arena = &operation->arena};
    int64_t now = pd__platform_steady_time();
    if (kept->deadline > now) return kept->deadline;
    if (!end(operation, kept, &event)) return now + 100; /* memory is out: try again soon */
    post(operation, kept->live, &event);
    kept->live = NULL;
    if (!telling) telling = pd__platform_run_thread(tell_all);
  }
  return 0;
}

/* Leaves the watchers to other threads: pd__operation_clean_up calls none. */
static bool step(void) {
  PD__LOCKED_OPERATION(operation);
  int64_t next = end_due(&operation);
  bool done = next == 0;
  if (done) pd__platform_end_thread();
  if (!done) pd__platform_wait_until(next);
  pd__operation_clean_up(&operation);
  return !done;
}

/* In a forked child, what the parent has to tell is the parent's matter. */
static void forget_parent(void) {
  static int64_t owner;
  pd__platform_self self;
  pd__platform_identify(&self);
  pd__platform_lock();
  if (owner && owner != self.pid) {
    first = NULL;
    last = &first;
    telling = false;
  }
  owner = self.pid;
  pd__platform_unlock();
}

static void run(void) {
  forget_parent();
  while (step()) continue;
}

bool pd__timer_start(void) {
  bool runs = pd__platform_start_thread(run);
  if (runs) pd__platform_wake_thread();
  return runs;
}
