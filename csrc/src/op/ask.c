/* Asking modules whether an implementation can run here, and keeping them loaded. */
#include <stdio.h>
#include <string.h>

#include "../base/text.h"
#include "../registry/hook.h"
#include "../registry/loader.h"
#include "op.h"

/* One that isn't linked belongs to a call that stages it. */
static void store_usable_answer(pd__impl *impl, const char *why) {
  if (impl->op && (impl->choice_missed_answer || impl == impl->op->winner))
    impl->op->last_compared = NULL;
  if (impl->op) impl->op->family->missed_answer |= impl->choice_missed_answer;
  impl->choice_missed_answer = false;
  impl->asked = true;
  impl->asking = false;
  impl->why = why ? pd__intern_text(why) : NULL;
  if (why && !impl->why) impl->why = "memory is out";
}

/* ---- Asking ---- */

/* One for each call of `usable` that is running. In the arena of its operation, as a
 * pd__active_operation is. */
typedef struct usable_query {
  struct usable_query *next, **at; /* in the list of all; *at points here */
  const pd__active_operation *active;
  pd__op *op;
  const pd_op_def *def;
  pd__impl *staged; /* NULL: a linked one, which may leave meanwhile */
  uint64_t number;  /* of that */
  bool awaited;     /* `usable` has made its own module join, which waits for the answer */
} usable_query;

static usable_query *usable_queries;

static void list_usable_query(usable_query *of) {
  of->next = usable_queries;
  of->at = &usable_queries;
  if (of->next) of->next->at = &of->next;
  usable_queries = of;
}

static void unlist_usable_query(usable_query *of) {
  *of->at = of->next;
  if (of->next) of->next->at = of->at;
  of->next = NULL;
  of->at = &of->next;
}

/* Returns the candidate that waits for the same answer. */
static pd__impl *find_waiting_impl(const usable_query *of) {
  pd__impl *each = of->awaited ? of->op->candidates : NULL;
  while (each && (each->asked || each->def != of->def)) each = each->next_candidate;
  return each;
}

/* What the call of `usable` has said. */
typedef struct reply {
  pd__operation *operation;
  usable_query *of;
  bool given;
  const char *why;
} reply;

/* Also if an exception or the end of the thread has interrupted it. Then nobody has chosen. */
static void end_usable_query(const reply *got) {
  usable_query *of = got->of;
  pd__operation_lock(got->operation);
  unlist_usable_query(of);
  pd__impl *impl = of->staged ? of->staged : pd__impl_find(of->number);
  if (impl) store_usable_answer(impl, got->why);
  pd__impl *waiting = find_waiting_impl(of);
  if (waiting) store_usable_answer(waiting, got->why);
  if (!got->given || waiting) pd__op_queue_as_changed(of->op);
}

static void ask_unlocked(pd__operation *operation, pd__op *op, pd__impl *impl) {
  const char *(*usable)(void) = impl->def->choice.usable;
  usable_query *asked = pd__arena_alloc(&operation->arena, sizeof *asked);
  pd__hooks_prepare_call(operation);
  if (!asked || !operation->active) {
    store_usable_answer(impl, "memory is out");
    return;
  }
  *asked = (usable_query){.active = operation->active,
                          .op = op,
                          .def = impl->def,
                          .staged = impl->op ? NULL : impl,
                          .number = impl->number};
  list_usable_query(asked);
  reply got __attribute__((cleanup(end_usable_query))) = {
      operation, asked, false, "the question whether it can run here was interrupted"};
  impl->asking = true;
  pd__operation_unlock(operation);
  PD__IN_HOOK(operation);
  got.why = usable();
  got.given = true;
}

bool pd__impl_mark_answer_awaited(pd__impl *impl) {
  usable_query *each = usable_queries;
  while (each && !(each->def == impl->def && pd__hook_is_called_here(each->active))) {
    each = each->next;
  }
  if (each) each->awaited = impl->asking = true;
  return each != NULL;
}

/* Only the calls of this thread are left. */
static void drop_lost_calls(void) {
  for (usable_query *each = usable_queries, *next; each; each = next) {
    next = each->next;
    if (each->active->lost) unlist_usable_query(each);
  }
}

/* Nobody answers for those any more. */
static void clear_asking_marks(pd__op *op) {
  for (pd__impl *each = op->candidates; each; each = each->next_candidate) {
    if (!each->asking) continue;
    pd__op_queue_as_changed(op);
    op->last_compared = NULL;
    each->asking = false;
  }
}

void pd__impls_reset_in_child(void) {
  pd__family *family = NULL;
  while (usable_queries && (family = pd__family_next(family))) {
    for (pd__op *op = family->ops; op; op = op->next) clear_asking_marks(op);
  }
  drop_lost_calls();
  for (const usable_query *each = usable_queries; each; each = each->next) {
    pd__impl *impl = each->staged ? NULL : pd__impl_find(each->number);
    if (impl) impl->asking = true;
    pd__impl *waiting = find_waiting_impl(each);
    if (waiting) waiting->asking = true;
  }
}

/* The module is pinned. Meanwhile the candidate doesn't count for other threads. */
void pd__impl_ask_usable(pd__operation *operation, pd__op *op, pd__impl *impl) {
  if (!impl->def->choice.usable) {
    store_usable_answer(impl, NULL);
    return;
  }
  if (pd__hooks_check_depth(NULL) != PD_OK) {
    store_usable_answer(impl, "too many questions, one inside the other: most likely in a circle");
    return;
  }
  pd__pinning pinning = pd__pin_module(operation, impl->module);
  if (pinning == PD__LEAVING) store_usable_answer(impl, "its module is leaving");
  if (pinning == PD__UNPINNED) pd__pins_acquire(operation);
  if (pinning == PD__PINNED) ask_unlocked(operation, op, impl);
}

/* ---- Keeping ---- */

bool pd__impl_must_stay_loaded(const pd__op *op, const pd__impl *best) {
  const pd_module *module = best->module;
  if (!module || pd__module_is_permanent(module)) return false;
  const pd__impl *slot = op->slots;
  while (slot && slot->module == module) slot = slot->next_slot;
  return slot != NULL;
}

void pd__impl_make_module_permanent(pd__operation *operation, pd__impl *impl) {
  uint64_t number = impl->number;
  bool staged = !impl->op;
  if (pd__module_make_permanent(operation, impl->module)) return;
  pd__impl *found = staged ? impl : pd__impl_find(number);
  if (found) store_usable_answer(found, "its module is leaving");
}

/* ---- A choice that leaves no other ---- */

/* Returns whether the list ends with a name and !, under which a candidate has come. */
static bool has_exclusive_choice(const pd__family *family, const char *list, pd__preference *out) {
  pd__preference item;
  *out = (pd__preference){.kind = PD__REST};
  while (pd__preference_next(&list, &item)) *out = item;
  return out->kind == PD__ONLY && pd__preference_has_candidate(family, out);
}

static bool is_listed_impl(const pd__impl *impl, const char *list) {
  bool named;
  return pd__preference_find_rank(list, impl->name, &named) > 0;
}

/* Asks the next of those that the list has, until one can run. Returns whether it has asked. */
static bool probe_next_impl(pd__operation *operation, const pd__family *family, const char *list) {
  for (pd__op *op = family->ops; op; op = op->next) {
    for (pd__impl *each = op->candidates; each; each = each->next_candidate) {
      if (each->why || each->asking || !is_listed_impl(each, list)) continue;
      bool asks = !each->asked;
      if (asks) pd__impl_ask_usable(operation, op, each);
      return asks;
    }
  }
  return false;
}

bool pd__preference_is_unusable(const pd__family *family, const char *list, char *why,
                                size_t size) {
  pd__preference item;
  if (!has_exclusive_choice(family, list, &item)) return false;
  unsigned count = 0;
  snprintf(why, size, "'%.*s' can't run here", (int)item.length, item.name);
  for (const pd__op *op = family->ops; op; op = op->next) {
    for (const pd__impl *each = op->candidates; each; each = each->next_candidate) {
      if (!is_listed_impl(each, list)) continue;
      if (!each->why) return false;
      bool other = !pd__preference_is_named(&item, each->name);
      pd__append_format(why, size, "%s %s%s%s: %s", count++ ? "," : ":", other ? each->name : "",
                        other ? " of " : "", op->text, each->why);
    }
  }
  return true;
}

bool pd__preference_ask_whether_unusable(pd__operation *operation, pd__family *family,
                                         const char *list, char *why, size_t size) {
  pd__preference item;
  if (!has_exclusive_choice(family, list, &item)) return false;
  while (probe_next_impl(operation, family, list)) continue;
  return pd__preference_is_unusable(family, list, why, size);
}
