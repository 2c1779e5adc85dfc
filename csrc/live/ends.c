/* Ends temporary changes on time, on the clients' thread. No validator is asked, and watchers are
 * notified by others, so nothing keeps it waiting. */
#include <stdlib.h>

#include "live.h"

/* Returns the change that is due first; NULL: none is on. The caller holds pd__lock. */
static pd__change *find_next(void) {
  pd__change *first = NULL;
  for (pd__change *at = pd__change_latest(); at; at = at->older) {
    if (at->state == PD__ON && (!first || at->deadline < first->deadline)) first = at;
  }
  return first;
}

static pd_status drop_values(const pd__change *change) {
  size_t count = 0;
  pd_error err;
  pd_batch_change *items = calloc(change->count + 1, sizeof *items);
  if (!items) return PD_ERR_MEMORY;
  for (size_t i = 0; i < change->count; i++) {
    if (change->flags[i].over) continue;
    items[count++] = (pd_batch_change){.flag = change->flags[i].flag, .override = change->override};
  }
  pd__batch batch = {.items = items, .count = count, .mark = change->number, .who = &change->who};
  pd_status status = pd__batch_apply(&batch, false, NULL, &err);
  free(items);
  return status;
}

/* Returns false if memory is out: then it stays on, and is tried again soon. Another thread may
 * undo it meanwhile, but doesn't free it while it is used. */
static bool end_change(pd__change *change) {
  pthread_mutex_lock(&pd__lock);
  pd__change_use(change);
  pthread_mutex_unlock(&pd__lock);
  bool ended = drop_values(change) != PD_ERR_MEMORY;
  pthread_mutex_lock(&pd__lock);
  change->users--;
  pd__audit *audit = ended && change->state == PD__ON ? change->audit : NULL;
  if (audit) pd__audit_hold(audit);
  if (ended && change->state == PD__ON) pd__change_end(change, PD__ENDED);
  pthread_mutex_unlock(&pd__lock);
  if (!audit) return ended;
  pd__audit_change(audit, change, "ended");
  pthread_mutex_lock(&pd__lock);
  pd__audit_release(audit);
  pthread_mutex_unlock(&pd__lock);
  return true;
}

int64_t pd__changes_end_due(void) {
  for (;;) {
    pthread_mutex_lock(&pd__lock);
    pd__change *next = find_next();
    int64_t deadline = next ? next->deadline : -1;
    pthread_mutex_unlock(&pd__lock);
    int64_t now = pd__now();
    if (!next || deadline > now) return deadline;
    if (!end_change(next)) return now + 100;
  }
}
