/* Values from the environment: the variable <prefix><name>, with the name as it is or in upper
 * case, once a host enables it. */
#include <stdlib.h>
#include <string.h>

#include "../definition/stage.h"
#include "input.h"

/* ---- The copy that a thread holds ---- */

static bool was_enabled; /* atomic; once, for later definitions */

static _Thread_local struct {
  unsigned depth;
  char *copy; /* owned; variables, each ended by a NUL, up to an empty one; NULL: no copy */
} held;

static char *copy_environment(void) {
  char *const *variables = pd__platform_environment();
  size_t size = 1, used = 0;
  if (!variables) return NULL;
  for (size_t i = 0; variables[i]; i++) size += strlen(variables[i]) + 1;
  char *copy = malloc(size);
  for (size_t i = 0; copy && variables[i]; i++) {
    size_t length = strlen(variables[i]) + 1;
    if (length == 1) continue;
    memcpy(copy + used, variables[i], length);
    used += length;
  }
  if (copy) copy[used] = '\0';
  return copy;
}

void pd_environment_hold(bool always) {
  if (held.depth++ > 0 && held.copy) return;
  if (always || __atomic_load_n(&was_enabled, __ATOMIC_RELAXED)) held.copy = copy_environment();
}

void pd_environment_release(void) {
  if (held.depth == 0 || --held.depth > 0) return;
  free(held.copy);
  held.copy = NULL;
}

static const char *get_variable(const char *variable) {
  if (!held.copy) return pd__platform_getenv(variable);
  size_t length = strlen(variable);
  for (const char *each = held.copy; *each; each += strlen(each) + 1) {
    if (!strncmp(each, variable, length) && each[length] == '=') return each + length + 1;
  }
  return NULL;
}

/* ---- Variables ---- */

static char normalize_variable_char(char c) { return c == '-' || c == '.' ? '_' : c; }

/* toupper depends on the locale. */
static char to_upper(char c) {
  return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : normalize_variable_char(c);
}

/* Returns `out`. */
static const char *write_variable(const char *prefix, const char *name, size_t length, bool upper,
                                  char out[PD__VARIABLE_SIZE]) {
  size_t before = strlen(prefix);
  if (length > PD_NAME_MAX) length = PD_NAME_MAX;
  memcpy(out, prefix, before);
  for (size_t i = 0; i < length; i++)
    out[before + i] = upper ? to_upper(name[i]) : normalize_variable_char(name[i]);
  out[before + length] = '\0';
  return out;
}

pd_status pd__environment_find(const char *prefix, const char *name, size_t length,
                               pd__variable *out, pd_error *err) {
  char upper[PD__VARIABLE_SIZE], quoted[PD__QUOTE_SIZE], other[PD__QUOTE_SIZE];
  out->text = get_variable(write_variable(prefix, name, length, false, out->name));
  write_variable(prefix, name, length, true, upper);
  if (!*prefix || !strcmp(upper, out->name)) return PD_OK;
  const char *text = get_variable(upper);
  if (text && out->text && strcmp(text, out->text) != 0) {
    return pd__fail(err, PD_ERR_CONFLICT,
                    "environment: %s and %s are set to different values, expected one of them",
                    pd__quote_text(quoted, out->name), pd__quote_text(other, upper));
  }
  if (!text || out->text) return PD_OK;
  strcpy(out->name, upper);
  out->text = text;
  return PD_OK;
}

/* ---- Variables that two flags share ---- */

/* Returns true if a variable, whose name is passed without the prefix, is that of the name in
 * either spelling. */
static bool is_variable_of(const char *name, const char *variable, size_t length) {
  bool exact = strlen(name) == length, upper = exact;
  for (size_t i = 0; (exact || upper) && i < length; i++) {
    exact &= normalize_variable_char(name[i]) == variable[i];
    upper &= to_upper(name[i]) == variable[i];
  }
  return exact || upper;
}

pd_status pd__environment_check_twin(const char *prefix, const pd_flag *named, const char *variable,
                                     pd_error *err) {
  char quoted[PD__QUOTE_SIZE];
  const pd_flag *flag = pd__resolve_alias((pd_flag *)named);
  const char *tail = variable + strlen(prefix);
  size_t length = strlen(tail);
  for (pd_flag *node = NULL; (node = pd__names_next(node));) {
    const pd_flag *other = pd__resolve_alias(node);
    bool reads = node == other || pd__name_is_old(node); /* aliases have no variables */
    if (other == flag || !reads || !is_variable_of(pd__flag_name(node), tail, length)) continue;
    if (!pd__flag_def(other) && !pd__stage_defines(other)) continue;
    return pd__fail(err, PD_ERR_CONFLICT,
                    "environment: %s: means both '%s' and '%s', expected a variable of one flag",
                    pd__quote_text(quoted, variable), pd__flag_name(named), pd__flag_name(node));
  }
  return PD_OK;
}

/* ---- Reading ---- */

/* The variable of a flag. */
typedef struct flag_variable {
  pd_flag *node; /* the flag or its old name; NULL if nothing is set, or on an error */
  pd__variable variable;
  pd_error err;
} flag_variable;

/* The flag's own variable takes precedence over those of its old names. `flag` is, or will be, the
 * flag of the definition. */
static pd_status find_flag_variable(const char *prefix, const pd_flag_def *def, pd_flag *flag,
                                    flag_variable *out) {
  const char *name = def->name, *cursor = pd__list_begin(def->old_names);
  size_t length = strlen(name);
  pd_status status = PD_OK;
  out->node = NULL;
  for (bool any = true; any;) {
    status = pd__environment_find(prefix, name, length, &out->variable, &out->err);
    if (status != PD_OK || out->variable.text) break;
    any = cursor != NULL;
    name = cursor;
    if (any) length = pd__list_next(&cursor);
  }
  if (status != PD_OK || !out->variable.text) return status;
  pd_flag *node = name == def->name ? flag : pd__names_find(name, length);
  status = pd__environment_check_twin(prefix, node, out->variable.name, &out->err);
  if (status == PD_OK) out->node = node;
  return status;
}

/* Copies the text of the variable, which the program may change while validators run, and fills in
 * the origin. Returns false if memory is out. */
static bool copy_variable(pd__operation *operation, flag_variable *from, pd_origin *origin) {
  pd__arena *arena = &operation->arena;
  const char *name = from->variable.name, *text = from->variable.text;
  const char *place = pd__arena_copy_text(arena, name, strlen(name));
  *origin = (pd_origin){PD_SOURCE_ENVIRONMENT, 0, place, 0};
  from->variable.text = pd__arena_copy_text(arena, text, strlen(text));
  return place && from->variable.text;
}

/* Call this only if the assignment was accepted: an error already names the old name. */
static void warn_of_old_name(pd_flag *flag, const flag_variable *from) {
  if (from->node != flag) pd__warn_of_name(from->node, flag);
}

/* Finds the value of a flag that is about to be defined. */
static pd_status find_value(pd__operation *operation, const char *prefix, const pd_flag_def *def,
                            pd_flag *node, pd__late_value *out, pd_error *err) {
  flag_variable from;
  out->node = NULL;
  pd_status status = find_flag_variable(prefix, def, node, &from);
  if (status != PD_OK && err) *err = from.err;
  if (status != PD_OK || !from.node) return status;
  if (!copy_variable(operation, &from, &out->origin)) return pd__fail_memory(err);
  out->node = from.node;
  out->text = from.variable.text;
  return PD_OK;
}

void pd__environment_use(const char *prefix) {
  pd__new_flag_source *source = &pd__define_source;
  if (prefix) strcpy(source->prefix, prefix); /* pd__environment_check made sure that it fits */
  source->find = prefix ? find_value : NULL;
  if (prefix) __atomic_store_n(&was_enabled, true, __ATOMIC_RELAXED);
}

void pd__environment_read(const char *prefix, pd__changes *changes) {
  for (pd_flag *flag = NULL; (flag = pd__names_next(flag));) {
    flag_variable from;
    pd_origin origin;
    if (changes->previews && flag != changes->wanted) continue;
    const pd_flag_def *def = pd__flag_def(flag);
    pd_status status = def ? find_flag_variable(prefix, def, flag, &from) : PD_OK;
    if (status != PD_OK) pd__report_add(changes->report, &from.err);
    if (!def || !from.node) continue;
    if (pd__flag_has_value_from(PD_SOURCE_ENVIRONMENT, flag, from.variable.text)) continue;
    if (!copy_variable(changes->operation, &from, &origin)) {
      pd__report_fail_memory(changes->report);
      continue;
    }
    status = pd__changes_try(changes, from.node, from.variable.text, (pd_value){0}, &origin, 0,
                             &from.err);
    if (status == PD_OK) warn_of_old_name(flag, &from);
    if (status != PD_OK) pd__report_add(changes->report, &from.err);
  }
}

pd_status pd__environment_check(const char *prefix, pd_error *err) {
  char quoted[PD__QUOTE_SIZE];
  if (strlen(prefix) <= PD_NAME_MAX && !strchr(prefix, '=')) return PD_OK;
  return pd__fail(err, PD_ERR_ARGUMENT,
                  "environment prefix '%s': expected at most %d bytes without '='",
                  pd__quote_text(quoted, prefix), PD_NAME_MAX);
}

pd_status pd_environment_enable(const char *prefix, pd_error_list *errors, pd_error *err) {
  pd__report report = {.list = errors, .first = err};
  pd_error wrong;
  if (prefix && pd__environment_check(prefix, &wrong) != PD_OK) {
    pd__report_add(&report, &wrong);
    return report.status;
  }
  pd__changes changes;
  PD__LOCKED_OPERATION(operation);
  pd__changes_begin(&changes, &operation, &report);
  changes.yields = true;
  if (prefix) pd__environment_read(prefix, &changes);
  pd_status status = pd__changes_finish(&changes);
  if (status == PD_OK) pd__environment_use(prefix);
  return pd__operation_return(&operation, status);
}
