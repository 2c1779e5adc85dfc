/* The only reader of JSON (RFC 8259), a strict one: no duplicate members, no NUL, no lone
 * surrogates, nothing behind the value. */
#ifndef PD_LIVE_JSON_H
#define PD_LIVE_JSON_H

#include <stdbool.h>
#include <stddef.h>

enum { PD__DEPTH_MAX = 64, PD__VALUES_MAX = 16384 };

typedef enum pd__kind {
  PD__NULL,
  PD__BOOL,   /* text "true" or "false" */
  PD__NUMBER, /* text as it stands there */
  PD__STRING,
  PD__OBJECT,
  PD__ARRAY
} pd__kind;

typedef struct pd__value {
  pd__kind kind;
  const char *name;        /* of a member of an object; else NULL */
  const char *text;        /* UTF-8; NULL for null, objects and arrays */
  struct pd__value *first; /* in an object or array */
  struct pd__value *next;
} pd__value;

typedef struct pd__document {
  pd__value *root;
  void *memory; /* of all */
} pd__document;

/* Reads `length` bytes. Returns NULL, or what is wrong: static text, with *at where it is; then
 * there is nothing to free. */
const char *pd__document_read(pd__document *out, const char *bytes, size_t length, size_t *at);
void pd__document_free(pd__document *document);

/* Returns the member of an object; NULL: there is none. */
const pd__value *pd__value_find_member(const pd__value *object, const char *name);

/* Counts the values from `first` on. */
size_t pd__values_count(const pd__value *first);

/* Returns the length of the character at `bytes`, which isn't ASCII; 0: it isn't well-formed. */
size_t pd__utf8_sequence_length(const char *bytes, size_t left);

#endif /* PD_LIVE_JSON_H */
