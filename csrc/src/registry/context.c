/* AVL trees: no path is longer than 1.44 times the logarithm of the number of values, which also
 * bounds the recursion. A function that returns a node returns a reference to it. */
#include "context.h"

#include <stdlib.h>

pd__scope_gone *pd__context_scope_gone;

pd_scope_context *pd__context_retain(pd_scope_context *context) {
  if (context) context->references++;
  return context;
}

static void release_scope(pd__scope *scope) {
  if (--scope->references == 0) pd__context_scope_gone(scope);
}

void pd__context_release(pd_scope_context *context) {
  while (context && --context->references == 0) {
    pd_scope_context *right = context->right;
    pd__context_release(context->left);
    release_scope(context->value->scope);
    free(context);
    context = right;
  }
}

/* ---- Nodes ---- */

/* Memory is out. The functions go on with smaller trees, which are then dropped. */
static bool failed;

static unsigned get_height(const pd_scope_context *node) { return node ? node->height : 0; }

/* Takes over the references to both. */
static pd_scope_context *make_node(pd_scope_context *left, pd__scoped *value,
                                   pd_scope_context *right) {
  unsigned a = get_height(left), b = get_height(right);
  pd_scope_context *made = malloc(sizeof *made);
  if (!made) {
    failed = true;
    pd__context_release(left);
    pd__context_release(right);
    return NULL;
  }
  pd__scoped *later = pd__context_find_latest(right, value->flag);
  *made = (pd_scope_context){.flag = value->flag,
                             .order = value->order,
                             .value = value,
                             .latest = later ? later : value,
                             .left = left,
                             .right = right,
                             .references = 1,
                             .height = (a > b ? a : b) + 1};
  value->scope->references++;
  return made;
}

static pd_scope_context *rotate_right(pd_scope_context *left, pd__scoped *value,
                                      pd_scope_context *right) {
  pd_scope_context *outer = left->left, *inner = left->right, *made;
  if (!inner || get_height(outer) >= get_height(inner)) {
    made = make_node(pd__context_retain(outer), left->value,
                     make_node(pd__context_retain(inner), value, right));
  } else {
    made = make_node(
        make_node(pd__context_retain(outer), left->value, pd__context_retain(inner->left)),
        inner->value, make_node(pd__context_retain(inner->right), value, right));
  }
  pd__context_release(left);
  return made;
}

static pd_scope_context *rotate_left(pd_scope_context *left, pd__scoped *value,
                                     pd_scope_context *right) {
  pd_scope_context *outer = right->right, *inner = right->left, *made;
  if (!inner || get_height(outer) >= get_height(inner)) {
    made = make_node(make_node(left, value, pd__context_retain(inner)), right->value,
                     pd__context_retain(outer));
  } else {
    made = make_node(
        make_node(left, value, pd__context_retain(inner->left)), inner->value,
        make_node(pd__context_retain(inner->right), right->value, pd__context_retain(outer)));
  }
  pd__context_release(right);
  return made;
}

/* Like make_node, for trees of which one may have become too high. */
static pd_scope_context *make_balanced(pd_scope_context *left, pd__scoped *value,
                                       pd_scope_context *right) {
  unsigned a = get_height(left), b = get_height(right);
  if (a > b + 1) return rotate_right(left, value, right);
  if (b > a + 1) return rotate_left(left, value, right);
  return make_node(left, value, right);
}

/* ---- Values ---- */

static bool is_value_before(const pd__scoped *value, const pd_scope_context *node) {
  if (value->flag != node->flag) return (uintptr_t)value->flag < (uintptr_t)node->flag;
  return value->order < node->order;
}

static pd_scope_context *copy_tree_with_value(const pd_scope_context *in, pd__scoped *value) {
  if (!in) return make_node(NULL, value, NULL);
  if (is_value_before(value, in)) {
    return make_balanced(copy_tree_with_value(in->left, value), in->value,
                         pd__context_retain(in->right));
  }
  return make_balanced(pd__context_retain(in->left), in->value,
                       copy_tree_with_value(in->right, value));
}

static pd_scope_context *copy_tree_without_value(const pd_scope_context *in, pd__scoped *value);

static pd_scope_context *join_child_trees(pd_scope_context *left, pd_scope_context *right) {
  const pd_scope_context *least = right;
  if (!left || !right) return pd__context_retain(left ? left : right);
  while (least->left) least = least->left;
  return make_balanced(pd__context_retain(left), least->value,
                       copy_tree_without_value(right, least->value));
}

static pd_scope_context *copy_tree_without_value(const pd_scope_context *in, pd__scoped *value) {
  if (!in) return NULL; /* it isn't there */
  if (in->value == value) return join_child_trees(in->left, in->right);
  if (is_value_before(value, in)) {
    return make_balanced(copy_tree_without_value(in->left, value), in->value,
                         pd__context_retain(in->right));
  }
  return make_balanced(pd__context_retain(in->left), in->value,
                       copy_tree_without_value(in->right, value));
}

/* ---- Scopes ---- */

typedef pd_scope_context *value_changer(const pd_scope_context *in, pd__scoped *value);

static bool apply_to_scope_values(pd_scope_context *context, pd__scope *scope,
                                  value_changer *change, pd_scope_context **out) {
  pd_scope_context *made = pd__context_retain(context);
  failed = false;
  for (size_t i = 0; i < scope->count; i++) {
    pd_scope_context *before = made;
    made = change(before, &scope->values[i]);
    pd__context_release(before);
  }
  if (failed) pd__context_release(made);
  if (!failed) *out = made;
  return !failed;
}

bool pd__context_copy_with_scope(pd_scope_context *context, pd__scope *scope,
                                 pd_scope_context **out) {
  bool added = apply_to_scope_values(context, scope, copy_tree_with_value, out);
  release_scope(scope);
  return added;
}

bool pd__context_copy_without_scope(pd_scope_context *context, pd__scope *scope,
                                    pd_scope_context **out) {
  return apply_to_scope_values(context, scope, copy_tree_without_value, out);
}
