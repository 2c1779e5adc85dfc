/* GET /v1/fleet and POST /v1/fleet/changes. Whoever asks has the rights and the flags that it has
 * for this process; what the fleet is, only the server knows. */
#include <string.h>

#include "../base/sized.h"
#include "order.h"

/* Ends the call; the server makes the body. */
static void hand_over(pd__call *call, int64_t duration) {
  pd_live_who who = pd__call_who(call);
  pd__call_finish(call, 200, "application/json");
  call->response->label =
      who.label ? pd__arena_copy_text(call->arena, who.label, strlen(who.label)) : NULL;
  call->response->duration_ms = duration;
  call->response->fleet = true;
}

static bool has_fleet(pd__call *call) {
  bool told = call->response->size >= PD__SIZE_UP_TO(pd_live_response, fleet);
  if (call->live->fleet && told) return true;
  pd__call_fail(call, PD__PROBLEM_UNKNOWN, "no fleet: this server knows of none");
  return false;
}

void pd__get_fleet(pd__call *call) {
  if (has_fleet(call)) hand_over(call, 0);
}

/* A fleet publishes what it sets. */
static bool are_public(pd__deed *deed) {
  for (size_t i = 0; i < deed->order->set.count; i++) {
    const pd__wish *wish = &deed->order->set.items[i];
    if (!pd__flag_is_sensitive(wish->flag)) continue;
    pd__deed_fail(deed, PD__PROBLEM_FORBIDDEN, wish->name, PD_ERR_REFUSED,
                  "%s: is sensitive, and a fleet publishes all values", pd__flag_name(wish->flag));
  }
  return deed->fault_count == 0;
}

void pd__post_fleet(pd__call *call) {
  pd__order order = {.undo = 0};
  if (!has_fleet(call) || !pd__order_read_fleet(call, &order)) return;
  pd__deed deed = {.call = call, .order = &order};
  deed.event.arena = call->arena;
  PD__LOCKED_OPERATION(operation);
  deed.operation = &operation;
  bool allowed = pd__deed_permit(&deed) && are_public(&deed);
  pd__operation_end(&operation);
  if (!allowed) pd__deed_finish(&deed, false);
  if (allowed) hand_over(call, order.duration);
}
