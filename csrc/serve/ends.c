/* Ends temporary changes on time, on the clients' thread. No validator is asked, and watchers are
 * notified by others, so nothing keeps it waiting. */
#include <stdlib.h>
#include <string.h>

#include "live.h"

/* Returns the change that is due first; NULL: none is on. The caller holds pd__lock. */
static pd__change *find_next(void) {
  pd__change *first = NULL;
  for (pd__change *at = pd__change_latest(); at; at = at->older) {
    if (at->state == PD__ON && (!first || at->deadline < first->deadline)) first = at;
  }
  return first;
}

/* A copy for the audit, with its own texts. */
static pd__change *copy_change(const pd__change *from) {
  pd__change *made = pd__change_new(from->count, &from->who, from->reason);
  if (!made) return NULL;
  made->number = from->number;
  made->until = from->until;
  made->state = PD__ENDED;
  for (size_t i = 0; i < from->count; i++) {
    made->flags[i].flag = from->flags[i].flag;
    made->flags[i].sensitive = from->flags[i].sensitive;
    made->flags[i].name = strdup(from->flags[i].name);
    if (!made->flags[i].name) {
      pd__change_free(made);
      return NULL;
    }
  }
  return made;
}

static pd_status drop_values(const pd__change *change, pd__change *made) {
  size_t count = 0;
  pd_error err;
  pd_batch_change *items = calloc(change->count + 1, sizeof *items);
  size_t *flag_of = calloc(change->count + 1, sizeof *flag_of);
  pd_status status = PD_ERR_MEMORY;
  for (size_t i = 0; items && flag_of && i < change->count; i++) {
    if (change->flags[i].over) continue;
    items[count] = (pd_batch_change){.flag = change->flags[i].flag, .override = change->override};
    flag_of[count++] = i;
  }
  if (items && flag_of) {
    pd__batch batch = {.items = items, .count = count, .flag_of = flag_of, .made = made};
    status = pd__batch_apply(&batch, false, NULL, &err);
  }
  free(items);
  free(flag_of);
  return status;
}

/* Returns false if memory is out: then it stays on, and is tried again soon. */
static bool end_change(pd__change *change) {
  pthread_mutex_lock(&pd__lock);
  pd__change *made = copy_change(change);
  change->ending = true;
  pthread_mutex_unlock(&pd__lock);
  pd_status status = made ? drop_values(change, made) : PD_ERR_MEMORY;
  if (status == PD_ERR_MEMORY) {
    change->ending = false;
    pd__change_free(made);
    return false;
  }
  pthread_mutex_lock(&pd__lock);
  pd__audit *audit = change->audit; /* NULL if it was undone meanwhile */
  if (audit) pd__audit_hold(audit);
  if (change->state == PD__ON) pd__change_end(change, PD__ENDED);
  change->ending = false;
  pthread_mutex_unlock(&pd__lock);
  pd__audit_change(audit, made, "ended", pd__time_now());
  if (audit) {
    pthread_mutex_lock(&pd__lock);
    pd__audit_release(audit);
    pthread_mutex_unlock(&pd__lock);
  }
  pd__change_free(made);
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
