/* Modules: how their records join and leave the registry, how modules are loaded by path, and which
 * copy of the library hosts the registry. This layer may use base, platform, value, registry,
 * definition and op.
 *
 * A pd_module (registry.h) is an image; its pd__membership holds its record and the definitions
 * read from it, pd__defs. A pd_table holds the functions that the host offers. */
#ifndef PD__MODULE_H
#define PD__MODULE_H

#include "../op/op.h"

/* ---- The definitions of a record (record.c). The caller holds the lock. ---- */

/* Definitions in the form that the registry takes. */
typedef struct pd__defs {
  pd__cell *cells; /* one for each definition, in the order of the source */
  size_t count;
  pd__impl *impls; /* operations and implementations, likewise */
  size_t impls_count;
  pd__arena arena;       /* owns copies of definitions */
  struct pd__defs *more; /* late ones */
} pd__defs;

/* Late definitions, the last one first. `end` is one past the last. */
typedef struct pd__runtime_defs {
  pd_late_def *first, *end;
} pd__runtime_defs;

/* Returns the late definitions of a record in an image that ends at `high`: all of them, or those
 * that haven't been seen. */
pd__runtime_defs pd__runtime_defs_get_range(const pd_module_record *record, uintptr_t high,
                                            bool all);

/* Writes the result to each of them: `refusal`, or if that is NULL, the flag that `defs`
 * defined. */
void pd__runtime_defs_store_result(pd__runtime_defs runtime_defs, const pd__defs *defs,
                                   const pd_error *refusal);

/* Collects the definitions of `record` (may be NULL) and `runtime_defs`, for the module, with their
 * names in the namespace, and checks each one by itself. The caller drops the result, also after an
 * error; it is NULL if memory runs out, which is reported. */
pd__defs *pd__defs_read(const pd_module_record *record, pd__runtime_defs runtime_defs,
                        pd_module *module, const char *name_space, pd__report *report);

/* Frees a list and sets it to NULL. */
void pd__defs_free_list(pd__defs **list);

/* ---- Membership (join.c) ---- */

typedef struct pd__loading pd__loading; /* load.c */

typedef struct pd__membership {
  pd_module_record *record;        /* NULL: none, or gone */
  const char *name_space;          /* of its definitions; "" for none; interned */
  pd__defs *defs;                  /* a list; those of the record come first */
  pd_status status;                /* why it was refused */
  pd_error_list *errors;           /* owned; from the last join; may be NULL */
  pd_error_list *refused;          /* owned; those of them that no pd_module_load returns */
  const pd__loading *joined_in;    /* the pd_module_load under way in which it joined, or NULL */
  const pd_module *withdrawn_with; /* the refused module that it came with, or NULL */
  bool has_companions;             /* some module was withdrawn with this one */
  bool announces;                  /* it joined by itself, so it also leaves by itself */
} pd__membership;

/* Returns the module of an image that is being loaded, with a membership; NULL if memory runs out.
 * The caller holds the lock. Modules are never freed. */
pd_module *pd__member_add(const pd__platform_image *image);

/* Joins a record, or joins it again, as part of `load` (may be NULL). `image` may be NULL if the
 * record's module is known. Returns the module; NULL if it isn't one of this ABI, has left
 * meanwhile, or memory runs out. The caller holds the lock. */
pd_module *pd__member_join(pd__operation *operation, pd_module_record *record,
                           const pd__platform_image *image, pd__loading *load);

/* Undefines and drops all definitions of the module. The caller holds the lock. */
void pd__member_drop_definitions(pd__operation *operation, pd_module *module);

/* Removes the module's registered definitions and hooks, so that nothing calls into it any more.
 * The caller holds the lock. */
void pd__member_undo_registrations(pd__operation *operation, pd_module *module);

/* Makes a module that stays loaded leave as if it were unloaded: it joins again when it is loaded
 * again. The caller holds the lock. */
void pd__member_withdraw(pd__operation *operation, pd_module *module);

/* This copy hosts the registry; records will point at `host`, which is never freed. */
void pd__members_set_host(const pd_host *host);

/* The functions of pd_host. They take the lock. */
void pd__module_join(pd_module_record *record);
void pd__module_leave(pd_module_record *record);

/* Joins the modules that were loaded before the registry: those of the image that holds `inside`,
 * or of every image if that is NULL. Takes the lock. */
void pd__members_join_loaded(const void *inside);

/* ---- Loading (load.c; pd__loading_find_current is in join.c) ---- */

/* A module that has joined, or was refused, as part of a load. It is listed again if it is refused
 * later in that load. */
typedef struct pd__joined {
  pd_module *module;
  bool refused; /* here; another load may have let it join since */
  struct pd__joined *next;
} pd__joined;

/* A pd_module_load under way on this thread. Modules that join meanwhile belong to it: the one that
 * it names and its dependencies. It isn't on the stack, which a callback may leave by longjmp. */
struct pd__loading {
  const char *path;       /* in the arena */
  const char *name_space; /* "" for none; interned */
  uintptr_t frame;        /* where it began */
  pd__report report;      /* of the modules that join in it */
  pd_error first;         /* of the report */
  pd__joined *joined;     /* these modules, the last one first; in the arena */
  pd__arena arena;
  pd_module *module; /* the module of that path, which is opened once more for this load */
  bool lost;         /* memory was out when a module joined */
  pd__loading *outer;
};

/* Returns the load that this thread is in; NULL if there is none. */
pd__loading *pd__loading_find_current(void);

/* Begins one, and ends it: returns the one before. */
void pd__loading_begin(pd__loading *load);
void pd__loading_end(const pd__loading *load);

/* This copy hosts the registry. */
void pd__loads_set_close_handler(void);

/* ---- Copies of the library (copies.c) ---- */

/* Returns the host's table, never freed; NULL if there is a host of another ABI. The first call
 * elects the host; `own` is the table of this copy. Any thread, without the lock. */
const pd_table *pd__copies_find_or_elect_host(const pd_table *own);

/* The same table once it is known, if it has every function; NULL otherwise. Read atomically. */
extern const pd_table *pd__complete_table;

/* Returns true if the host has the function at an offset of the table. A host of an older version
 * or of a small build may lack it. */
bool pd__table_has_function(const pd_table *table, size_t offset);

#endif /* PD__MODULE_H */
