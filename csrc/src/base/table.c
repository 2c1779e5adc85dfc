#include "table.h"

#include <stdlib.h>

#define SMALLEST 64u /* slots */

/* Slots of the old array that each addition moves. The move is complete after capacity/16
 * additions. The new array has room for at least six times as many, so it can't fill up before;
 * and lookups soon read only one array. */
#define STEP 16u

static bool is_occupied(const pd__table_slot *slot) {
  return slot->item && slot->item != PD__TABLE_REMOVED;
}

/* Adds an item to the new array, which must have room and not contain it. */
static void insert_slot(pd__table *table, pd__table_slot item) {
  size_t last = table->current.capacity - 1, at = item.hash & last;
  while (is_occupied(&table->current.slots[at])) at = (at + 1) & last;
  if (!table->current.slots[at].item) table->used++;
  table->current.slots[at] = item;
}

static void rehash_old_slots(pd__table *table, size_t slots) {
  for (; table->left > 0 && slots > 0; slots--) {
    pd__table_slot *slot = &table->previous.slots[table->moved++];
    if (!is_occupied(slot)) continue;
    insert_slot(table, *slot);
    slot->item = PD__TABLE_REMOVED; /* keep probing past this slot */
    table->left--;
  }
  if (table->left > 0 || !table->previous.slots) return;
  free(table->previous.slots);
  table->previous = (pd__table_part){.slots = NULL};
}

/* If half of the slots hold removed items, a new array of the same size is enough. Large arrays
 * from calloc cost nothing here: the system zeroes each page on first use. */
bool pd__table_grow(pd__table *table, size_t more) {
  size_t needed = table->count + more;
  size_t capacity = table->current.capacity ? table->current.capacity : SMALLEST;
  if (more > PD__TABLE_MOST - table->count) return false;
  if (needed > pd__table_limit(capacity) / 2) capacity *= 2;
  while (needed > pd__table_limit(capacity)) capacity *= 2;
  pd__table_slot *slots = calloc(capacity, sizeof *slots);
  if (!slots) return false;
  rehash_old_slots(table, SIZE_MAX);
  table->previous = table->current;
  table->current = (pd__table_part){slots, capacity};
  table->moved = table->used = 0;
  table->left = table->count;
  rehash_old_slots(table, 0);
  return true;
}

void pd__table_add(pd__table *table, uint32_t hash, uint32_t item) {
  rehash_old_slots(table, STEP);
  insert_slot(table, (pd__table_slot){hash, item});
  table->count++;
}

static bool remove_from_part(pd__table_part part, uint32_t hash, uint32_t item) {
  if (!part.slots) return false;
  for (size_t at = hash & (part.capacity - 1);; at = (at + 1) & (part.capacity - 1)) {
    if (!part.slots[at].item) return false;
    if (part.slots[at].item != item) continue;
    part.slots[at].item = PD__TABLE_REMOVED;
    return true;
  }
}

void pd__table_remove(pd__table *table, uint32_t hash, uint32_t item) {
  bool now = remove_from_part(table->current, hash, item);
  if (!now && !remove_from_part(table->previous, hash, item)) return;
  table->count--;
  if (!now) table->left--;
}
