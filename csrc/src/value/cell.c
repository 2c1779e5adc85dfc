/* Cells: the variables that follow flags. */
#include "value.h"

pd_value pd__cell_load(pd_type type, void *cell) { return pd__type_of(type)->load(cell); }

void pd__cells_store(pd_type type, void *cell, void *second, pd_value value) {
  const pd__type *row = pd__type_of(type);
  row->store(cell, value);
  if (second) row->store(second, value);
}

void pd__cell_store(pd_type type, void *cell, pd_value value) {
  pd__type_of(type)->store(cell, value);
}

void pd__variable_store(const pd_flag_def *def, pd_value value) {
  if (def->access) {
    def->access->put(def->cell, value.str);
  } else {
    pd__cell_store((pd_type)def->type, def->cell, value);
  }
}

pd_value pd__variable_load(const pd_flag_def *def) {
  if (def->access && def->access->get) return (pd_value){.str = def->access->get(def->cell)};
  return pd__cell_load((pd_type)def->type, def->cell);
}
