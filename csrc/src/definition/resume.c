/* Settling what was put off within constructors and destructors: notify watchers, and apply values
 * that waited for a validator. */
#include "../registry/deferred.h"
#include "../registry/loader.h"
#include "definition.h"
#include "pending.h"

static void settle(pd__operation *operation, const pd__deferred *item, pd__report *report) {
  if (!item->flag->defined) return; /* what waits for it stays until it comes again */
  if (!item->watcher) {
    pd__pending_apply(operation, item->flag, report);
  } else if (!pd__notices_resume(operation, item->flag, item->watcher)) {
    pd__report_memory(report);
  }
}

/* Each by itself, since code that is called may put off more, or never return. */
void pd__deferred_run(const void *owner, pd__report *report) {
  for (bool found = true; found;) {
    pd__deferred item;
    PD__LOCKED_OPERATION(operation);
    found = pd__deferred_take(owner, &item);
    if (found) settle(&operation, &item, report);
    pd__operation_end(&operation);
  }
}

/* ---- For hosts ---- */

pd_status pd__do_deferred_run(pd_error_list *errors, pd_error *err) {
  pd__report report = {.list = errors, .first = err};
  if (!pd__loader_now.within) pd__deferred_run(NULL, &report);
  return report.status;
}
