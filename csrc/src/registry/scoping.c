/* Functions for hosts: scopes that are open. */
#include "scope.h"

pd_status pd_scope_pop(pd_scope scope, pd_error *err) {
  PD__LOCKED_OPERATION(operation);
  return pd__operation_return(&operation, pd__scope_end(scope, err));
}

pd_status pd_scope_capture(pd_scope_context **out, pd_error *err) {
  if (!out) return pd__fail_null(err, "out");
  pd__platform_lock();
  *out = pd__scope_capture_context();
  pd__platform_unlock();
  return PD_OK;
}

void pd_scope_release(pd_scope_context *context) {
  pd__platform_lock();
  pd__scope_release_context(context);
  pd__platform_unlock();
}

pd_status pd_scope_attach(pd_scope_context *context, pd_scope *out, pd_error *err) {
  if (!out) return pd__fail_null(err, "out");
  PD__LOCKED_OPERATION(operation);
  return pd__operation_return(&operation, pd__scope_attach_context(context, out, err));
}

pd_status pd_scope_detach(pd_scope attached, pd_error *err) {
  PD__LOCKED_OPERATION(operation);
  return pd__operation_return(&operation, pd__scope_detach_context(attached, err));
}

pd_status pd_scope_switch(pd_scope_context *context, pd_scope_context **out, pd_error *err) {
  if (!out) return pd__fail_null(err, "out");
  pd__platform_lock(); /* no operation, whose end may call back: tasks are being switched */
  pd_status status = pd__scope_switch_context(context, out, err);
  pd__platform_unlock();
  return status;
}
