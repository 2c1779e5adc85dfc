/* One definition by itself. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "definition.h"

/* The fields of ABI version 1; later versions only add to them. */
#define SMALLEST_DEF (offsetof(pd_flag_def, max) + sizeof(pd_value))

pd_status pd__def_refuse(const pd_flag_def *def, pd_status status, const char *why, pd_error *err) {
  char quoted[PD__QUOTE_SIZE], subject[PD__QUOTE_SIZE + 24] = "definition";
  if (def->name) {
    snprintf(subject, sizeof subject, "definition of '%s'", pd__quote(quoted, def->name));
  }
  if (!def->file) return pd__fail(err, status, "%s: %s", subject, why);
  if (!def->line) return pd__fail(err, status, "%.300s: %s: %s", def->file, subject, why);
  return pd__fail(err, status, "%.300s:%u: %s: %s", def->file, def->line, subject, why);
}

/* What the name does on every command line, or NULL. */
static const char *meaning_of(const char *name, size_t length) {
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

/* `what` is "" for the definition's own name, otherwise what messages call another one. */
static pd_status refuse_name(const pd_flag_def *def, const char *what, const char *name,
                             size_t length, const char *meaning, pd_error *err) {
  char copy[PD_NAME_MAX + 2], quoted[PD__QUOTE_SIZE], alias[PD__QUOTE_SIZE + 16] = "", why[512];
  snprintf(copy, sizeof copy, "%.*s", (int)(length > PD_NAME_MAX ? PD_NAME_MAX + 1 : length), name);
  if (*what) snprintf(alias, sizeof alias, "%s '%s': ", what, pd__quote(quoted, copy));
  if (meaning) {
    snprintf(why, sizeof why, "%s--%s %s, expected another name", alias, copy, meaning);
    return pd__def_refuse(def, PD_ERR_CONFLICT, why, err);
  }
  if (length > PD_NAME_MAX) {
    snprintf(why, sizeof why, "%sthe name has %zu bytes, expected at most %d", alias, length,
             PD_NAME_MAX);
  } else {
    snprintf(why, sizeof why,
             "%sexpected a name of letters, digits, _ . - that begins with a letter or _", alias);
  }
  return pd__def_refuse(def, PD_ERR_NAME, why, err);
}

static pd_status check_name(const pd_flag_def *def, const char *what, const char *name,
                            size_t length, pd_error *err) {
  const char *meaning = meaning_of(name, length);
  if (pd__name_valid(name, length) && !meaning) return PD_OK;
  return refuse_name(def, what, name, length, meaning, err);
}

static pd_status check_others(const pd_flag_def *def, const char *what, const char *names,
                              pd_error *err) {
  pd_status status = PD_OK;
  for (const char *cursor = pd__list_begin(names); status == PD_OK && cursor;) {
    const char *name = cursor;
    size_t length = pd__list_next(&cursor);
    status = check_name(def, what, name, length, err);
  }
  return status;
}

static pd_status check_names(const pd_flag_def *def, pd_error *err) {
  if (!def->name) return pd__def_refuse(def, PD_ERR_NAME, "the name is NULL", err);
  pd_status status = check_name(def, "", def->name, strlen(def->name), err);
  if (status == PD_OK) status = check_others(def, "alias", def->aliases, err);
  return status == PD_OK ? check_others(def, "old name", def->old_names, err) : status;
}

static pd_status check_choices(const pd_flag_def *def, pd_error *err) {
  for (const char *cursor = pd__list_begin(def->choices); cursor;) {
    char copy[PD__QUOTE_SIZE], quoted[PD__QUOTE_SIZE], why[512];
    const char *choice = cursor;
    size_t length = pd__list_next(&cursor);
    if (pd__choice_valid(def, choice, length)) continue;
    snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : sizeof copy), choice);
    snprintf(why, sizeof why, "choice '%s': expected a value of type %s", pd__quote(quoted, copy),
             pd__type_name(def->list ? def->list : def->type));
    return pd__def_refuse(def, PD_ERR_CHOICE, why, err);
  }
  return PD_OK;
}

static bool has_range(unsigned type) { return pd__type_has_range(pd__type_of(type)); }

static pd_status check_range(const pd_flag_def *def, pd_error *err) {
  unsigned type = def->type;
  char why[64];
  if (!has_range(type)) return PD_OK;
  const pd__type *known = pd__type_of(type);
  if (known->kind == PD__TYPE_FLOATING && (isnan(def->min.f64) || isnan(def->max.f64))) {
    return pd__def_refuse(def, PD_ERR_RANGE, "a bound of the range is NaN", err);
  }
  if (known->less(def->max, def->min)) {
    return pd__def_refuse(def, PD_ERR_RANGE, "the range is empty: min is above max", err);
  }
  if (known->less(def->min, known->min) || known->less(known->max, def->max)) {
    snprintf(why, sizeof why, "a bound of the range does not fit %s", pd__type_name(def->type));
    return pd__def_refuse(def, PD_ERR_RANGE, why, err);
  }
  return PD_OK;
}

static pd_status check_default(const pd_flag_def *def, pd_error *err) {
  char number[PD__NUMBER_SIZE], quoted[PD__QUOTE_SIZE], complaint[256], why[512];
  if (def->type == PD_TYPE_string && !def->default_value.str) {
    return pd__def_refuse(def, PD_ERR_VALUE, "the default is NULL, expected text", err);
  }
  pd_status status = pd__value_check(def, def->default_value);
  if (status == PD_OK) return PD_OK;
  const char *text = pd__value_text(def->type, def->default_value, number);
  pd__value_complaint(def, text, complaint, sizeof complaint);
  const char *quotes = def->type == PD_TYPE_string && !def->sensitive ? "'" : "";
  const char *shown = def->sensitive ? PD__REDACTED : pd__quote(quoted, text);
  snprintf(why, sizeof why, "default %s%s%s: %s", quotes, shown, quotes, complaint);
  return pd__def_refuse(def, status, why, err);
}

static pd_status check_access(const pd_flag_def *def, pd_error *err) {
  const pd_cell_access *access = def->access;
  char why[96];
  if (!access || (def->type == PD_TYPE_string && access->put && access->size >= sizeof *access)) {
    return PD_OK;
  }
  snprintf(why, sizeof why, "its access is not one of a string: expected a size of %zu, and put",
           sizeof *access);
  return pd__def_refuse(def, PD_ERR_ARGUMENT, why, err);
}

static pd_status check_kind(const pd_flag_def *def, pd_error *err) {
  char why[64];
  if (!pd__type_known(def->type)) { /* NOLINT: what pd__def_convert refused isn't checked */
    snprintf(why, sizeof why, "its type is %u, expected a pd_type", def->type);
    return pd__def_refuse(def, PD_ERR_TYPE, why, err);
  }
  if (def->kind > PD_KIND_IMPORT) {
    snprintf(why, sizeof why, "its kind is %u, expected a pd_kind", def->kind);
    return pd__def_refuse(def, PD_ERR_ABI, why, err);
  }
  return PD_OK;
}

static pd_status check_list(const pd_flag_def *def, pd_error *err) {
  char why[96];
  if (!def->list) return PD_OK;
  if (!pd__type_known(def->list)) {
    snprintf(why, sizeof why, "its list is %u, expected 0 or the pd_type of an item", def->list);
    return pd__def_refuse(def, PD_ERR_TYPE, why, err);
  }
  if (def->type == PD_TYPE_string) return PD_OK;
  snprintf(why, sizeof why, "a list has the type string, not %s", pd__type_name(def->type));
  return pd__def_refuse(def, PD_ERR_TYPE, why, err);
}

static pd_status check_unit(const pd_flag_def *def, pd_error *err) {
  char quoted[PD__QUOTE_SIZE], why[160];
  if (!def->unit) return PD_OK;
  pd__quote(quoted, def->unit);
  if (!pd__unit_known(def->unit)) {
    snprintf(why, sizeof why, "unit '%s': expected bytes or seconds", quoted);
    return pd__def_refuse(def, PD_ERR_ARGUMENT, why, err);
  }
  if (has_range(def->type)) return PD_OK;
  snprintf(why, sizeof why, "unit '%s': expected the type of a number, not %s", quoted,
           pd__type_name(def->type));
  return pd__def_refuse(def, PD_ERR_TYPE, why, err);
}

/* What is said about the flag's use. */
static pd_status check_use(const pd_flag_def *def, pd_error *err) {
  const char *why = NULL;
  if (def->deprecated && !*def->deprecated) why = "deprecated: expected the reason, not \"\"";
  if (def->retired && !*def->retired) why = "retired: expected the reason, not \"\"";
  if (def->required && def->retired) {
    why = "it is required and retired: its values would be ignored";
  }
  if (def->required && def->read_only) {
    why = "it is required and read-only: no value would be taken";
  }
  return why ? pd__def_refuse(def, PD_ERR_ARGUMENT, why, err) : PD_OK;
}

/* Whether a default suits the type, if nothing more is asked of it. */
static bool suits_type(unsigned type, pd_value value) {
  const pd__type *known = pd__type_of(type);
  if (known->kind == PD__TYPE_TEXT) return value.str != NULL;
  return !pd__type_has_range(known) ||
         (!known->less(value, known->min) && !known->less(known->max, value));
}

/* Whether there is nothing to check but the name. */
static bool is_simple(const pd_flag_def *def) {
  if (!pd__type_known(def->type) || !pd__def_plain(def) || def->kind != PD_KIND_DEFINE)
    return false;
  if (!def->name || def->aliases || def->old_names || def->required) return false;
  return suits_type(def->type, def->default_value);
}

pd_status pd__def_check(const pd_flag_def *def, pd_error *err) {
  if (is_simple(def)) return check_name(def, "", def->name, strlen(def->name), err);
  pd_status status = check_kind(def, err);
  if (status == PD_OK) status = check_names(def, err);
  if (status == PD_OK) status = check_access(def, err);
  if (status != PD_OK || def->kind == PD_KIND_IMPORT) return status;
  status = check_list(def, err);
  if (status == PD_OK) status = check_unit(def, err);
  if (status == PD_OK) status = check_use(def, err);
  if (status != PD_OK) return status;
  status = check_range(def, err);
  if (status == PD_OK) status = check_choices(def, err);
  return status == PD_OK ? check_default(def, err) : status;
}

pd_status pd__def_convert(const pd_flag_def *from, pd_flag_def *to, pd_error *err) {
  if (from->size < SMALLEST_DEF) {
    return pd__fail(err, PD_ERR_ABI, "a definition has %u bytes, expected %zu or more", from->size,
                    SMALLEST_DEF);
  }
  if (from->size % _Alignof(pd_flag_def)) { /* it would end inside a pointer */
    return pd__fail(err, PD_ERR_ABI, "a definition has %u bytes, expected a multiple of %zu",
                    from->size, _Alignof(pd_flag_def));
  }
  size_t known = from->size < sizeof *to ? from->size : sizeof *to;
  memcpy(to, from, known);
  memset((char *)to + known, 0, sizeof *to - known);
  to->size = sizeof *to;
  return PD_OK;
}
