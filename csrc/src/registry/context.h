/* Contexts: the values that the open scopes of a thread give to flags. A context is an immutable
 * balanced tree: opening or ending a scope makes another one, which shares nearly all nodes with
 * it. So readers need no lock, other threads may keep what they captured, and each scope costs the
 * same in whichever order scopes end.
 *
 * The caller holds the lock unless a function says otherwise. */
#ifndef PD__CONTEXT_H
#define PD__CONTEXT_H

#include "flag.h"

typedef struct pd__scope pd__scope;

/* A value that a scope gives a flag. */
typedef struct pd__scoped {
  pd_flag *flag;       /* NULL: the scope has no values */
  uint64_t order;      /* later values hide earlier ones of the flag; from 1 on */
  pd__scope *scope;    /* that it belongs to */
  uint32_t generation; /* of the definition that allows the value; read without the lock */
  uint8_t type;        /* of the value */
  bool unset;          /* an optional flag has no value */
  bool warned;         /* that it hides an assignment */
  union {              /* the value, in the form of a cell */
    bool truth;
    pd__number number;
    const char *text;
  } value;
  pd_origin origin;              /* its place is interned */
  struct pd__scoped *next, **at; /* in the list of the flag; *at points here */
} pd__scoped;

/* A scope, which lives as long as it is in a context. */
struct pd__scope {
  pd_scope number;
  size_t references; /* of nodes, and of who makes it */
  size_t count;      /* of `values`, at least 1 */
  pd__scoped values[];
};

/* The root of a tree, or a node of it, in the order of flags and then of their values. NULL is the
 * empty context. */
struct pd_scope_context {
  pd_flag *flag;
  uint64_t order;
  pd__scoped *value;
  pd__scoped *latest;             /* of the same flag, here or below */
  pd_scope_context *left, *right; /* held */
  size_t references;
  unsigned height;
};

/* Called when the last context with the scope is gone. It frees the scope. */
typedef void pd__scope_gone(pd__scope *scope);
extern pd__scope_gone *pd__context_scope_gone;

pd_scope_context *pd__context_retain(pd_scope_context *context);
void pd__context_release(pd_scope_context *context);

/* Copy a context and add the scope, whose reference is taken over, or remove a scope that it has.
 * The caller owns *out. They return false if memory runs out. */
bool pd__context_copy_with_scope(pd_scope_context *context, pd__scope *scope,
                                 pd_scope_context **out);
bool pd__context_copy_without_scope(pd_scope_context *context, pd__scope *scope,
                                    pd_scope_context **out);

/* Return the latest value of the flag, or the latest whose order is below `before`; NULL if there
 * is none. They need no lock. */
static inline pd__scoped *pd__context_find_latest(const pd_scope_context *context,
                                                  const pd_flag *flag) {
  while (context && context->flag != flag) {
    context = (uintptr_t)context->flag < (uintptr_t)flag ? context->right : context->left;
  }
  return context ? context->latest : NULL;
}

static inline pd__scoped *pd__context_find_before(const pd_scope_context *context,
                                                  const pd_flag *flag, uint64_t before) {
  pd__scoped *found = NULL;
  while (context) {
    bool same = context->flag == flag && context->order < before;
    if (same) found = context->value;
    bool earlier = same || (uintptr_t)context->flag < (uintptr_t)flag;
    context = earlier ? context->right : context->left;
  }
  return found;
}

static inline bool pd__context_has_scope(const pd_scope_context *context, const pd__scope *scope) {
  const pd__scoped *first = scope->values;
  return pd__context_find_before(context, first->flag, first->order + 1) == first;
}

#endif /* PD__CONTEXT_H */
