#include "table.h"

#include <stdlib.h>

#define SMALLEST 64u /* slots */

/* Slots of the old array that each addition moves: a sixteenth of as many additions as it has slots
 * have moved all. The new array has room for at least seven sixteenths more, so it isn't full
 * before; and searches soon read one array alone. */
#define STEP 16u

static bool is_taken(const pd__table_slot *slot) {
  return slot->item && slot->item != PD__TABLE_REMOVED;
}

/* Put an item that isn't there into the array that has room. */
static void put(pd__table *table, pd__table_slot item) {
  size_t last = table->now.capacity - 1, at = item.hash & last;
  while (is_taken(&table->now.slots[at])) at = (at + 1) & last;
  if (!table->now.slots[at].item) table->used++;
  table->now.slots[at] = item;
}

static void move(pd__table *table, size_t slots) {
  for (; table->left > 0 && slots > 0; slots--) {
    pd__table_slot *slot = &table->old.slots[table->moved++];
    if (!is_taken(slot)) continue;
    put(table, *slot);
    slot->item = PD__TABLE_REMOVED; /* what stands behind it is still found */
    table->left--;
  }
  if (table->left > 0 || !table->old.slots) return;
  free(table->old.slots);
  table->old = (pd__table_part){.slots = NULL};
}

/* Where half of the slots are those of removed items, an array of the same size has room
 * again. Large arrays of calloc are zeroed by the system, page by page when they are used. */
bool pd__table_grow(pd__table *table, size_t more) {
  size_t needed = table->count + more;
  size_t capacity = table->now.capacity ? table->now.capacity : SMALLEST;
  if (more > PD__TABLE_MOST - table->count) return false;
  if (needed > pd__table_most(capacity) / 2) capacity *= 2;
  while (needed > pd__table_most(capacity)) capacity *= 2;
  pd__table_slot *slots = calloc(capacity, sizeof *slots);
  if (!slots) return false;
  move(table, SIZE_MAX);
  table->old = table->now;
  table->now = (pd__table_part){slots, capacity};
  table->moved = table->used = 0;
  table->left = table->count;
  move(table, 0);
  return true;
}

void pd__table_add(pd__table *table, uint32_t hash, uint32_t item) {
  move(table, STEP);
  put(table, (pd__table_slot){hash, item});
  table->count++;
}

static bool remove_from(pd__table_part part, uint32_t hash, uint32_t item) {
  if (!part.slots) return false;
  for (size_t at = hash & (part.capacity - 1);; at = (at + 1) & (part.capacity - 1)) {
    if (!part.slots[at].item) return false;
    if (part.slots[at].item != item) continue;
    part.slots[at].item = PD__TABLE_REMOVED;
    return true;
  }
}

void pd__table_remove(pd__table *table, uint32_t hash, uint32_t item) {
  bool now = remove_from(table->now, hash, item);
  if (!now && !remove_from(table->old, hash, item)) return;
  table->count--;
  if (!now) table->left--;
}
