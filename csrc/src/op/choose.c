/* Choosing: the first usable candidate in the order of the flag gets into every slot. */
#include <string.h>

#include "../base/text.h"
#include "../registry/hook.h"
#include "op.h"

/* ---- The best candidate ---- */

static const char *get_process_list(const pd__family *family) {
  const pd_flag *flag = pd__cell_flag(&family->cell);
  return flag ? pd__flag_value(flag).str : "*";
}

/* The rank counts only among those that the list doesn't name. */
static bool is_better_candidate(const pd__impl *a, size_t a_position, const pd__impl *b,
                                size_t b_position) {
  if (!b || a_position != b_position) return !b || a_position < b_position;
  if (a->def->choice.rank != b->def->choice.rank) return a->def->choice.rank > b->def->choice.rank;
  return a->number < b->number;
}

typedef struct comparison {
  pd__impl *found, *native;
  size_t position; /* of `found` */
} comparison;

static void update_best_candidate(comparison *of, pd__impl *first, const char *list,
                                  bool foreign_too) {
  for (pd__impl *each = first; each; each = each->next_candidate) {
    bool named;
    if (pd__impl_is_foreign(each) && !foreign_too) continue;
    if (each->def->kind == PD_KIND_OP && !of->native) of->native = each;
    each->choice_missed_answer |= each->asking;
    size_t place =
        pd__impl_is_usable(each) ? pd__preference_find_rank(list, each->name, &named) : 0;
    if (place == 0 || !is_better_candidate(each, place, of->found, of->position)) continue;
    of->found = each;
    of->position = place;
  }
}

/* Returns NULL if there is no candidate. Where the list leaves none, the native one runs: a slot is
 * never empty. */
static pd__impl *find_best_in_list(const pd__op *op, const char *list, bool foreign_too) {
  comparison of = {0};
  update_best_candidate(&of, op->candidates, list, foreign_too);
  return of.found ? of.found : of.native;
}

/* The same for the list of the process. If only candidates have come since the last choice, it
 * compares the winner with them. */
static pd__impl *find_best_in_process_list(pd__op *op, const char *list) {
  bool again = op->last_compared && op->chosen_from == list, named;
  comparison of = {0};
  if (again) {
    bool counts = op->winner && pd__impl_is_usable(op->winner);
    of.position = counts ? pd__preference_find_rank(list, op->winner->name, &named) : 0;
    of.found = of.position > 0 ? op->winner : NULL;
    of.native = op->native;
  }
  update_best_candidate(&of, again ? op->last_compared->next_candidate : op->candidates, list,
                        false);
  op->native = of.native;
  op->chosen_from = list;
  if (!again) op->last_compared = NULL;
  return of.found ? of.found : of.native;
}

/* ---- Choosing ---- */

uint64_t pd__impl_revision;

/* If nothing else is left, best may be a native implementation whose module can't be kept: other
 * modules then call their own. */
static bool can_serve_all_modules(const pd__op *op, const pd__impl *best) {
  return best && !(best->why && pd__impl_must_stay_loaded(op, best));
}

/* Everything is looked up again after the lock was released. Returns the best for modules. */
static pd__impl *find_best_usable_impl(pd__operation *operation, pd__op *op, const pd__view *view) {
  for (;;) {
    pd__impl *best = view ? find_best_in_list(op, view->list, false)
                          : find_best_in_process_list(op, get_process_list(op->family));
    bool native = best && best->why; /* nothing else is left */
    if (best && !best->asked && !best->asking) {
      pd__impl_ask_usable(operation, op, best);
    } else if (best && !native && pd__impl_must_stay_loaded(op, best)) {
      pd__impl_make_module_permanent(operation, best);
    } else {
      return best;
    }
  }
}

static void choose_for_view(pd__operation *operation, pd__op *op, pd__view *view) {
  const pd__impl *best = find_best_usable_impl(operation, op, view);
  void (*function)(void) = can_serve_all_modules(op, best) ? best->def->choice.function : NULL;
  __atomic_store_n(&view->function, function, __ATOMIC_RELEASE);
}

/* ---- Choices of one thread ---- */

static pd__view *add_view(pd__operation *operation, pd__op *op, const char *list) {
  pd__view *view = pd__alloc_forever(sizeof *view);
  if (!view) return NULL;
  *view = (pd__view){.list = list, .next = op->views};
  choose_for_view(operation, op, view);
  view->next = op->views; /* the lock was released, perhaps */
  __atomic_store_n(&op->views, view, __ATOMIC_RELEASE);
  return view;
}

static pd__view *find_view(const pd__op *op, const char *list) {
  pd__view *view = __atomic_load_n(&op->views, __ATOMIC_ACQUIRE);
  while (view && view->list != list) view = view->next;
  return view;
}

static pd__view *find_or_add_view(pd__op *op, const char *list) {
  PD__LOCKED_OPERATION(operation);
  pd__view *view = find_view(op, list);
  if (!view) view = add_view(&operation, op, list);
  if (op->family->missed_answer) pd__family_choose_impls(&operation, op->family);
  pd__operation_end(&operation);
  return view;
}

static void (*find_scoped_function(const pd_scoped_slot *slot))(void) {
  void (*own)(void) = __atomic_load_n(&slot->function, __ATOMIC_ACQUIRE);
  pd__op *op = __atomic_load_n(&slot->op, __ATOMIC_ACQUIRE);
  const pd_scoped_cell *cell = &op->family->value;
  pd__finder find = __atomic_load_n(&cell->find, __ATOMIC_ACQUIRE);
  const void *found = find ? find(cell) : cell;
  if (found == cell) return own;
  const char *list = *(const char *const *)found;
  const pd__view *view = find_view(op, list);
  if (!view) view = find_or_add_view(op, list);
  void (*function)(void) = view ? __atomic_load_n(&view->function, __ATOMIC_ACQUIRE) : NULL;
  return function ? function : own;
}

/* ---- Choosing for all ---- */

/* The slot then asks what the scopes of its thread have chosen. */
static void enable_scoped_slot(pd__op *op, const pd_op_def *def) {
  pd_scoped_slot *slot = (pd_scoped_slot *)(void *)def->slot;
  __atomic_store_n(&slot->op, op, __ATOMIC_RELEASE);
  __atomic_store_n(&slot->find, find_scoped_function, __ATOMIC_RELEASE);
}

static void store_choice_in_slots(pd__op *op, pd__impl *best) {
  bool everywhere = can_serve_all_modules(op, best);
  op->winner = best;
  op->last_compared = op->last_candidate;
  for (const pd__impl *slot = op->slots; slot; slot = slot->next_slot) {
    bool reaches = best && (everywhere || slot->module == best->module);
    if (slot->def->scoped) enable_scoped_slot(op, slot->def);
    void (*function)(void) = (reaches ? best : slot)->def->choice.function;
    if (__atomic_load_n(slot->def->slot, __ATOMIC_RELAXED) == function) continue;
    __atomic_store_n(slot->def->slot, function, __ATOMIC_RELEASE);
  }
}

static void choose_impls_for_op(pd__operation *operation, pd__op *op) {
  store_choice_in_slots(op, find_best_usable_impl(operation, op, NULL));
  for (pd__view *view = op->views; view; view = view->next) choose_for_view(operation, op, view);
}

/* The validator refuses such a choice, unless it has waited for the implementation. */
static void warn_if_choice_unusable(pd__operation *operation, pd__family *family) {
  const char *list = get_process_list(family);
  char why[PD__WHY_SIZE];
  bool alone = pd__preference_ask_whether_unusable(operation, family, list, why, sizeof why);
  if (list != get_process_list(family)) return; /* who has set it chooses */
  bool warned = family->warned_of == list;
  family->warned_of = alone ? list : NULL;
  if (!alone || warned) return;
  pd__fail(pd__warning_add(PD_WARNING_GENERAL), PD_OK, "%s=%s: %s; the native one runs",
           family->def.name, list, why);
}

static void increment_impl_revision(void) {
  __atomic_fetch_add(&pd__impl_revision, 1, __ATOMIC_RELEASE);
}

void pd__family_choose_impls(pd__operation *operation, pd__family *family) {
  do {
    family->missed_answer = false;
    for (pd__op *op = family->ops; op; op = op->next) choose_impls_for_op(operation, op);
    warn_if_choice_unusable(operation, family);
  } while (family->missed_answer);
  increment_impl_revision();
}

void pd__family_choose_for_changed_ops(pd__operation *operation, pd__family *family) {
  for (pd__op *op; (op = pd__op_pop_changed(family));) choose_impls_for_op(operation, op);
  warn_if_choice_unusable(operation, family);
  increment_impl_revision();
  if (family->missed_answer) pd__family_choose_impls(operation, family);
}

/* ---- Choices of callers that can call foreign implementations ---- */

/* Returns NULL if none can run. */
const pd__impl *pd__op_choose_for_thread(pd__operation *operation, const pd_op *op) {
  for (;;) {
    const pd_flag *flag = pd__cell_flag(&op->family->cell);
    pd__impl *best = find_best_in_list(op, flag ? pd__flag_value_in_thread(flag).str : "*", true);
    if (!best || best->asked || best->asking) return best && !best->why ? best : NULL;
    pd__impl_ask_usable(operation, (pd__op *)op, best);
  }
}

const uint64_t *pd_op_revision(void) { return &pd__impl_revision; }

pd__impl *pd__op_find_best_in_list(pd__op *op, const char *list) {
  return list == get_process_list(op->family) ? find_best_in_process_list(op, list)
                                              : find_best_in_list(op, list, false);
}

/* Called after the flag has changed, without the lock. */
void pd__family_on_flag_change(pd_flag *flag, void *context) {
  (void)flag;
  PD__LOCKED_OPERATION(operation);
  pd__family_choose_impls(&operation, context);
  pd__operation_end(&operation);
}
