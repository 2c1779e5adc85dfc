/* Memory that lives until the process ends, and interned strings. The caller holds the registry's
 * lock unless a function says otherwise. */
#ifndef PD__TEXT_H
#define PD__TEXT_H

#include <stddef.h>

/* Returns `size` zeroed bytes, aligned for pointers and numbers. Never freed. NULL if memory is
 * out. */
void *pd__alloc_forever(size_t size);

/* Returns a copy that is never freed. It isn't interned. NULL if memory runs out. */
const char *pd__copy_text_forever(const char *text);

/* Copies the `size` bytes at `from` together with `count` strings that they point to, in one block:
 * `texts` has the offsets of the pointers, which may be NULL. *whole is the size of the block. The
 * caller frees it with free(). NULL if memory runs out. Needs no lock. */
void *pd__copy_with_texts(const void *from, size_t size, const size_t *texts, size_t count,
                          size_t *whole);

/* Returns the interned copy of `text`, which is never freed. NULL if `text` is NULL or if memory is
 * out; a string that is already interned needs no memory. */
const char *pd__intern_text(const char *text);

/* In names of flags, `-` and `_` are equal. Needs no lock. */
static inline char pd__normalize_dash(char c) { return c == '-' ? '_' : c; }

/* Returns the value of a digit of any base up to 16; 16 for other characters. Needs no lock. */
static inline unsigned pd__read_digit(char c) {
  if (c >= '0' && c <= '9') return (unsigned)(c - '0');
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;
}

#endif /* PD__TEXT_H */
