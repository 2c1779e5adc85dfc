/* A hash table: open addressing with linear probing. The caller stores the items themselves; the
 * table stores index + 1 of each.
 *
 * The table grows incrementally: each addition moves a few slots from the old array to the new one,
 * so that no single addition has to move millions. Lookups search both arrays meanwhile. */
#ifndef PD__TABLE_H
#define PD__TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The item at index 0 has number 1, so that a zeroed slot is free. */
typedef struct pd__table_slot {
  uint32_t hash;
  uint32_t item;
} pd__table_slot;

#define PD__TABLE_REMOVED UINT32_MAX
#define PD__TABLE_MOST (1u << 30) /* items */

typedef struct pd__table_part {
  pd__table_slot *slots; /* from calloc; NULL if there is no array */
  size_t capacity;       /* 0 or a power of two */
} pd__table_part;

/* Initialize with zeros. The caller holds the lock that guards the table. */
typedef struct pd__table {
  pd__table_part current;
  pd__table_part previous; /* being moved to `current`, from the first slot on */
  size_t moved;            /* slots of `previous` that have been moved */
  size_t used;             /* slots of `current` that aren't free, including removed items */
  size_t left;             /* items still in `previous` */
  size_t count;            /* items */
} pd__table;

/* The number of items that an array may hold: 13/16 of its slots. At three quarters, 100,000 names
 * would need twice the memory; at 7/8, a search for a missing name takes 32 probes, and here 14. */
static inline size_t pd__table_limit(size_t capacity) { return capacity / 16 * 13; }

/* Make room for `more` additions. They return false, and change nothing, if memory runs out or the
 * table is full. Growing first completes a move that is under way. */
bool pd__table_grow(pd__table *table, size_t more);
static inline bool pd__table_reserve(pd__table *table, size_t more) {
  size_t most = pd__table_limit(table->current.capacity), used = table->used + table->left;
  return (used < most && more <= most - used) || pd__table_grow(table, more);
}

/* Adds an item. The table must have room for it and not contain it. */
void pd__table_add(pd__table *table, uint32_t hash, uint32_t item);

/* Removes an item, which must be in the table with this hash. */
void pd__table_remove(pd__table *table, uint32_t hash, uint32_t item);

/* Returns whether `item`, whose hash matches, is the one that `key` describes. */
typedef bool pd__table_test(uint32_t item, const void *key);

static inline uint32_t pd__table_probe(pd__table_part part, uint32_t hash, pd__table_test *same,
                                       const void *key) {
  if (!part.slots) return 0;
  for (size_t at = hash & (part.capacity - 1);; at = (at + 1) & (part.capacity - 1)) {
    pd__table_slot slot = part.slots[at];
    if (!slot.item) return 0;
    if (slot.hash != hash || slot.item == PD__TABLE_REMOVED) continue;
    if (same(slot.item, key)) return slot.item;
  }
}

/* Prefetches the first slot that a search for the hash reads. */
static inline void pd__table_prefetch(const pd__table *table, uint32_t hash) {
  pd__table_part part = table->current;
  if (part.slots) __builtin_prefetch(&part.slots[hash & (part.capacity - 1)]);
}

/* Returns the item, or 0. Inline, and with one search for both arrays, so that the compiler inlines
 * `same` as well. */
static inline uint32_t pd__table_find(const pd__table *table, uint32_t hash, pd__table_test *same,
                                      const void *key) {
  for (const pd__table_part *part = &table->current;; part = &table->previous) {
    uint32_t item = pd__table_probe(*part, hash, same, key);
    if (item || !table->left || part == &table->previous) return item;
  }
}

#endif /* PD__TABLE_H */
