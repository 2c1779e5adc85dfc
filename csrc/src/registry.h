/* The one table of the process: names, flags, their cells and the values that
 * they were given.
 *
 * Everything here needs the lock of platform.h, unless it says otherwise, and
 * nothing here calls foreign code while it is held. */
#ifndef PD__REGISTRY_H
#define PD__REGISTRY_H

#include "api.h"
#include "error.h"
#include "value.h"

/* A definition or import that a flag has in a module; the variable is
 * def->cell. `module` is NULL for pd_flag_register. */
typedef struct pd__cell {
  const pd_flag_def *def;
  pd_module *module;
  pd_flag *flag; /* whose list it is in; NULL: none */
  struct pd__cell *next;
} pd__cell;

/* One value that a flag was given. */
typedef struct pd__entry {
  pd_value value; /* a string is interned */
  pd_origin origin;
  pd_layer layer; /* 0: none */
  struct pd__entry *next;
} pd__entry;

typedef struct pd__pending pd__pending; /* pending.h */

/* A name. It is a flag while `def` is set, another name of one while `alias_of`
 * is set, and otherwise waits for its definition with the cells that import it
 * and the values that a former definition was given. Nodes are never freed. */
struct pd_flag {
  /* The current value, in the form of a cell. Who still reads it as it was when
   * a definition of another type has come must find no pointer in a number, nor
   * a number in a bool. */
  const char *text;
  union {
    int32_t i32;
    int64_t i64;
    double f64;
  } number;
  const pd_flag_def *def;
  const char *name; /* spelled as in the last definition, before that as first met */
  pd_flag *alias_of;
  pd_flag *following; /* in the order of pd_flag_next */
  pd__cell *cells;
  pd__pending *pending; /* given while nobody defined the name; in order */
  pd__entry *entries;   /* the current value first; none: the default */
  const void *mark;     /* of the operation under way */
  uint32_t hash;
  uint32_t index; /* in the order in which names were met */
  uint32_t claim; /* the definition under way that wants this name */
  uint8_t type;   /* of `entries`; outlives the definition */
  bool frozen;    /* by pd_flag_freeze; outlives the definition */
  bool listed;    /* in the order of pd_flag_next, from the first definition on */
  bool truth;     /* the current value of a bool */
  uint8_t state;  /* as pd_flag_get_state says; for readers without the lock */
};

/* ---- Names (names.c) ---- */

/* No lock. */
bool pd__name_valid(const char *name);

/* The node of a name (`-` and `_` alike), or NULL; doesn't follow aliases. */
pd_flag *pd__names_find(const char *name, size_t length);

/* The same, made where it is missing; NULL when memory is out. */
pd_flag *pd__names_add(const char *name, size_t length);

/* The node at `index`; NULL past the last. */
pd_flag *pd__names_at(uint32_t index);

/* The flag that `name` means, through an alias or not; NULL: undefined. */
pd_flag *pd__names_resolve(const char *name, size_t length);

/* The name, stored for good; NULL when memory is out, which can't be for a name
 * that is stored already. */
const char *pd__names_stored(const char *name, size_t length);

/* Put a flag at the end of the order of pd_flag_next, unless it is there. */
void pd__names_list(pd_flag *flag);

/* The flag behind `previous` in that order, defined or not; NULL gives the first. */
pd_flag *pd__names_listed(const pd_flag *previous);

/* ---- Near names (hint.c) ---- */

/* Write the known flag that `name` is nearest to, if one is near, as
 * "; did you mean 'x'?" with `prefix` before the name; otherwise "". A `prefix`
 * that is NULL asks for the name of a flag, and never for the negation of one. */
#define PD__HINT_SIZE (PD_NAME_MAX + 40)
void pd__names_hint(const char *name, size_t length, const char *prefix, char out[PD__HINT_SIZE]);

/* ---- One definition by itself (check.c) ---- */

/* Copy a definition of another version's size into today's form. No lock. */
pd_status pd__def_convert(const pd_flag_def *from, pd_flag_def *to, pd_error *err);

/* Check all of it that can be checked without the registry. No lock. */
pd_status pd__def_check(const pd_flag_def *def, pd_error *err);

/* Fail because of what the definition says. No lock. */
pd_status pd__def_refuse(const pd_flag_def *def, pd_status status, const char *why, pd_error *err);

/* ---- Definitions (define.c) ---- */

/* Define all of `count` definitions or none. cells[i].def points at a
 * definition that pd__def_check accepted; on success the cells belong to the
 * registry until pd__undefine. Refusals go to `report`. Then apply what waited
 * for the names; a value that doesn't suit goes to `waiting` and is dropped. */
bool pd__define(pd__cell *cells, size_t count, pd__report *report, pd__report *waiting);

/* Take the cells away. A flag that no definition is left of is undefined. */
void pd__undefine(pd__cell *cells, size_t count);

/* Take away the cells of pd_flag_register that lie between two addresses. */
void pd__forget_between(uintptr_t low, uintptr_t high);

/* ---- Values (change.c) ---- */

/* True once a command line has been parsed: startup-only flags are frozen. */
extern bool pd__startup_over;

/* A checked assignment, with all the memory that it needs. */
typedef struct pd__change {
  pd_flag *flag;
  pd__entry *entry;  /* malloc'ed; NULL: a value is taken away */
  pd_source dropped; /* whose */
} pd__change;

/* Check and prepare. `text` wins over `value`. On error nothing is held. */
pd_status pd__change_prepare(pd__change *change, pd_flag *flag, const char *text, pd_value value,
                             const pd_origin *origin, pd_error *err);

/* The same for a flag that is being defined: startup may be over. */
pd_status pd__change_prepare_early(pd__change *change, pd_flag *flag, const char *text,
                                   const pd_origin *origin, pd_error *err);

/* Can't fail; frees nothing that a reader may hold. */
void pd__change_commit(pd__change *change, pd_layer layer);

/* Changes that are made together. Start with zeros. */
typedef struct pd__changes {
  pd__change *items;
  size_t count;
  size_t capacity;
} pd__changes;

/* Prepare one more; an error goes to `report`. */
void pd__changes_add(pd__changes *changes, pd_flag *flag, const char *text, pd_value value,
                     const pd_origin *origin, pd__report *report);

/* Prepare to take away what `source` gave the flag, if it gave anything. */
void pd__changes_drop(pd__changes *changes, pd_flag *flag, pd_source source, pd__report *report);

/* Ask the validators, then commit all if there was no error, otherwise drop all.
 * Gives report->status. Lets go of the lock while it calls a validator; from the
 * commit on it holds it. */
pd_status pd__changes_finish(pd__changes *changes, pd_layer layer, pd__report *report);

/* Without the lock: tell the watchers what has changed, and hand out warnings. */
void pd__changes_tell(pd__changes *changes);

/* Drop all values but the default, or give the default to the top layer. */
void pd__flag_drop_values(pd_flag *flag);

/* Whether `source` gave the flag the value that `text` reads as. */
bool pd__flag_has(const pd_flag *flag, pd_source source, const char *text);

/* Remove the value that `source` gave. */
void pd__flag_drop_source(pd_flag *flag, pd_source source);

/* Remove the values of `layer`. */
void pd__flag_pop(pd_flag *flag, pd_layer layer);

/* Check the values that waited for the definition, of type `was`; drop the
 * ones that don't suit, with an error each. */
void pd__flag_review(pd_flag *flag, pd_type was, pd__report *report);

/* The default, with its text interned, which was done on definition. */
pd_value pd__def_default(const pd_flag_def *def);

/* The value that holds, as the entries say, to the node and all cells. */
void pd__flag_publish(pd_flag *flag);

pd_value pd__flag_value(const pd_flag *flag);

/* The node's own copy of the value. */
void *pd__flag_address(const pd_flag *flag);

/* Where a value came from, up to the name: "flags.conf:3: ", "environment: ", or "".
 * Gives `out`. */
#define PD__PLACE_SIZE (PD_NAME_MAX + 32)
const char *pd__place_of(const pd_origin *origin, char out[PD__PLACE_SIZE]);

/* Where a value came from, as the beginning of a message about it. Gives `out`. */
#define PD__SOURCE_SIZE (3 * PD_NAME_MAX + 64)
const char *pd__source_of(const char *name, const pd_origin *origin, char out[PD__SOURCE_SIZE]);

/* An origin that a host may give: no default, no layer. NULL is allowed. */
pd_status pd__origin_check(const pd_origin *origin, pd_error *err);

/* PD_OK, or why the flag takes no value from `origin`: undefined, read-only,
 * frozen. */
pd_status pd__flag_check_open(const pd_flag *flag, const pd_origin *origin, pd_error *err);
pd_status pd__flag_check_defined(const pd_flag *flag, pd_error *err);
pd_status pd__flag_check_type(const pd_flag *flag, pd_type type, pd_error *err);

/* Check a flag and the type of what it is to be given; text suits every type. */
pd_status pd__assignment_check(const pd_assignment *item, pd_error *err);

extern const pd_origin pd__at_run_time;

/* The module that a flag's first definition stands in, or NULL. */
pd_module *pd__flag_owner(const pd_flag *flag);

/* ---- Modules (module.c) ---- */

const char *pd__module_path(const pd_module *module);

/* What pd_host offers. No lock. */
void pd__module_join(pd_module_record *record);
void pd__module_leave(pd_module_record *record);

/* Join the modules that were here before the registry. No lock. */
void pd__join_those_before(void);

/* ---- Copies (copies.c) ---- */

/* This copy, as modules see it when it hosts the registry. */
extern const pd_host *const pd__own_host;

#endif /* PD__REGISTRY_H */
