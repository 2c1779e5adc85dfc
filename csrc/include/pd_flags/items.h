/* The items of a comma list, which is one record of RFC 4180, and what messages expect. Used by the
 * library, and by modules that don't link it. */
#ifndef PD_FLAGS_ITEMS_H
#define PD_FLAGS_ITEMS_H

#include <pd_flags/names_push.h>

#include <pd_flags/language.h>

#include <stddef.h>

/* For messages: what was expected instead of an item that can't be read. */
#define PD__ITEM_EXPECTED "text, in double quotes if it has quotes or line breaks"

/* Likewise of a bool. */
#define PD__BOOL_EXPECTED "true or false (or yes/no, on/off, y/n, t/f, 1/0)"

PD__BEGIN_C

/* Write the item at *cursor to `buffer` as snprintf does, and its whole length to
 * *length. Blanks around it don't belong to it, unless it is in quotes. Move *cursor to
 * the next item, or to NULL after the last. Returns 0 and leaves *cursor alone if the
 * text isn't a list. */
static inline int pd__item_read(const char **cursor, char *buffer, size_t size, size_t *length) {
  const char *at = *cursor + __builtin_strspn(*cursor, " \t");
  int quoted = *at == '"';
  size_t used = 0, blanks = 0; /* at its end */
  for (at += quoted;; at++) {
    if (quoted && !*at) return 0;
    if (quoted ? *at == '"' && *++at != '"' : !*at || __builtin_strchr(",\"\r\n", *at)) break;
    if (used + 1 < size) buffer[used] = *at;
    blanks = *at == ' ' || *at == '\t' ? blanks + 1 : 0;
    used++;
  }
  if (quoted) at += __builtin_strspn(at, " \t");
  else used -= blanks;
  if (size > 0) buffer[used < size ? used : size - 1] = '\0';
  if (*at && *at != ',') return 0;
  *length = used;
  *cursor = *at ? at + 1 : NULL;
  return 1;
}

PD__END_C

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_ITEMS_H */
