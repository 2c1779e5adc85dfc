/* Comma lists: the text of a list flag, one record of RFC 4180, item by item. */
#ifndef PD__LIST_H
#define PD__LIST_H

#include <stdbool.h>
#include <stddef.h>

#include <pd_flags/items.h>

/* A cursor at the first item of a list; NULL where it has none. */
const char *pd__items_begin(const char *list);

/* Whether the item at `item` can't be read because of blanks around it. */
bool pd__items_blanks(const char *item);

/* Write the item at *cursor to `buffer` as snprintf does, its whole length to
 * *length, and move *cursor to the next one: NULL after the last. False: the text
 * isn't a list, and *cursor stays. */
bool pd__items_next(const char **cursor, char *buffer, size_t size, size_t *length);

#endif /* PD__LIST_H */
