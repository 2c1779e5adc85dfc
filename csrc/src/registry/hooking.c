/* Functions for hosts: add and remove validators and watchers, and set handlers. */
#include "change.h"
#include "flag.h"
#include "hook.h"
#include "loader.h"

/* ---- Values of the fleet that a new validator rejects ---- */

static bool has_fleet_value(pd__operation *operation, pd_flag *flag) {
  pd__flag_adopt_assigned_value(operation, flag);
  bool given = flag->assigned && !pd__flag_override(flag);
  return given && flag->source == PD_SOURCE_FLEET;
}

/* Until startup is over, the command line may still change flags that have other values. */
static bool can_check_fleet_values(pd__operation *operation, const pd__hook *hook) {
  size_t count = 0;
  for (size_t i = 0; i < hook->count; i++) {
    count += has_fleet_value(operation, hook->targets[i].flag);
  }
  return count > 0 && (count == hook->count || pd__startup_over) && !pd__loader_is_entered();
}

/* Drops them. Releases the lock meanwhile. */
static void drop_rejected_fleet_values(pd__operation *operation, pd_hook added) {
  pd__report nobody = {.list = NULL};
  pd__changes changes;
  if (!can_check_fleet_values(operation, pd__hook_find(added))) return;
  pd__changes_begin(&changes, operation, &nobody);
  changes.added_validator = added;
  changes.hooked = changes.yields = true;
  pd__changes_validate_and_commit(&changes);
}

/* ---- Adding and removing ---- */

static pd__handler make_registered_handler(uintptr_t function, void *context) {
  return (pd__handler){(pd__function *)function, context, pd__module_add_registration(function)};
}

static pd_status add_validator_or_watcher(bool watches, uintptr_t function, void *context,
                                          void (*release)(void *), pd_flag *const *flags,
                                          size_t count, pd_hook *out, pd_error *err) {
  pd__hook like = {.watches = watches,
                   .call = make_registered_handler(function, context),
                   .release = make_registered_handler((uintptr_t)release, context)};
  PD__LOCKED_OPERATION(operation);
  pd_hook added;
  pd_status status = pd__hook_add(&like, flags, count, &added, err);
  if (status == PD_OK && out) *out = added;
  if (status == PD_OK && !watches) drop_rejected_fleet_values(&operation, added);
  if (status != PD_OK) {
    pd__module_remove_registration(&operation, like.call.module);
    pd__module_remove_registration(&operation, like.release.module);
  }
  return pd__operation_return(&operation, status);
}

pd_status pd_validator_add(pd_flag *const *flags, size_t count, pd_validator function,
                           void *context, void (*release)(void *), pd_hook *out, pd_error *err) {
  if (!flags) return pd__fail_null(err, "flags");
  if (count == 0) return pd__fail(err, PD_ERR_ARGUMENT, "count is 0, expected some flags");
  if (!function) return pd__fail_null(err, "function");
  return add_validator_or_watcher(false, (uintptr_t)function, context, release, flags, count, out,
                                  err);
}

pd_status pd_watcher_add(pd_flag *flag, pd_watcher function, void *context, void (*release)(void *),
                         pd_hook *out, pd_error *err) {
  if (!function) return pd__fail_null(err, "function");
  return add_validator_or_watcher(true, (uintptr_t)function, context, release, &flag, flag ? 1 : 0,
                                  out, err);
}

static pd_status remove_or_defer_hook(pd_hook number, bool removes, pd_error *err) {
  PD__LOCKED_OPERATION(operation);
  pd__hook *hook = pd__hook_find(number);
  if (hook && removes) pd__hook_remove(hook);
  if (hook && !removes) hook->deferrable = true;
  pd__operation_end(&operation);
  if (hook) return PD_OK;
  return pd__fail(err, PD_ERR_ARGUMENT, "no hook has the number %llu, or it is already removed",
                  (unsigned long long)number);
}

pd_status pd_hook_remove(pd_hook number, pd_error *err) {
  return remove_or_defer_hook(number, true, err);
}

pd_status pd_hook_defer(pd_hook number, pd_error *err) {
  return remove_or_defer_hook(number, false, err);
}

/* ---- Handlers ---- */

static pd_status register_and_set_handler(pd__handling what, uintptr_t function, void *context) {
  pd__handler fresh = make_registered_handler(function, context);
  PD__LOCKED_OPERATION(operation);
  pd__handler_set(&operation, what, fresh);
  return pd__operation_return(&operation, PD_OK);
}

pd_status pd_warning_handle(pd_warning_handler wanted, void *context, pd_error *err) {
  (void)err;
  return register_and_set_handler(PD__HANDLE_WARNINGS, (uintptr_t)wanted, context);
}

pd_status pd_deferred_handle(pd_deferred_handler wanted, void *context, pd_error *err) {
  (void)err;
  return register_and_set_handler(PD__HANDLE_DEFERRED, (uintptr_t)wanted, context);
}

pd_status pd_warning_report(const char *message, pd_error *err) {
  if (!message) return pd__fail_null(err, "message");
  PD__LOCKED_OPERATION(operation);
  pd_status status = pd__hooks_check_depth(err);
  if (status != PD_OK) return status;
  pd__fail(pd__warning_add(PD_WARNING_GENERAL), PD_OK, "%s", message);
  return pd__operation_return(&operation, PD_OK);
}
