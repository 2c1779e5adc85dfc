/* A definition against the others, for the core: what conflict.c decides, said shorter.
 * There is no command line on which a flag `nob` and a bool `b` could be mistaken. */
#include "../conflict.h"

#include <string.h>

static bool same_text(const char *a, const char *b) { return !strcmp(a ? a : "", b ? b : ""); }

static const char *base_name(const char *path) {
  const char *slash = path ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path;
}

bool pd__def_same(const pd_flag_def *a, const pd_flag_def *b) {
  bool ranged = a->type != PD_TYPE_bool && a->type != PD_TYPE_string;
  return a->type == b->type && a->sensitive == b->sensitive && !strcmp(a->name, b->name) &&
         pd__value_equal(a->type, a->default_value, b->default_value) &&
         (!ranged || (a->min.u64 == b->min.u64 && a->max.u64 == b->max.u64)) &&
         same_text(a->help, b->help) && same_text(base_name(a->file), base_name(b->file)) &&
         same_text(a->choices, b->choices) && same_text(a->aliases, b->aliases) &&
         same_text(a->retired, b->retired) && same_text(a->old_names, b->old_names);
}

static pd_status refuse(const pd_flag_def *def, pd_status status, const pd_flag_def *other,
                        pd_error *err) {
  return pd__fail(err, status, "'%s': is %s at %.100s:%u; refused: %s at %.100s:%u", def->name,
                  other ? pd_type_name(other->type) : "defined already",
                  other && other->file ? other->file : "?", other ? other->line : 0,
                  pd_type_name(def->type), def->file ? def->file : "?", def->line);
}

pd_status pd__conflict(const pd__cell *cell, const pd_flag *node, const pd__batch *all,
                       pd_error *err) {
  (void)all;
  return refuse(cell->def, PD_ERR_CONFLICT, pd__flag_def(pd__flag_meant((pd_flag *)node)), err);
}

pd_status pd__conflict_negation(const pd__cell *cell, const char *name, size_t length,
                                const pd__batch *all, pd_error *err) {
  (void)cell;
  (void)name;
  (void)length;
  (void)all;
  (void)err;
  return PD_OK;
}

pd_status pd__conflict_import(const pd__cell *cell, const pd_flag *node, pd_error *err) {
  bool checked = node->defined || pd__flag_extra(node)->alias_of;
  const pd__cell *import = checked ? NULL : pd__flag_first_cell(node);
  while (import && import->def->type == cell->def->type) import = import->next;
  return import ? refuse(cell->def, PD_ERR_TYPE, import->def, err) : PD_OK;
}

/* The definition of the name that comes with the import, in one module. */
static const pd_flag_def *find_together(const char *name, const pd__batch *all) {
  const pd_flag *node = pd__names_find(name, strlen(name));
  const pd__cell *cell = all->cells;
  if (!node || node->claim != all->number) return NULL;
  while (cell->def->kind == PD_KIND_IMPORT || cell->flag != node->index + 1) cell++;
  return cell->def;
}

pd_status pd__conflict_of_import(const pd__cell *cell, const pd__batch *all, pd_error *err) {
  const char *name = cell->def->name;
  pd_flag *node = pd__names_find(name, strlen(name));
  const pd_flag_def *def = node ? pd__flag_def(pd__flag_meant(node)) : NULL;
  if (!def) def = find_together(name, all);
  if (!def || def->type == cell->def->type) return PD_OK;
  return refuse(cell->def, PD_ERR_TYPE, def, err);
}
