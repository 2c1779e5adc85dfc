/* Functions for hosts: find, read and set flags. */
#include <stdio.h>
#include <string.h>

#include "flag.h"
#include "journal.h"
#include "scope.h"

pd_status pd_flag_find(const char *name, pd_flag **out, pd_error *err) {
  if (!name) return pd__fail_null(err, "name");
  if (!out) return pd__fail_null(err, "out");
  PD__LOCKED_OPERATION(operation);
  pd_flag *node = pd__names_find_defined_node(name, strlen(name));
  if (node) *out = pd__resolve_alias(node);
  return pd__operation_return(&operation, node ? PD_OK : pd__fail_undefined(name, err));
}

pd_flag *pd_flag_next(const pd_flag *previous) {
  pd__platform_lock();
  pd_flag *flag = pd__names_next_listed(previous);
  while (flag && !flag->defined) flag = pd__names_next_listed(flag);
  pd__platform_unlock();
  return flag;
}

/* ---- Reading. No lock: a signal handler may have interrupted the thread that holds it ---- */

/* Building a message needs the lock, and so does adopting a value that a module assigned. */
static pd_status lock_and_get_value(pd_flag *flag, pd_type type, pd_value *value, pd_error *err) {
  PD__LOCKED_OPERATION(operation);
  pd_status status = pd__flag_check_type(&operation, flag, type, err);
  if (status == PD_OK) *value = pd__flag_value_in_thread(flag);
  return pd__operation_return(&operation, status);
}

/* Returns the value in a scope of this thread, else the one in the variable. */
static pd_value read_current_value(const pd_flag *flag, pd_type type) {
  const pd__scoped *scoped = pd__scope_find_value(flag);
  return scoped ? pd__cell_load(type, (void *)&scoped->value) : pd__flag_read_variable(flag, type);
}

/* Between the reads of the type and of the value, a definition of another type may replace this
 * one. Then the generation differs, and the loop reads both again. */
static pd_status get_value(const pd_flag *flag, pd_type type, const void *out, pd_value *value,
                           pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  if (!out) return pd__fail_null(err, "out");
  for (;;) {
    uint32_t before = __atomic_load_n(&flag->generation, __ATOMIC_ACQUIRE);
    uint8_t state = __atomic_load_n(&flag->state, __ATOMIC_ACQUIRE);
    if ((state & PD__STATE_TYPE) != type) {
      if (!err) return state ? PD_ERR_TYPE : PD_ERR_UNDEFINED;
      return lock_and_get_value((pd_flag *)flag, type, value, err);
    }
    bool asks = state & PD__STATE_ASK;
    if (asks && err) return lock_and_get_value((pd_flag *)flag, type, value, err);
    *value =
        asks ? read_current_value(flag, type) : pd__cell_load(type, pd__flag_address(flag, type));
    if (__atomic_load_n(&flag->generation, __ATOMIC_RELAXED) == before) return PD_OK;
  }
}

#define DEFINE_GET(name, number, ctype, member)                                                    \
  pd_status pd_flag_get_##name(const pd_flag *flag, ctype *out, pd_error *err) {                   \
    pd_value value = {.u64 = 0};                                                                   \
    pd_status status = get_value(flag, PD_TYPE_##name, out, &value, err);                          \
    if (status == PD_OK) *out = (ctype)value.member;                                               \
    return status;                                                                                 \
  }
PD_TYPE_MAP(DEFINE_GET) /* NOLINT: pd__fail gives no PD_OK */

pd_status pd_flag_get_text(const pd_flag *flag, char *buffer, size_t size, size_t *length,
                           pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  if (!buffer && size > 0) return pd__fail_null(err, "buffer");
  char number[PD__NUMBER_SIZE];
  PD__LOCKED_OPERATION(operation);
  pd_status status = pd__flag_adopt_and_check_defined(&operation, (pd_flag *)flag, err);
  if (status == PD_OK) {
    const char *text = pd__value_get_text(flag->type, pd__flag_value_in_thread(flag), number);
    int whole = snprintf(buffer, size, "%s", text);
    if (length) *length = (size_t)whole;
  }
  return pd__operation_return(&operation, status);
}

static pd_status check_value_type(pd_type type, pd_error *err) {
  if (type >= PD_TYPE_bool && type <= PD_TYPE_string) return PD_OK;
  return pd__fail(err, PD_ERR_ARGUMENT, "type: %d: expected a pd_type", (int)type);
}

pd_status pd_value_parse(pd_type type, const char *unit, const char *text, pd_value *out,
                         pd_error *err) {
  pd_flag_def def;
  char escaped[PD__ESCAPED_SIZE], why[256];
  if (!text) return pd__fail_null(err, "text");
  if (!out) return pd__fail_null(err, "out");
  pd_status status = check_value_type(type, err);
  if (status != PD_OK) return status;
  pd_flag_def_init(&def, sizeof def, type);
  def.unit = unit;
  status = pd__value_parse_with_unit(&def, text, out);
  if (status == PD_OK) return PD_OK;
  pd__value_explain_rejected_text(&def, text, why, sizeof why);
  return pd__fail(err, status, "%s: %s", pd__escape_text(escaped, text), why);
}

pd_status pd_flag_compare_text(pd_flag *flag, const char *text, bool *same, pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  if (!same) return pd__fail_null(err, "same");
  PD__LOCKED_OPERATION(operation);
  pd_status status = pd__flag_adopt_and_check_defined(&operation, flag, err);
  if (status == PD_OK) {
    pd_value value;
    const pd_flag_def *def = pd__flag_def(flag);
    bool unset = pd__flag_is_unset(flag);
    bool read = text && !unset && pd__value_parse_with_unit(def, text, &value) == PD_OK;
    *same = text ? read && pd__value_is_equivalent(def, value, pd__flag_value(flag)) : unset;
  }
  return pd__operation_return(&operation, status);
}

pd_status pd_value_get_text(pd_type type, pd_value value, char *buffer, size_t size, size_t *length,
                            pd_error *err) {
  char number[PD__NUMBER_SIZE];
  if (!buffer && size > 0) return pd__fail_null(err, "buffer");
  if (check_value_type(type, err) != PD_OK) return PD_ERR_ARGUMENT;
  if (type == PD_TYPE_string && !value.str) return pd__fail_null(err, "value.str");
  int whole = snprintf(buffer, size, "%s", pd__value_get_text(type, value, number));
  if (length) *length = (size_t)whole;
  return PD_OK;
}

const void *pd_flag_get_address(const pd_flag *flag) {
  if (!flag) return NULL;
  return pd__flag_address(flag, (pd_type)__atomic_load_n(&flag->type, __ATOMIC_RELAXED));
}

const uint8_t *pd_flag_get_state(const pd_flag *flag) { return flag ? &flag->state : NULL; }

const uint32_t *pd_flag_get_generation(const pd_flag *flag) {
  return flag ? &flag->generation : NULL;
}

/* ---- Setting ---- */

static pd_status set_value(pd_flag *flag, const char *text, pd_type type, pd_value value,
                           const pd_origin *origin, pd_error *err) {
  PD__LOCKED_OPERATION(operation);
  pd_status status = pd__flag_check_text_or_type(&operation, flag, text, type, err);
  if (status == PD_OK) status = pd__assign_value(&operation, flag, text, value, origin, err);
  return pd__operation_return(&operation, status);
}

#define DEFINE_SET(name, number, ctype, member_)                                                   \
  pd_status pd_flag_set_##name(pd_flag *flag, ctype value, pd_error *err) {                        \
    return set_value(flag, NULL, PD_TYPE_##name, (pd_value){.member_ = value}, &pd__at_run_time,   \
                     err);                                                                         \
  }
PD_TYPE_MAP(DEFINE_SET)

pd_status pd_flag_set_from_string(pd_flag *flag, const char *text, pd_error *err) {
  if (!text) return pd__fail_null(err, "text");
  return set_value(flag, text, PD_TYPE_string, (pd_value){0}, &pd__at_run_time, err);
}

/* Returns false if the set needs an operation, or one must end to do what is due. */
static bool set_by_name_directly(const char *name, const char *text) {
  pd__platform_lock();
  pd_flag *node = pd__names_find(name, strlen(name));
  bool set = node && pd__flag_try_assign_directly(node, text, (pd_value){0}, &pd__at_run_time);
  pd__platform_unlock();
  return set && !pd__has_pending_work(PD__WORK_ANY);
}

/* Not inlined, so that set_by_name_directly doesn't pay for the stack of an operation. */
static __attribute__((noinline)) pd_status set_by_name_in_operation(const char *name,
                                                                    const char *text,
                                                                    pd_error *err) {
  PD__LOCKED_OPERATION(operation);
  pd_flag *node = pd__names_find_defined_node(name, strlen(name));
  pd_status status =
      node ? pd__assign_value(&operation, node, text, (pd_value){0}, &pd__at_run_time, err)
           : pd__fail_undefined(name, err);
  return pd__operation_return(&operation, status);
}

pd_status pd_flag_set_by_name(const char *name, const char *text, pd_error *err) {
  if (!name) return pd__fail_null(err, "name");
  if (!text) return pd__fail_null(err, "text");
  return set_by_name_directly(name, text) ? PD_OK : set_by_name_in_operation(name, text, err);
}

pd_status pd_flag_set_default(pd_flag *flag, const char *text, pd_error *err) {
  static const pd_origin origin = {PD_SOURCE_DEFAULT, 0, NULL, 0};
  if (!text) return pd__fail_null(err, "text");
  return set_value(flag, text, PD_TYPE_string, (pd_value){0}, &origin, err);
}

/* ---- Reset, drop, wipe, freeze ---- */

/* `source` is for PD__DROP only. A wipe first publishes the default, so that no later reader gets a
 * text that is being overwritten. */
static pd_status drop_values(pd_flag *flag, pd__action action, pd_source source, pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  pd__report report = {.first = err};
  pd__changes changes;
  PD__LOCKED_OPERATION(operation);
  pd__changes_begin(&changes, &operation, &report);
  if (action == PD__DROP) {
    pd__changes_add_drop(&changes, flag, source);
  } else {
    pd__changes_add_reset(&changes, flag, action);
  }
  pd_status status = pd__changes_validate_and_commit(&changes);
  if (status == PD_OK && action == PD__WIPE) pd__flag_wipe_secrets(flag);
  return pd__operation_return(&operation, status);
}

pd_status pd_flag_reset(pd_flag *flag, pd_error *err) {
  return drop_values(flag, PD__RESET, PD_SOURCE_DEFAULT, err);
}

pd_status pd_flag_drop(pd_flag *flag, pd_source source, pd_error *err) {
  pd_origin origin = {source, 0, NULL, 0};
  pd_status status = flag ? pd__origin_check_settable(&origin, err) : PD_OK;
  return status == PD_OK ? drop_values(flag, PD__DROP, source, err) : status;
}

pd_status pd_flag_wipe(pd_flag *flag, pd_error *err) {
  return drop_values(flag, PD__WIPE, PD_SOURCE_DEFAULT, err);
}

static pd_status set_frozen(pd_flag *flag, bool frozen, pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  PD__LOCKED_OPERATION(operation);
  pd_status status = pd__flag_adopt_and_check_defined(&operation, flag, err);
  if (status == PD_OK) flag->frozen = frozen;
  if (status == PD_OK) pd__journal_record(flag);
  return pd__operation_return(&operation, status);
}

pd_status pd_flag_freeze(pd_flag *flag, pd_error *err) { return set_frozen(flag, true, err); }
pd_status pd_flag_unfreeze(pd_flag *flag, pd_error *err) { return set_frozen(flag, false, err); }
