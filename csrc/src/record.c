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

/* Room for a cell for each definition. */
static bool make_room(pd__defs *defs, const pd_module_record *record) {
  size_t most = (size_t)(record->defs_end - record->defs);
  defs->count = defs->copies = 0;
  defs->converted = NULL;
  defs->cells = malloc((most + 1) * sizeof *defs->cells);
  return defs->cells && pd__names_reserve(most);
}

/* Room for a copy of each of `left` definitions, the first time that one is needed. */
static pd_flag_def *make_copy(pd__defs *defs, size_t left) {
  if (!defs->converted) defs->converted = malloc(left * sizeof *defs->converted);
  return defs->converted ? &defs->converted[defs->copies++] : NULL;
}

/* ---- Their order ---- */

/* Definitions of one source file, one after the other. */
typedef struct run {
  size_t from;
  const char *file;
  uint32_t line; /* of the last one */
  bool rises, falls;
} run;

static int compare_lines(const void *a, const void *b) {
  uint32_t left = ((const pd__cell *)a)->def->line, right = ((const pd__cell *)b)->def->line;
  return (left > right) - (left < right);
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
static void end_run(const run *at, const pd__defs *defs) {
  pd__cell *cells = defs->cells + at->from;
  size_t count = defs->count - at->from;
  if (at->rises) return;
  if (at->falls) {
    turn_round(cells, count);
  } else {
    qsort(cells, count, sizeof *cells, compare_lines);
  }
}

static bool is_in(const run *at, const pd_flag_def *def) {
  return at->file == def->file || (at->file && def->file && !strcmp(at->file, def->file));
}

/* A definition comes next. */
static void follow(run *at, const pd__defs *defs, const pd_flag_def *def) {
  if (defs->count > 0 && is_in(at, def)) {
    at->rises &= def->line >= at->line;
    at->falls &= def->line < at->line;
  } else {
    end_run(at, defs);
    *at = (run){.from = defs->count, .file = def->file, .rises = true, .falls = true};
  }
  at->line = def->line;
}

/* ---- Reading ---- */

static pd_status copy_def(const pd_flag_def *def, const char *name_space, pd_flag_def *copy,
                          pd_error *err) {
  pd_status status = pd__def_convert(def, copy, err);
  if (status != PD_OK || !*name_space || copy->kind != PD_KIND_DEFINE) return status;
  return pd__namespace_apply(name_space, copy, err);
}

/* The definition as the registry takes it: checked, and a copy where one is needed; NULL:
 * refused. */
static const pd_flag_def *read_one(pd__defs *defs, const pd_flag_def *def, size_t left,
                                   const char *name_space, pd_error *err) {
  if (needs_copy(def, name_space)) {
    pd_flag_def *copy = make_copy(defs, left);
    pd_status status = copy ? copy_def(def, name_space, copy, err) : pd__fail_memory(err);
    if (status != PD_OK) return NULL;
    def = copy;
  }
  return pd__def_check(def, err) == PD_OK ? def : NULL;
}

bool pd__defs_read(pd__defs *defs, const pd_module_record *record, const char *name_space,
                   uint32_t module, pd__report *report) {
  pd_error err;
  run current = {.rises = true};
  if (!make_room(defs, record)) {
    pd__fail_memory(&err);
    pd__report_add(report, &err);
    return false;
  }
  for (const pd_flag_def *const *at = record->defs; at < record->defs_end; at++) {
    if (!*at) continue;
    size_t left = (size_t)(record->defs_end - at);
    const pd_flag_def *def = read_one(defs, *at, left, name_space, &err);
    if (def) {
      follow(&current, defs, def);
      defs->cells[defs->count++] = (pd__cell){.def = def, .module = module};
    } else {
      pd__report_add(report, &err);
    }
  }
  end_run(&current, defs);
  return report->status == PD_OK;
}

void pd__defs_drop(pd__defs *defs) {
  free(defs->cells);
  free(defs->converted);
  *defs = (pd__defs){.cells = NULL};
}
