/* Scopes: values of flags in one thread, whose context they make up (context.h).
 *
 * The caller holds the lock unless a function says otherwise. */
#ifndef PD__SCOPE_H
#define PD__SCOPE_H

#include "change.h"
#include "context.h"
#include "flag.h"

/* Returns the value that this thread's scopes give the flag; NULL if they give none. Valid until
 * this thread next opens or ends a scope. Needs no lock. */
const pd__scoped *pd__scope_find_value(const pd_flag *flag);

/* Returns the scoped value of this thread at *index of its values of that flag, the innermost
 * first; NULL if there are fewer: their number is then subtracted from *index. */
const pd__scoped *pd__scope_find_value_at(const pd_flag *flag, size_t *index);

pd_value pd__scoped_get_value(const pd__scoped *scoped);

/* The fields of a cell, for all cells of scoped flags: pd__scope_update_cell_lookup when it is
 * linked to a flag, pd__scope_unlink_cell when its module leaves. Other cells are unaffected. */
void pd__scope_update_cell_lookup(const pd_flag *flag, const pd__cell *cell);
void pd__scope_unlink_cell(const pd__cell *cell);

/* Gives the flag's values in scopes to its new definition, if that allows them. */
void pd__scopes_renew_valid_values(pd_flag *flag);

/* In the child of a fork, ends the scopes of other threads. */
void pd__scopes_reset_in_child(void);

/* Ends a scope in whichever thread has it. */
pd_status pd__scope_end(pd_scope number, pd_error *err);

/* As the functions of pd_flags.h. */
pd_scope_context *pd__scope_capture_context(void);
void pd__scope_release_context(pd_scope_context *context);
pd_status pd__scope_attach_context(pd_scope_context *context, pd_scope *out, pd_error *err);
pd_status pd__scope_detach_context(pd_scope number, pd_error *err);
pd_status pd__scope_switch_context(pd_scope_context *context, pd_scope_context **former,
                                   pd_error *err);

/* Opens a scope with the values of `changes`, whose texts are kept permanently, and sets
 * changes->scope. Returns false, and does nothing, if memory runs out. */
bool pd__scope_open(pd__changes *changes);

/* Warns, once for each value of a scope, about an assignment by this thread, at run time or by an
 * override, that the scope hides from it. */
void pd__scope_warn_if_hidden(const pd_flag *flag, const pd_origin *origin);
static inline void pd__scope_warn(const pd_flag *flag, const pd_origin *origin) {
  if (flag->extended && flag->extra->scopes > 0) pd__scope_warn_if_hidden(flag, origin);
}

#endif /* PD__SCOPE_H */
