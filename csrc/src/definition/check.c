/* Checks a stage of definitions against the registry, and reserves their names. */
#include <string.h>

#include "../base/text.h"
#include "stage.h"

/* ---- One definition against the registry ---- */

/* Returns the node of a name, which needn't end with a NUL; NULL if memory is out. */
static pd_flag *find_or_add_node(const pd__naming *of, const pd__batch *batch) {
  pd_flag *node = pd__names_find(of->name, of->length);
  char *name = node ? NULL : pd__arena_copy_text(&batch->operation->arena, of->name, of->length);
  if (name) node = pd__names_add(name, of->length);
  return node && pd__flag_make_extra(node) ? node : NULL;
}

/* Returns true if a definition of `flag` may take the name of `node`: the name is free, belongs to
 * the same definition or is an alias of the flag. */
static bool can_take_name(const pd__batch *batch, pd_flag *node, const pd_flag *flag,
                          const pd_flag_def *def) {
  const pd_flag *meant = pd__resolve_alias(node);
  if (node->defined && node != batch->replaced) {
    return node == flag && pd__def_is_same(pd__flag_def(node), def);
  }
  return meant == node || meant == flag;
}

/* Reserves a name for the definitions that are being checked. */
static pd_status reserve_name(pd__batch *batch, pd_flag *flag, const pd__naming *of) {
  pd_flag *node = of->kind == PD__NAME_OWN ? flag : find_or_add_node(of, batch);
  if (!node) return pd__fail_memory(&batch->err);
  bool free = can_take_name(batch, node, flag, of->def) && node->visit_mark != batch->visit_mark;
  if (!free) return pd__fail_conflict(batch, node);
  node->visit_mark = batch->visit_mark;
  return pd__check_new_name(batch, of, node);
}

static pd_status check_cell(pd__batch *batch, pd__cell *cell, const pd__hashed_key *name) {
  const pd_flag_def *def = cell->def;
  pd__naming at = {def, PD__NAME_OWN, name->name, name->length, NULL};
  pd_flag *node = pd__names_add_hashed(name);
  if (!node) return pd__fail_memory(&batch->err);
  cell->flag = node->index + 1;
  batch->cell = cell;
  const pd_flag *flag = pd__resolve_alias(node);
  batch->has_former |= flag->assigned || pd__flag_override(flag);
  if (def->kind == PD_KIND_IMPORT) return pd__check_import(batch);
  pd_status status = PD_OK;
  do {
    status = reserve_name(batch, node, &at);
  } while (status == PD_OK && pd__naming_next(&at));
  return status;
}

/* ---- Checking a batch ---- */

static bool has_texts(const pd_flag_def *def) {
  return def->aliases || def->old_names || def->type == PD_TYPE_string;
}

/* Stores the texts that outlive the definition. Called only after the whole batch is accepted, so
 * that a refused definition leaves nothing behind. */
static bool store_outliving_texts(const pd_flag_def *def) {
  if (def->kind == PD_KIND_IMPORT) return true;
  for (pd__naming at = {.def = def, .kind = PD__NAME_OWN}; pd__naming_next(&at);) {
    if (!pd__names_store_name(pd__names_find(at.name, at.length), at.name, at.length)) return false;
  }
  return def->type != PD_TYPE_string || pd__intern_text(def->default_value.str);
}

void pd__stage_release(pd__stage *stage) {
  for (size_t i = 0; i < stage->count; i++) {
    stage->cells[i].flag = 0;
    for (pd__naming at = {.def = stage->cells[i].def}; pd__naming_next(&at);) {
      pd_flag *node = pd__names_find(at.name, at.length);
      if (node) pd__names_release(node);
    }
  }
}

#define AHEAD 16u /* names to look up together */

/* Checks the definitions of one kind. */
static bool check_cells_of_kind(pd__batch *batch, pd__cell *cells, size_t count, pd_kind kind,
                                pd__report *report) {
  pd__hashed_key names[AHEAD];
  bool accepted = true;
  for (size_t i = 0; i < count; i++) {
    for (size_t next = i; i % AHEAD == 0 && next < count && next < i + AHEAD; next++) {
      const char *name = cells[next].def->name;
      names[next % AHEAD] = pd__names_hash(name, strlen(name));
    }
    const pd_flag_def *def = cells[i].def;
    batch->imports |= def->kind == PD_KIND_IMPORT;
    batch->texts |= has_texts(def);
    if (def->kind != kind || check_cell(batch, &cells[i], &names[i % AHEAD]) == PD_OK) continue;
    pd__report_add(report, &batch->err);
    accepted = false;
  }
  return accepted;
}

static bool check_batch(pd__batch *batch, pd__stage *stage, pd__report *report) {
  pd__cell *cells = stage->cells;
  size_t count = stage->count;
  /* Imports come last: they must match the definitions in the same batch. */
  bool accepted = check_cells_of_kind(batch, cells, count, PD_KIND_DEFINE, report);
  if (batch->imports) accepted &= check_cells_of_kind(batch, cells, count, PD_KIND_IMPORT, report);
  for (size_t i = 0; batch->texts && accepted && i < count; i++) {
    accepted = store_outliving_texts(cells[i].def);
    if (!accepted) pd__report_fail_memory(report);
  }
  return accepted;
}

bool pd__stage_check(pd__stage *stage, pd__report *report) {
  pd__batch batch; /* but for the error, which is large, and is written before it is read */
  memset(&batch, 0, offsetof(pd__batch, err));
  batch.operation = stage->operation;
  batch.cells = stage->cells;
  batch.visit_mark = pd__next_visit_mark();
  if (stage->replaces) {
    const char *name = stage->cells->def->name;
    batch.replaced = stage->replaced = pd__names_find(name, strlen(name));
  }
  stage->visit_mark = batch.visit_mark;
  bool accepted = check_batch(&batch, stage, report);
  stage->has_former = batch.has_former;
  if (!accepted) pd__stage_release(stage);
  return accepted;
}
