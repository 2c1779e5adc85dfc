/* Publishes definitions that have been checked, which can't fail, and undefines them again. */
#include <string.h>

#include "../base/text.h"
#include "define.h"
#include "flag.h"
#include "hook.h"
#include "image.h"
#include "scope.h"

pd_flag *pd__cell_flag(const pd__cell *cell) {
  return cell->flag ? pd__names_get_node(cell->flag - 1) : NULL;
}

/* ---- Publishing ---- */

/* Inserts the cell after the first one, which holds the definition. */
static void link_cell(pd_flag *flag, pd__cell *cell) {
  cell->flag = flag->index + 1;
  pd__cell **at = &flag->cells;
  if (flag->defined && *at) at = &(*at)->next;
  cell->next = *at;
  *at = cell;
  pd__scope_update_cell_lookup(flag, cell);
  if (!cell->def->assignable || !cell->def->cell) return;
  flag->assignable = true;
  pd__assignables++;
}

/* Moves the imports and pending values of the aliases to the flag. */
static void link_aliases(pd_flag *flag, const pd_flag_def *def) {
  for (pd__naming at = {.def = def, .kind = PD__NAME_OWN}; pd__naming_next(&at);) {
    pd_flag *node = pd__names_find(at.name, at.length);
    pd__flag_ensure_extra(node)->alias_of = flag;   /* can't fail: allocated by the check */
    pd__names_store_name(node, at.name, at.length); /* can't fail, either; spelled as here now */
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
    if (node && pd__resolve_alias(node) == flag) node->extra->alias_of = NULL;
  }
}

/* Values of a former, sensitive definition stay secret. */
void pd__flag_cache_definition(pd_flag *flag) {
  const pd_flag_def *def = flag->cells->def;
  flag->name = def->name;
  flag->hooked = def->validate || def->watch || def->convert;
  flag->optional = def->optional;
  flag->simple = pd__def_is_plain(def);
  flag->sensitive = def->sensitive || (flag->sensitive && pd__flag_has_values(flag));
  __atomic_store_n(&flag->type, def->type, __ATOMIC_RELAXED);
}

/* The definition is that of the first cell. */
static void activate_first_definition(pd_flag *flag) {
  const pd_flag_def *def = flag->cells->def;
  flag->defined = true;
  pd__hooks_adjust_definition_count(def, 1);
  pd__flag_cache_definition(flag);
  pd__flag_renew_generation(flag);
  if (flag->extended && flag->extra->scopes > 0) pd__scopes_renew_valid_values(flag);
}

/* Returns true if the module assigned to its variable before the registry saw it. The caller puts
 * that value back afterwards, so that the next call for the flag adopts it. */
static bool read_early_assignment(const pd__cell *cell, pd_value *value) {
  const pd_flag_def *def = cell->def;
  if (!def->assignable || !def->cell || cell->registered) return false;
  if (!pd__variable_load(def, value)) return false;
  if (pd__value_is_equal((pd_type)def->type, *value, def->default_value)) return false;
  if (def->type == PD_TYPE_string) value->str = pd__intern_text(value->str);
  return def->type != PD_TYPE_string || value->str;
}

void pd__cell_attach_to_flag(pd__cell *cell, pd__report *waiting) {
  pd_flag *flag = pd__resolve_alias(pd__cell_flag(cell));
  pd_value assigned;
  bool early = read_early_assignment(cell, &assigned);
  link_cell(flag, cell);
  if (cell->def->kind == PD_KIND_DEFINE && !flag->defined) {
    pd_type was = flag->type;
    activate_first_definition(flag);
    pd__names_append_to_list(flag);
    flag->known = true;
    flag->withdrawn = false;
    link_aliases(flag, flag->cells->def);
    if (pd__flag_has_values(flag)) pd__flag_convert_former_values(flag, was, waiting);
  }
  pd__flag_cache_variable(flag);
  if (flag->defined) pd__flag_publish(flag);
  if (early) pd__variable_store(cell->def, assigned);
}

/* ---- Undefining ---- */

/* Keeps a copy of the flag's name, unless its text is stored for good or in a module that stays. */
static void ensure_name_outlives_module(pd_flag *flag, const pd__cell *cell) {
  const char *name = cell->def->name;
  if (cell->registered) return;
  const pd_module *module = pd__cell_module(cell);
  bool stays =
      module && module->stays && (uintptr_t)name - module->low < module->high - module->low;
  if (!stays && !pd__names_store_name(flag, name, strlen(name))) pd__names_clear_name(flag);
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
static void undefine_flag(pd_flag *flag, const pd__cell *gone) {
  unlink_aliases(flag, gone->def);
  ensure_name_outlives_module(flag, gone);
  flag->defined = flag->assignable = flag->simple = flag->hooked = false;
  pd__flag_renew_generation(flag);
  __atomic_store_n(&flag->state, 0, __ATOMIC_RELEASE);
  pd__history_drop_sources(flag, PD__SOURCE_BIT(PD_SOURCE_DEFAULT));
  pd__cell *imports = flag->cells;
  flag->cells = NULL;
  relink_imports(flag, imports);
}

/* The definition of a flag leaves. Another module's definition replaces it, if there is one. */
static void promote_definition_or_undefine(pd_flag *flag, const pd__cell *gone) {
  pd__cell **at = &flag->cells;
  pd__hooks_adjust_definition_count(gone->def, -1);
  while (*at && (*at)->def->kind != PD_KIND_DEFINE) at = &(*at)->next;
  pd__cell *heir = *at;
  if (!heir) {
    undefine_flag(flag, gone);
    return;
  }
  *at = heir->next;
  heir->next = flag->cells;
  flag->cells = heir;
  activate_first_definition(flag);
}

static void undefine_cell(pd__operation *operation, pd__cell *cell) {
  pd_flag *flag = pd__cell_flag(cell);
  if (!flag) return;
  if (flag->assignable) pd__flag_adopt_assigned_value(operation, flag);
  bool defines = flag->defined && flag->cells == cell;
  if (flag->variable && flag->variable == cell->def->cell) pd__flag_hide_variable_and_wait(flag);
  pd__cell **at = &flag->cells;
  while (*at != cell) at = &(*at)->next;
  *at = cell->next;
  cell->flag = 0;
  pd__scope_unlink_cell(cell);
  if (defines) promote_definition_or_undefine(flag, cell);
  if (defines || flag->defined) {
    pd__flag_cache_variable(flag);
  } else if (!pd__names_free_if_unused(flag) && flag->name == cell->def->name) {
    ensure_name_outlives_module(flag, cell);
  }
}

void pd__undefine_cells(pd__operation *operation, pd__cell *cells, size_t count) {
  for (size_t i = 0; i < count; i++) undefine_cell(operation, &cells[i]);
}

void pd__flag_withdraw_and_unhook(pd_flag *flag) {
  pd__hooks_remove_for_flag(flag);
  flag->was_secret = pd__flag_def(flag)->sensitive;
  flag->withdrawn = true;
}

bool pd__flag_get_retained_value(pd_flag *flag, pd_flag_entry *out) {
  if (!flag->withdrawn || !pd__flag_has_values(flag)) return false;
  if (pd__resolve_alias(flag)->defined || !pd__history_describe_entry(flag, 0, out)) return false;
  out->sensitive = flag->was_secret;
  return out->origin.source != PD_SOURCE_DEFAULT;
}

/* ---- Replacing ---- */

/* Imports that have the flag by a name that the new definition lacks wait for that name. */
static void relink_stray_imports(pd_flag *flag, const pd_flag_def *fresh) {
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

/* Returns a list of them. */
static pd__cell *unlink_definitions(pd_flag *flag) {
  pd__cell *unlinked = NULL;
  for (pd__cell **at = &flag->cells; *at;) {
    pd__cell *cell = *at;
    if (cell->def->kind == PD_KIND_IMPORT) {
      at = &cell->next;
    } else {
      *at = cell->next;
      cell->flag = 0;
      cell->next = unlinked;
      unlinked = cell;
    }
  }
  return unlinked;
}

static bool has_assignable_cell(const pd_flag *flag) {
  const pd__cell *cell = flag->cells;
  while (cell && !(cell->def->assignable && cell->def->cell)) cell = cell->next;
  return cell != NULL;
}

/* If the state changes, it is 0 meanwhile: no reader may take a value for one of the old type. */
pd__cell *pd__flag_detach_replaced_definition(pd_flag *flag, const pd_flag_def *fresh) {
  const pd_flag_def *gone = pd__flag_def(flag);
  if (gone->type != fresh->type || gone->list != fresh->list) {
    __atomic_store_n(&flag->state, 0, __ATOMIC_RELEASE);
  }
  pd__history_drop_sources(flag, PD__SOURCE_BIT(PD_SOURCE_DEFAULT));
  pd__hooks_adjust_definition_count(gone, -1);
  unlink_aliases(flag, gone);
  if (flag->variable) pd__flag_hide_variable_and_wait(flag);
  pd__cell *unlinked = unlink_definitions(flag);
  relink_stray_imports(flag, fresh);
  flag->defined = flag->simple = flag->hooked = flag->single = flag->warned = false;
  flag->assignable = has_assignable_cell(flag);
  return unlinked;
}
