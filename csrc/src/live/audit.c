/* What the audit of a server learns, and the lifetime of a pd_live. */
#include <stdlib.h>

#include "../registry/hook.h"
#include "live.h"

void pd__live_hold(pd_live *live) { live->holders++; }

void pd__live_release(pd_live *live) {
  if (--live->holders > 0) return;
  for (size_t i = 0; i < live->token_count; i++) free(live->tokens[i].label);
  if (live->tokens) pd__wipe_memory(live->tokens, live->token_count * sizeof *live->tokens);
  free(live->tokens);
  free(live->settable);
  free(live->hosts);
  free(live->program);
  free(live);
}

void pd__audit(pd_live *live, pd__operation *operation, const char *text, size_t length) {
  if (!live->audit || !text) return;
  pd_module *module = pd__module_find_or_add((const void *)(uintptr_t)live->audit);
  pd__operation_lock(operation);
  pd__pinning how = pd__pin_module(operation, module);
  while (how == PD__UNPINNED) {
    pd__pins_acquire(operation);
    how = pd__pin_module(operation, module);
  }
  pd__hooks_prepare(operation);
  pd__operation_unlock(operation);
  if (how == PD__LEAVING) return;
  PD__IN_HOOK(operation);
  live->audit(text, length, live->context);
}

void pd__audit_begin(pd__json *to, const char *event) {
  pd__json_open(to, "{");
  pd__json_add_text(to, "event", event);
}
