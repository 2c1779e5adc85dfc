/* GET /v1/changes. */
#include "live.h"

#define LISTED 256 /* of those that are over or permanent */

static void write_all(pd__call *call) {
  pd__json *to = &call->json;
  size_t listed = 0;
  for (const pd__kept *kept = NULL; (kept = pd__kept_before(kept ? kept->number : UINT64_MAX));) {
    if (kept->state != PD__ON && listed >= LISTED) continue;
    listed += kept->state != PD__ON;
    pd__json_begin_item(to);
    pd__json_open(to, "{");
    pd__kept_write(to, kept);
    pd__json_close(to, "}");
  }
}

void pd__get_changes(pd__call *call) {
  pd__json *to = &call->json;
  uint64_t revision = pd__revision_now();
  PD__LOCKED_OPERATION(operation);
  pd__json_open(to, "{");
  pd__head_write(to, revision);
  pd__json_begin_member(to, "changes");
  pd__json_open(to, "[");
  write_all(call);
  pd__json_close(to, "]");
  pd__json_close(to, "}");
  pd__operation_end(&operation);
  pd__call_finish(call, 200, "application/json");
}
