/* Defining: each definition is checked, then all of them are taken or none is. Also undefining. */
#include <string.h>

#include "../base/text.h"
#include "../registry/deferred.h"
#include "../registry/hook.h"
#include "../registry/scope.h"
#include "definition.h"
#include "pending.h"

pd__late_source pd__define_source;

pd_flag *pd__cell_flag(const pd__cell *cell) {
  return cell->flag ? pd__names_at(cell->flag - 1) : NULL;
}

/* ---- One definition against the registry ---- */

/* Returns the node of a name, which needn't end with a NUL; NULL if memory is out. */
static pd_flag *add_node(const pd__naming *of, const pd__batch *batch) {
  pd_flag *node = pd__names_find(of->name, of->length);
  char *name = node ? NULL : pd__arena_text(&batch->operation->arena, of->name, of->length);
  if (name) node = pd__names_add(name, of->length);
  return node && pd__flag_extra(node) ? node : NULL;
}

/* Returns true if a definition of `flag` may take the name of `node`: the name is free, belongs to
 * the same definition or is an alias of the flag. */
static bool is_free(const pd__batch *batch, pd_flag *node, const pd_flag *flag,
                    const pd_flag_def *def) {
  const pd_flag *meant = pd__flag_meant(node);
  if (node->defined && node != batch->replaced) {
    return node == flag && pd__def_same(pd__flag_def(node), def);
  }
  return meant == node || meant == flag;
}

/* Reserves a name for the definitions that are being checked. */
static pd_status claim(pd__batch *batch, pd_flag *flag, const pd__naming *of) {
  pd_flag *node = of->kind == PD__NAME_OWN ? flag : add_node(of, batch);
  if (!node) return pd__fail_memory(&batch->err);
  bool free = is_free(batch, node, flag, of->def) && node->claim != batch->claim;
  if (!free) return pd__conflict(batch, node);
  node->claim = batch->claim;
  return pd__conflict_of_name(batch, of, node);
}

static pd_status check(pd__batch *batch, pd__cell *cell, const pd__sought *name) {
  const pd_flag_def *def = cell->def;
  pd__naming at = {def, PD__NAME_OWN, name->name, name->length, NULL};
  pd_flag *node = pd__names_add_sought(name);
  if (!node) return pd__fail_memory(&batch->err);
  cell->flag = node->index + 1;
  batch->cell = cell;
  if (def->kind == PD_KIND_IMPORT) return pd__conflict_of_import(batch);
  pd_status status = PD_OK;
  do {
    status = claim(batch, node, &at);
  } while (status == PD_OK && pd__naming_next(&at));
  return status;
}

/* ---- Checking a batch ---- */

static bool has_texts(const pd_flag_def *def) {
  return def->aliases || def->old_names || def->type == PD_TYPE_string;
}

/* Stores the texts that outlive the definition. Called only after the whole batch is accepted, so
 * that a refused definition leaves nothing behind. */
static bool keep_texts(const pd_flag_def *def) {
  if (def->kind == PD_KIND_IMPORT) return true;
  for (pd__naming at = {.def = def, .kind = PD__NAME_OWN}; pd__naming_next(&at);) {
    if (!pd__names_keep(pd__names_find(at.name, at.length), at.name, at.length)) return false;
  }
  return def->type != PD_TYPE_string || pd__intern(def->default_value.str);
}

void pd__define_refuse(pd__cell *cells, size_t count) {
  for (size_t i = 0; i < count; i++) {
    cells[i].flag = 0;
    for (pd__naming at = {.def = cells[i].def}; pd__naming_next(&at);) {
      pd_flag *node = pd__names_find(at.name, at.length);
      if (node) pd__names_release(node);
    }
  }
}

#define AHEAD 16u /* names to look up together */

/* Checks the definitions of one kind. */
static bool check_all(pd__batch *batch, pd__cell *cells, size_t count, pd_kind kind,
                      pd__report *report) {
  pd__sought names[AHEAD];
  bool accepted = true;
  for (size_t i = 0; i < count; i++) {
    for (size_t next = i; i % AHEAD == 0 && next < count && next < i + AHEAD; next++) {
      const char *name = cells[next].def->name;
      names[next % AHEAD] = pd__names_seek(name, strlen(name));
    }
    const pd_flag_def *def = cells[i].def;
    batch->imports |= def->kind == PD_KIND_IMPORT;
    batch->texts |= has_texts(def);
    if (def->kind != kind || check(batch, &cells[i], &names[i % AHEAD]) == PD_OK) continue;
    pd__report_add(report, &batch->err);
    accepted = false;
  }
  return accepted;
}

static bool check_batch(pd__batch *batch, pd__cell *cells, size_t count, pd__report *report) {
  /* Imports come last: they must match the definitions in the same batch. */
  bool accepted = check_all(batch, cells, count, PD_KIND_DEFINE, report);
  if (batch->imports) accepted &= check_all(batch, cells, count, PD_KIND_IMPORT, report);
  for (size_t i = 0; batch->texts && accepted && i < count; i++) {
    accepted = keep_texts(cells[i].def);
    if (!accepted) pd__report_memory(report);
  }
  if (!accepted) pd__define_refuse(cells, count);
  return accepted;
}

bool pd__define_check(pd__operation *operation, pd__cell *cells, size_t count, pd__report *report) {
  pd__batch batch = {.operation = operation, .cells = cells, .claim = pd__next_claim()};
  return check_batch(&batch, cells, count, report);
}

bool pd__define_check_again(pd__operation *operation, pd__cell *cell, pd__report *report) {
  pd__batch batch = {.operation = operation, .cells = cell, .claim = pd__next_claim()};
  batch.replaced = pd__names_find(cell->def->name, strlen(cell->def->name));
  return check_batch(&batch, cell, 1, report);
}

/* ---- Taking definitions ---- */

/* Inserts the cell after the first one, which holds the definition. */
static void link_cell(pd_flag *flag, pd__cell *cell) {
  cell->flag = flag->index + 1;
  pd__cell **at = &flag->cells;
  if (flag->defined && *at) at = &(*at)->next;
  cell->next = *at;
  *at = cell;
  pd__scope_link(flag, cell);
  if (!cell->def->assignable || !cell->def->cell) return;
  flag->assignable = true;
  pd__assignables++;
}

/* Moves the imports and pending values of the aliases to the flag. */
static void link_aliases(pd_flag *flag, const pd_flag_def *def) {
  for (pd__naming at = {.def = def, .kind = PD__NAME_OWN}; pd__naming_next(&at);) {
    pd_flag *node = pd__names_find(at.name, at.length);
    pd__flag_extra(node)->alias_of = flag;    /* can't fail: allocated by the check */
    pd__names_keep(node, at.name, at.length); /* can't fail, either; spelled as here now */
    node->known = true;
    node->old_name = at.kind == PD__NAME_OLD;
    while (node->cells) {
      pd__cell *cell = node->cells;
      node->cells = cell->next;
      link_cell(flag, cell);
    }
  }
}

static void unlink_aliases(const pd_flag *flag, const pd_flag_def *def) {
  for (pd__naming at = {.def = def, .kind = PD__NAME_OWN}; pd__naming_next(&at);) {
    pd_flag *node = pd__names_find(at.name, at.length);
    if (node && pd__flag_meant(node) == flag) node->extra->alias_of = NULL;
  }
}

static bool has_values(const pd_flag *flag) { return flag->assigned || pd__flag_override(flag); }

/* The definition is that of the first cell. Values of a former, sensitive one stay secret. */
static void set_defined(pd_flag *flag) {
  const pd_flag_def *def = flag->cells->def;
  flag->defined = true;
  pd__hooks_count_definition(def, 1);
  flag->name = def->name;
  flag->hooked = def->validate || def->watch || def->convert;
  flag->optional = def->optional;
  flag->simple = pd__def_plain(def);
  flag->sensitive = def->sensitive || (flag->sensitive && has_values(flag));
  __atomic_store_n(&flag->type, def->type, __ATOMIC_RELAXED);
  pd__flag_new_generation(flag);
  if (flag->extended && flag->extra->scopes > 0) pd__scopes_renew(flag);
}

/* Returns true if the module assigned to its variable before the registry saw it. The caller puts
 * that value back afterwards, so that the next call for the flag adopts it. */
static bool is_assigned(const pd__cell *cell, pd_value *value) {
  const pd_flag_def *def = cell->def;
  if (!def->assignable || !def->cell || cell->registered) return false;
  if (!pd__variable_load(def, value)) return false;
  if (pd__value_equal((pd_type)def->type, *value, def->default_value)) return false;
  if (def->type == PD_TYPE_string) value->str = pd__intern(value->str);
  return def->type != PD_TYPE_string || value->str;
}

/* Returns the flag. Sets *kept if it has values that its new definition is to check. */
static pd_flag *take(pd__cell *cell, bool *kept, pd__report *waiting) {
  pd_flag *flag = pd__flag_meant(pd__cell_flag(cell));
  pd_value assigned;
  bool early = is_assigned(cell, &assigned);
  link_cell(flag, cell);
  if (cell->def->kind == PD_KIND_DEFINE && !flag->defined) {
    pd_type was = flag->type;
    set_defined(flag);
    pd__names_list(flag);
    flag->known = true;
    flag->withdrawn = false;
    link_aliases(flag, flag->cells->def);
    if (has_values(flag)) pd__flag_review(flag, was, waiting);
    *kept = cell->def->validate && has_values(flag);
  }
  pd__flag_look_again(flag);
  if (flag->defined) pd__flag_publish(flag);
  if (early) pd__variable_store(cell->def, assigned);
  return flag;
}

/* A flag that was just defined and may have pending values, or values of a former definition.
 * Validators run without the lock, so the module and its cells may be gone before the next flag's
 * turn; the generation shows that. */
typedef struct awaited {
  pd_flag *flag;
  uint32_t generation;
  struct awaited *next; /* of those that have values to check */
} awaited;

static bool is_there(const pd_flag *flag, uint32_t generation) {
  return flag->defined && flag->generation == generation;
}

/* Asks the validators about the values of a former definition, and drops them if they are rejected.
 * Until then the flag has them, as it had before. */
static void check_kept(pd__operation *operation, const awaited *each, pd__report *waiting) {
  pd_flag *flag = each->flag;
  pd__report own = {waiting->list, waiting->status == PD_OK ? waiting->first : NULL, PD_OK};
  pd__changes changes;
  if (!is_there(flag, each->generation) || pd__deferred_validator(flag)) return;
  pd__changes_begin(&changes, operation, &own);
  pd__changes_keep(&changes, flag);
  if (pd__changes_finish(&changes) == PD_OK) return;
  if (waiting->status == PD_OK) waiting->status = own.status;
  if (!is_there(flag, each->generation)) return;
  while (pd__flag_override(flag)) pd__override_drop(flag->extra->overrides);
  pd__history_drop(flag, ~PD__SOURCE_BIT(PD_SOURCE_DEFAULT));
  pd__flag_publish(flag);
}

void pd__define_settle(pd__operation *operation, pd_flag *flag, uint32_t generation,
                       pd__report *waiting) {
  const pd__late_source *late = &pd__define_source;
  if (late->apply && is_there(flag, generation)) {
    late->apply(operation, late->prefix, flag, waiting);
  }
  if (is_there(flag, generation)) pd__pending_apply(operation, flag, waiting);
}

void pd__define_take(pd__operation *operation, pd__cell *cells, size_t count, pd__report *waiting) {
  size_t found = 0;
  bool may_wait = pd__define_source.apply || pd__pending_any();
  awaited *all = may_wait ? pd__arena_take(&operation->arena, (count + 1) * sizeof *all) : NULL;
  if (may_wait && !all) pd__report_memory(waiting);
  awaited *kept = NULL;
  for (size_t i = 0; i < count; i++) {
    bool checks = false;
    pd_flag *flag = take(&cells[i], &checks, waiting);
    bool defines = flag->cells == &cells[i] && flag->defined;
    if (all && defines) all[found++] = (awaited){flag, flag->generation, NULL};
    awaited *each = checks ? pd__arena_take(&operation->arena, sizeof *each) : NULL;
    if (checks && !each) pd__report_memory(waiting);
    if (each) *each = (awaited){flag, flag->generation, kept};
    if (each) kept = each;
  }
  for (; kept; kept = kept->next) check_kept(operation, kept, waiting);
  for (size_t i = 0; i < found; i++) {
    pd__define_settle(operation, all[i].flag, all[i].generation, waiting);
  }
}

/* ---- Undefining ---- */

/* Keeps a copy of the flag's name, unless its text is stored for good or in a module that stays. */
static void keep_name(pd_flag *flag, const pd__cell *cell) {
  const char *name = cell->def->name;
  if (cell->registered) return;
  const pd_module *module = pd__cell_module(cell);
  bool stays = module && module->stays && pd__module_has(module, (uintptr_t)name);
  if (!stays && !pd__names_keep(flag, name, strlen(name))) pd__names_lose(flag);
}

/* The remaining imports get their own default again, and wait for the name that they import, which
 * may have been an alias. */
static void relink_imports(pd_flag *flag, pd__cell *cell) {
  while (cell) {
    pd__cell *next = cell->next;
    if (cell->def->cell) pd__variable_store(cell->def, cell->def->default_value);
    pd_flag *node = pd__names_find(cell->def->name, strlen(cell->def->name));
    link_cell(node ? node : flag, cell); /* NULL: memory was out for its node */
    cell = next;
  }
}

/* The values stay for the next definition, and so does the mark that they are frozen. */
static void undefine(pd_flag *flag, const pd__cell *gone) {
  unlink_aliases(flag, gone->def);
  keep_name(flag, gone);
  flag->defined = flag->assignable = flag->simple = flag->hooked = false;
  pd__flag_new_generation(flag);
  __atomic_store_n(&flag->state, 0, __ATOMIC_RELEASE);
  pd__history_drop(flag, PD__SOURCE_BIT(PD_SOURCE_DEFAULT));
  pd__cell *imports = flag->cells;
  flag->cells = NULL;
  relink_imports(flag, imports);
}

/* The definition of a flag leaves. Another module's definition replaces it, if there is one. */
static void succeed(pd_flag *flag, const pd__cell *gone) {
  pd__cell **at = &flag->cells;
  pd__hooks_count_definition(gone->def, -1);
  while (*at && (*at)->def->kind != PD_KIND_DEFINE) at = &(*at)->next;
  pd__cell *heir = *at;
  if (!heir) {
    undefine(flag, gone);
    return;
  }
  *at = heir->next;
  heir->next = flag->cells;
  flag->cells = heir;
  set_defined(flag);
}

static void undefine_cell(pd__operation *operation, pd__cell *cell) {
  pd_flag *flag = pd__cell_flag(cell);
  if (!flag) return;
  if (flag->assignable) pd__flag_adopt(operation, flag);
  bool defines = flag->defined && flag->cells == cell;
  if (flag->variable && flag->variable == cell->def->cell) pd__flag_hide_variable(flag);
  pd__cell **at = &flag->cells;
  while (*at != cell) at = &(*at)->next;
  *at = cell->next;
  cell->flag = 0;
  pd__scope_unlink(cell);
  if (defines) succeed(flag, cell);
  if (defines || flag->defined) {
    pd__flag_look_again(flag);
  } else if (!pd__names_release(flag) && flag->name == cell->def->name) {
    keep_name(flag, cell);
  }
}

void pd__undefine(pd__operation *operation, pd__cell *cells, size_t count) {
  for (size_t i = 0; i < count; i++) undefine_cell(operation, &cells[i]);
}

/* ---- Replacing ---- */

/* Imports that have the flag by a name that the new definition lacks wait for that name. */
static void relink_strays(pd_flag *flag, const pd_flag_def *fresh) {
  for (pd__cell **at = &flag->cells; *at;) {
    pd__cell *cell = *at;
    pd_flag *node = pd__names_find(cell->def->name, strlen(cell->def->name));
    if (!node || node == flag || pd__def_has_name(fresh, node)) {
      at = &cell->next;
      continue;
    }
    *at = cell->next;
    if (cell->def->cell) pd__variable_store(cell->def, cell->def->default_value);
    link_cell(node, cell);
  }
}

static void unlink_definitions(pd_flag *flag) {
  for (pd__cell **at = &flag->cells; *at;) {
    pd__cell *cell = *at;
    if (cell->def->kind == PD_KIND_IMPORT) {
      at = &cell->next;
    } else {
      *at = cell->next;
      cell->flag = 0;
    }
  }
}

static bool has_assignable(const pd_flag *flag) {
  const pd__cell *cell = flag->cells;
  while (cell && !(cell->def->assignable && cell->def->cell)) cell = cell->next;
  return cell != NULL;
}

/* If the state changes, it is 0 meanwhile: no reader may take a value for one of the old type. */
void pd__define_clear(pd_flag *flag, const pd_flag_def *fresh) {
  const pd_flag_def *gone = pd__flag_def(flag);
  if (gone->type != fresh->type || gone->list != fresh->list) {
    __atomic_store_n(&flag->state, 0, __ATOMIC_RELEASE);
  }
  pd__history_drop(flag, PD__SOURCE_BIT(PD_SOURCE_DEFAULT));
  pd__hooks_count_definition(gone, -1);
  unlink_aliases(flag, gone);
  if (flag->variable) pd__flag_hide_variable(flag);
  unlink_definitions(flag);
  relink_strays(flag, fresh);
  flag->defined = flag->simple = flag->hooked = flag->single = flag->warned = false;
  flag->assignable = has_assignable(flag);
}
