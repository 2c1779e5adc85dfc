#include "text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "hash.h"
#include "table.h"

static pd__arena forever; /* never freed */

void *pd__forever(size_t size) { return pd__arena_take(&forever, size); }

static const char **text_at(void *whole, size_t offset) {
  return (const char **)(void *)((char *)whole + offset);
}

void *pd__copy_whole(const void *from, size_t size, const size_t *texts, size_t count,
                     size_t *whole) {
  *whole = size;
  for (size_t i = 0; i < count; i++) {
    const char *text = *text_at((void *)from, texts[i]);
    *whole += text ? strlen(text) + 1 : 0;
  }
  char *made = malloc(*whole), *at = made + size;
  if (!made) return NULL;
  memcpy(made, from, size);
  for (size_t i = 0; i < count; i++) {
    const char **text = text_at(made, texts[i]);
    size_t room = *text ? strlen(*text) + 1 : 0;
    if (*text) *text = memcpy(at, *text, room);
    at += room;
  }
  return made;
}

/* ---- Texts that are stored once ---- */

/* Each chunk has twice the room of the one before, so that none ever moves. */
#define FIRST_CHUNK 256u /* a power of two */
#define CHUNKS 24

static struct {
  pd__table table;
  const char **chunks[CHUNKS];
  uint32_t count;
} texts;

/* Where the pointer of a text is; NULL: it would be the first one of its chunk, and memory is out.
 */
static const char **place_of(uint32_t index) {
  uint32_t chunk = 31 - (uint32_t)__builtin_clz(index / FIRST_CHUNK + 1);
  const char ***at = &texts.chunks[chunk];
  if (!*at) *at = malloc(((size_t)FIRST_CHUNK << chunk) * sizeof **at);
  return *at ? &(*at)[index - ((1u << chunk) - 1) * FIRST_CHUNK] : NULL;
}

static const char *text_of(uint32_t item) { return *place_of(item - 1); }

static bool same_text(uint32_t item, const void *text) { return !strcmp(text_of(item), text); }

const char *pd__intern(const char *text) {
  if (!text) return NULL;
  size_t length = strlen(text);
  uint32_t hash = pd__hash_text(text, length);
  uint32_t item = pd__table_find(&texts.table, hash, same_text, text);
  if (item) return text_of(item);
  const char **at = texts.count < PD__TABLE_MOST ? place_of(texts.count) : NULL;
  if (!at || !pd__table_reserve(&texts.table, 1)) return NULL;
  const char *own = pd__arena_text(&forever, text, length);
  if (!own) return NULL;
  pd__table_add(&texts.table, hash, ++texts.count);
  return *at = own;
}
