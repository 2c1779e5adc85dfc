/* Flags and their definitions, which are checked before: names that are reserved for a definition,
 * cells that are linked to their flag, and what becomes of the values that a former definition
 * left.
 *
 * The caller holds the lock unless a function says otherwise. */
#ifndef PD__DEFINE_H
#define PD__DEFINE_H

#include "registry.h"

/* ---- The names of a definition (naming.c) ---- */

/* An iterator over the names of a definition: its own name, the aliases, the old names. Start with
 * only `def` set; set kind to PD__NAME_OWN, too, to skip its own name. */
typedef struct pd__naming {
  const pd_flag_def *def;
  enum { PD__NAME_NONE, PD__NAME_OWN, PD__NAME_ALIAS, PD__NAME_OLD } kind;
  const char *name; /* `length` bytes, borrowed from the definition; no NUL follows them */
  size_t length;
  const char *rest; /* the remaining names of this kind; NULL if there are none */
} pd__naming;

/* Steps to the first or next name; false at the end. Needs no lock. The inline part spares the call
 * for definitions with one name, which most are. */
bool pd__naming_step(pd__naming *at);
static inline bool pd__naming_next(pd__naming *at) {
  bool any = at->kind == PD__NAME_NONE || at->def->aliases || at->def->old_names;
  return any && pd__naming_step(at);
}

/* Returns true if `node` is the node of a name of the definition. */
bool pd__def_has_name(const pd_flag_def *def, const pd_flag *node);

/* ---- Publishing (publish.c) ---- */

/* Publishes a definition whose name is reserved, which can't fail: the registry uses the cell until
 * pd__undefine_cells. Reports values of a former definition that don't suit it. */
void pd__cell_publish(pd__cell *cell, pd__report *waiting);

/* Sets the fields of a flag that follow from the definition in its first cell. */
void pd__flag_describe(pd_flag *flag);

/* Removes the definitions of a flag for one that has been checked and is published next: nothing of
 * the flag changes that the new definition doesn't change, except that its default value is gone.
 * Returns their cells, a list. */
pd__cell *pd__define_remove_old(pd_flag *flag, const pd_flag_def *fresh);

/* Returns the flag of a cell; NULL if it has none. */
pd_flag *pd__cell_flag(const pd__cell *cell);

/* Removes cells. A flag that loses its last definition becomes undefined. */
void pd__undefine_cells(pd__operation *operation, pd__cell *cells, size_t count);

/* ---- The values of a former definition (review.c) ---- */

/* Checks the values that a former definition of type `was` left. Reports and drops those that the
 * new definition doesn't accept. */
void pd__flag_review(pd_flag *flag, pd_type was, pd__report *report);

/* Converts one of these values for the flag's definition; an error if it isn't accepted. */
pd_status pd__review_convert(const pd_flag *flag, pd_type was, pd_value *value);

#endif /* PD__DEFINE_H */
