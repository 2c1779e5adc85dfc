/* Cells: the variables of modules that follow a flag's value. A cell may be any object of its
 * size. */
#include <string.h>

#include "value.h"

#define CELL(name, number, ctype, member) typedef ctype __attribute__((may_alias)) cell_of_##name;
PD_TYPE_MAP(CELL)

#define LOAD(name, number, ctype, member_)                                                         \
  case PD_TYPE_##name: {                                                                           \
    cell_of_##name found;                                                                          \
    __atomic_load((cell_of_##name *)cell, &found, __ATOMIC_ACQUIRE);                               \
    value.member_ = found;                                                                         \
    break;                                                                                         \
  }

pd_value pd__cell_load(pd_type type, void *cell) {
  pd_value value = {.u64 = 0};
  switch (type) { PD_TYPE_MAP(LOAD) }
  return value;
}

/* Doesn't store a value that is already there: that would take the cache line from its readers, and
 * unshare a page that the kernel shares with the file. The bits of a double say whether it is
 * another. */
#define DEFINE_STORE(name, number, ctype, member)                                                  \
  static inline void store_##name(void *cell, ctype value) {                                       \
    cell_of_##name fresh = value, found;                                                           \
    __atomic_load((cell_of_##name *)cell, &found, __ATOMIC_RELAXED);                               \
    if (!memcmp(&fresh, &found, sizeof fresh)) return; /* NOLINT */                                \
    __atomic_store((cell_of_##name *)cell, &fresh, __ATOMIC_RELEASE);                              \
  }
PD_TYPE_MAP(DEFINE_STORE)

#define STORE(name, number, ctype, member)                                                         \
  case PD_TYPE_##name:                                                                             \
    store_##name(cell, (ctype)value.member);                                                       \
    if (second) store_##name(second, (ctype)value.member);                                         \
    return;

void pd__cell_store_in_both(pd_type type, void *cell, void *second, pd_value value) {
  switch (type) { PD_TYPE_MAP(STORE) }
}

void pd__cell_store(pd_type type, void *cell, pd_value value) {
  pd__cell_store_in_both(type, cell, NULL, value);
}

void pd__variable_store(const pd_flag_def *def, pd_value value) {
  if (def->access && def->type == PD_TYPE_string) {
    def->access->put(def->cell, value.str);
  } else if (def->access) {
    def->access->store(def->cell, value);
  } else {
    pd__cell_store((pd_type)def->type, def->cell, value);
  }
}

bool pd__variable_load(const pd_flag_def *def, pd_value *value) {
  const pd_cell_access *access = def->access;
  if (access && def->type == PD_TYPE_string && access->get) {
    value->str = access->get(def->cell);
    return value->str != NULL;
  }
  if (access && def->type != PD_TYPE_string) return access->load && access->load(def->cell, value);
  *value = pd__cell_load((pd_type)def->type, def->cell);
  return true;
}
