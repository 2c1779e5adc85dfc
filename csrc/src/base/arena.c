#include "arena.h"

#include <stdlib.h>
#include <string.h>

#define SMALLEST_BLOCK 1024u
#define LARGEST_BLOCK 65536u

/* Aligned memory is taken from the start of a block, text from its end. */
struct pd__block {
  pd__block *next;
  size_t size;
  size_t used; /* aligned bytes, from the start */
  size_t left;
};

void pd__wipe_memory(void *memory, size_t size) {
  memset(memory, 0, size);
  __asm__ volatile("" : : "r"(memory) : "memory");
}

/* Returns the newest block, or a new one if it lacks room. NULL if memory is out. */
static pd__block *get_block_with_room(pd__arena *arena, size_t least) {
  pd__block *newest = arena->blocks;
  if (newest && least <= newest->left) return newest;
  size_t size = newest ? 2 * newest->size : SMALLEST_BLOCK;
  if (size > LARGEST_BLOCK) size = LARGEST_BLOCK;
  if (size < least) size = least;
  pd__block *fresh = malloc(sizeof *fresh + size);
  if (!fresh) {
    arena->failed = true;
    return NULL;
  }
  *fresh = (pd__block){newest, size, 0, size};
  arena->blocks = fresh;
  return fresh;
}

static void *alloc_unzeroed(pd__arena *arena, size_t size) {
  size = (size + 7) & ~(size_t)7;
  pd__block *block = get_block_with_room(arena, size);
  if (!block) return NULL;
  void *taken = (char *)(block + 1) + block->used;
  block->used += size;
  block->left -= size;
  return taken;
}

void *pd__arena_alloc(pd__arena *arena, size_t size) {
  void *taken = alloc_unzeroed(arena, size);
  return taken ? memset(taken, 0, size) : NULL;
}

char *pd__arena_copy_text(pd__arena *arena, const char *text, size_t length) {
  pd__block *block = get_block_with_room(arena, length + 1);
  if (!block) return NULL;
  block->left -= length + 1;
  char *copy = memcpy((char *)(block + 1) + block->used + block->left, text, length);
  copy[length] = '\0';
  return copy;
}

/* A large array has a block of its own, which is resized: a copy would double the memory. */
void *pd__arena_realloc(pd__arena *arena, const void *old, size_t used, size_t size) {
  pd__block **at = &arena->blocks, *grown = NULL;
  while (*at && (void *)(*at + 1) != old) at = &(*at)->next;
  if (*at && (*at)->size > LARGEST_BLOCK) grown = realloc(*at, sizeof *grown + size);
  if (grown) {
    grown->size = grown->used = size;
    *at = grown;
    return grown + 1;
  }
  void *fresh = alloc_unzeroed(arena, size);
  if (fresh && used > 0) memcpy(fresh, old, used);
  return fresh;
}

void *pd__arena_grow_if_full(pd__arena *arena, void *items, size_t count, size_t *capacity,
                             size_t size) {
  if (count < *capacity) return items;
  size_t larger = *capacity ? 2 * *capacity : 8;
  void *moved = pd__arena_realloc(arena, items, count * size, larger * size);
  if (moved) *capacity = larger;
  return moved;
}

void pd__arena_free(pd__arena *arena) {
  while (arena->blocks) {
    pd__block *block = arena->blocks;
    arena->blocks = block->next;
    size_t texts = block->size - block->used - block->left;
    pd__wipe_memory(block + 1, block->used);
    pd__wipe_memory((char *)(block + 1) + block->size - texts, texts);
    free(block);
  }
}
