/* Definitions: checked one by one, then taken all together or not at all. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "pending.h"
#include "platform.h"
#include "registry.h"
#include "text.h"

/* ---- One definition by itself ---- */

/* The fields of ABI version 1; later versions only add to them. */
#define SMALLEST_DEF (offsetof(pd_flag_def, max) + sizeof(pd_value))

static pd_status refuse(const pd_flag_def *def, pd_status status, const char *why, pd_error *err) {
  char quoted[PD__QUOTE_SIZE], subject[PD__QUOTE_SIZE + 24] = "definition";
  if (def->name) {
    snprintf(subject, sizeof subject, "definition of '%s'", pd__quote(quoted, def->name));
  }
  if (!def->file) return pd__fail(err, status, "%s: %s", subject, why);
  if (!def->line) return pd__fail(err, status, "%.300s: %s: %s", def->file, subject, why);
  return pd__fail(err, status, "%.300s:%u: %s: %s", def->file, def->line, subject, why);
}

/* The definition's own name, or an alias of it. */
static pd_status check_name(const pd_flag_def *def, const char *name, size_t length,
                            pd_error *err) {
  char copy[PD_NAME_MAX + 2], quoted[PD__QUOTE_SIZE], alias[PD__QUOTE_SIZE + 16] = "", why[512];
  snprintf(copy, sizeof copy, "%.*s", (int)(length > PD_NAME_MAX ? PD_NAME_MAX + 1 : length), name);
  if (pd__name_valid(copy)) return PD_OK;
  if (name != def->name) snprintf(alias, sizeof alias, "alias '%s': ", pd__quote(quoted, copy));
  if (length > PD_NAME_MAX) {
    snprintf(why, sizeof why, "%sthe name has %zu bytes, expected at most %d", alias, length,
             PD_NAME_MAX);
  } else {
    snprintf(why, sizeof why,
             "%sexpected a name of letters, digits, _ . - that begins with a letter or _", alias);
  }
  return refuse(def, PD_ERR_NAME, why, err);
}

static pd_status check_names(const pd_flag_def *def, pd_error *err) {
  if (!def->name) return refuse(def, PD_ERR_NAME, "the name is NULL", err);
  pd_status status = check_name(def, def->name, strlen(def->name), err);
  for (const char *cursor = pd__list_begin(def->aliases); status == PD_OK && cursor;) {
    const char *alias = cursor;
    size_t length = pd__list_next(&cursor);
    status = check_name(def, alias, length, err);
  }
  return status;
}

static pd_status check_choices(const pd_flag_def *def, pd_error *err) {
  for (const char *cursor = pd__list_begin(def->choices); cursor;) {
    char copy[PD__QUOTE_SIZE], quoted[PD__QUOTE_SIZE], why[512];
    const char *choice = cursor;
    size_t length = pd__list_next(&cursor);
    if (pd__choice_valid(def->type, choice, length)) continue;
    snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : sizeof copy), choice);
    snprintf(why, sizeof why, "choice '%s': expected a value of type %s", pd__quote(quoted, copy),
             pd_type_name(def->type));
    return refuse(def, PD_ERR_CHOICE, why, err);
  }
  return PD_OK;
}

static bool has_range(unsigned type) { return type != PD_TYPE_bool && type != PD_TYPE_string; }

static bool less(unsigned type, pd_value a, pd_value b) {
  if (type == PD_TYPE_double) return a.f64 < b.f64;
  return type == PD_TYPE_uint32 || type == PD_TYPE_uint64 ? a.u64 < b.u64 : a.i64 < b.i64;
}

static pd_status check_range(const pd_flag_def *def, pd_error *err) {
  unsigned type = def->type;
  char why[64];
  if (!has_range(type)) return PD_OK;
  if (type == PD_TYPE_double && (isnan(def->min.f64) || isnan(def->max.f64))) {
    return refuse(def, PD_ERR_RANGE, "a bound of the range is NaN", err);
  }
  if (less(type, def->max, def->min)) {
    return refuse(def, PD_ERR_RANGE, "the range is empty: min is above max", err);
  }
  if (less(type, def->min, pd__type_min(type)) || less(type, pd__type_max(type), def->max)) {
    snprintf(why, sizeof why, "a bound of the range does not fit %s", pd_type_name(def->type));
    return refuse(def, PD_ERR_RANGE, why, err);
  }
  return PD_OK;
}

static pd_status check_default(const pd_flag_def *def, pd_error *err) {
  char number[PD__NUMBER_SIZE], quoted[PD__QUOTE_SIZE], expected[256], why[512];
  if (def->type == PD_TYPE_string && !def->default_value.str) {
    return refuse(def, PD_ERR_VALUE, "the default is NULL, expected text", err);
  }
  pd_status status = pd__value_check(def, def->default_value);
  if (status == PD_OK) return PD_OK;
  pd__value_expected(def, false, expected, sizeof expected);
  pd__quote(quoted, pd__value_text(def->type, def->default_value, number));
  const char *quotes = def->type == PD_TYPE_string ? "'" : "";
  snprintf(why, sizeof why, "default %s%s%s: expected %s", quotes, quoted, quotes, expected);
  return refuse(def, status, why, err);
}

static pd_status check_kind(const pd_flag_def *def, pd_error *err) {
  char why[64];
  if (!pd__type_known(def->type)) { /* NOLINT: what pd__def_convert refused isn't checked */
    snprintf(why, sizeof why, "its type is %u, expected a pd_type", def->type);
    return refuse(def, PD_ERR_TYPE, why, err);
  }
  if (def->kind > PD_KIND_IMPORT) {
    snprintf(why, sizeof why, "its kind is %u, expected a pd_kind", def->kind);
    return refuse(def, PD_ERR_ABI, why, err);
  }
  return PD_OK;
}

pd_status pd__def_check(const pd_flag_def *def, pd_error *err) {
  pd_status status = check_kind(def, err);
  if (status == PD_OK) status = check_names(def, err);
  if (status != PD_OK || def->kind == PD_KIND_IMPORT) return status;
  status = check_range(def, err);
  if (status == PD_OK) status = check_choices(def, err);
  return status == PD_OK ? check_default(def, err) : status;
}

pd_status pd__def_convert(const pd_flag_def *from, pd_flag_def *to, pd_error *err) {
  if (from->size < SMALLEST_DEF) {
    return pd__fail(err, PD_ERR_ABI, "a definition has %u bytes, expected %zu or more", from->size,
                    sizeof *to);
  }
  *to = (pd_flag_def){.size = 0};
  memcpy(to, from, from->size < sizeof *to ? from->size : sizeof *to);
  to->size = sizeof *to;
  return PD_OK;
}

/* ---- One definition against the registry ---- */

static bool same_text(const char *a, const char *b) {
  return !a || !b ? (!a || !*a) && (!b || !*b) : !strcmp(a, b);
}

static const char *base_name(const char *path) {
  const char *slash = path ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path;
}

/* The same line of source, compiled into two modules. */
static bool same_definition(const pd_flag_def *a, const pd_flag_def *b) {
  bool same_range = !has_range(a->type) || (pd__value_equal(a->type, a->min, b->min) &&
                                            pd__value_equal(a->type, a->max, b->max));
  return a->type == b->type && !strcmp(a->name, b->name) &&
         pd__value_equal(a->type, a->default_value, b->default_value) && same_range &&
         same_text(a->help, b->help) && same_text(base_name(a->file), base_name(b->file)) &&
         same_text(a->choices, b->choices) && same_text(a->aliases, b->aliases);
}

static const char *module_of(const pd_flag_def *def, const pd_module *module) {
  return def->module ? def->module : module ? pd__module_path(module) : "";
}

pd_module *pd__flag_owner(const pd_flag *flag) {
  const pd__cell *cell = flag->cells;
  while (cell && cell->def != flag->def) cell = cell->next;
  return cell ? cell->module : NULL;
}

/* The end of a path tells more than its beginning. */
static const char *tail(const char *path, size_t most) {
  size_t length = strlen(path);
  return length > most ? path + length - most : path;
}

/* "int32 at alpha.c:12 in libalpha.so", as much of it as is known. */
#define PLACE_SIZE 320
static void place_of(const pd_flag_def *def, const char *module, char out[PLACE_SIZE]) {
  size_t used = (size_t)snprintf(out, PLACE_SIZE, "%s", pd_type_name(def->type));
  if (def->file) {
    used += (size_t)snprintf(out + used, PLACE_SIZE - used, " at %s", tail(def->file, 100));
    if (def->line) used += (size_t)snprintf(out + used, PLACE_SIZE - used, ":%u", def->line);
  }
  if (*module) snprintf(out + used, PLACE_SIZE - used, " in %s", tail(module, 160));
}

/* The definitions that are being checked together. */
typedef struct batch {
  const pd__cell *cells;
  uint32_t number; /* in flag->claim of the names that they take */
} batch;

static bool names(const pd_flag_def *def, const pd_flag *node) {
  bool found = pd__names_find(def->name, strlen(def->name)) == node;
  for (const char *cursor = pd__list_begin(def->aliases); !found && cursor;) {
    const char *alias = cursor;
    found = pd__names_find(alias, pd__list_next(&cursor)) == node;
  }
  return found;
}

/* The definition that has `node` already: of the registry or of the batch. */
static const pd__cell *holder_of(const pd_flag *node, const batch *all) {
  const pd_flag *flag = node->alias_of ? node->alias_of : node;
  const pd__cell *cell = flag->def ? flag->cells : all->cells;
  if (flag->def) {
    while (cell->def != flag->def) cell = cell->next;
  } else {
    while (cell->def->kind == PD_KIND_IMPORT || !names(cell->def, node)) cell++;
  }
  return cell;
}

static pd_status conflict(const pd__cell *cell, const pd_flag *node, const batch *all,
                          pd_error *err) {
  const pd__cell *holder = holder_of(node, all);
  char mine[PLACE_SIZE], theirs[PLACE_SIZE], as[PD__QUOTE_SIZE + 32] = "";
  char quoted[PD__QUOTE_SIZE], other[PD__QUOTE_SIZE];
  place_of(cell->def, module_of(cell->def, cell->module), mine);
  place_of(holder->def, module_of(holder->def, holder->module), theirs);
  if (pd__names_find(cell->def->name, strlen(cell->def->name)) != node) {
    snprintf(as, sizeof as, "as an alias of '%s', ", pd__quote(quoted, cell->def->name));
  }
  pd__quote(quoted, node->name);
  if (holder == cell) {
    return pd__fail(err, PD_ERR_CONFLICT, "'%s' is named twice in one definition: %s%s", quoted, as,
                    mine);
  }
  if (pd__names_find(holder->def->name, strlen(holder->def->name)) == node) {
    return pd__fail(err, PD_ERR_CONFLICT, "'%s' is defined already, %s; refused: %s%s", quoted,
                    theirs, as, mine);
  }
  return pd__fail(err, PD_ERR_CONFLICT, "'%s' is an alias of '%s' already, %s; refused: %s%s",
                  quoted, pd__quote(other, holder->def->name), theirs, as, mine);
}

/* Reserve `node` for the definition under way. */
static pd_status claim(const pd__cell *cell, pd_flag *node, bool free, const batch *all,
                       pd_error *err) {
  if (!node) return pd__fail_memory(err);
  if (!free || node->claim == all->number) return conflict(cell, node, all, err);
  node->claim = all->number;
  return PD_OK;
}

static pd_status check_definition(pd__cell *cell, pd_flag *node, const batch *all, pd_error *err) {
  const pd_flag_def *def = cell->def;
  bool free = !node->alias_of && (!node->def || same_definition(node->def, def));
  pd_status status = claim(cell, node, free, all, err);
  for (const char *cursor = pd__list_begin(def->aliases); status == PD_OK && cursor;) {
    const char *alias = cursor;
    pd_flag *other = pd__names_add(alias, pd__list_next(&cursor));
    free = other && !other->def && (!other->alias_of || other->alias_of == node);
    status = claim(cell, other, free, all, err);
  }
  if (status == PD_OK && def->type == PD_TYPE_string && !pd__intern(def->default_value.str)) {
    status = pd__fail_memory(err);
  }
  return status;
}

static pd_status check_import(const pd__cell *cell, const pd_flag *node, pd_error *err) {
  const pd_flag *flag = node->alias_of ? node->alias_of : node;
  char mine[PLACE_SIZE], theirs[PLACE_SIZE];
  if (!flag->def || flag->def->type == cell->def->type) return PD_OK;
  place_of(cell->def, module_of(cell->def, cell->module), mine);
  place_of(flag->def, module_of(flag->def, pd__flag_owner(flag)), theirs);
  return pd__fail(err, PD_ERR_TYPE, "'%s' is %s; refused: import as %s", node->name, theirs, mine);
}

static pd_status check(pd__cell *cell, const batch *all, pd_error *err) {
  pd_flag *node = pd__names_add(cell->def->name, strlen(cell->def->name));
  if (!node) return pd__fail_memory(err);
  if (cell->def->kind == PD_KIND_IMPORT) return check_import(cell, node, err);
  return check_definition(cell, node, all, err);
}

/* ---- Taking definitions ---- */

static void link_cell(pd_flag *flag, pd__cell *cell) {
  cell->flag = flag;
  cell->next = flag->cells;
  flag->cells = cell;
}

/* Imports and waiting values of the alias go over to the flag. */
static void link_aliases(pd_flag *flag) {
  for (const char *cursor = pd__list_begin(flag->def->aliases); cursor;) {
    const char *alias = cursor;
    pd_flag *node = pd__names_find(alias, pd__list_next(&cursor));
    node->alias_of = flag;
    while (node->cells) {
      pd__cell *cell = node->cells;
      node->cells = cell->next;
      link_cell(flag, cell);
    }
  }
}

static void unlink_aliases(const pd_flag *flag) {
  for (const char *cursor = pd__list_begin(flag->def->aliases); cursor;) {
    const char *alias = cursor;
    pd_flag *node = pd__names_find(alias, pd__list_next(&cursor));
    if (node && node->alias_of == flag) node->alias_of = NULL;
  }
}

static void report_odd_imports(const pd_flag *flag, pd__report *waiting) {
  for (const pd__cell *cell = flag->cells; cell; cell = cell->next) {
    pd_error err;
    if (check_import(cell, flag, &err) != PD_OK) pd__report_add(waiting, &err);
  }
}

/* What waited for a flag that is defined now. */
static void apply_waiting(pd_flag *flag, pd_type was, pd__report *waiting) {
  pd__flag_review(flag, was, waiting);
  pd__environment_apply(flag, waiting);
  pd__pending_apply(flag, waiting);
  report_odd_imports(flag, waiting);
}

static void take(pd__cell *cell, pd__report *waiting) {
  pd_flag *flag = pd__names_find(cell->def->name, strlen(cell->def->name));
  if (flag->alias_of) flag = flag->alias_of;
  link_cell(flag, cell);
  if (cell->def->kind == PD_KIND_DEFINE && !flag->def) {
    pd_type was = flag->type;
    flag->def = cell->def;
    flag->type = cell->def->type;
    link_aliases(flag);
    apply_waiting(flag, was, waiting);
  }
  pd_error err;
  if (cell->def->kind == PD_KIND_IMPORT && check_import(cell, flag, &err) != PD_OK) {
    pd__report_add(waiting, &err); /* its own module defines it otherwise */
  }
  if (flag->def) pd__flag_publish(flag);
}

bool pd__define(pd__cell *cells, size_t count, pd__report *report, pd__report *waiting) {
  static uint32_t transactions;
  batch all = {cells, ++transactions};
  bool accepted = true;
  for (size_t i = 0; i < count; i++) {
    pd_error err;
    if (check(&cells[i], &all, &err) == PD_OK) continue;
    pd__report_add(report, &err);
    accepted = false;
  }
  for (size_t i = 0; accepted && i < count; i++) take(&cells[i], waiting);
  return accepted;
}

/* ---- Giving them up ---- */

static void unlink_cell(pd__cell *cell) {
  pd__cell **at = &cell->flag->cells;
  while (*at != cell) at = &(*at)->next;
  *at = cell->next;
}

/* The imports that remain read their own value again, and wait for the name that
 * they have, which may have been an alias. The values, and whether they are
 * frozen, stay for the next definition. */
static void undefine(pd_flag *flag) {
  unlink_aliases(flag);
  flag->def = NULL;
  __atomic_store_n(&flag->state, 0, __ATOMIC_RELEASE);
  pd__cell *cell = flag->cells;
  flag->cells = NULL;
  while (cell) {
    pd__cell *next = cell->next;
    if (cell->def->cell) {
      pd__cell_store(cell->def->type, cell->def->cell, cell->def->default_value);
    }
    link_cell(pd__names_find(cell->def->name, strlen(cell->def->name)), cell);
    cell = next;
  }
}

void pd__undefine(pd__cell *cells, size_t count) {
  for (size_t i = 0; i < count; i++) {
    pd__cell *cell = &cells[i];
    pd_flag *flag = cell->flag;
    if (!flag) continue;
    unlink_cell(cell);
    if (flag->def != cell->def) continue;
    pd__cell *heir = flag->cells;
    while (heir && heir->def->kind != PD_KIND_DEFINE) heir = heir->next;
    if (heir) {
      flag->def = heir->def;
    } else {
      undefine(flag);
    }
  }
}

/* ---- Definitions at run time ---- */

static size_t runtime_cells;

void pd__forget_between(uintptr_t low, uintptr_t high) {
  pd_flag *flag;
  for (uint32_t i = 0; runtime_cells && (flag = pd__names_at(i)); i++) {
    for (pd__cell *cell = flag->cells; cell; cell = cell->next) {
      uintptr_t address = (uintptr_t)cell->def->cell;
      if (cell->module || address < low || address >= high) continue;
      ((pd_flag_def *)cell->def)->cell = NULL; /* our own copy, made by keep() */
      runtime_cells--;
    }
  }
}

/* A copy of `def` that lives forever; NULL when memory is out. */
static pd_flag_def *keep(const pd_flag_def *def) {
  pd_flag_def *kept = pd__forever(sizeof *kept);
  if (!kept) return NULL;
  *kept = *def;
  const char **texts[] = {&kept->name,    &kept->help,    &kept->file,  &kept->category,
                          &kept->aliases, &kept->choices, &kept->module};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (*texts[i] && !(*texts[i] = pd__intern(*texts[i]))) return NULL;
  }
  if (kept->type == PD_TYPE_string) kept->default_value.str = pd__intern(kept->default_value.str);
  return kept->type == PD_TYPE_string && !kept->default_value.str ? NULL : kept;
}

/* Whether the flag has no need of a further cell. */
static bool follows(const pd_flag *flag, const void *address) {
  const pd__cell *cell = flag->cells;
  while (address && cell && cell->def->cell != address) cell = cell->next;
  return cell != NULL;
}

/* With the lock: define, or find the same definition made before. */
static pd_status register_one(const pd_flag_def *def, pd_flag **out, pd_error *err) {
  pd_flag *flag = pd__names_find(def->name, strlen(def->name));
  if (flag && flag->def && same_definition(flag->def, def) && follows(flag, def->cell)) {
    *out = flag;
    return PD_OK;
  }
  pd_flag_def *kept = keep(def);
  pd__cell *cell = kept ? pd__forever(sizeof *cell) : NULL;
  if (!cell) return pd__fail_memory(err);
  *cell = (pd__cell){.def = kept};
  pd__report refused = {.first = err}, waiting = {.first = err};
  if (!pd__define(cell, 1, &refused, &waiting)) return refused.status;
  runtime_cells += def->cell != NULL;
  *out = cell->flag;
  return waiting.status;
}

static void intern_path(const pd__platform_image *image, void *path) {
  pd__platform_lock();
  *(const char **)path = pd__intern(image->path);
  pd__platform_unlock();
}

pd_status pd__do_flag_register(const pd_flag_def *def, pd_flag **out, pd_error *err) {
  if (!def) return pd__fail_null(err, "def");
  pd_flag_def read = {.size = 0};
  pd_flag *flag = NULL;
  pd_status status = pd__def_convert(def, &read, err);
  if (status == PD_OK) status = pd__def_check(&read, err);
  if (status != PD_OK) return status;
  if (read.kind != PD_KIND_DEFINE)
    return refuse(&read, PD_ERR_ARGUMENT, "its kind isn't PD_KIND_DEFINE", err);
  if (!read.module && read.cell) pd__platform_with_image(read.cell, intern_path, &read.module);
  pd__platform_lock();
  status = register_one(&read, &flag, err);
  pd__platform_unlock();
  if (out && flag) *out = flag;
  return status;
}

void pd_flag_def_init(pd_flag_def *def, size_t size, pd_type type) {
  if (!def) return;
  pd_flag_def fresh = {.size = (uint32_t)size, .type = (uint8_t)type};
  fresh.min = pd__type_min(type);
  fresh.max = pd__type_max(type);
  if (type == PD_TYPE_string) fresh.default_value.str = "";
  memset(def, 0, size);
  memcpy(def, &fresh, size < sizeof fresh ? size : sizeof fresh);
}
