/* Values from the environment: the variable <prefix><name>, with the name as it is or in upper
 * case, or the file that <prefix><name>_FILE names, once a host enables it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "../definition/stage.h"
#include "input.h"

/* ---- The copy that a thread holds ---- */

static bool was_enabled; /* atomic; once, for later definitions */

static _Thread_local struct {
  unsigned depth;
  char *copy; /* owned; variables, each ended by a NUL, up to an empty one; NULL: no copy */
} held;

void pd__environment_visit(pd__variable_visitor *visit, void *context) {
  char *own = held.copy ? NULL : pd__platform_copy_environment();
  const char *all = held.copy ? held.copy : own;
  for (const char *each = all; each && *each; each += strlen(each) + 1) visit(each, context);
  free(own);
}

void pd_environment_hold(bool always) {
  if (held.depth++ > 0 && held.copy) return;
  if (always || __atomic_load_n(&was_enabled, __ATOMIC_RELAXED))
    held.copy = pd__platform_copy_environment();
}

void pd_environment_release(void) {
  if (held.depth == 0 || --held.depth > 0) return;
  free(held.copy);
  held.copy = NULL;
}

const char *pd__environment_get(const char *variable) {
  if (!held.copy) return pd__platform_getenv(variable);
  size_t length = strlen(variable);
  for (const char *each = held.copy; *each; each += strlen(each) + 1) {
    bool same = pd__platform_is_same_variable(each, variable, length);
    if (same && each[length] == '=') return each + length + 1;
  }
  return NULL;
}

/* ---- Variables ---- */

static char normalize_variable_char(char c) { return c == '.' ? '_' : pd__normalize_dash(c); }

/* toupper depends on the locale. */
static char to_upper_variable_char(char c) {
  return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : normalize_variable_char(c);
}

void pd__variable_write_name(const char *prefix, const char *name, size_t length, bool upper,
                             char out[PD__VARIABLE_SIZE]) {
  size_t before = strlen(prefix);
  if (length > PD_NAME_MAX) length = PD_NAME_MAX;
  memcpy(out, prefix, before);
  for (size_t i = 0; i < length; i++)
    out[before + i] = upper ? to_upper_variable_char(name[i]) : normalize_variable_char(name[i]);
  out[before + length] = '\0';
}

static const char *get_variable_by(const pd__variable_rules *rules, const char *variable) {
  const char *text = pd__environment_get(variable);
  return text && !*text && rules->ignore_empty ? NULL : text;
}

/* Finds the variable of a name, with a suffix, in either spelling. */
static pd_status find_variable_either_case(const pd__variable_rules *rules, const char *name,
                                           size_t length, const char *suffix, pd__variable *out,
                                           pd_error *err) {
  char upper[PD__VARIABLE_SIZE], escaped[PD__ESCAPED_SIZE], other[PD__ESCAPED_SIZE];
  pd__variable_write_name(rules->prefix, name, length, false, out->name);
  pd__variable_write_name(rules->prefix, name, length, true, upper);
  strcat(out->name, suffix);
  strcat(upper, suffix);
  out->text = get_variable_by(rules, out->name);
  if (!*rules->prefix || !strcmp(upper, out->name)) return PD_OK;
  const char *text = get_variable_by(rules, upper);
  if (text && out->text && strcmp(text, out->text) != 0) {
    return pd__fail(err, PD_ERR_CONFLICT,
                    "environment: %s and %s are set to different values, expected one of them",
                    pd__escape_text(escaped, out->name), pd__escape_text(other, upper));
  }
  if (!text || out->text) return PD_OK;
  strcpy(out->name, upper);
  out->text = text;
  return PD_OK;
}

/* ---- Variables that two flags share ---- */

bool pd__variable_is_of_name(const char *name, const char *variable, size_t length) {
  bool exact = strlen(name) == length, upper = exact;
  for (size_t i = 0; (exact || upper) && i < length; i++) {
    char own = normalize_variable_char(name[i]), capital = to_upper_variable_char(name[i]);
    exact &= pd__platform_is_same_variable(&own, variable + i, 1);
    upper &= pd__platform_is_same_variable(&capital, variable + i, 1);
  }
  return exact || upper;
}

bool pd__name_can_have_variable(const pd_flag *node) {
  return node == pd__resolve_alias((pd_flag *)node) || pd__name_is_old(node);
}

/* Returns a name, of another flag than `flag`, that the variable is of; NULL if there is none. */
static const pd_flag *find_other_name(const char *prefix, const pd_flag *flag,
                                      const char *variable) {
  const char *tail = variable + strlen(prefix);
  size_t length = strlen(tail);
  for (pd_flag *node = NULL; (node = pd__names_next(node));) {
    const pd_flag *other = pd__resolve_alias(node);
    if (other == flag || !pd__name_can_have_variable(node)) continue;
    if (!pd__variable_is_of_name(pd__flag_name(node), tail, length)) continue;
    if (pd__flag_def(other) || pd__stage_is_defining(other)) return node;
  }
  return NULL;
}

pd_status pd__environment_check_unique(const char *prefix, const pd_flag *named,
                                       const pd__variable *variable, pd_error *err) {
  char escaped[PD__ESCAPED_SIZE];
  if (variable->is_path) return PD_OK; /* pd__environment_find_variable has made sure */
  const pd_flag *flag = pd__resolve_alias((pd_flag *)named);
  const pd_flag *other = find_other_name(prefix, flag, variable->name);
  if (!other) return PD_OK;
  return pd__fail(err, PD_ERR_CONFLICT,
                  "environment: %s: means both '%s' and '%s', expected a variable of one flag",
                  pd__escape_text(escaped, variable->name), pd__flag_name(named),
                  pd__flag_name(other));
}

/* ---- The variable of a name ---- */

pd_status pd__environment_find_variable(const pd__variable_rules *rules, const char *name,
                                        size_t length, pd__variable *out, pd_error *err) {
  char escaped[PD__ESCAPED_SIZE], other[PD__ESCAPED_SIZE];
  pd__variable file;
  out->is_path = false;
  pd_status status = find_variable_either_case(rules, name, length, "", out, err);
  if (status != PD_OK || !rules->read_files) return status;
  status = find_variable_either_case(rules, name, length, PD__FILE_SUFFIX, &file, err);
  /* A flag may be called token_file. */
  bool is_named = status == PD_OK && file.text && !find_other_name(rules->prefix, NULL, file.name);
  if (!is_named) return status;
  if (out->text) {
    return pd__fail(err, PD_ERR_CONFLICT,
                    "environment: %s and %s are both set, expected one of them",
                    pd__escape_text(escaped, out->name), pd__escape_text(other, file.name));
  }
  *out = file;
  out->is_path = true;
  return PD_OK;
}

/* Reads the file into *text, without the newline at its end. The place names the variable and the
 * file. The lock is held: the file is a regular one, which nobody waits for. */
static pd_status read_variable_file(pd__arena *arena, const pd__variable *variable,
                                    const char **place, const char **text, pd_error *err) {
  char escaped[PD__ESCAPED_SIZE], path[PD__ESCAPED_SIZE], *content = NULL;
  size_t length = 0, size = strlen(variable->name) + strlen(variable->text) + 2;
  if (!*variable->text) {
    return pd__fail(err, PD_ERR_FILE, "environment: %s: is empty, expected the path of a file",
                    pd__escape_text(escaped, variable->name));
  }
  char *both = pd__arena_alloc(arena, size);
  const char *why =
      pd__platform_read_file(arena, variable->text, PD__BYTES_MOST, &content, &length);
  if (both) snprintf(both, size, "%s=%s", variable->name, variable->text);
  if (!why && content && strlen(content) < length) why = "holds a NUL byte, expected text";
  if (why) {
    return pd__fail(err, PD_ERR_FILE, "environment: %s=%s: %s",
                    pd__escape_text(escaped, variable->name), pd__escape_text(path, variable->text),
                    why);
  }
  if (!both || !content) return pd__fail_memory(err);
  if (length > 0 && content[length - 1] == '\n') content[--length] = '\0';
  if (length > 0 && content[length - 1] == '\r') content[--length] = '\0';
  *place = both;
  *text = content;
  return PD_OK;
}

pd_status pd__variable_read_text(pd__arena *arena, const pd__variable *variable, const char **place,
                                 const char **text, pd_error *err) {
  const char *name = variable->name;
  if (variable->is_path) return read_variable_file(arena, variable, place, text, err);
  *place = pd__arena_copy_text(arena, name, strlen(name));
  *text = pd__arena_copy_text(arena, variable->text, strlen(variable->text));
  return *place && *text ? PD_OK : pd__fail_memory(err);
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
static pd_status find_flag_variable(const pd__variable_rules *rules, const pd_flag_def *def,
                                    pd_flag *flag, flag_variable *out) {
  const char *name = def->name, *cursor = pd__list_begin(def->old_names);
  size_t length = strlen(name);
  pd_status status = PD_OK;
  out->node = NULL;
  for (bool any = true; any;) {
    status = pd__environment_find_variable(rules, name, length, &out->variable, &out->err);
    if (status != PD_OK || out->variable.text) break;
    any = cursor != NULL;
    name = cursor;
    if (any) length = pd__list_advance_to_choice(&cursor);
  }
  if (status != PD_OK || !out->variable.text) return status;
  pd_flag *node = name == def->name ? flag : pd__names_find(name, length);
  status = pd__environment_check_unique(rules->prefix, node, &out->variable, &out->err);
  if (status == PD_OK) out->node = node;
  return status;
}

/* Copies the text of the variable, which the program may change while validators run, and fills in
 * the origin. */
static pd_status read_variable_text(pd__operation *operation, flag_variable *from,
                                    pd_origin *origin) {
  const char *place = NULL;
  pd_status status = pd__variable_read_text(&operation->arena, &from->variable, &place,
                                            &from->variable.text, &from->err);
  *origin = (pd_origin){PD_SOURCE_ENVIRONMENT, 0, place, 0};
  return status;
}

/* Call this only if the assignment was accepted: an error already names the old name. */
static void warn_of_old_name(pd_flag *flag, const flag_variable *from) {
  if (from->node != flag) pd__warn_of_deprecated_name(from->node, flag);
}

/* Finds the value of a flag that is about to be defined. */
static pd_status find_environment_value(pd__operation *operation, const pd__variable_rules *rules,
                                        const pd_flag_def *def, pd_flag *node,
                                        pd__environment_value *out, pd_error *err) {
  flag_variable from;
  out->node = NULL;
  pd_status status = find_flag_variable(rules, def, node, &from);
  if (status == PD_OK && from.node) status = read_variable_text(operation, &from, &out->origin);
  if (status != PD_OK && err) *err = from.err;
  if (status != PD_OK || !from.node) return status;
  out->node = from.node;
  out->text = from.variable.text;
  return PD_OK;
}

void pd__environment_use_for_new_flags(const pd__variable_rules *rules) {
  pd__new_flag_source *source = &pd__define_source;
  if (rules) source->rules = *rules;
  source->find = rules ? find_environment_value : NULL;
  if (rules) __atomic_store_n(&was_enabled, true, __ATOMIC_RELAXED);
}

static void assign_from_environment(const pd__variable_rules *rules, pd__changes *changes,
                                    pd_flag *flag) {
  flag_variable from;
  pd_origin origin;
  pd_status status = find_flag_variable(rules, pd__flag_def(flag), flag, &from);
  if (status == PD_OK && !from.node) return;
  if (status == PD_OK) status = read_variable_text(changes->operation, &from, &origin);
  if (status == PD_OK) {
    const char *text = from.variable.text;
    if (pd__flag_has_same_value_from(PD_SOURCE_ENVIRONMENT, flag, text)) return;
    status = pd__changes_stage_assignment(changes, from.node, text, (pd_value){0}, &origin, 0,
                                          &from.err);
  }
  if (status == PD_OK) warn_of_old_name(flag, &from);
  if (status != PD_OK) pd__report_add(changes->report, &from.err);
}

void pd__environment_stage_values(const pd__variable_rules *rules, pd__changes *changes) {
  for (pd_flag *flag = NULL; (flag = pd__names_next(flag));) {
    if (changes->previews && flag != changes->previewed_flag) continue;
    if (pd__flag_def(flag)) assign_from_environment(rules, changes, flag);
  }
}

pd_status pd__environment_check_prefix(const char *prefix, pd_error *err) {
  char escaped[PD__ESCAPED_SIZE];
  if (strlen(prefix) <= PD_NAME_MAX && !strchr(prefix, '=')) return PD_OK;
  return pd__fail(err, PD_ERR_ARGUMENT,
                  "environment prefix '%s': expected at most %d bytes without '='",
                  pd__escape_text(escaped, prefix), PD_NAME_MAX);
}
