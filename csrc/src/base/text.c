#include "text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hash.h"
#include "profile.h"

/* Blocks are a quarter of what there is already, so that little of them stays unused. */
#define SMALLEST_BLOCK 16384u
#define LARGEST_BLOCK 65536u

/* Structs are taken from its beginning, text, which needs no alignment, from its end. */
static struct {
  char *at;
  size_t left;
  size_t total;
} block;

static bool new_block(void) {
  size_t size = SMALLEST_BLOCK;
  while (size < LARGEST_BLOCK && size < block.total / 4) size *= 2;
  char *fresh = malloc(size);
  if (!fresh) return false;
  block.at = fresh;
  block.left = size;
  block.total += size;
  return true;
}

/* Large things are malloc's. */
static bool is_large(size_t size) { return size > SMALLEST_BLOCK / 4; }

void *pd__forever(size_t size) {
  size = (size + 7) & ~(size_t)7;
  if (is_large(size)) return malloc(size);
  if (size > block.left && !new_block()) return NULL;
  void *result = block.at;
  block.at += size;
  block.left -= size;
  return result;
}

static char *take_from_end(size_t size) {
  bool room = !is_large(size) && (size <= block.left || new_block());
  if (!room) return malloc(size);
  block.left -= size;
  return block.at + block.left;
}

char *pd__forever_text(const char *text, size_t size) {
  char *own = PD__LACKS_SHORTCUTS ? pd__forever(size) : take_from_end(size);
  return own ? memcpy(own, text, size) : NULL;
}

/* Open addressing with linear probing, at most three quarters full. */
typedef struct stored {
  uint32_t hash;
  char text[];
} stored;

static struct {
  stored **slots;
  size_t capacity; /* 0 or a power of two */
  size_t count;
} strings;

static int grow(void) {
  size_t capacity = strings.capacity ? 2 * strings.capacity : 256;
  stored **slots = calloc(capacity, sizeof *slots);
  if (!slots) return 0;
  for (size_t i = 0; i < strings.capacity; i++) {
    if (!strings.slots[i]) continue;
    size_t slot = strings.slots[i]->hash & (capacity - 1);
    while (slots[slot]) slot = (slot + 1) & (capacity - 1);
    slots[slot] = strings.slots[i];
  }
  free(strings.slots);
  strings.slots = slots;
  strings.capacity = capacity;
  return 1;
}

/* The slot that holds the text, or the free one where it belongs. */
static stored **probe(const char *text, uint32_t hash) {
  size_t slot = hash & (strings.capacity - 1);
  for (; strings.slots[slot]; slot = (slot + 1) & (strings.capacity - 1)) {
    stored *candidate = strings.slots[slot];
    if (candidate->hash == hash && !strcmp(candidate->text, text)) break;
  }
  return &strings.slots[slot];
}

const char *pd__intern(const char *text) {
  if (!text || (!strings.capacity && !grow())) return NULL;
  size_t length = strlen(text);
  uint32_t hash = (uint32_t)pd__hash_text(text, length);
  stored **slot = probe(text, hash);
  if (*slot) return (*slot)->text;
  if (4 * strings.count >= 3 * strings.capacity) {
    if (!grow()) return NULL;
    slot = probe(text, hash);
  }
  stored *fresh = pd__forever(sizeof *fresh + length + 1);
  if (!fresh) return NULL;
  fresh->hash = hash;
  memcpy(fresh->text, text, length + 1);
  *slot = fresh;
  strings.count++;
  return fresh->text;
}
