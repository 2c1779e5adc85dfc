/* Lists: of a definition, "fast|best"; and comma lists, of flags. */
#include <pd_flags/items.h>
#include <string.h>

#include "value.h"

/* ---- Lists of a definition, "fast|best" ---- */

const char *pd__list_begin(const char *list) { return list && *list ? list : NULL; }

size_t pd__list_advance_to_choice(const char **cursor) {
  size_t length = strcspn(*cursor, "|");
  *cursor = (*cursor)[length] ? *cursor + length + 1 : NULL;
  return length;
}

/* ---- Comma lists ---- */

pd_status pd_list_get(const char *list, size_t index, char *buffer, size_t size, size_t *length,
                      pd_error *err) {
  if (!list) return pd__fail_null(err, "list");
  if (!buffer && size > 0) return pd__fail_null(err, "buffer");
  const char *found = NULL;
  size_t count = 0, whole;
  for (const char *cursor = pd__list_begin(list); cursor; count++) {
    if (count == index) found = cursor;
    if (!pd__item_read(&cursor, NULL, 0, &whole)) {
      return pd__fail(err, PD_ERR_VALUE, "item %zu: expected " PD__ITEM_EXPECTED, count + 1);
    }
  }
  if (!found) {
    return pd__fail(err, PD_ERR_ARGUMENT, "index %zu is out of range: the list has %zu items",
                    index, count);
  }
  pd__item_read(&found, buffer, size, &whole);
  if (length) *length = whole;
  return PD_OK;
}

char *pd__list_join_comma_lists(pd__arena *arena, const char *first, const char *second,
                                size_t *room) {
  size_t before = strlen(first), length = strlen(second), all = before + length + 2;
  char *joined = (char *)first; /* a buffer of ours if there is room */
  if (all > *room) {
    joined = pd__arena_alloc(arena, 2 * all);
    if (!joined) return NULL;
    *room = 2 * all;
    memcpy(joined, first, before + 1);
  }
  if (length > 0 && before > 0) joined[before++] = ',';
  memcpy(joined + before, second, length + 1);
  return joined;
}
