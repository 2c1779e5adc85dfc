/* The items of a comma list, one record of RFC 4180: for the library, and for modules
 * that don't link it. */
#ifndef PD_FLAGS_ITEMS_H
#define PD_FLAGS_ITEMS_H

#include <pd_flags/names_push.h>

#include <pd_flags/language.h>

#include <stddef.h>

/* What an item must be that can't be read, for messages. */
#define PD__ITEM_EXPECTED                                                      \
  "text, in double quotes if it has quotes, line breaks or blanks at its ends"

PD__BEGIN_C

/* Write the item at *cursor to `buffer` as snprintf does, its whole length to
 * *length, and move *cursor to the next one: NULL after the last. 0: the text
 * isn't a list, and *cursor stays. */
static inline int pd__item_read(const char **cursor, char *buffer, size_t size, size_t *length) {
  const char *start = *cursor, *at = start;
  int quoted = *at == '"', blank;
  size_t used = 0;
  for (at += quoted;; at++) {
    if (quoted && !*at) return 0;
    if (quoted ? *at == '"' && *++at != '"' : !*at || __builtin_strchr(",\"\r\n", *at)) break;
    if (used + 1 < size) buffer[used] = *at;
    used++;
  }
  if (size > 0) buffer[used < size ? used : size - 1] = '\0';
  blank = used > 0 && (*start == ' ' || *start == '\t' || at[-1] == ' ' || at[-1] == '\t');
  if (!quoted && blank) return 0;
  if (*at && *at != ',') return 0;
  *length = used;
  *cursor = *at ? at + 1 : NULL;
  return 1;
}

PD__END_C

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_ITEMS_H */
