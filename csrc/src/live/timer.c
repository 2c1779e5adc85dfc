/* Ends temporary changes in time, on a thread that exists while there are any. */
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

/* Ends a change, and writes the event for the audit. If memory is out it stays on, and the next
 * round tries again. */
static bool end(pd__operation *operation, pd__kept *kept, pd__out *event) {
  uint64_t outer = pd__journal_change;
  pd__journal_change = kept->number;
  pd_status status = pd__override_end(operation, kept->override, NULL);
  pd__journal_change = outer;
  if (status == PD_ERR_MEMORY) return false;
  pd__kept_end(kept, PD__ENDED);
  pd__json json = {.out = event, .compact = true, .place = {.arena = event->arena}};
  pd__audit_begin(&json, "ended");
  pd__json_add_text(&json, "result", "applied");
  pd__kept_write(&json, kept, pd__platform_time());
  pd__json_close(&json, "}");
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
