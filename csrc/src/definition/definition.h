/* Definitions: what is checked of one by itself and of one against the others, how a module's are
 * taken all together or not at all, and the values that wait for them. This layer may use base,
 * platform, value and registry.
 *
 * A definition is a pd_flag_def; a pd__cell ties it to its flag; a pd__pending is a value for a
 * name that isn't defined. Everything here needs the lock unless it says otherwise. */
#ifndef PD__DEFINITION_H
#define PD__DEFINITION_H

#include "../registry/change.h"

/* ---- One definition by itself (verify.c). No lock. ---- */

/* Copy a definition of another version's size into today's form. */
pd_status pd__def_convert(const pd_flag_def *from, pd_flag_def *to, pd_error *err);

/* Check all of it that can be checked without the registry; with `defines` that it is no import,
 * too. */
pd_status pd__def_check(const pd_flag_def *def, bool defines, pd_error *err);

/* Its default as messages show it: "'text'", "<redacted>". Gives `out`. */
#define PD__DEFAULT_SIZE (PD__QUOTE_SIZE + 2)
const char *pd__def_show_default(const pd_flag_def *def, char out[PD__DEFAULT_SIZE]);

/* A walk over the names of a definition: its own, the aliases, the old names. Begins with `def`
 * alone; with PD__NAME_OWN for the others only. */
typedef struct pd__naming {
  const pd_flag_def *def;
  enum { PD__NAME_NONE, PD__NAME_OWN, PD__NAME_ALIAS, PD__NAME_OLD } kind;
  const char *name; /* ends behind `length` bytes */
  size_t length;
  const char *rest; /* of the names of the kind; NULL: none is left */
} pd__naming;

/* Step to the first name, or the next; false: there is none. Most have no others. No lock. */
bool pd__naming_step(pd__naming *at);
static inline bool pd__naming_next(pd__naming *at) {
  bool any = at->kind == PD__NAME_NONE || at->def->aliases || at->def->old_names;
  return any && pd__naming_step(at);
}

/* ---- One against the others (conflict.c) ---- */

/* The definitions that are checked together, one after the other. */
typedef struct pd__batch {
  pd__operation *operation;
  const pd__cell *cells;
  uint32_t claim;       /* in flag->claim of the names that they take */
  const pd__cell *cell; /* that is checked now */
  bool imports;         /* there are some among them */
  bool texts;           /* some have text that outlives them, besides their own names */
  pd_error err;         /* why it is refused */
} pd__batch;

/* The same line of source, compiled into two modules. */
bool pd__def_same(const pd_flag_def *a, const pd_flag_def *b);

/* Another definition has the name `node` already. Fills the error with both places. */
pd_status pd__conflict(pd__batch *batch, const pd_flag *node);

/* Whether the definition may take a name that is free, that of `node`. Of a bool `b` and a flag
 * `nob` one could never be given on a command line: PD_ERR_CONFLICT where the name makes such a
 * pair. PD_ERR_TYPE where an import that waits for it has another type. */
pd_status pd__conflict_of_name(pd__batch *batch, const pd__naming *of, const pd_flag *node);

/* PD_ERR_TYPE where it imports a flag with another type than it has. */
pd_status pd__conflict_of_import(pd__batch *batch);

/* ---- Defining (define.c) ---- */

/* Whether all of `count` definitions may be defined; refusals go to `report`. cells[i].def points
 * at a definition that pd__def_check accepted. */
bool pd__define_check(pd__operation *operation, pd__cell *cells, size_t count, pd__report *report);

/* They were accepted, and won't be defined: forget their names, unless something else needs them.
 */
void pd__define_refuse(pd__cell *cells, size_t count);

/* Define them, which can't fail: the cells belong to the registry until pd__undefine. Then apply
 * what waited for the names; a value that doesn't suit goes to `waiting` and is dropped. Validators
 * may run then, without the lock. */
void pd__define_take(pd__operation *operation, pd__cell *cells, size_t count, pd__report *waiting);

/* The flag of a cell; NULL: none. */
pd_flag *pd__cell_flag(const pd__cell *cell);

/* Take cells away. A flag that no definition is left of is undefined. */
void pd__undefine(pd__operation *operation, pd__cell *cells, size_t count);

/* Check the values that a former definition, of type `was`, left: those that don't suit go, with
 * an error each (review.c). */
void pd__flag_review(pd_flag *flag, pd_type was, pd__report *report);

/* Where values for new flags come from, besides those that wait: the environment, once it is
 * enabled. One source; NULL: none. */
typedef void pd__late_source(pd__operation *operation, pd_flag *flag, pd__report *report);
void pd__define_from(pd__late_source *source);

/* ---- What was put off within constructors and destructors (resume.c) ---- */

/* No lock, and not in the loader: settle what `owner` settles. Refused values go to `report`. */
void pd__deferred_run(const void *owner, pd__report *report);

/* ---- Definitions at run time (register.c) ---- */

/* The module leaves: so do definitions whose code or variable is in it. */
void pd__registered_leave(pd__operation *operation, const pd_module *module);

/* ---- Namespaces (namespace.c) ---- */

/* PD_ERR_NAME: it can't begin the name of a flag. No lock. */
pd_status pd__namespace_check(const char *name_space, pd_error *err);

/* Put the namespace before the names of a definition, which is a copy, as these texts are: in the
 * arena that it is in. */
pd_status pd__namespace_apply(pd__arena *arena, const char *name_space, pd_flag_def *def,
                              pd_error *err);

#endif /* PD__DEFINITION_H */
