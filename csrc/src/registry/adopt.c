/* Adopts the values that modules have assigned to their variables. No validator is asked, since the
 * change has already happened. */
#include "change.h"
#include "flag.h"
#include "hook.h"

/* Returns a cell whose variable differs from the flag's value, and that variable's value in *value.
 * NULL if there is none. */
static const pd__cell *find_assigned_cell(const pd_flag *flag, pd_value *value) {
  for (const pd__cell *cell = flag->cells; cell; cell = cell->next) {
    const pd_flag_def *def = cell->def;
    if (!def->assignable || !def->cell || def->type != flag->type) continue;
    if (!pd__variable_load(def, value)) continue;
    if (!pd__value_is_equal(flag->type, *value, pd__flag_value(flag))) return cell;
  }
  return NULL;
}

/* If memory is out, nothing changes, and a later call adopts the value. */
void pd__flag_adopt_assigned_value(pd__operation *operation, pd_flag *flag) {
  pd_value value;
  const pd__cell *cell = pd__flag_def(flag) ? find_assigned_cell(flag, &value) : NULL;
  if (!cell) return;
  const pd_module *module = pd__cell_module(cell);
  const char *place = module ? pd__module_path(module) : NULL;
  if (cell->registered && cell->def->module) place = cell->def->module; /* that of the variable */
  pd_origin origin = {PD_SOURCE_RUNTIME, 0, place, 0};
  pd__changes changes = {
      .operation = operation, .skips_validators = true, .count = 1, .capacity = 1};
  changes.single = (pd__change){.flag = flag, .node = flag, .value = value, .origin = origin};
  changes.items = &changes.single;
  changes.hooked = pd__flag_has_hooks(flag);
  pd__commit_changes(&changes, NULL);
}

void pd__flags_adopt_assigned_values(pd__operation *operation) {
  if (!pd__assignables) return;
  for (pd_flag *flag = NULL; (flag = pd__names_next(flag));) {
    if (flag->assignable) pd__flag_adopt_assigned_value(operation, flag);
  }
}

pd_status pd__flag_adopt_and_check_defined(pd__operation *operation, pd_flag *flag, pd_error *err) {
  if (flag->assignable) pd__flag_adopt_assigned_value(operation, flag);
  if (flag->defined) return PD_OK;
  return pd__fail_flag_gone(flag, err);
}
