/* Items under numbers that only grow: found in logarithmic time, and in their order. */
#ifndef PD__NUMBERED_H
#define PD__NUMBERED_H

#include <stdint.h>

#include "arena.h"

typedef struct pd__numbered_row {
  uint64_t number;
  void *item; /* NULL: removed */
} pd__numbered_row;

/* Start with zeros. */
typedef struct pd__numbered {
  pd__arena arena; /* of the rows */
  pd__numbered_row *rows;
  size_t count, capacity, removed;
  uint64_t last;
} pd__numbered;

/* Add an item; its number, or 0 when memory is out. */
uint64_t pd__numbered_add(pd__numbered *list, void *item);

/* NULL: there is none. */
void *pd__numbered_find(const pd__numbered *list, uint64_t number);
void pd__numbered_remove(pd__numbered *list, uint64_t number);

/* The item with the smallest number above `number`; NULL: none. */
void *pd__numbered_after(const pd__numbered *list, uint64_t number);

#endif /* PD__NUMBERED_H */
