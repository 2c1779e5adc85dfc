/* One definition by itself, for the core: the checks of check.c with shorter reasons,
 * and a refusal of what the core can't do. */
#include <math.h>
#include <string.h>

#include "../profile.h"
#include "../registry.h"

/* The fields of ABI version 1; later versions only add to them. */
#define SMALLEST_DEF (offsetof(pd_flag_def, max) + sizeof(pd_value))

pd_status pd__def_refuse(const pd_flag_def *def, pd_status status, const char *why, pd_error *err) {
  char quoted[PD__QUOTE_SIZE];
  return pd__fail(err, status, "%.300s:%u: definition of '%s': %s", def->file ? def->file : "?",
                  def->line, pd__quote(quoted, def->name ? def->name : ""), why);
}

static bool names_valid(const char *names) {
  for (const char *cursor = pd__list_begin(names); cursor;) {
    const char *name = cursor;
    if (!pd__name_valid(name, pd__list_next(&cursor))) return false;
  }
  return true;
}

static bool choices_valid(const pd_flag_def *def) {
  for (const char *cursor = pd__list_begin(def->choices); cursor;) {
    const char *choice = cursor;
    if (!pd__choice_valid(def, choice, pd__list_next(&cursor))) return false;
  }
  return true;
}

static bool less(unsigned type, pd_value a, pd_value b) {
  if (type == PD_TYPE_double) return !(a.f64 >= b.f64); /* NaN is no bound */
  return type == PD_TYPE_uint32 || type == PD_TYPE_uint64 ? a.u64 < b.u64 : a.i64 < b.i64;
}

static bool range_valid(const pd_flag_def *def) {
  unsigned type = def->type;
  return type == PD_TYPE_bool || type == PD_TYPE_string ||
         !(less(type, def->max, def->min) || less(type, def->min, pd__type_min(type)) ||
           less(type, pd__type_max(type), def->max));
}

/* What no core can do for a flag; or NULL. */
#define LACKS(what) "has " what ", which " PD__VERSION " lacks"
static const char *lacking(const pd_flag_def *def) {
  if (def->validate) return LACKS("a validator");
  if (def->watch) return LACKS("a watcher");
  if (def->unit) return LACKS("a unit");
  return def->list ? LACKS("a list") : NULL;
}

pd_status pd__def_check(const pd_flag_def *def, pd_error *err) {
  if (!pd__type_known(def->type)) { /* NOLINT: what pd__def_convert refused isn't checked */
    return pd__def_refuse(def, PD_ERR_TYPE, "no valid type", err);
  }
  if (def->kind > PD_KIND_IMPORT) {
    return pd__def_refuse(def, PD_ERR_ABI, "no valid kind", err);
  }
  if (!def->name || !pd__name_valid(def->name, strlen(def->name)) || !names_valid(def->aliases) ||
      !names_valid(def->old_names)) {
    return pd__def_refuse(def, PD_ERR_NAME, "no valid names", err);
  }
  const pd_cell_access *access = def->access;
  if (access && (def->type != PD_TYPE_string || !access->put || access->size < sizeof *access)) {
    return pd__def_refuse(def, PD_ERR_ARGUMENT, "no valid access", err);
  }
  if (def->kind == PD_KIND_IMPORT) return PD_OK;
  const char *lack = lacking(def);
  if (lack) return pd__def_refuse(def, PD_ERR_UNSUPPORTED, lack, err);
  if (!range_valid(def)) return pd__def_refuse(def, PD_ERR_RANGE, "no valid range", err);
  if (!choices_valid(def)) return pd__def_refuse(def, PD_ERR_CHOICE, "no valid choices", err);
  bool text = def->type == PD_TYPE_string;
  pd_status status = PD_ERR_VALUE;
  if (!text || def->default_value.str) status = pd__value_check(def, def->default_value);
  return status == PD_OK ? PD_OK : pd__def_refuse(def, status, "no valid default", err);
}

pd_status pd__def_convert(const pd_flag_def *from, pd_flag_def *to, pd_error *err) {
  if (from->size < SMALLEST_DEF || from->size % _Alignof(pd_flag_def)) {
    return pd__fail(err, PD_ERR_ABI, "a definition of %u bytes", from->size);
  }
  size_t known = from->size < sizeof *to ? from->size : sizeof *to;
  memset(to, 0, sizeof *to);
  memcpy(to, from, known);
  to->size = sizeof *to;
  return PD_OK;
}
