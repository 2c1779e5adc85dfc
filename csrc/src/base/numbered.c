#include "numbered.h"

/* Returns the index of the first row whose number is at least `number`. */
static size_t find_lower_bound(const pd__numbered *list, uint64_t number) {
  size_t low = 0, high = list->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (list->rows[middle].number < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

uint64_t pd__numbered_add(pd__numbered *list, void *item) {
  pd__numbered_row *rows =
      pd__arena_grow_if_full(&list->arena, list->rows, list->count, &list->capacity, sizeof *rows);
  if (!rows) return 0;
  list->rows = rows;
  list->rows[list->count++] = (pd__numbered_row){++list->last, item};
  return list->last;
}

void *pd__numbered_find(const pd__numbered *list, uint64_t number) {
  size_t at = find_lower_bound(list, number);
  return at < list->count && list->rows[at].number == number ? list->rows[at].item : NULL;
}

/* Compacts the rows when more than half of them are removed. */
void pd__numbered_remove(pd__numbered *list, uint64_t number) {
  size_t at = find_lower_bound(list, number), kept = 0;
  if (at == list->count || list->rows[at].number != number || !list->rows[at].item) return;
  list->rows[at].item = NULL;
  if (2 * ++list->removed <= list->count) return;
  for (size_t i = 0; i < list->count; i++) {
    if (list->rows[i].item) list->rows[kept++] = list->rows[i];
  }
  list->count = kept;
  list->removed = 0;
}

void *pd__numbered_find_after(const pd__numbered *list, uint64_t number) {
  size_t at = find_lower_bound(list, number + 1);
  while (at < list->count && !list->rows[at].item) at++;
  return at < list->count ? list->rows[at].item : NULL;
}
