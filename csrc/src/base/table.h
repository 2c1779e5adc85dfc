/* Where an item is, by its hash: open addressing with linear probing, over items that
 * stand elsewhere, in the order of their indexes. It grows a little at a time: a larger
 * array is taken, and each item that is added moves a few slots of the smaller one, so that
 * nobody waits until millions have moved. Lookups read both meanwhile. */
#ifndef PD__TABLE_H
#define PD__TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Item 1 has index 0: a slot of zeros is free. */
typedef struct pd__table_slot {
  uint32_t hash;
  uint32_t item;
} pd__table_slot;

#define PD__TABLE_REMOVED UINT32_MAX
#define PD__TABLE_MOST (1u << 30) /* items */

typedef struct pd__table_part {
  pd__table_slot *slots; /* of calloc; NULL: there is none */
  size_t capacity;       /* 0 or a power of two */
} pd__table_part;

/* All zeros is an empty table. Whoever uses it has the lock that guards it. */
typedef struct pd__table {
  pd__table_part now;
  pd__table_part old; /* is moved to `now`, from its first slot on */
  size_t moved;       /* slots of `old` that are */
  size_t used;        /* slots of `now` that aren't free, removed ones among them */
  size_t left;        /* items that are still in `old` */
  size_t count;       /* items */
} pd__table;

/* The items that an array may have: seven eighths of its slots. Probes of fuller arrays are longer,
 * but they stay in a line or two of the cache, and half of the memory saves more than that. */
static inline size_t pd__table_most(size_t capacity) { return capacity / 8 * 7; }

/* Make room for so many items more: they can be added then. False: memory is out, and
 * nothing has changed. This waits for a move that is under way. */
bool pd__table_grow(pd__table *table, size_t more);
static inline bool pd__table_reserve(pd__table *table, size_t more) {
  size_t most = pd__table_most(table->now.capacity), used = table->used + table->left;
  return (used < most && more <= most - used) || pd__table_grow(table, more);
}

/* Add an item that isn't there, and that there is room for. */
void pd__table_add(pd__table *table, uint32_t hash, uint32_t item);

/* Remove an item that is there. Its hash is the one it was added with. */
void pd__table_remove(pd__table *table, uint32_t hash, uint32_t item);

/* Whether the item, whose hash is the same, is the one that is looked for. */
typedef bool pd__table_same(uint32_t item, const void *key);

static inline uint32_t pd__table_probe(pd__table_part part, uint32_t hash, pd__table_same *same,
                                       const void *key) {
  if (!part.slots) return 0;
  for (size_t at = hash & (part.capacity - 1);; at = (at + 1) & (part.capacity - 1)) {
    pd__table_slot slot = part.slots[at];
    if (!slot.item) return 0;
    if (slot.hash != hash || slot.item == PD__TABLE_REMOVED) continue;
    if (same(slot.item, key)) return slot.item;
  }
}

/* Have the cache fetch what a search for the hash reads first. */
static inline void pd__table_fetch(const pd__table *table, uint32_t hash) {
  pd__table_part part = table->now;
  if (part.slots) __builtin_prefetch(&part.slots[hash & (part.capacity - 1)]);
}

/* The item, or 0. Inline, so that `same` is, too. */
static inline uint32_t pd__table_find(const pd__table *table, uint32_t hash, pd__table_same *same,
                                      const void *key) {
  uint32_t item = pd__table_probe(table->now, hash, same, key);
  return item || !table->left ? item : pd__table_probe(table->old, hash, same, key);
}

#endif /* PD__TABLE_H */
