/* The value of a flag: in the node, and in the variables of modules. */
#include "flag.h"
#include "../base/text.h"
#include "change.h"
#include "journal.h"

pd_value pd__def_intern_default(const pd_flag_def *def) {
  pd_value value = def->default_value;
  if (def->type == PD_TYPE_string) value.str = pd__intern_text(value.str);
  return value;
}

pd_value pd__flag_value_without_overrides(const pd_flag *flag) {
  return pd__flag_override(flag) ? flag->extra->base : pd__flag_value(flag);
}

pd_status pd__fail_flag_gone(const pd_flag *flag, pd_error *err) {
  return pd__fail(
      err, PD_ERR_UNDEFINED, "%s: %s", flag->name,
      flag->withdrawn ? "is no longer defined" : "the module that defined it has been unloaded");
}

/* ---- Publishing ---- */

static void store_in_all_cells(pd_flag *flag, pd_value value) {
  void *second = flag->single ? flag->variable : NULL;
  pd__cell_store_in_both(flag->type, pd__flag_address(flag, flag->type), second, value);
  if (flag->single) return;
  for (const pd__cell *cell = flag->cells; cell; cell = cell->next) {
    if (cell->def->cell && cell->def->type == flag->type) pd__variable_store(cell->def, value);
  }
}

static bool has_only_default(const pd_flag *flag) {
  const pd__override_entry *top = pd__flag_override(flag);
  return !(top ? top->values->origin.source != PD_SOURCE_DEFAULT : flag->assigned);
}

void pd__flag_publish_state(pd_flag *flag) {
  uint8_t state = (uint8_t)(flag->type | pd__flag_def(flag)->list << 4);
  bool scoped = flag->extended && flag->extra->scopes > 0;
  if (flag->assignable || scoped) state |= PD__STATE_ASK;
  if (flag->optional && has_only_default(flag)) state |= PD_STATE_UNSET;
  __atomic_store_n(&flag->state, state, __ATOMIC_RELEASE);
}

/* A reader without the lock, which looks at the state first, must not take the default of an
 * optional flag for a value: the state changes before the value when that goes, and after it when
 * it comes. */
static void store_optional_value(pd_flag *flag, pd_value value) {
  bool published = flag->defined && flag->state;
  bool unset = published && has_only_default(flag);
  if (unset) pd__flag_publish_state(flag);
  store_in_all_cells(flag, value);
  if (published && !unset) pd__flag_publish_state(flag);
}

void pd__flag_store(pd_flag *flag, pd_value value) {
  if (flag->optional) {
    store_optional_value(flag, value);
  } else {
    store_in_all_cells(flag, value);
  }
  pd__journal_record(flag);
}

void pd__flag_publish(pd_flag *flag) {
  const pd__override_entry *top = pd__flag_override(flag);
  const pd_flag_def *def = pd__flag_def(flag);
  pd_value value = flag->assigned ? pd__flag_value(flag) : pd__def_intern_default(def);
  if (top) value = top->values->value;
  pd__flag_store(flag, value);
  pd__flag_publish_state(flag);
}

void pd__flag_cache_variable(pd_flag *flag) {
  const pd__cell *first = flag->cells;
  /* Without access functions, a plain store to the variable is enough. */
  bool direct = flag->defined && !first->def->access && first->def->type == flag->type;
  void *variable = direct ? first->def->cell : NULL;
  if (flag->variable && flag->variable != variable) pd__flag_hide_variable_and_wait(flag);
  flag->single = flag->defined && !first->next && (direct || !first->def->cell);
  __atomic_store_n(&flag->variable, variable, __ATOMIC_RELEASE);
}

uint64_t pd__values_revision;

void pd__flag_renew_generation(pd_flag *flag) {
  static uint32_t last;
  __atomic_store_n(&flag->generation, ++last, __ATOMIC_RELEASE);
  pd__values_revision++;
  pd__journal_mark_stale();
}

/* ---- Values assigned by modules ---- */

uint32_t pd__assignables;

/* The number of threads that are reading a variable without the lock. A module that leaves hides
 * its variable and waits until this is 0; each read takes only a few instructions. */
static uint32_t peeking;

pd_value pd__flag_read_variable(const pd_flag *flag, pd_type type) {
  __atomic_fetch_add(&peeking, 1, __ATOMIC_SEQ_CST);
  void *variable = __atomic_load_n(&flag->variable, __ATOMIC_SEQ_CST);
  bool readable = variable && type != PD_TYPE_string;
  pd_value value = pd__cell_load(type, readable ? variable : pd__flag_address(flag, type));
  __atomic_fetch_sub(&peeking, 1, __ATOMIC_SEQ_CST);
  return value;
}

void pd__flag_hide_variable_and_wait(pd_flag *flag) {
  __atomic_store_n(&flag->variable, NULL, __ATOMIC_SEQ_CST);
  if (!flag->assignable) return;
  while (__atomic_load_n(&peeking, __ATOMIC_SEQ_CST) > 0) pd__platform_yield();
}

void pd__flag_readers_reset_in_child(void) { __atomic_store_n(&peeking, 0, __ATOMIC_SEQ_CST); }
