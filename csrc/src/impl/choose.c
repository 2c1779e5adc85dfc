/* Choosing: the first usable candidate in the order of the flag gets into every slot. */
#include <string.h>

#include "../base/text.h"
#include "../registry/hook.h"
#include "impl.h"

/* ---- The best candidate ---- */

static const char *list_of(const pd__family *family) {
  const pd_flag *flag = pd__cell_flag(&family->cell);
  return flag ? pd__flag_value(flag).str : "*";
}

static bool is_usable(const pd__impl *impl) { return !impl->why && !impl->asking; }

/* The rank counts only among those that the list doesn't name. */
static bool is_better(const pd__impl *a, size_t a_place, const pd__impl *b, size_t b_place) {
  if (!b || a_place != b_place) return !b || a_place < b_place;
  if (a->def->choice.rank != b->def->choice.rank) return a->def->choice.rank > b->def->choice.rank;
  return a->number < b->number;
}

/* Returns NULL if there is no candidate. Where the list leaves none, the native one runs: a slot is
 * never empty. */
static pd__impl *best_of(const pd__op *op) {
  const char *list = list_of(op->family);
  pd__impl *best = NULL, *native = NULL;
  size_t best_place = 0;
  for (pd__impl *each = op->candidates; each; each = each->next_candidate) {
    bool named;
    if (each->def->kind == PD_KIND_OP && !native) native = each;
    size_t place = is_usable(each) ? pd__preference_of(list, each->name, &named) : 0;
    if (place == 0 || !is_better(each, place, best, best_place)) continue;
    best = each;
    best_place = place;
  }
  return best ? best : native;
}

/* ---- Asking and keeping. Each may release the lock. ---- */

static pd__impl *find_candidate(const pd__op *op, uint64_t number) {
  pd__impl *each = op->candidates;
  while (each && each->number != number) each = each->next_candidate;
  return each;
}

static void answer(pd__impl *impl, const char *why) {
  impl->asked = true;
  impl->asking = false;
  impl->why = why ? pd__intern(why) : NULL;
  if (why && !impl->why) impl->why = "memory is out";
}

/* Asks the module, which is pinned, without the lock. Meanwhile the candidate doesn't count for
 * other threads; it may also leave. */
static void ask(pd__operation *operation, pd__op *op, pd__impl *impl) {
  const char *(*usable)(void) = impl->def->choice.usable;
  uint64_t number = impl->number;
  if (!usable) {
    answer(impl, NULL);
    return;
  }
  pd__pinning pinning = pd__pin_module(operation, impl->module);
  if (pinning == PD__LEAVING) answer(impl, "its module is leaving");
  if (pinning == PD__UNPINNED) pd__pins_take(operation);
  if (pinning != PD__PINNED) return;
  const char *why;
  impl->asking = true;
  pd__operation_unlock(operation);
  {
    PD__IN_HOOK();
    why = usable();
  }
  pd__operation_lock(operation);
  impl = find_candidate(op, number);
  if (impl) answer(impl, why);
}

/* A call can't pin what it jumps to. So a module whose implementation other modules call stays
 * loaded until the process ends. */
static bool needs_keeping(const pd__op *op, const pd__impl *best) {
  const pd_module *module = best->module;
  if (!module || module->stays || module->kept) return false;
  const pd__impl *slot = op->slots;
  while (slot && slot->module == module) slot = slot->next_slot;
  return slot != NULL;
}

static void keep(pd__operation *operation, pd__op *op, const pd__impl *impl) {
  pd_module *module = impl->module;
  uint32_t generation = module->generation;
  uint64_t number = impl->number;
  const char *path = module->path;
  uintptr_t low = module->low, high = module->high;
  pd__operation_unlock(operation);
  const void *reference = pd__platform_hold(path, low, high); /* never given back */
  pd__operation_lock(operation);
  if (reference && module->generation == generation) module->kept = true;
  pd__impl *found = reference ? NULL : find_candidate(op, number);
  if (found) answer(found, "its module is leaving");
}

/* ---- Choosing ---- */

/* If nothing else is left, best may be a native implementation whose module can't be kept: other
 * modules then call their own. */
static void publish(pd__op *op, pd__impl *best) {
  bool everywhere = best && !(best->why && needs_keeping(op, best));
  op->winner = best;
  for (const pd__impl *slot = op->slots; slot; slot = slot->next_slot) {
    bool reaches = best && (everywhere || slot->module == best->module);
    void (*function)(void) = (reaches ? best : slot)->def->choice.function;
    if (__atomic_load_n(slot->def->slot, __ATOMIC_RELAXED) == function) continue;
    __atomic_store_n(slot->def->slot, function, __ATOMIC_RELEASE);
  }
}

/* Everything is looked up again after the lock was released. */
static void choose(pd__operation *operation, pd__op *op) {
  for (;;) {
    pd__impl *best = best_of(op);
    bool native = best && best->why; /* nothing else is left */
    if (best && !best->asked && !best->asking) {
      ask(operation, op, best);
    } else if (best && !native && needs_keeping(op, best)) {
      keep(operation, op, best);
    } else {
      publish(op, best);
      return;
    }
  }
}

void pd__family_choose(pd__operation *operation, pd__family *family) {
  for (pd__op *op = family->ops; op; op = op->next) choose(operation, op);
}

/* Called after the flag has changed, without the lock. */
static void choose_again(pd_flag *flag, void *context) {
  (void)flag;
  PD__LOCKED_OPERATION(operation);
  pd__family_choose(&operation, context);
  pd__operation_end(&operation);
}

/* ---- The flags ---- */

static void report_waiting(pd__report *report) {
  for (pd__family *family = NULL; (family = pd__family_next(family));) {
    pd__preference_waiting(family, report);
  }
}

/* The implementations are chosen whether or not the flag can be defined. */
static void define_flag(pd__operation *operation, pd__family *family, pd__report *waiting) {
  pd__define_names = report_waiting;
  family->def.watch = choose_again;
  family->cell = (pd__cell){.def = &family->def};
  if (!pd__define_check(operation, &family->cell, 1, waiting)) return;
  pd__define_take(operation, &family->cell, 1, waiting);
}

static void settle(pd__operation *operation, pd__family *family, pd__report *waiting) {
  bool defined = family->cell.flag != 0;
  family->due = false;
  if (family->members > 0 && !defined) define_flag(operation, family, waiting);
  if (family->members == 0 && defined) pd__undefine(operation, &family->cell, 1);
  pd__family_choose(operation, family);
}

void pd__impls_settle(pd__operation *operation, pd__report *waiting) {
  for (pd__family *family = NULL; (family = pd__family_next(family));) {
    if (family->due) settle(operation, family, waiting);
  }
}
