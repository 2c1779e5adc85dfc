/* Functions for hosts: several assignments at once, permanent, as an override or as a scope. */
#include "change.h"
#include "flag.h"

typedef enum assign_mode { SET, ASK_ALL, PUSH_OVERRIDE, PUSH_SCOPE } assign_mode;

/* *out gets the number of an override or scope. */
static pd_status apply_assignments(const pd_assignment *items, size_t count,
                                   const pd_origin *origin, assign_mode mode, pd_error_list *errors,
                                   uint64_t *out, pd_error *err) {
  pd__report report = {.list = errors, .first = err};
  pd__changes changes;
  PD__LOCKED_OPERATION(operation);
  pd__changes_begin(&changes, &operation, &report);
  changes.ask_all = changes.yields = mode == ASK_ALL;
  changes.pushes = out != NULL;
  changes.scopes = mode == PUSH_SCOPE;
  pd__changes_add_assignments(&changes, items, count, origin);
  pd_status status = pd__changes_validate_and_commit(&changes);
  if (status == PD_OK && out) *out = changes.scopes ? changes.scope : changes.override;
  return pd__operation_return(&operation, status);
}

pd_status pd_batch_set(const pd_assignment *items, size_t count, const pd_origin *origin,
                       pd_error_list *errors, pd_error *err) {
  if (!items && count > 0) return pd__fail_null(err, "items");
  bool defaults = origin && origin->source == PD_SOURCE_DEFAULT;
  pd_status status = defaults ? PD_OK : pd__origin_check_settable(origin, err);
  if (status != PD_OK) return status;
  return apply_assignments(items, count, origin ? origin : &pd__at_run_time, SET, errors, NULL,
                           err);
}

pd_status pd_flags_validate(pd_error_list *errors, pd_error *err) {
  return apply_assignments(NULL, 0, NULL, ASK_ALL, errors, NULL, err);
}

/* ---- Overrides and scopes ---- */

static pd_status push_override_or_scope(const pd_assignment *items, size_t count, pd_source source,
                                        const pd_origin *origin, pd_error_list *errors,
                                        uint64_t *out, pd_error *err) {
  if (!items && count > 0) return pd__fail_null(err, "items");
  if (!out) return pd__fail_null(err, "out");
  pd_origin at = {.source = source};
  if (origin) at = (pd_origin){source, origin->line, origin->place, origin->column};
  assign_mode mode = source == PD_SOURCE_SCOPE ? PUSH_SCOPE : PUSH_OVERRIDE;
  return apply_assignments(items, count, &at, mode, errors, out, err);
}

pd_status pd_override_push(const pd_assignment *items, size_t count, const pd_origin *origin,
                           pd_error_list *errors, pd_override *out, pd_error *err) {
  return push_override_or_scope(items, count, PD_SOURCE_OVERRIDE, origin, errors, out, err);
}

pd_status pd_scope_push(const pd_assignment *items, size_t count, const pd_origin *origin,
                        pd_error_list *errors, pd_scope *out, pd_error *err) {
  return push_override_or_scope(items, count, PD_SOURCE_SCOPE, origin, errors, out, err);
}

pd_status pd__override_pop_in_operation(pd__operation *operation, pd_override number,
                                        pd_error *err) {
  pd__report report = {.first = err};
  pd__changes changes;
  pd__changes_begin(&changes, operation, &report);
  changes.skips_validators = true;
  size_t count;
  pd__override_entry *flags = pd__override_find_entries(number, &count);
  if (!flags) {
    pd__report_fail(&report, PD_ERR_ARGUMENT,
                    "no override has the number %llu, or it is already popped",
                    (unsigned long long)number);
  }
  for (size_t i = 0; flags && i < count; i++) {
    if (flags[i].flag) pd__changes_add_pop(&changes, &flags[i]);
  }
  pd_status status = pd__changes_validate_and_commit(&changes);
  if (status == PD_OK) pd__override_free_record(number);
  return status;
}

pd_status pd_override_pop(pd_override number, pd_error *err) {
  PD__LOCKED_OPERATION(operation);
  return pd__operation_return(&operation, pd__override_pop_in_operation(&operation, number, err));
}
