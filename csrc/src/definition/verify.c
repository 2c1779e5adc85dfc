/* The checks of one definition by itself. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../base/sized.h"
#include "definition.h"

/* The size in ABI version 1. Later versions only add fields. */
#define SMALLEST_DEF PD__SIZE_UP_TO(pd_flag_def, max)

/* Fails with the place and the name of the definition before the message. */
PD__PRINTF(4, 5)
static pd_status fail_definition(const pd_flag_def *def, pd_error *err, pd_status status,
                                 const char *format, ...) {
  char escaped[PD__ESCAPED_SIZE], subject[320 + PD__ESCAPED_SIZE + 32] = "", why[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  if (def->file) pd__append_format(subject, sizeof subject, "%.300s", def->file);
  if (def->file && def->line) pd__append_format(subject, sizeof subject, ":%u", def->line);
  pd__append_format(subject, sizeof subject, def->file ? ": definition" : "definition");
  if (def->name) {
    pd__append_format(subject, sizeof subject, " of '%s'", pd__escape_text(escaped, def->name));
  }
  return pd__fail(err, status, "%s: %s", subject, why);
}

/* Returns what the name means on every command line, or NULL. */
static const char *find_reserved_meaning(const char *name, size_t length) {
  static const char taken[][2][40] = {{"help", "lists the flags"},
                                      {"flagfile", "reads flags from files"},
                                      {"fromenv", "reads flags from the environment"},
                                      {"tryfromenv", "reads flags from the environment"},
                                      {"undefok", "lets flags be unknown"}};
  if (length == 0 || (*name != 'h' && *name != 'f' && *name != 't' && *name != 'u')) return NULL;
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
    if (!strncmp(name, taken[i][0], length) && !taken[i][0][length]) return taken[i][1];
  }
  return NULL;
}

static bool is_allowed_name(const char *name, size_t length) {
  return pd__name_is_valid(name, length) && !find_reserved_meaning(name, length);
}

static pd_status check_definition_name(const pd__naming *of, pd_error *err) {
  char escaped[PD__ESCAPED_SIZE], alias[PD__ESCAPED_SIZE + 16] = "";
  if (is_allowed_name(of->name, of->length)) return PD_OK;
  const char *meaning = find_reserved_meaning(of->name, of->length);
  pd__escape_part(escaped, of->name, of->length);
  if (of->kind != PD__NAME_OWN) {
    const char *what = of->kind == PD__NAME_ALIAS ? "alias" : "old name";
    snprintf(alias, sizeof alias, "%s '%s': ", what, escaped);
  }
  if (meaning) {
    return fail_definition(of->def, err, PD_ERR_CONFLICT, "%s--%s %s, expected another name", alias,
                           escaped, meaning);
  }
  if (of->length > PD_NAME_MAX) {
    return fail_definition(of->def, err, PD_ERR_NAME,
                           "%sthe name has %zu bytes, expected at most %d", alias, of->length,
                           PD_NAME_MAX);
  }
  return fail_definition(
      of->def, err, PD_ERR_NAME,
      "%sexpected a name of letters, digits, _ . - that begins with a letter or _", alias);
}

static pd_status check_names(const pd_flag_def *def, pd_error *err) {
  pd_status status = PD_OK;
  if (!def->name) return fail_definition(def, err, PD_ERR_NAME, "the name is NULL");
  for (pd__naming at = {.def = def}; status == PD_OK && pd__naming_next(&at);) {
    status = check_definition_name(&at, err);
  }
  return status;
}

/* Returns what to add to an error about choices: one that looks like several is misspelt. */
static const char *suggest_separator(const pd_flag_def *def) {
  bool misspelt = !strchr(def->choices, '|') && strpbrk(def->choices, ",; ");
  return misspelt ? "; choices are separated by |, as in a|b" : "";
}

static pd_status check_choices(const pd_flag_def *def, pd_error *err) {
  for (const char *cursor = pd__list_begin(def->choices); cursor;) {
    char escaped[PD__ESCAPED_SIZE];
    const char *choice = cursor;
    size_t length = pd__list_advance_to_choice(&cursor);
    if (pd__choice_is_valid(def, choice, length)) continue;
    return fail_definition(def, err, PD_ERR_CHOICE, "choice '%s': expected a value of type %s%s",
                           pd__escape_part(escaped, choice, length),
                           pd_type_name(def->list ? def->list : def->type), suggest_separator(def));
  }
  return PD_OK;
}

static pd_status check_range(const pd_flag_def *def, pd_error *err) {
  const pd__type *type = pd__type_of(def->type);
  if (!pd__type_has_range(type)) return PD_OK;
  if (type->kind == PD__TYPE_FLOATING && (isnan(def->min.f64) || isnan(def->max.f64))) {
    return fail_definition(def, err, PD_ERR_RANGE, "a bound of the range is NaN");
  }
  if (pd__value_is_less(def->type, def->max, def->min)) {
    return fail_definition(def, err, PD_ERR_RANGE, "the range is empty: min is above max");
  }
  if (pd__value_is_less(def->type, def->min, type->min) ||
      pd__value_is_less(def->type, type->max, def->max)) {
    return fail_definition(def, err, PD_ERR_RANGE, "a bound of the range does not fit %s",
                           type->name);
  }
  return PD_OK;
}

const char *pd__def_format_default(const pd_flag_def *def, char out[PD__DEFAULT_SIZE]) {
  char number[PD__NUMBER_SIZE], escaped[PD__ESCAPED_SIZE];
  const char *text = pd__value_get_text(def->type, def->default_value, number);
  const char *quotes = def->type == PD_TYPE_string && !def->sensitive ? "'" : "";
  const char *shown = def->sensitive ? PD__REDACTED : pd__escape_text(escaped, text);
  snprintf(out, PD__DEFAULT_SIZE, "%s%s%s", quotes, shown, quotes);
  return out;
}

static pd_status check_default(const pd_flag_def *def, pd_error *err) {
  char number[PD__NUMBER_SIZE], shown[PD__DEFAULT_SIZE], complaint[256];
  if (def->type == PD_TYPE_string && !def->default_value.str) {
    return fail_definition(def, err, PD_ERR_VALUE, "the default is NULL, expected text");
  }
  pd_status status = def->optional ? PD_OK : pd__value_check(def, def->default_value);
  if (status == PD_OK) return PD_OK;
  const char *text = pd__value_get_text(def->type, def->default_value, number);
  pd__value_explain_rejected_text(def, text, complaint, sizeof complaint);
  return fail_definition(def, err, status, "default %s: %s%s", pd__def_format_default(def, shown),
                         complaint, status == PD_ERR_CHOICE ? suggest_separator(def) : "");
}

static pd_status check_type_and_kind(const pd_flag_def *def, pd_error *err) {
  if (!pd__type_is_known(
          def->type)) { /* NOLINT: what pd__def_convert_version refused isn't checked */
    return fail_definition(def, err, PD_ERR_TYPE, "its type is %u, expected a pd_type", def->type);
  }
  if (def->kind > PD_KIND_IMPORT) {
    return fail_definition(def, err, PD_ERR_ABI, "its kind is %u, expected a pd_kind", def->kind);
  }
  return PD_OK;
}

static pd_status check_access_functions(const pd_flag_def *def, pd_error *err) {
  const pd_cell_access *access = def->access;
  bool text = def->type == PD_TYPE_string;
  size_t size = text ? offsetof(pd_cell_access, load) : sizeof *access;
  if (!access || (access->size >= size && (text ? !!access->put : !!access->store))) return PD_OK;
  return fail_definition(def, err, PD_ERR_ARGUMENT,
                         "its access is not that of %s: expected a size of %zu, and %s",
                         pd_type_name((pd_type)def->type), size, text ? "put" : "store");
}

static pd_status check_list_and_unit(const pd_flag_def *def, pd_error *err) {
  char escaped[PD__ESCAPED_SIZE];
  const pd__type *type = pd__type_of(def->type);
  if (def->list && !pd__type_is_known(def->list)) {
    return fail_definition(def, err, PD_ERR_TYPE,
                           "its list is %u, expected 0 or the pd_type of an item", def->list);
  }
  if (def->list && type->kind != PD__TYPE_TEXT) {
    return fail_definition(def, err, PD_ERR_TYPE, "a list has the type string, not %s", type->name);
  }
  if (!def->unit) return PD_OK;
  pd__escape_text(escaped, def->unit);
  if (!pd__unit_get_hint(def->unit)) {
    return fail_definition(def, err, PD_ERR_ARGUMENT, "unit '%s': expected bytes or seconds",
                           escaped);
  }
  if (pd__type_has_range(type)) return PD_OK;
  return fail_definition(def, err, PD_ERR_TYPE, "unit '%s': expected the type of a number, not %s",
                         escaped, type->name);
}

/* Checks the marks that say how the flag may be used. */
static pd_status check_use_attributes(const pd_flag_def *def, pd_error *err) {
  const char *why = NULL;
  if (def->deprecated && !*def->deprecated) why = "deprecated: expected the reason, not \"\"";
  if (def->retired && !*def->retired) why = "retired: expected the reason, not \"\"";
  if (def->required && def->retired) {
    why = "it is required and retired: its values would be ignored";
  }
  if (def->required && def->read_only) {
    why = "it is required and read-only: no value would be taken";
  }
  if (def->runtime && def->read_only) {
    why = "it is runtime and read-only: no change from outside would be taken";
  }
  if (def->runtime && def->startup_only) {
    why = "it is runtime and startup only: no change in the running process would be taken";
  }
  if (def->runtime && def->retired) {
    why = "it is runtime and retired: no change from outside would be taken";
  }
  if (def->multi && !def->list) why = "it is multi, but not a list";
  if (def->merge && !def->list) why = "it is merge, but not a list";
  pd__type_kind kind = pd__type_of(def->type)->kind;
  if (def->count && kind != PD__TYPE_SIGNED && kind != PD__TYPE_UNSIGNED) {
    why = "it is count, but not an integer";
  }
  if (def->convert && !pd__type_is_text(def->type)) {
    why = "it has a converter, but is not a string";
  }
  return why ? fail_definition(def, err, PD_ERR_ARGUMENT, "%s", why) : PD_OK;
}

static pd_status check_scoped_definition(const pd_flag_def *def, pd_error *err) {
  if (def->scoped && def->cell && !def->scoped_cell) {
    return fail_definition(def, err, PD_ERR_ARGUMENT,
                           "it is scoped, but its variable is that of a flag that isn't: expected "
                           "PD_DEFINE_SCOPED_%s",
                           pd_type_name(def->type));
  }
  bool fits = def->scoped && def->cell && !def->access && !def->assignable;
  if (!def->scoped_cell || fits) return PD_OK;
  return fail_definition(
      def, err, PD_ERR_ARGUMENT,
      "scoped_cell is for the variable of a scoped flag, without access functions");
}

/* Returns true if nothing but the one name needs a check, as for most definitions. */
static bool can_skip_checks(const pd_flag_def *def) {
  bool named = def->name && !def->aliases && !def->old_names;
  bool plain = named && pd__type_is_known(def->type) && pd__def_is_plain(def);
  if (!plain || def->kind != PD_KIND_DEFINE || def->scoped || def->scoped_cell) return false;
  if (pd__type_is_text(def->type)) return def->default_value.str != NULL;
  return pd__type_can_hold((pd_type)def->type, def->default_value);
}

static __attribute__((noinline)) pd_status check_whole_definition(const pd_flag_def *def,
                                                                  bool defines, pd_error *err) {
  pd_status status = check_type_and_kind(def, err);
  if (status == PD_OK) status = check_names(def, err);
  if (status == PD_OK) status = check_access_functions(def, err);
  if (status == PD_OK) status = check_scoped_definition(def, err);
  if (status == PD_OK && defines && def->kind != PD_KIND_DEFINE) {
    status = fail_definition(def, err, PD_ERR_ARGUMENT, "its kind isn't PD_KIND_DEFINE");
  }
  if (status != PD_OK || def->kind == PD_KIND_IMPORT) return status;
  status = check_list_and_unit(def, err);
  if (status == PD_OK) status = check_use_attributes(def, err);
  if (status == PD_OK) status = check_range(def, err);
  if (status == PD_OK) status = check_choices(def, err);
  return status == PD_OK ? check_default(def, err) : status;
}

pd_status pd__def_check(const pd_flag_def *def, bool defines, pd_error *err) {
  if (can_skip_checks(def) && is_allowed_name(def->name, strlen(def->name))) return PD_OK;
  return check_whole_definition(def, defines, err);
}

pd_status pd__def_convert_version(const pd_flag_def *from, pd_flag_def *to, pd_error *err) {
  return pd__record_check_and_copy(from, SMALLEST_DEF, to, sizeof *to, "a definition", err);
}
