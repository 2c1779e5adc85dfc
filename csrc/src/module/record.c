/* The definitions of a module's record. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

#include "../base/text.h"

/* ---- Order ---- */

static int compare_lines(const void *a, const void *b) {
  uint32_t left = ((const pd__cell *)a)->def->line, right = ((const pd__cell *)b)->def->line;
  return (left > right) - (left < right);
}

/* Returns true if both definitions are in the same file. */
static bool is_in_same_file(const pd_flag_def *first, const pd_flag_def *other) {
  return first->file == other->file ||
         (first->file && other->file && !strcmp(first->file, other->file));
}

/* Listings follow the source, but compilers may emit the definitions of a file in any order; gcc
 * reverses it. */
static void sort_cells_within_files(pd__cell *cells, size_t count) {
  for (size_t first = 0, end = 0; first < count; first = end) {
    bool rises = true, falls = true;
    for (end = first + 1; end < count && is_in_same_file(cells[first].def, cells[end].def); end++) {
      int order = compare_lines(&cells[end - 1], &cells[end]);
      rises &= order <= 0;
      falls &= order > 0;
    }
    for (pd__cell *low = cells + first, *high = cells + end; falls && low < --high; low++) {
      pd__cell kept = *low;
      *low = *high;
      *high = kept;
    }
    if (!rises && !falls) qsort(cells + first, end - first, sizeof *cells, compare_lines);
  }
}

/* ---- Reading ---- */

static bool is_op_def(const pd_flag_def *def) {
  bool told = def->size >= offsetof(pd_flag_def, kind) + sizeof def->kind;
  return told && def->kind >= PD_KIND_OP && def->kind <= PD_KIND_IMPL;
}

static void check_and_add_op(pd__defs *defs, const pd_op_def *op, pd__report *report) {
  pd_error err;
  pd_status status = PD_OK;
  if (op->size != sizeof *op) {
    pd_op_def *copy = pd__arena_alloc(&defs->arena, sizeof *copy);
    status = copy ? pd__impl_convert(op, copy, &err) : pd__fail_memory(&err);
    op = copy;
  }
  if (status == PD_OK) status = pd__impl_check_record(op, &err); /* NOLINT: converted */
  if (status == PD_OK) status = pd__impl_check_native_record(op, &err);
  if (status == PD_OK) {
    defs->cells[defs->count++] = (pd__cell){.def = (const pd_flag_def *)(const void *)op};
  } else {
    pd__report_add(report, &err);
  }
}

/* Checks a definition and adds it; makes a copy if it has another size or is renamed by a
 * namespace. */
static void check_and_add_definition(pd__defs *defs, const pd_flag_def *def,
                                     const pd_module *module, const char *name_space,
                                     pd__report *report) {
  pd_error err;
  pd_status status = PD_OK;
  if (!def) return;
  if (is_op_def(def)) {
    check_and_add_op(defs, (const pd_op_def *)(const void *)def, report);
    return;
  }
  bool named = *name_space && def->kind == PD_KIND_DEFINE;
  if (named || def->size != sizeof *def) {
    pd_flag_def *copy = pd__arena_alloc(&defs->arena, sizeof *copy);
    status = copy ? pd__def_convert_version(def, copy, &err) : pd__fail_memory(&err);
    if (status == PD_OK && named) {
      status = pd__namespace_prefix_names(&defs->arena, name_space, copy, &err);
    }
    def = copy;
  }
  if (status == PD_OK) status = pd__def_check(def, false, &err);
  if (status == PD_OK) {
    pd__cell *cell = &defs->cells[defs->count++];
    *cell = (pd__cell){.def = def};
    pd__cell_set_module(cell, module);
  } else {
    pd__report_add(report, &err);
  }
}

/* Operations stand in the same list. They are collected as cells first, since they have file and
 * line at the same place as definitions of flags. */
static void move_ops_to_impls(pd__defs *defs, pd_module *module) {
  size_t flags = 0;
  for (size_t i = 0; i < defs->count; i++) {
    const void *def = defs->cells[i].def;
    const pd_op_def *op = def;
    if (op->kind < PD_KIND_OP) {
      defs->cells[flags++] = defs->cells[i];
    } else {
      defs->impls[defs->impls_count++] = (pd__impl){.def = op, .module = module};
    }
  }
  defs->count = flags;
}

/* Allocates room for all definitions. Most modules have no operations, whose records are large. */
static pd__defs *alloc_defs(size_t all, size_t operations) {
  pd__defs *defs = calloc(1, sizeof *defs);
  if (defs) defs->cells = malloc((all + 1) * sizeof *defs->cells); /* malloc(0) may return NULL */
  if (defs) defs->impls = malloc((operations + 1) * sizeof *defs->impls);
  return defs;
}

pd__defs *pd__defs_read(const pd_module_record *record, pd__runtime_defs runtime_defs,
                        pd_module *module, const char *name_space, pd__report *report) {
  size_t listed = record ? (size_t)(record->defs_end - record->defs) : 0;
  size_t all = listed, operations = 0;
  for (size_t i = 0; i < listed; i++) {
    operations += record->defs[i] && is_op_def(record->defs[i]);
  }
  for (const pd_late_def *at = runtime_defs.first; at != runtime_defs.end; at = at->next, all++) {
    operations += at->def && is_op_def(at->def);
  }
  pd__defs *defs = alloc_defs(all, operations);
  if (!defs || !defs->cells || !defs->impls || !pd__names_reserve(all)) {
    pd__report_fail_memory(report);
    return defs;
  }
  for (size_t i = 0; i < listed; i++) {
    check_and_add_definition(defs, record->defs[i], module, name_space, report);
  }
  for (const pd_late_def *at = runtime_defs.first; at != runtime_defs.end; at = at->next) {
    check_and_add_definition(defs, at->def, module, name_space, report);
  }
  sort_cells_within_files(defs->cells, defs->count);
  move_ops_to_impls(defs, module);
  return defs;
}

void pd__defs_free_list(pd__defs **list) {
  while (*list) {
    pd__defs *defs = *list;
    *list = defs->more;
    pd__arena_free(&defs->arena);
    free(defs->cells);
    free(defs->impls);
    free(defs);
  }
}

/* ---- Late definitions ---- */

pd__runtime_defs pd__runtime_defs_get_range(const pd_module_record *record, uintptr_t high,
                                            bool all) {
  const size_t least = offsetof(pd_module_record, late) + sizeof record->late;
  bool has = record->size >= least && high - (uintptr_t)record >= least;
  pd__runtime_defs runtime_defs = {.first = has ? __atomic_load_n(&record->late, __ATOMIC_SEQ_CST)
                                                : NULL};
  for (runtime_defs.end = runtime_defs.first;
       runtime_defs.end && (all || !runtime_defs.end->seen);) {
    runtime_defs.end = runtime_defs.end->next;
  }
  return runtime_defs;
}

/* A definition's copy in a namespace has another address but the same variable. */
static pd_flag *find_defined_flag(const pd_flag_def *def, const pd__defs *defs) {
  if (!def || def->kind >= PD_KIND_OP) return NULL;
  for (size_t i = 0; i < defs->count; i++) {
    const pd__cell *cell = &defs->cells[i];
    if (cell->def->kind != PD_KIND_DEFINE) continue;
    if (cell->def == def || (def->cell && cell->def->cell == def->cell)) {
      return pd__cell_flag(cell);
    }
  }
  return NULL;
}

void pd__runtime_defs_store_result(pd__runtime_defs runtime_defs, const pd__defs *defs,
                                   const pd_error *refusal) {
  const char *why = refusal ? pd__intern_text(refusal->message) : NULL;
  if (refusal && !why) why = "out of memory";
  for (pd_late_def *late = runtime_defs.first; late != runtime_defs.end; late = late->next) {
    if (refusal) __atomic_store_n(&late->status, (uint32_t)refusal->status, __ATOMIC_RELEASE);
    __atomic_store_n(&late->why, why, __ATOMIC_RELEASE);
    __atomic_store_n(&late->flag, refusal ? NULL : find_defined_flag(late->def, defs),
                     __ATOMIC_RELEASE);
    __atomic_store_n(&late->seen, 1, __ATOMIC_RELEASE);
  }
}
