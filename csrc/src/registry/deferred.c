/* A list of the work deferred within constructors and destructors. */
#include "deferred.h"

#include <stdlib.h>

#include "flag.h"
#include "hook.h"
#include "loader.h"

static pd__deferred *first, **end = &first;

bool pd__deferred_add(pd__operation *operation, pd_flag *flag, pd_hook watcher) {
  pd__deferred *made = malloc(sizeof *made);
  if (!made) return false;
  *made = (pd__deferred){flag, watcher, pd__loader_get_deferred_owner(), NULL};
  *end = made;
  end = &made->next;
  if (!made->owner) operation->deferred = true;
  return true;
}

bool pd__deferred_pop(const void *owner, pd__deferred *out) {
  pd__deferred **at = &first;
  while (*at && (*at)->owner != owner) at = &(*at)->next;
  pd__deferred *taken = *at;
  if (!taken) return false;
  *at = taken->next;
  if (!taken->next) end = at;
  *out = *taken;
  free(taken);
  return true;
}

void pd__deferred_hand_over(pd__operation *operation, const void *owner, const void *heir) {
  for (pd__deferred *each = first; each; each = each->next) {
    if (each->owner != owner) continue;
    each->owner = heir;
    if (!heir) operation->deferred = true;
  }
}

void pd__deferred_clear_owners_in_child(void) {
  for (pd__deferred *each = first; each; each = each->next) each->owner = NULL;
}

bool pd__flag_is_validation_deferred(const pd_flag *flag) {
  if (!pd__loader_is_entered()) return false;
  if (flag->defined && pd__flag_def(flag)->convert) return true;
  const pd__target *at = pd__hooks_first(flag);
  while (at && (at->hook->watches || !at->hook->deferrable)) at = at->next;
  return at != NULL;
}

void pd__deferred_notify_handler(pd__operation *operation) {
  pd__operation_lock(operation);
  pd__handler to = pd__handler_pin_module(operation, &pd__handlers[PD__HANDLE_DEFERRED]);
  pd__operation_unlock(operation);
  if (to.function) ((pd_deferred_handler)to.function)(to.context);
}
