/* Several assignments at once, for good or as an override, for hosts. */
#include <stdint.h>

#include "change.h"

pd_status pd__do_batch_set(const pd_assignment *items, size_t count, const pd_origin *origin,
                           pd_error_list *errors, pd_error *err) {
  if (!items && count > 0) return pd__fail_null(err, "items");
  pd_status status = pd__origin_check(origin, err);
  if (status != PD_OK) return status;
  pd__report report = {.list = errors, .first = err};
  pd__changes changes;
  PD__OPERATION(operation);
  pd__operation_begin(&operation);
  pd__changes_begin(&changes, &operation, &report);
  pd__changes_add_all(&changes, items, count, origin ? origin : &pd__at_run_time);
  status = pd__changes_finish(&changes);
  pd__operation_end(&operation);
  return status;
}

pd_status pd__do_flags_validate(pd_error_list *errors, pd_error *err) {
  pd__report report = {.list = errors, .first = err};
  pd__changes changes;
  PD__OPERATION(operation);
  pd__operation_begin(&operation);
  pd__changes_begin(&changes, &operation, &report);
  changes.ask_all = true;
  pd_status status = pd__changes_finish(&changes);
  pd__operation_end(&operation);
  return status;
}

/* ---- Overrides ---- */

pd_status pd__do_override_push(const pd_assignment *items, size_t count, const pd_origin *origin,
                               pd_error_list *errors, pd_override *out, pd_error *err) {
  if (!items && count > 0) return pd__fail_null(err, "items");
  if (!out) return pd__fail_null(err, "out");
  pd_origin place = {PD_SOURCE_OVERRIDE, 0, NULL, 0};
  if (origin) place = (pd_origin){place.source, origin->line, origin->place, origin->column};
  pd__report report = {.list = errors, .first = err};
  pd__changes changes;
  PD__OPERATION(operation);
  pd__operation_begin(&operation);
  pd__changes_begin(&changes, &operation, &report);
  changes.pushes = true;
  pd__changes_add_all(&changes, items, count, &place);
  pd_status status = pd__changes_finish(&changes);
  if (status == PD_OK) *out = changes.override;
  pd__operation_end(&operation);
  return status;
}

/* With the lock. */
static pd_status pop(pd__operation *operation, pd_override number, size_t count, pd_error *err) {
  pd__report report = {.first = err};
  pd__changes changes;
  pd__changes_begin(&changes, operation, &report);
  changes.forced = true;
  for (size_t i = 0; i < count; i++) {
    pd__overridden *each = pd__override_at(number, i);
    if (each) pd__changes_pop(&changes, each);
  }
  pd_status status = pd__changes_finish(&changes);
  if (status == PD_OK) pd__override_forget(number);
  return status;
}

pd_status pd__do_override_pop(pd_override number, pd_error *err) {
  PD__OPERATION(operation);
  pd__operation_begin(&operation);
  size_t count = pd__override_count(number);
  pd_status status = PD_OK;
  if (count != SIZE_MAX) {
    status = pop(&operation, number, count, err);
  } else {
    status =
        pd__fail(err, PD_ERR_ARGUMENT, "no override has the number %llu, or it is popped already",
                 (unsigned long long)number);
  }
  pd__operation_end(&operation);
  return status;
}
