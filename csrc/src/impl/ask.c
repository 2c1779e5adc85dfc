/* Asking modules whether an implementation can run here, and keeping them loaded. */
#include <stdio.h>
#include <string.h>

#include "../base/text.h"
#include "../registry/hook.h"
#include "impl.h"

static void answer(pd__impl *impl, const char *why) {
  if (impl->missed || impl == impl->op->winner) impl->op->seen = NULL;
  impl->missed = false;
  impl->asked = true;
  impl->asking = false;
  impl->why = why ? pd__intern(why) : NULL;
  if (why && !impl->why) impl->why = "memory is out";
}

/* ---- Asking ---- */

typedef struct question {
  pd__operation *operation;
  pd__op *op;
  const char *name; /* of the candidate, which may leave meanwhile */
  uint64_t number;
  const char *why;
} question;

/* Also if an exception or the end of the thread has interrupted it. */
static void end_question(question *of) {
  pd__operation_lock(of->operation);
  pd__impl *impl = pd__impl_find(of->op, of->name, of->number);
  if (impl) answer(impl, of->why);
}

static void ask_unlocked(pd__operation *operation, pd__op *op, pd__impl *impl) {
  const char *(*usable)(void) = impl->def->choice.usable;
  question asked __attribute__((cleanup(end_question))) = {
      operation, op, impl->name, impl->number, "the question whether it can run here was interrupted"};
  impl->asking = true;
  pd__operation_unlock(operation);
  PD__IN_HOOK();
  asked.why = usable();
}

/* The module is pinned. Meanwhile the candidate doesn't count for other threads. */
void pd__impl_ask(pd__operation *operation, pd__op *op, pd__impl *impl) {
  if (!impl->def->choice.usable) {
    answer(impl, NULL);
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

static pd__impl *find_named(const pd__op *op, const pd__preference *item) {
  pd__impl *each = op->candidates;
  while (each && !pd__is_named(item, each->name)) each = each->next_candidate;
  return each;
}

/* Asks the candidates of that name that nobody has asked. */
static void ask_all(pd__operation *operation, pd__family *family, const pd__preference *item) {
  for (pd__op *op = family->ops; op;) {
    pd__impl *impl = find_named(op, item);
    if (impl && !impl->asked && !impl->asking) {
      pd__impl_ask(operation, op, impl);
    } else {
      op = op->next;
    }
  }
}

bool pd__impl_alone_unusable(pd__operation *operation, pd__family *family, const char *list,
                             char *why, size_t size) {
  pd__preference item = {.kind = PD__REST}, next;
  while (pd__preference_next(&list, &next)) item = next;
  if (item.kind != PD__ONLY) return false;
  ask_all(operation, family, &item);
  unsigned count = 0;
  snprintf(why, size, "'%.*s' can't run here", (int)item.length, item.name);
  for (const pd__op *op = family->ops; op; op = op->next) {
    const pd__impl *impl = find_named(op, &item);
    if (!impl) continue;
    if (pd__is_usable(impl)) return false;
    pd__append(why, size, "%s %s: %s", count++ ? "," : ":", op->text,
               impl->why ? impl->why : "it is being asked");
  }
  return count > 0;
}
