/* GET /v1/process. */
#include <string.h>

#include "../base/profile.h"
#include "../registry/journal.h"
#include "live.h"

typedef struct counts {
  size_t flags, temporary;
  const char *epoch;
  uint64_t revision;
} counts;

static counts count(pd__call *call) {
  counts found = {.revision = pd__revision_now()};
  PD__LOCKED_OPERATION(operation);
  for (pd_flag *flag = NULL; (flag = pd__names_next_listed(flag));)
    found.flags += pd__flag_def(flag) != NULL;
  found.temporary = pd__kept_on();
  const char *epoch = pd__journal_epoch();
  found.epoch = pd__arena_copy_text(call->arena, epoch, strlen(epoch));
  pd__operation_end(&operation);
  return found;
}

static void write_you(pd__call *call) {
  pd__json *to = &call->json;
  pd_live_who who = pd__call_who(call);
  pd__json_begin_member(to, "you");
  pd__json_open(to, "{");
  pd__json_add_who(to, &who);
  const char *may[] = {"", "read", "change", "read|change"};
  pd__json_add_names(to, "may", may[call->may & 3]);
  pd__json_close(to, "}");
}

void pd__process_write(pd__call *call) {
  pd__json *to = &call->json;
  pd__platform_self self;
  counts found = count(call);
  pd__platform_identify(&self);
  pd__json_open(to, "{");
  pd__json_add_text(to, "api", "v1");
  pd__json_add_text(to, "version", PD__VERSION);
  pd__json_add_text(to, "program", call->live->program ? call->live->program : self.program);
  pd__json_add_number(to, "pid", self.pid);
  pd__json_add_text(to, "host", self.host);
  pd__json_add_text(to, "epoch", found.epoch ? found.epoch : "");
  pd__json_add_number(to, "revision", (int64_t)found.revision);
  pd__json_add_number(to, "flags", (int64_t)found.flags);
  write_you(call);
  pd__json_add_number(to, "temporary", (int64_t)found.temporary);
  pd__json_close(to, "}");
}

void pd__get_process(pd__call *call) {
  pd__process_write(call);
  pd__call_finish(call, 200, "application/json");
}
