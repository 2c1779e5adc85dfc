/* Modules: how their records join the registry and leave it, loading them by path, and which copy
 * of the library hosts the registry. This layer may use base, platform, value, registry and
 * definition.
 *
 * A pd_module (registry.h) is an image; its pd__membership is its record with what was read of
 * it, pd__defs. A pd_table is what the host offers. */
#ifndef PD__MODULE_H
#define PD__MODULE_H

#include "../definition/definition.h"

/* ---- The definitions of a record (record.c). All functions need the lock. ---- */

/* Definitions as the registry takes them. */
typedef struct pd__defs {
  pd__cell *cells; /* one for each definition, in the order of the source */
  size_t count;
  pd__arena arena;       /* of copies of definitions */
  struct pd__defs *more; /* those that came later */
} pd__defs;

/* Definitions that came late, the last one first: up to `end`, which isn't among them. */
typedef struct pd__lates {
  pd_late_def *first, *end;
} pd__lates;

/* Those of a record in an image that ends at `high`; only those that nobody has seen,
 * unless `all`. */
pd__lates pd__lates_of(const pd_module_record *record, uintptr_t high, bool all);

/* Say in them what became of them. `refusal` NULL: those in `defs` are defined. */
void pd__lates_settle(pd__lates lates, const pd__defs *defs, const pd_error *refusal);

/* Collect definitions and check each by itself: those of `record` (NULL: none), and
 * `lates`. What is read is to be dropped, also on an error; NULL when memory is out, an error. */
pd__defs *pd__defs_read(const pd_module_record *record, pd__lates lates, pd_module *module,
                        pd__report *report);

/* Drop all of a list, which is empty then. */
void pd__defs_drop(pd__defs **list);

/* ---- Membership (join.c) ---- */

typedef struct pd__loading pd__loading; /* load.c */

typedef struct pd__membership {
  pd_module_record *record;        /* NULL: none, or gone */
  pd__defs *defs;                  /* first those of the record */
  pd_status status;                /* why it was refused */
  pd_error_list *errors;           /* of joining; may be NULL */
  const pd__loading *joined_in;    /* the pd_module_load that is under way, or NULL */
  const pd_module *withdrawn_with; /* the refused one that had brought it, or NULL */
} pd__membership;

/* The module of an image that arrives, with a membership; NULL when memory is out. */
pd_module *pd__member_add(const pd__platform_image *image);

/* With the lock. Join a record, or join it again, in `load` (NULL: in none). `image` NULL: its
 * module is known. */
void pd__member_join(pd__operation *operation, pd_module_record *record,
                     const pd__platform_image *image, pd__loading *load);

/* With the lock. Take all of its definitions away, and drop them. */
void pd__member_undefine(pd__operation *operation, pd_module *module);

/* With the lock. It leaves: it is to be called for nothing more. */
void pd__member_leave(pd__operation *operation, pd_module *module);

/* This copy hosts the registry, and modules will see it as `host`. */
void pd__members_begin(const pd_host *host);

/* No lock: what pd_host offers. */
void pd__module_join(pd_module_record *record);
void pd__module_leave(pd_module_record *record);

/* No lock: join the modules that were here before the registry; those of the image that holds
 * `inside` (NULL: of every image). */
void pd__members_visit(const void *inside);

/* ---- Loading (load.c; what is under way, join.c) ---- */

/* A pd_module_load under way on this thread: the modules that join meanwhile belong to it, the one
 * that it names and those that it depends on. */
struct pd__loading {
  const char *path;
  const char *name_space; /* "" for none */
  bool lost;              /* a module joined that no memory was left for */
  pd__loading *outer;
};
extern _Thread_local pd__loading *pd__loading_now;

/* ---- Copies of the library (copies.c) ---- */

/* No lock. The table of the host; the first call lets this copy, whose table is `own`, arrive.
 * NULL: a host of another ABI is there. */
const pd_table *pd__copies_host(const pd_table *own);

/* The same once it is known, if that table lacks no function; else NULL. */
extern const pd_table *pd__complete_table;

/* Whether a host of an older version, or of a small build, has the function at an offset. */
bool pd__table_has(const pd_table *table, size_t offset);

#endif /* PD__MODULE_H */
