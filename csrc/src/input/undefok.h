/* Names that need not be known: --undefok=a,b. All functions need the lock. */
#ifndef PD__UNDEFOK_H
#define PD__UNDEFOK_H

#include "../base/error.h"

/* A name; borrowed. */
typedef struct pd__word {
  const char *text;
  size_t length;
} pd__word;

/* Start with zeros. */
typedef struct pd__undefok {
  pd__word *names;
  size_t count;
  size_t capacity;
} pd__undefok;

/* False: memory is out. */
bool pd__undefok_add(pd__undefok *list, const char *name, size_t length);

/* Sort it, before the first pd__undefok_has. */
void pd__undefok_close(pd__undefok *list);

/* Whether the name was added, or it is --no<name> of one that was. */
bool pd__undefok_has(const pd__undefok *list, const char *name, size_t length);

void pd__undefok_free(pd__undefok *list);

#endif /* PD__UNDEFOK_H */
