/* Flags and their definitions, which are checked before: names that are reserved for a definition,
 * cells that are linked to their flag, and what happens to the values that a former definition
 * left.
 *
 * The caller holds the lock unless a function says otherwise. */
#ifndef PD__DEFINE_H
#define PD__DEFINE_H

#include "refusal.h"

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

/* ---- Reserving names (reserve.c) ---- */

/* Names that are reserved together. */
typedef struct pd__reservation {
  uint32_t visit_mark;     /* of the names */
  const pd_flag *replaced; /* its definition is going to leave; NULL: none */
  bool has_former;         /* some flags have values of a former definition */
} pd__reservation;

/* Ties a cell to the node of its name. Returns whether the name is reserved for it, which that of
 * an import never is. */
bool pd__cell_link_and_reserve(pd__reservation *by, pd__cell *cell, pd_flag *node);

/* Allocates what a node needs to become an alias. Returns false if memory runs out. */
bool pd__name_prepare_alias(pd_flag *node);

/* Reserves a name for a definition of `flag`. Returns false if it is reserved already, or that of a
 * flag that stays or of an alias of another one. */
bool pd__name_reserve(const pd__reservation *by, pd_flag *node, const pd_flag *flag);

/* Returns whether the name is that of a flag that stays, or reserved. */
bool pd__name_is_reserved(const pd__reservation *by, const pd_flag *node);

/* ---- Publishing (publish.c) ---- */

/* Publishes a definition whose name is reserved, which can't fail: the registry uses the cell until
 * pd__undefine_cells. Reports values of a former definition that don't suit it. */
void pd__cell_attach_to_flag(pd__cell *cell, pd__report *waiting);

/* Sets the fields of a flag that follow from the definition in its first cell. */
void pd__flag_cache_definition(pd_flag *flag);

/* Records that a host withdraws the definition, for which pd__undefine_cells is called next, and
 * removes the hooks of the flag. */
void pd__flag_withdraw_and_unhook(pd_flag *flag);

/* Copies the value that the flag has kept since its definition was withdrawn. Returns false if
 * there is none, or if the name is defined again. */
bool pd__flag_get_retained_value(pd_flag *flag, pd_flag_entry *out);

/* Removes the definitions of a flag for one that has been checked and is published next: nothing of
 * the flag changes that the new definition doesn't change, except that its default value is gone.
 * Returns their cells, a list. */
pd__cell *pd__flag_detach_replaced_definition(pd_flag *flag, const pd_flag_def *fresh);

/* Returns the flag of a cell; NULL if it has none. */
pd_flag *pd__cell_flag(const pd__cell *cell);

/* Removes cells. A flag that loses its last definition becomes undefined. */
void pd__undefine_cells(pd__operation *operation, pd__cell *cells, size_t count);

/* ---- The values of a former definition (review.c) ---- */

/* Checks the values that a former definition of type `was` left. Reports and drops those that the
 * new definition doesn't accept. */
void pd__flag_convert_former_values(pd_flag *flag, pd_type was, pd__report *report);

/* Drops the topmost values of the flag: those of an override, or of a source. */
void pd__flag_drop_top_values(pd_flag *flag, size_t count);

/* ---- Drafts (draft.c) ---- */

/* Returns a flag as `node` will be once the cell, whose lifetime is that of the draft, is
 * published, but for the values: it has none. It is in no table, so nobody else finds it; it
 * borrows the hooks and overrides of the node. NULL if memory runs out. */
pd_flag *pd__draft_new(pd__arena *arena, const pd_flag *node, pd__cell *cell);

/* Returns the node that becomes the flag. */
pd_flag *pd__draft_get_published_node(const pd_flag *draft);

/* Describes the default as the value in effect. */
void pd__draft_describe_default(const pd_flag *draft, pd_flag_entry *out);

/* Finds what pd__flag_convert_former_values, and then pd__flag_drop_top_values of `dropped`, will
 * leave of the values of the node, apart from `refused` values of the fleet: *first is the value in
 * effect, *lasting the one below temporary overrides. If there is no such value, the result isn't
 * written. Returns whether there is a first one. */
bool pd__flag_preview_former_values(const pd_flag *draft, const pd_flag *node, size_t dropped,
                                    const pd__refusals *refused, pd_flag_entry *first,
                                    pd_flag_entry *lasting);

/* Returns PD_OK if the new definition accepts a value of the node. */
pd_status pd__draft_check_former_entry(const pd_flag *draft, const pd_flag *node,
                                       const pd__entry *given, pd_error *err);

#endif /* PD__DEFINE_H */
