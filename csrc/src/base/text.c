#include "text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "hash.h"
#include "table.h"

static pd__arena forever; /* never freed */

void *pd__alloc_forever(size_t size) { return pd__arena_alloc(&forever, size); }

const char *pd__copy_text_forever(const char *text) {
  return pd__arena_copy_text(&forever, text, strlen(text));
}

static const char **get_text_field(void *whole, size_t offset) {
  return (const char **)(void *)((char *)whole + offset);
}

void *pd__copy_with_texts(const void *from, size_t size, const size_t *texts, size_t count,
                          size_t *whole) {
  *whole = size;
  for (size_t i = 0; i < count; i++) {
    const char *text = *get_text_field((void *)from, texts[i]);
    *whole += text ? strlen(text) + 1 : 0;
  }
  char *made = malloc(*whole), *at = made + size;
  if (!made) return NULL;
  memcpy(made, from, size);
  for (size_t i = 0; i < count; i++) {
    const char **text = get_text_field(made, texts[i]);
    size_t room = *text ? strlen(*text) + 1 : 0;
    if (*text) *text = memcpy(at, *text, room);
    at += room;
  }
  return made;
}

/* ---- Interned strings ---- */

static struct {
  pd__table table;
  const char **items;
  size_t count, capacity;
} texts;

static bool is_interned_text(uint32_t item, const void *text) {
  return !strcmp(texts.items[item - 1], text);
}

const char *pd__intern_text(const char *text) {
  if (!text) return NULL;
  size_t length = strlen(text);
  uint32_t hash = pd__hash_text(text, length);
  uint32_t item = pd__table_find(&texts.table, hash, is_interned_text, text);
  if (item) return texts.items[item - 1];
  const char **items =
      pd__arena_grow_if_full(&forever, texts.items, texts.count, &texts.capacity, sizeof *items);
  if (!items) return NULL;
  texts.items = items;
  const char *own = pd__arena_copy_text(&forever, text, length);
  if (!own || !pd__table_reserve(&texts.table, 1)) return NULL;
  pd__table_add(&texts.table, hash, (uint32_t)texts.count + 1);
  return items[texts.count++] = own;
}
