/* What must be known of implementations before the module that brings them has joined. */
#include "op.h"

/* The records that join. */
typedef struct joining {
  pd__operation *operation;
  const pd__impl *impls;
  size_t count;
  pd__op_need *first;
} joining;

/* If memory is out, the arena knows. */
static void add_op_need(joining *of, pd__op *op, pd__impl *impl, bool keeps) {
  bool staged = impl >= of->impls && impl < of->impls + of->count;
  pd__op_need *made = pd__arena_alloc(&of->operation->arena, sizeof *made);
  if (!made) return;
  *made = (pd__op_need){op, staged ? impl : NULL, impl->number, keeps, of->first};
  of->first = made;
}

/* Returns the candidate that would win, without waiting for answers of others. */
static pd__impl *find_winning_impl(joining *of, pd__op *op, const char *list) {
  for (;;) {
    pd__impl *best = pd__op_find_best(op, list);
    if (!best || best->asked || best->asking) return best;
    bool answers = !best->def->choice.usable;
    if (answers) pd__impl_ask_usable(of->operation, op, best); /* asks nobody */
    if (!answers && !pd__impl_await_answer(best)) return best;
  }
}

static void find_op_need(joining *of, pd__op *op, const char *list) {
  pd__impl *best = find_winning_impl(of, op, list);
  if (!best || best->asking) return;
  if (!best->asked) {
    add_op_need(of, op, best, false);
  } else if (!best->why && pd__impl_must_stay_loaded(op, best)) {
    add_op_need(of, op, best, true);
  }
}

pd__op_need *pd__impls_find_needs(pd__operation *operation, const pd__impl *impls, size_t count) {
  joining of = {operation, impls, count, NULL};
  for (size_t i = 0; i < count; i++) {
    pd__op *op = impls[i].op;
    if (op->family->members == 0) continue;
    find_op_need(&of, op, pd__family_get_list(operation, op->family));
    for (const pd__view *view = op->views; view; view = view->next)
      find_op_need(&of, op, view->list);
  }
  return of.first;
}

/* Several needs may be about one candidate. */
void pd__impls_meet_needs(pd__operation *operation, const pd__op_need *needs) {
  for (; needs; needs = needs->next) {
    pd__impl *impl = needs->staged ? needs->staged : pd__impl_find(needs->number);
    if (!impl || impl->asking) continue;
    if (!needs->keeps && !impl->asked) pd__impl_ask_usable(operation, needs->op, impl);
    if (needs->keeps && !pd__module_is_permanent(impl->module)) pd__impl_retain(operation, impl);
  }
}

bool pd__impls_define_flags(pd__operation *operation, const pd__impl *impls, size_t count,
                            pd__report *report, pd__report *waiting) {
  for (size_t i = 0; i < count; i++) {
    pd__family *family = impls[i].op->family;
    if (family->members == 0 || family->cell.flag) continue;
    pd__family_define_flag(operation, family, waiting);
  }
  return pd__impls_check_flags(impls, count, report);
}
