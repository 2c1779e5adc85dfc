#include <stdlib.h>
#include <string.h>

#include "report.h"

/* ---- The snapshot ---- */

/* Collects the values behind the current one. */
static bool collect_older_values(pd__rows *rows, const pd_flag *flag, pd__row *row,
                                 pd__arena *arena) {
  row->first_other = rows->other_count;
  for (pd_flag_entry entry = {.size = sizeof entry};; row->others++) {
    pd_status status = pd__flag_fill_entry(flag, row->others + 1, &entry, NULL);
    if (status != PD_OK) return status == PD_ERR_ARGUMENT; /* there are no more */
    pd_flag_entry *others = pd__arena_grow_if_full(arena, rows->others, rows->other_count,
                                                   &rows->other_room, sizeof *others);
    if (!others) return false;
    rows->others = others;
    others[rows->other_count++] = entry;
  }
}

/* Returns false if memory is out. The flag must be defined. */
static bool collect_row(pd__rows *rows, pd_flag *flag, bool with_older_values, pd__arena *arena) {
  pd__row *row = &rows->items[rows->count];
  *row = (pd__row){.index = rows->count++};
  row->info.size = sizeof row->info;
  row->entry.size = sizeof row->entry;
  bool whole = pd__flag_fill_info(flag, &row->info) &&
               pd__flag_fill_entry(flag, 0, &row->entry, NULL) == PD_OK;
  return whole && (!with_older_values || collect_older_values(rows, flag, row, arena));
}

bool pd__rows_collect(pd__rows *rows, bool with_older_values, pd__arena *arena) {
  PD__LOCKED_OPERATION(operation);
  size_t most = (size_t)pd__names_count() + 1;
  rows->items = pd__arena_realloc(arena, NULL, 0, most * sizeof *rows->items);
  bool whole = rows->items != NULL;
  for (pd_flag *flag = NULL; whole && (flag = pd__names_next_listed(flag));) {
    if (pd__flag_adopt_and_check_defined(&operation, flag, NULL) != PD_OK)
      continue; /* its module has left */
    whole = collect_row(rows, flag, with_older_values, arena);
  }
  pd__operation_end(&operation);
  return whole;
}

/* ---- Groups ---- */

static int compare_sizes(size_t a, size_t b) { return (a > b) - (a < b); }

static int compare_by_module_and_category(const void *left, const void *right) {
  const pd__row *a = left, *b = right;
  int order = strcmp(a->info.module, b->info.module);
  if (order == 0) order = strcmp(a->info.category, b->info.category);
  return order ? order : compare_sizes(a->index, b->index);
}

static int compare_by_module_and_group(const void *left, const void *right) {
  const pd__row *a = left, *b = right;
  int order = compare_sizes(a->module, b->module);
  if (order == 0) order = compare_sizes(a->group, b->group);
  return order ? order : compare_sizes(a->index, b->index);
}

static bool is_same_module(const pd__row *a, const pd__row *b) {
  return !strcmp(a->info.module, b->info.module);
}

bool pd__rows_is_group_start(const pd__rows *rows, size_t index) {
  const pd__row *row = &rows->items[index];
  return index == 0 || !is_same_module(row - 1, row) ||
         strcmp(row[-1].info.category, row->info.category) != 0;
}

/* Returns the index of a module in a list; the number of its items if it isn't there. */
static size_t find_module_index(const char *list, const char *module) {
  size_t index = 0, length = strlen(module);
  for (const char *cursor = pd__list_begin(list); cursor; index++) {
    const char *item = cursor;
    if (pd__list_advance_to_choice(&cursor) == length && !memcmp(item, module, length))
      return index;
  }
  return index;
}

void pd__rows_remove_modules(pd__rows *rows, const char *without) {
  size_t kept = 0, none = find_module_index(without, "|"); /* no item is that */
  for (size_t i = 0; none > 0 && i < rows->count; i++) {
    bool stays = find_module_index(without, rows->items[i].info.module) == none;
    if (stays) rows->items[kept++] = rows->items[i];
  }
  if (none > 0) rows->count = kept;
}

/* Sorted by module, each row inherits its group from the row before it and its module's least index
 * so far. The last row of a module then has the least index of all, which the second loop carries
 * back. */
void pd__rows_sort_groups(pd__rows *rows, const char *first, const char *program) {
  pd__row *items = rows->items;
  size_t none = find_module_index(first, "|");
  if (rows->count == 0) return;
  qsort(items, rows->count, sizeof *items, compare_by_module_and_category);
  for (size_t i = 0; i < rows->count; i++) {
    pd__row *row = &items[i];
    bool own = !strcmp(pd__base_name(row->info.module), program);
    row->module = find_module_index(first, row->info.module);
    if (row->module == none && !own) row->module = row->index + none + 1;
    row->group = pd__rows_is_group_start(rows, i) ? row->index + 1 : row[-1].group;
    if (!*row->info.category) row->group = 0;
    bool later = i > 0 && is_same_module(row - 1, row) && row[-1].module < row->module;
    if (later) row->module = row[-1].module;
  }
  for (size_t i = rows->count - 1; i > 0; i--) {
    if (is_same_module(&items[i - 1], &items[i])) items[i - 1].module = items[i].module;
  }
  qsort(items, rows->count, sizeof *items, compare_by_module_and_group);
}

void pd__row_write_heading(const pd__row *row, pd__out *out) {
  const char *module = pd__base_name(row->info.module);
  const char *category = row->info.category;
  pd__out_add_format(out, "%s%s%s", *module ? module : "other", *category ? ", " : "", category);
}
