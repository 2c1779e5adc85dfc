/* Memory that lives until the process ends, and text that is stored once.
 * All functions need the registry's lock. */
#ifndef PD__TEXT_H
#define PD__TEXT_H

#include <stddef.h>

/* `size` bytes, aligned for pointers and numbers; NULL when memory is out. Never freed. */
void *pd__forever(size_t size);

/* A copy of text that is stored once only, as far as the caller knows: it isn't looked for. NULL
 * when memory is out. */
const char *pd__forever_text(const char *text);

/* A copy of the `size` bytes at `from`, of malloc, with copies of `count` texts of it behind them:
 * `texts` has the offsets of their pointers, which may be NULL. *whole: all of its bytes. NULL when
 * memory is out. No lock. */
void *pd__copy_whole(const void *from, size_t size, const size_t *texts, size_t count,
                     size_t *whole);

/* The one stored copy of `text`; NULL for NULL and when memory is out, which
 * can't be for text that is stored already. */
const char *pd__intern(const char *text);

#endif /* PD__TEXT_H */
