/* The definitions of a module's record. */
#include "record.h"

#include <stdlib.h>
#include <string.h>

#include "namespace.h"

/* Whether the registry needs a copy of a definition: it has another size, or
 * gets another name. */
static bool needs_copy(const pd_flag_def *def, const char *name_space) {
  return def->size != sizeof *def || (*name_space && def->kind == PD_KIND_DEFINE);
}

/* Room for a cell for each definition, and for the copies. */
static bool make_room(pd__defs *defs, const pd_module_record *record, const char *name_space) {
  size_t count = 0, odd = 0;
  for (const pd_flag_def *const *at = record->defs; at < record->defs_end; at++) {
    count += *at != NULL;
    odd += *at && needs_copy(*at, name_space);
  }
  defs->count = 0;
  defs->cells = malloc((count + 1) * sizeof *defs->cells);
  defs->converted = malloc((odd + 1) * sizeof *defs->converted);
  return defs->cells && defs->converted && pd__names_reserve(count);
}

static int compare_lines(const void *a, const void *b) {
  uint32_t left = ((const pd__cell *)a)->def->line, right = ((const pd__cell *)b)->def->line;
  return (left > right) - (left < right);
}

static bool same_file(const pd__cell *a, const pd__cell *b) {
  const char *left = a->def->file, *right = b->def->file;
  return left == right || (left && right && !strcmp(left, right));
}

/* Whether the lines fall throughout; `rise`: whether they never fall. */
static bool fall(const pd__cell *cells, size_t count, bool *rise) {
  bool falling = true;
  *rise = true;
  for (size_t i = 1; i < count; i++) {
    falling &= cells[i].def->line < cells[i - 1].def->line;
    *rise &= cells[i].def->line >= cells[i - 1].def->line;
  }
  return falling;
}

static void turn_round(pd__cell *cells, size_t count) {
  for (size_t i = 0; i < count / 2; i++) {
    pd__cell first = cells[i];
    cells[i] = cells[count - 1 - i];
    cells[count - 1 - i] = first;
  }
}

/* Compilers are free to emit a file's definitions in any order, and gcc turns
 * it round; listings follow the source. */
static void sort_by_line(pd__cell *cells, size_t count) {
  bool rise;
  for (size_t from = 0, to; from < count; from = to) {
    for (to = from + 1; to < count && same_file(&cells[from], &cells[to]);) to++;
    if (fall(cells + from, to - from, &rise)) {
      turn_round(cells + from, to - from);
    } else if (!rise) {
      qsort(cells + from, to - from, sizeof *cells, compare_lines);
    }
  }
}

static pd_status copy_def(const pd_flag_def *def, const char *name_space, pd_flag_def *copy,
                          pd_error *err) {
  pd_status status = pd__def_convert(def, copy, err);
  if (status != PD_OK || !*name_space || copy->kind != PD_KIND_DEFINE) return status;
  return pd__namespace_apply(name_space, copy, err);
}

bool pd__defs_read(pd__defs *defs, const pd_module_record *record, const char *name_space,
                   uint32_t module, pd__report *report) {
  pd_error err;
  if (!make_room(defs, record, name_space)) {
    pd__fail_memory(&err);
    pd__report_add(report, &err);
    return false;
  }
  pd_flag_def *converted = defs->converted;
  for (const pd_flag_def *const *at = record->defs; at < record->defs_end; at++) {
    const pd_flag_def *def = *at;
    if (!def) continue;
    pd_status status = PD_OK;
    if (needs_copy(def, name_space)) {
      status = copy_def(def, name_space, converted, &err);
      def = converted++;
    }
    if (status == PD_OK) status = pd__def_check(def, &err);
    if (status == PD_OK) {
      defs->cells[defs->count++] = (pd__cell){.def = def, .module = module};
    } else {
      pd__report_add(report, &err);
    }
  }
  sort_by_line(defs->cells, defs->count);
  return report->status == PD_OK;
}

void pd__defs_drop(pd__defs *defs) {
  free(defs->cells);
  free(defs->converted);
  *defs = (pd__defs){.cells = NULL};
}
