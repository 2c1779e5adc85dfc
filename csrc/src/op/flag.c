/* The flags of operations: defined as long as there are records, and what follows from them. */
#include <string.h>

#include "../base/text.h"
#include "../definition/pending.h"
#include "../definition/stage.h"
#include "op.h"

static void report_unmet_preferences(pd__report *report) {
  for (pd__family *family = NULL; (family = pd__family_next(family));) {
    pd__preference_report_unmet(family, report);
  }
}

static void prepare_flag_definition(pd__family *family) {
  pd__report_waiting = report_unmet_preferences;
  pd__stage_own_validator =
      (pd__own_validator){pd__preference_check, pd__preference_check_names_locked};
  family->def.validate = pd__preference_check;
  family->def.watch = pd__family_on_flag_change;
  family->def.scoped = family->def.scoped_cell = family->scoped > 0;
  family->def.cell = family->scoped > 0 ? &family->value : NULL;
  family->cell = (pd__cell){.def = &family->def};
}

/* The implementations are chosen whether or not the flag can be defined. Somebody else's validator
 * of the flag can't be asked now: values that it must see wait. */
void pd__family_define_flag(pd__operation *operation, pd__family *family, pd__report *waiting) {
  PD__STAGE(stage);
  prepare_flag_definition(family);
  pd__stage_begin(&stage, operation, &family->cell, 1);
  if (!pd__stage_reserve_names(&stage, waiting)) return;
  family->has_waiting_values = !pd__stage_try_complete_plan(&stage);
  family->redefined = true;
  pd__stage_publish(&stage, waiting);
}

const char *pd__family_get_preference_list(pd__operation *operation, pd__family *family) {
  const pd_flag *flag = pd__cell_flag(&family->cell);
  if (flag) return pd__flag_value(flag).str;
  PD__STAGE(stage);
  pd__report ignored = {.first = NULL};
  prepare_flag_definition(family);
  pd__stage_begin(&stage, operation, &family->cell, 1);
  if (!pd__stage_reserve_names(&stage, &ignored)) return "*";
  pd__stage_try_complete_plan(&stage);
  const char *list = pd__intern_text(pd__stage_get_planned_value(&stage).str);
  pd__stage_release_names(&stage);
  return list ? list : "*";
}

/* ---- What is due ---- */

static void update_family(pd__operation *operation, pd__family *family, pd__report *waiting) {
  bool defined = family->cell.flag != 0;
  bool changed = defined && family->def.scoped != (family->scoped > 0);
  bool defines = family->members > 0 && (!defined || changed);
  bool undefines = changed || (family->members == 0 && defined);
  if (undefines) pd__undefine_cells(operation, &family->cell, 1);
  if (defines) pd__family_define_flag(operation, family, waiting);
  bool renewed = defines || undefines || family->redefined;
  bool waits = family->has_waiting_values;
  family->redefined = family->has_waiting_values = false;
  if (waits) pd__pending_apply_to_flag(operation, pd__cell_flag(&family->cell), waiting);
  if (renewed) {
    pd__family_choose_impls(operation, family);
  } else {
    pd__family_choose_for_changed_ops(operation, family);
  }
}

void pd__families_update_changed(pd__operation *operation, pd__report *waiting) {
  for (pd__family *family; (family = pd__family_pop_changed());) {
    update_family(operation, family, waiting);
  }
}
