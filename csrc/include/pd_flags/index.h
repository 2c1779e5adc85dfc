/* The index of the host: where the registry keeps its flags in memory, and the layout of its
 * structs. With it, another process can read the flags of this one, without symbols and whatever
 * the versions of both: pd_copy_record.index points to it. docs/reference/abi.md describes it. All
 * of it is constant. */
#ifndef PD_FLAGS_INDEX_H
#define PD_FLAGS_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#define PD_INDEX_MAGIC "pdindex"

/* Increases only when the meaning of rows changes; new rows and kinds don't change it. */
#define PD_INDEX_VERSION 1

/* What a row describes. A reader skips kinds that it doesn't know. */
typedef enum pd_index_kind {
  PD_INDEX_STRUCT = 1, /* a struct of `size` bytes, "flag" */
  PD_INDEX_NUMBER,     /* a field, "flag.line": an unsigned integer or a bool */
  PD_INDEX_POINTER,    /* a field */
  PD_INDEX_TEXT,       /* a field: a pointer to text, or 0 */
  PD_INDEX_NAMES,      /* a field: text, with | between names */
  PD_INDEX_MARK,       /* a field: a bool that is an attribute */
  PD_INDEX_VALUE,      /* a field: a pd_value */
  PD_INDEX_BITS,       /* bits of the struct: those that are set in the example, which is `size` long
                          and at `at` from pd_index.examples */
  PD_INDEX_CONSTANT,   /* the number `at` */
  PD_INDEX_TYPE,       /* the name of a type; `at` is its number, `size` that of a variable */
  PD_INDEX_SOURCE      /* the name of a source; `at` is its number */
} pd_index_kind;

typedef struct pd_index_row {
  char name[24]; /* padded with zeros */
  uint32_t kind; /* pd_index_kind */
  uint32_t at;   /* of a field: its offset */
  uint32_t size; /* in bytes */
} pd_index_row;

typedef struct pd_index {
  char magic[8];     /* PD_INDEX_MAGIC */
  uint32_t version;  /* PD_INDEX_VERSION */
  uint32_t size;     /* of this struct, in bytes */
  uint32_t row_size; /* of a row, in bytes */
  uint32_t row_count;
  const pd_index_row *rows;
  const void *examples;
  const void *const *names;   /* leads to the struct "names" */
  const void *const *modules; /* leads to the struct "list" of structs "module" */
  const bool *startup_over;   /* startup-only flags are frozen */
} pd_index;

#endif /* PD_FLAGS_INDEX_H */
