/* Checks a stage of definitions against the registry, and reserves their names. */
#include <string.h>

#include "../base/text.h"
#include "stage.h"

/* ---- One definition against the registry ---- */

/* Returns the node of an alias, which needn't end with a NUL; NULL if memory is out. */
static pd_flag *find_or_add_alias(const pd__naming *of, const pd__definition_batch *batch) {
  pd_flag *node = pd__names_find(of->name, of->length);
  if (node) return pd__name_prepare_alias(node) ? node : NULL;
  char *name = pd__arena_copy_text(&batch->operation->arena, of->name, of->length);
  node = name ? pd__names_find_or_add(name, of->length) : NULL;
  return node && pd__name_prepare_alias(node) ? node : NULL;
}

/* Returns true if the flag, which is defined, gets its own definition once more, and marks it. */
static bool mark_if_same_definition(const pd__definition_batch *batch, pd_flag *flag,
                                    const pd_flag_def *def) {
  const pd_flag_def *old = pd__flag_def(flag);
  return old && pd__def_is_same(old, def) && pd__name_mark_visited(flag, batch->names.visit_mark);
}

static pd_status reserve_alias(pd__definition_batch *batch, pd_flag *flag, const pd__naming *of) {
  pd_flag *node = find_or_add_alias(of, batch);
  if (!node) return pd__fail_memory(&batch->err);
  if (!pd__name_reserve(&batch->names, node, flag)) return pd__fail_conflict(batch, node);
  return pd__check_new_name(batch, of, node);
}

static pd_status reserve_cell_names(pd__definition_batch *batch, pd__cell *cell,
                                    const pd__hashed_key *name) {
  const pd_flag_def *def = cell->def;
  pd_flag *node = pd__names_find_or_add_hashed(name);
  if (!node) return pd__fail_memory(&batch->err);
  bool reserved = pd__cell_link_and_reserve(&batch->names, cell, node);
  batch->cell = cell;
  if (def->kind == PD_KIND_IMPORT) return pd__check_import_matches_definition(batch);
  if (!reserved && !mark_if_same_definition(batch, node, def))
    return pd__fail_conflict(batch, node);
  pd__naming at = {def, PD__NAME_OWN, name->name, name->length, NULL};
  pd_status status = pd__check_new_name(batch, &at, node);
  while (status == PD_OK && pd__naming_next(&at)) status = reserve_alias(batch, node, &at);
  return status;
}

/* ---- Checking a batch ---- */

static bool has_texts_to_store(const pd_flag_def *def) {
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

void pd__stage_release_names(pd__stage *stage) {
  for (size_t i = 0; i < stage->count; i++) {
    stage->cells[i].flag = 0;
    for (pd__naming at = {.def = stage->cells[i].def}; pd__naming_next(&at);) {
      pd_flag *node = pd__names_find(at.name, at.length);
      if (node) pd__names_free_if_unused(node);
    }
  }
}

#define AHEAD 16u /* names to look up together */

/* Checks the definitions of one kind. */
static bool reserve_names_of_kind(pd__definition_batch *batch, pd__cell *cells, size_t count,
                                  pd_kind kind, pd__report *report) {
  pd__hashed_key names[AHEAD];
  bool accepted = true;
  for (size_t i = 0; i < count; i++) {
    for (size_t next = i; i % AHEAD == 0 && next < count && next < i + AHEAD; next++) {
      const char *name = cells[next].def->name;
      names[next % AHEAD] = pd__names_make_hashed_key(name, strlen(name));
    }
    const pd_flag_def *def = cells[i].def;
    batch->imports |= def->kind == PD_KIND_IMPORT;
    batch->texts |= has_texts_to_store(def);
    if (def->kind != kind || reserve_cell_names(batch, &cells[i], &names[i % AHEAD]) == PD_OK)
      continue;
    pd__report_add(report, &batch->err);
    accepted = false;
  }
  return accepted;
}

static bool reserve_batch_names(pd__definition_batch *batch, pd__stage *stage, pd__report *report) {
  pd__cell *cells = stage->cells;
  size_t count = stage->count;
  /* Imports come last: they must match the definitions in the same batch. */
  bool accepted = reserve_names_of_kind(batch, cells, count, PD_KIND_DEFINE, report);
  if (batch->imports)
    accepted &= reserve_names_of_kind(batch, cells, count, PD_KIND_IMPORT, report);
  for (size_t i = 0; batch->texts && accepted && i < count; i++) {
    accepted = store_outliving_texts(cells[i].def);
    if (!accepted) pd__report_fail_memory(report);
  }
  return accepted;
}

bool pd__stage_reserve_names(pd__stage *stage, pd__report *report) {
  pd__definition_batch
      batch; /* but for the error, which is large, and is written before it is read */
  memset(&batch, 0, offsetof(pd__definition_batch, err));
  batch.operation = stage->operation;
  batch.cells = stage->cells;
  batch.names.visit_mark = pd__next_visit_mark();
  if (stage->replaces) {
    const char *name = stage->cells->def->name;
    batch.names.replaced = stage->replaced = pd__names_find(name, strlen(name));
  }
  stage->visit_mark = batch.names.visit_mark;
  bool accepted = reserve_batch_names(&batch, stage, report);
  stage->has_former = batch.names.has_former;
  if (!accepted) pd__stage_release_names(stage);
  return accepted;
}
