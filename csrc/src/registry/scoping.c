/* Functions for hosts: scopes. */
#include "scope.h"

pd_status pd_scope_push(const pd_assignment *items, size_t count, const pd_origin *origin,
                        pd_error_list *errors, pd_scope *out, pd_error *err) {
  if (!items && count > 0) return pd__fail_null(err, "items");
  if (!out) return pd__fail_null(err, "out");
  pd_origin place = {PD_SOURCE_SCOPE, 0, NULL, 0};
  if (origin) place = (pd_origin){place.source, origin->line, origin->place, origin->column};
  pd__report report = {.list = errors, .first = err};
  pd__changes changes;
  PD__LOCKED_OPERATION(operation);
  pd__changes_begin(&changes, &operation, &report);
  changes.pushes = true;
  changes.scopes = true;
  pd__changes_add_assignments(&changes, items, count, &place);
  pd_status status = pd__changes_finish(&changes);
  if (status == PD_OK) *out = changes.scope;
  return pd__operation_return(&operation, status);
}

pd_status pd_scope_pop(pd_scope scope, pd_error *err) {
  PD__LOCKED_OPERATION(operation);
  return pd__operation_return(&operation, pd__scope_end(scope, err));
}

pd_status pd_scope_capture(pd_scope_context **out, pd_error *err) {
  if (!out) return pd__fail_null(err, "out");
  pd__platform_lock();
  *out = pd__scope_capture();
  pd__platform_unlock();
  return PD_OK;
}

void pd_scope_release(pd_scope_context *context) {
  pd__platform_lock();
  pd__scope_release(context);
  pd__platform_unlock();
}

pd_status pd_scope_attach(pd_scope_context *context, pd_scope *out, pd_error *err) {
  if (!out) return pd__fail_null(err, "out");
  PD__LOCKED_OPERATION(operation);
  return pd__operation_return(&operation, pd__scope_attach(context, out, err));
}

pd_status pd_scope_detach(pd_scope attached, pd_error *err) {
  PD__LOCKED_OPERATION(operation);
  return pd__operation_return(&operation, pd__scope_detach(attached, err));
}

pd_status pd_scope_switch(pd_scope_context *context, pd_scope_context **out, pd_error *err) {
  if (!out) return pd__fail_null(err, "out");
  pd__platform_lock(); /* no operation, whose end may call back: tasks are being switched */
  pd_status status = pd__scope_switch(context, out, err);
  pd__platform_unlock();
  return status;
}
