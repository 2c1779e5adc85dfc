/* Runs what was deferred within constructors and destructors: notifies watchers, and applies values
 * that waited for a validator. */
#include "../registry/deferred.h"
#include "../registry/loader.h"
#include "definition.h"
#include "pending.h"

static void run_deferred_item(pd__operation *operation, const pd__deferred *item,
                              pd__report *report) {
  if (!pd__flag_def(item->flag)) return; /* its pending values stay for the next definition */
  if (!item->watcher) {
    pd__pending_apply_to_flag(operation, item->flag, report);
  } else if (!pd__notices_add_deferred(operation, item->flag, item->watcher)) {
    pd__report_fail_memory(report);
  }
}

/* Takes the lock for each item anew: the code that it calls may defer more, or never return. */
void pd__deferred_run(const void *owner, pd__report *report) {
  for (bool found = true; found;) {
    pd__deferred item;
    PD__LOCKED_OPERATION(operation);
    found = pd__deferred_pop(owner, &item);
    if (found) run_deferred_item(&operation, &item, report);
    pd__operation_end(&operation);
  }
}

/* ---- Public functions ---- */

pd_status pd_deferred_run(pd_error_list *errors, pd_error *err) {
  pd__report report = {.list = errors, .first = err};
  if (!pd__loader_is_entered()) pd__deferred_run(NULL, &report);
  return report.status;
}
