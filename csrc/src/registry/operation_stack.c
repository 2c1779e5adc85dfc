/* The operations of the process that keep something in it or call a hook, and the work that
 * operations leave to others. */
#include "registry.h"

static pd__active_operation *active_operations;

pd__active_operation *pd__active_operation_next(const pd__active_operation *previous) {
  return previous ? previous->next : active_operations;
}

void pd__operation_mark_active(pd__operation *operation) {
  pd__active_operation *active = operation->active;
  if (!active) {
    active = pd__arena_alloc(&operation->arena, sizeof *active);
    if (!active) return;
    *active = (pd__active_operation){.next = active_operations, .at = &active_operations};
    if (active_operations) active_operations->at = &active->next;
    active_operations = active;
    operation->active = active;
  }
  active->thread = pd__platform_thread_id();
  active->pins = operation->pins;
  active->retained_hooks = operation->retained_hooks;
}

void pd__active_operation_remove(pd__active_operation *active) {
  *active->at = active->next;
  if (active->next) active->next->at = active->at;
}

void pd__active_operations_reset_in_child(void) {
  uintptr_t here = pd__platform_thread_id();
  for (pd__active_operation *each = active_operations, *next; each; each = next) {
    next = each->next;
    if (__atomic_load_n(&each->thread, __ATOMIC_RELAXED) == here) continue;
    pd__active_operation_remove(each);
    each->next = NULL;
    each->at = &each->next;
    each->lost = true;
  }
}

uint8_t pd__pending_work;

void pd__set_pending_work(uint8_t what, bool is_due) {
  uint8_t others = pd__pending_work & (uint8_t)~what;
  __atomic_store_n(&pd__pending_work, is_due ? others | what : others, __ATOMIC_RELEASE);
}
