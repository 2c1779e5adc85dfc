/* A list of items with increasing numbers: lookup by binary search, iteration in order. The caller
 * owns the items and the lock that guards the list. */
#ifndef PD__NUMBERED_H
#define PD__NUMBERED_H

#include <stdint.h>

#include "arena.h"

typedef struct pd__numbered_row {
  uint64_t number;
  void *item; /* NULL if removed */
} pd__numbered_row;

/* Initialize with zeros. */
typedef struct pd__numbered {
  pd__arena arena; /* owns the rows */
  pd__numbered_row *rows;
  size_t count, capacity, removed;
  uint64_t last;
} pd__numbered;

/* Adds an item and returns its number; 0 if memory runs out. */
uint64_t pd__numbered_add(pd__numbered *list, void *item);

/* Returns NULL if no item has the number. */
void *pd__numbered_find(const pd__numbered *list, uint64_t number);
void pd__numbered_remove(pd__numbered *list, uint64_t number);

/* Returns the item with the smallest number above `number`; NULL if there is none. */
void *pd__numbered_find_after(const pd__numbered *list, uint64_t number);

#endif /* PD__NUMBERED_H */
