/* Memory of one operation: allocated piece by piece, freed as a whole. */
#ifndef PD__ARENA_H
#define PD__ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pd__block pd__block;

/* Initialize with zeros. */
typedef struct pd__arena {
  pd__block *blocks; /* newest first */
  bool failed;       /* an allocation has failed; never reset */
} pd__arena;

/* Returns `size` zeroed bytes, aligned for pointers and numbers. NULL if memory runs out. The arena
 * owns everything that it returns; pointers are valid until it is freed. */
void *pd__arena_alloc(pd__arena *arena, size_t size);

/* Returns a NUL-terminated copy of `length` bytes. NULL if memory runs out. */
char *pd__arena_copy_text(pd__arena *arena, const char *text, size_t length);

/* Grows an array to `size` bytes and returns where it is now; its first `used` bytes are those of
 * `old`. NULL if memory runs out: `old` is then unchanged and still valid. */
void *pd__arena_realloc(pd__arena *arena, const void *old, size_t used, size_t size);

/* Makes room for one item after the `count` in `items`, and updates *capacity. Returns where the
 * items are now, or NULL if memory runs out. */
void *pd__arena_grow_if_full(pd__arena *arena, void *items, size_t count, size_t *capacity,
                             size_t size);

/* Overwrites and frees all blocks, since they may hold secrets. */
void pd__arena_free(pd__arena *arena);

/* Overwrites memory. Unlike a plain memset, it isn't optimized away. */
void pd__wipe_memory(void *memory, size_t size);

#endif /* PD__ARENA_H */
