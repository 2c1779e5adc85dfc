/* Turning the environment on and off, apart from any command line. */
#include <string.h>

#include "input.h"

pd_status pd_environment_enable(const char *prefix, pd_error_list *errors, pd_error *err) {
  pd__report report = {.list = errors, .first = err};
  pd_error wrong;
  if (prefix && pd__environment_check_prefix(prefix, &wrong) != PD_OK) {
    pd__report_add(&report, &wrong);
    return report.status;
  }
  pd__changes changes;
  PD__LOCKED_OPERATION(operation);
  pd__changes_begin(&changes, &operation, &report);
  changes.yields = changes.merges = true;
  pd__variable_rules rules = {.ignore_empty = false};
  if (prefix) strcpy(rules.prefix, prefix);
  if (prefix) pd__environment_stage_values(&rules, &changes);
  pd_status status = pd__changes_validate_and_commit(&changes);
  if (status == PD_OK) pd__environment_use_for_new_flags(prefix ? &rules : NULL);
  if (status == PD_OK && prefix) pd__environment_warn_of_unknown(&rules, false, NULL);
  return pd__operation_return(&operation, status);
}
