#include <stdlib.h>
#include <string.h>

#include "report.h"

/* ---- The picture ---- */

bool pd__rows_collect(pd__rows *rows, pd__arena *arena) {
  PD__LOCKED_OPERATION(operation);
  size_t most = (size_t)pd__names_count() + 1;
  rows->items = pd__arena_grow(arena, NULL, 0, most * sizeof *rows->items);
  bool whole = rows->items != NULL;
  for (pd_flag *flag = NULL; whole && (flag = pd__names_listed(flag));) {
    if (pd__flag_check_defined(&operation, flag, NULL) != PD_OK) continue; /* its module has left */
    pd__row *row = &rows->items[rows->count];
    *row = (pd__row){.index = rows->count++};
    row->info.size = sizeof row->info;
    row->entry.size = sizeof row->entry;
    whole = pd__flag_info(flag, &row->info) && pd__flag_entry(flag, 0, &row->entry, NULL) == PD_OK;
  }
  pd__operation_end(&operation);
  return whole;
}

/* ---- Groups ---- */

const char *pd__base_name(const char *path) {
  const char *base = path;
  for (; *path; path++) {
    if (*path == '/' || *path == '\\') base = path + 1;
  }
  return base;
}

static int compare_sizes(size_t a, size_t b) { return (a > b) - (a < b); }

static int by_module(const void *left, const void *right) {
  const pd__row *a = left, *b = right;
  int order = strcmp(a->info.module, b->info.module);
  if (order == 0) order = strcmp(a->info.category, b->info.category);
  return order ? order : compare_sizes(a->index, b->index);
}

static int by_group(const void *left, const void *right) {
  const pd__row *a = left, *b = right;
  int order = compare_sizes(a->module, b->module);
  if (order == 0) order = compare_sizes(a->group, b->group);
  return order ? order : compare_sizes(a->index, b->index);
}

static bool same_module(const pd__row *a, const pd__row *b) {
  return !strcmp(a->info.module, b->info.module);
}

static bool same_group(const pd__row *a, const pd__row *b) {
  return same_module(a, b) && !strcmp(a->info.category, b->info.category);
}

/* Number the rows of [first, last), which are of one module, by `least`. */
static void number(pd__rows *rows, size_t first, size_t last, const char *program) {
  pd__row *items = rows->items;
  size_t least = items[first].index;
  for (size_t i = first; i < last; i++) {
    bool begins = i == first || !same_group(&items[i - 1], &items[i]);
    if (items[i].index < least) least = items[i].index;
    items[i].group = begins ? items[i].index + 1 : items[i - 1].group;
    if (!*items[i].info.category) items[i].group = 0;
  }
  bool own = !strcmp(pd__base_name(items[first].info.module), program);
  for (size_t i = first; i < last; i++) items[i].module = own ? 0 : least + 1;
}

void pd__rows_group(pd__rows *rows, const char *program) {
  if (rows->count == 0) return;
  qsort(rows->items, rows->count, sizeof *rows->items, by_module);
  size_t first = 0;
  for (size_t i = 1; i <= rows->count; i++) {
    if (i < rows->count && same_module(&rows->items[first], &rows->items[i])) continue;
    number(rows, first, i, program);
    first = i;
  }
  qsort(rows->items, rows->count, sizeof *rows->items, by_group);
}

bool pd__rows_begins_group(const pd__rows *rows, size_t index) {
  return index == 0 || !same_group(&rows->items[index - 1], &rows->items[index]);
}

void pd__row_heading(const pd__row *row, pd__out *out) {
  const char *module = pd__base_name(row->info.module);
  const char *category = row->info.category;
  pd__out_format(out, "%s%s%s", *module ? module : "other", *category ? ", " : "", category);
}
