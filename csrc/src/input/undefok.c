#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "input.h"

static int compare_token_names(const void *left, const void *right) {
  const pd__token *a = left, *b = right;
  for (size_t i = 0; i < a->length && i < b->length; i++) {
    int difference = pd__normalize_dash(a->name[i]) - pd__normalize_dash(b->name[i]);
    if (difference) return difference;
  }
  return (a->length > b->length) - (a->length < b->length);
}

void pd__undefok_add(pd__arena *arena, pd__tokens *list, const char *name, size_t length) {
  for (; length > 0 && *name == '-'; length--) name++;
  pd__tokens_add(arena, list, (pd__token){.name = name, .length = (uint32_t)length});
}

void pd__undefok_sort(pd__tokens *list) {
  if (list->count > 1) qsort(list->items, list->count, sizeof *list->items, compare_token_names);
}

static bool is_listed_name(const pd__tokens *list, const char *name, size_t length) {
  pd__token wanted = {.name = name, .length = (uint32_t)length};
  return list->count > 0 &&
         bsearch(&wanted, list->items, list->count, sizeof wanted, compare_token_names) != NULL;
}

bool pd__undefok_covers(const pd__tokens *list, const pd__token *token) {
  if (is_listed_name(list, token->name, token->length)) return true;
  if (token->length < 3 || strncmp(token->name, "no", 2) != 0) return false;
  return is_listed_name(list, token->name + 2, token->length - 2) ||
         (pd__normalize_dash(token->name[2]) == '_' &&
          is_listed_name(list, token->name + 3, token->length - 3));
}
