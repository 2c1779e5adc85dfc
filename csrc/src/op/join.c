/* What must be known of implementations before the module that brings them has joined. */
#include "op.h"

/* The records that join. */
typedef struct joining {
  pd__operation *operation;
  const pd__impl *impls;
  size_t count;
  pd__unready_winner *first;
} joining;

/* If memory is out, the arena knows. */
static void add_unready_winner(joining *of, pd__op *op, pd__impl *impl, bool keeps) {
  bool staged = impl >= of->impls && impl < of->impls + of->count;
  pd__unready_winner *made = pd__arena_alloc(&of->operation->arena, sizeof *made);
  if (!made) return;
  *made = (pd__unready_winner){op, staged ? impl : NULL, impl->number, keeps, of->first};
  of->first = made;
}

/* Returns the candidate that would win, without waiting for answers of others. */
static pd__impl *predict_winning_impl(joining *of, pd__op *op, const char *list) {
  for (;;) {
    pd__impl *best = pd__op_find_best_in_list(op, list);
    if (!best || best->asked || best->asking) return best;
    bool answers = !best->def->choice.usable;
    if (answers) pd__impl_ask_usable(of->operation, op, best); /* asks nobody */
    if (!answers && !pd__impl_mark_answer_awaited(best)) return best;
  }
}

static void add_winner_if_unready(joining *of, pd__op *op, const char *list) {
  pd__impl *best = predict_winning_impl(of, op, list);
  if (!best || best->asking) return;
  if (!best->asked) {
    add_unready_winner(of, op, best, false);
  } else if (!best->why && pd__impl_must_stay_loaded(op, best)) {
    add_unready_winner(of, op, best, true);
  }
}

pd__unready_winner *pd__impls_find_unready_winners(pd__operation *operation, const pd__impl *impls,
                                                   size_t count) {
  joining of = {operation, impls, count, NULL};
  for (size_t i = 0; i < count; i++) {
    pd__op *op = impls[i].op;
    if (op->family->members == 0) continue;
    add_winner_if_unready(&of, op, pd__family_get_preference_list(operation, op->family));
    for (const pd__view *view = op->views; view; view = view->next)
      add_winner_if_unready(&of, op, view->list);
  }
  return of.first;
}

/* One candidate may be there several times. */
void pd__winners_make_ready(pd__operation *operation, const pd__unready_winner *winners) {
  for (; winners; winners = winners->next) {
    pd__impl *impl = winners->staged ? winners->staged : pd__impl_find(winners->number);
    if (!impl || impl->asking) continue;
    if (!winners->keeps && !impl->asked) pd__impl_ask_usable(operation, winners->op, impl);
    if (winners->keeps && !pd__module_is_permanent(impl->module))
      pd__impl_make_module_permanent(operation, impl);
  }
}

bool pd__impls_define_flags(pd__operation *operation, const pd__impl *impls, size_t count,
                            pd__report *report, pd__report *waiting) {
  for (size_t i = 0; i < count; i++) {
    pd__family *family = impls[i].op->family;
    if (family->members == 0 || family->cell.flag) continue;
    pd__family_define_flag(operation, family, waiting);
  }
  return pd__impls_check_flags_defined(impls, count, report);
}
