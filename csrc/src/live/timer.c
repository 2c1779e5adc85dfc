/* Ends temporary changes in time, on a thread that exists while there are any. */
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
  if (each->sensitive || flag->sensitive || !flag->defined || flag->state & PD_STATE_UNSET)
    return NULL;
  const char *text = pd__value_text((pd_type)flag->type, pd__flag_value(flag), buffer);
  return pd__arena_text(arena, text, strlen(text));
}

static void write_end(pd__out *event, const pd__kept *kept, const char *const *before) {
  pd__json json = {.out = event, .compact = true, .place = {.arena = event->arena}};
  pd__audit_begin(&json, "ended");
  pd__json_add_text(&json, "result", "applied");
  pd__kept_write_head(&json, kept, pd__platform_time());
  pd__json_key(&json, "flags");
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
  const char **before = pd__arena_take(event->arena, kept->count * sizeof *before);
  for (size_t i = 0; before && i < kept->count; i++) {
    before[i] = text_of(event->arena, &kept->flags[i]);
  }
  pd__journal_change = kept->number;
  pd_status status = pd__override_end(operation, kept->override, NULL);
  pd__journal_change = 0;
  if (status == PD_ERR_MEMORY) return false;
  pd__kept_end(kept, PD__ENDED);
  write_end(event, kept, before);
  return true;
}

/* Returns false when nothing is left to end. */
static bool step(void) {
  PD__LOCKED_OPERATION(operation);
  pd__out event = {.arena = &operation.arena};
  pd__kept *kept = next_due();
  int64_t now = pd__platform_steady_time();
  if (!kept) {
    pd__platform_end_thread();
    pd__operation_end(&operation);
    return false;
  }
  if (kept->deadline > now) {
    pd__platform_wait(kept->deadline);
    pd__operation_end(&operation);
    return true;
  }
  pd_live *live = kept->live;
  if (!end(&operation, kept, &event)) {
    pd__platform_wait(now + 100);
    pd__operation_end(&operation);
    return true;
  }
  kept->live = NULL;
  PD__OPERATION(telling);
  pd__out text = {.arena = &telling.arena};
  pd__out_add(&text, event.text ? event.text : "", event.length);
  pd__operation_end(&operation); /* notifies the watchers */
  pd__audit(live, &telling, text.text, text.length);
  pd__operation_lock(&telling);
  pd__live_release(live);
  pd__operation_end(&telling);
  return true;
}

static void run(void) {
  while (step()) continue;
}

bool pd__timer_start(void) {
  bool runs = pd__platform_start_thread(run);
  if (runs) pd__platform_wake();
  return runs;
}
