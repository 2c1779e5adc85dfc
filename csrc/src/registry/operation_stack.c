/* The operations of the process that keep something in it or call a hook, and the work that
 * operations leave to others. */
#include "registry.h"

static pd__listing *listings;

pd__listing *pd__listing_next(const pd__listing *previous) {
  return previous ? previous->next : listings;
}

void pd__operation_push(pd__operation *operation) {
  pd__listing *listing = operation->listing;
  if (!listing) {
    listing = pd__arena_alloc(&operation->arena, sizeof *listing);
    if (!listing) return;
    *listing = (pd__listing){.next = listings, .at = &listings};
    if (listings) listings->at = &listing->next;
    listings = listing;
    operation->listing = listing;
  }
  listing->thread = pd__platform_thread();
  listing->pins = operation->pins;
  listing->retained_hooks = operation->retained_hooks;
}

void pd__listing_remove(pd__listing *listing) {
  *listing->at = listing->next;
  if (listing->next) listing->next->at = listing->at;
}

void pd__listings_reset_in_child(void) {
  uintptr_t here = pd__platform_thread();
  for (pd__listing *each = listings, *next; each; each = next) {
    next = each->next;
    if (__atomic_load_n(&each->thread, __ATOMIC_RELAXED) == here) continue;
    pd__listing_remove(each);
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
