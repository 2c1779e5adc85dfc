/* Asking modules whether an implementation can run here, and keeping them loaded. */
#include <stdio.h>
#include <string.h>

#include "../base/text.h"
#include "../registry/hook.h"
#include "op.h"

static void answer(pd__impl *impl, const char *why) {
  if (impl->missed || impl == impl->op->winner) impl->op->seen = NULL;
  impl->op->family->again |= impl->missed;
  impl->missed = false;
  impl->asked = true;
  impl->asking = false;
  impl->why = why ? pd__intern(why) : NULL;
  if (why && !impl->why) impl->why = "memory is out";
}

/* ---- Asking ---- */

/* One for each call of `usable` that is running. In the arena of its operation, as a pd__listing
 * is. */
typedef struct question {
  struct question *next, **at; /* in the list of all; *at points here */
  const pd__listing *listing;
  pd__op *op;
  const char *name; /* of the candidate, which may leave meanwhile */
  uint64_t number;
} question;

static question *questions;

static void add_question(question *of) {
  of->next = questions;
  of->at = &questions;
  if (of->next) of->next->at = &of->next;
  questions = of;
}

static void remove_question(question *of) {
  *of->at = of->next;
  if (of->next) of->next->at = of->at;
  of->next = NULL;
  of->at = &of->next;
}

/* What the call of `usable` has said. */
typedef struct reply {
  pd__operation *operation;
  question *of;
  bool given;
  const char *why;
} reply;

/* Also if an exception or the end of the thread has interrupted it. Then nobody has chosen. */
static void end_question(const reply *got) {
  question *of = got->of;
  pd__operation_lock(got->operation);
  remove_question(of);
  if (!got->given) of->op->family->due = true;
  pd__impl *impl = pd__impl_find(of->op, of->name, of->number);
  if (impl) answer(impl, got->why);
}

static void ask_unlocked(pd__operation *operation, pd__op *op, pd__impl *impl) {
  const char *(*usable)(void) = impl->def->choice.usable;
  question *asked = pd__arena_take(&operation->arena, sizeof *asked);
  pd__hooks_prepare(operation);
  if (!asked || !operation->listing) {
    answer(impl, "memory is out");
    return;
  }
  *asked = (question){
      .listing = operation->listing, .op = op, .name = impl->name, .number = impl->number};
  add_question(asked);
  reply got __attribute__((cleanup(end_question))) = {
      operation, asked, false, "the question whether it can run here was interrupted"};
  impl->asking = true;
  pd__operation_unlock(operation);
  PD__IN_HOOK(operation);
  got.why = usable();
  got.given = true;
}

/* Only the questions of this thread are left. */
static void drop_lost_questions(void) {
  for (question *each = questions, *next; each; each = next) {
    next = each->next;
    if (each->listing->lost) remove_question(each);
  }
}

void pd__impls_in_child(void) {
  pd__family *family = NULL;
  while (questions && (family = pd__family_next(family))) {
    for (pd__op *op = family->ops; op; op = op->next) {
      for (pd__impl *each = op->candidates; each; each = each->next_candidate) {
        family->due |= each->asking;
        if (each->asking) op->seen = NULL;
        each->asking = false;
      }
    }
  }
  drop_lost_questions();
  for (const question *each = questions; each; each = each->next) {
    pd__impl *impl = pd__impl_find(each->op, each->name, each->number);
    if (impl) impl->asking = true;
  }
}

/* The module is pinned. Meanwhile the candidate doesn't count for other threads. */
void pd__impl_ask(pd__operation *operation, pd__op *op, pd__impl *impl) {
  if (!impl->def->choice.usable) {
    answer(impl, NULL);
    return;
  }
  if (pd__hooks_check_depth(NULL) != PD_OK) {
    answer(impl, "too many questions, one inside the other: most likely in a circle");
    return;
  }
  pd__pinning pinning = pd__pin_module(operation, impl->module);
  if (pinning == PD__LEAVING) answer(impl, "its module is leaving");
  if (pinning == PD__UNPINNED) pd__pins_take(operation);
  if (pinning == PD__PINNED) ask_unlocked(operation, op, impl);
}

/* ---- Keeping ---- */

bool pd__impl_must_stay(const pd__op *op, const pd__impl *best) {
  const pd_module *module = best->module;
  if (!module || module->stays || module->kept) return false;
  const pd__impl *slot = op->slots;
  while (slot && slot->module == module) slot = slot->next_slot;
  return slot != NULL;
}

void pd__impl_keep(pd__operation *operation, pd__op *op, const pd__impl *impl) {
  pd_module *module = impl->module;
  uint32_t generation = module->generation;
  uint64_t number = impl->number;
  const char *path = module->path, *name = impl->name;
  uintptr_t low = module->low, high = module->high;
  pd__operation_unlock(operation);
  const void *reference = pd__platform_hold(path, low, high); /* never given back */
  pd__operation_lock(operation);
  if (reference && module->generation == generation) module->kept = true;
  pd__impl *found = reference ? NULL : pd__impl_find(op, name, number);
  if (found) answer(found, "its module is leaving");
}

/* ---- A choice that leaves no other ---- */

/* Returns whether the list ends with a name and !, under which a candidate has come. */
static bool ends_alone(const pd__family *family, const char *list, pd__preference *out) {
  pd__preference item;
  *out = (pd__preference){.kind = PD__REST};
  while (pd__preference_next(&list, &item)) *out = item;
  return out->kind == PD__ONLY && pd__is_known(family, out);
}

static bool is_listed(const pd__impl *impl, const char *list) {
  bool named;
  return pd__preference_of(list, impl->name, &named) > 0;
}

/* Asks the next of those that the list has, until one can run. Returns whether it has asked. */
static bool ask_next(pd__operation *operation, const pd__family *family, const char *list) {
  for (pd__op *op = family->ops; op; op = op->next) {
    for (pd__impl *each = op->candidates; each; each = each->next_candidate) {
      if (each->why || each->asking || !is_listed(each, list)) continue;
      bool asks = !each->asked;
      if (asks) pd__impl_ask(operation, op, each);
      return asks;
    }
  }
  return false;
}

bool pd__impl_alone_why(const pd__family *family, const char *list, char *why, size_t size) {
  pd__preference item;
  if (!ends_alone(family, list, &item)) return false;
  unsigned count = 0;
  snprintf(why, size, "'%.*s' can't run here", (int)item.length, item.name);
  for (const pd__op *op = family->ops; op; op = op->next) {
    for (const pd__impl *each = op->candidates; each; each = each->next_candidate) {
      if (!is_listed(each, list)) continue;
      if (!each->why) return false;
      bool other = !pd__is_named(&item, each->name);
      pd__append(why, size, "%s %s%s%s: %s", count++ ? "," : ":", other ? each->name : "",
                 other ? " of " : "", op->text, each->why);
    }
  }
  return true;
}

bool pd__impl_alone_unusable(pd__operation *operation, pd__family *family, const char *list,
                             char *why, size_t size) {
  pd__preference item;
  if (!ends_alone(family, list, &item)) return false;
  while (ask_next(operation, family, list)) continue;
  return pd__impl_alone_why(family, list, why, size);
}
