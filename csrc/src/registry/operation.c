/* One call of the library: what it holds, and how it ends. */
#include "change.h"
#include "deferred.h"
#include "hook.h"
#include "journal.h"
#include "pin.h"
#include "scope.h"

void pd__operations_reset_in_child(void) {
  pd__active_operations_reset_in_child();
  pd__pins_reset_in_child();
  pd__hooks_reset_in_child();
  pd__deferred_clear_owners_in_child();
  pd__scopes_reset_in_child();
  pd__journal_renew_epoch();
}

void pd__operation_end_without_callbacks(pd__operation *operation) {
  if (operation->active || operation->retained_hooks || operation->pins || operation->notices) {
    if (!operation->locked) pd__operation_lock(operation);
    pd__notices_hand_over(operation);
    pd__hooks_release_retained(operation);
    pd__pins_release(operation);
  }
  if (operation->active) pd__active_operation_remove(operation->active);
  if (operation->locked) pd__operation_unlock(operation);
  pd__close_queued_handles(operation);
  pd__arena_free(&operation->arena);
}

/* ---- The end ---- */

static _Thread_local bool postpones; /* this thread runs no callbacks */

/* The caller must not hold the lock. */
static void deliver_callbacks(pd__operation *operation) {
  if (postpones) return; /* pd__operation_end_without_callbacks leaves all to others */
  pd__notices_deliver(operation);
  pd__warnings_deliver(operation);
  if (operation->deferred) pd__deferred_notify_handler(operation);
  if (operation->retained_hooks) {
    pd__operation_lock(operation);
    pd__hooks_release_retained(operation);
    pd__operation_unlock(operation);
  }
  pd__hooks_release_removed(operation);
}

void pd__operation_end(pd__operation *operation) {
  if (operation->locked) pd__operation_unlock(operation);
  if (operation->arena.blocks || operation->deferred || pd__has_pending_work(PD__WORK_ANY))
    deliver_callbacks(operation);
  pd__operation_clean_up(operation);
}

void pd_callbacks_postpone(bool postpone) { postpones = postpone; }

bool pd_callbacks_are_waiting(void) { return pd__has_pending_work(PD__WORK_ANY); }

void pd_callbacks_run(void) {
  PD__OPERATION(operation);
  pd__operation_end(&operation);
}
