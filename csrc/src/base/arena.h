/* Memory of one operation: taken piece by piece, freed all at once. */
#ifndef PD__ARENA_H
#define PD__ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct pd__block pd__block;

/* Start with zeros. */
typedef struct pd__arena {
  pd__block *blocks; /* the newest first */
  bool failed;       /* memory was out for a piece of it, once */
} pd__arena;

/* `size` bytes, zeroed, aligned for pointers and numbers; NULL when memory is out. */
void *pd__arena_take(pd__arena *arena, size_t size);

/* A copy of `length` bytes with a NUL behind; NULL when memory is out. */
char *pd__arena_text(pd__arena *arena, const char *text, size_t length);

/* Room for `size` bytes, of which the first `used` are those of `old`, which is left as it is; NULL
 * when memory is out. */
void *pd__arena_grow(pd__arena *arena, const void *old, size_t used, size_t size);

/* The same for one item more behind the `count` that `items` has, if there is no room: gives where
 * the items are, or NULL. */
void *pd__arena_room(pd__arena *arena, void *items, size_t count, size_t *capacity, size_t size);

/* Overwrite and free all of it: it may hold secrets. */
void pd__arena_free(pd__arena *arena);

/* Overwrite memory; no compiler takes this for useless. */
void pd__wipe(void *memory, size_t size);

#endif /* PD__ARENA_H */
