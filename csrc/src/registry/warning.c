/* Warnings: kept until somebody takes them, each given once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hook.h"

typedef struct warning {
  struct warning *next;
  pd_warning kind;
  pd_error text;
} warning;

static warning *first, **end = &first;
static struct {
  pd_warning_handler handle;
  void *context;
  pd_module *module; /* that the handler is in */
} taker;

static void update_due(void) {
  pd__set_due(PD__DUE_WARNINGS, first != NULL && taker.handle != NULL);
}

pd_error *pd__warning_add(pd_warning kind) {
  warning *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->kind = kind;
  *end = made;
  end = &made->next;
  update_due();
  return &made->text;
}

static void warn(const char *subject, const char *what, const char *why) {
  pd__fail(pd__warning_add(PD_WARNING_DEPRECATED), PD_OK, "%s %s: %s", subject, what, why);
}

void pd__warn_of_name(pd_flag *node, const pd_flag *flag) {
  if (node->warned) return;
  node->warned = true;
  char use[PD_NAME_MAX + 8];
  snprintf(use, sizeof use, "use %s", flag->name);
  warn(node->name, "is deprecated", use);
}

void pd__warn_of_flag(pd_flag *flag, const pd_origin *origin) {
  char source[PD__SOURCE_SIZE];
  const pd_flag_def *def = pd__flag_def(flag);
  if (flag->warned) return;
  flag->warned = true;
  pd__source_of(flag->name, origin, source);
  if (def->retired) {
    warn(source, "is retired, its value is ignored", def->retired);
  } else {
    warn(source, "is deprecated", def->deprecated);
  }
}

/* ---- Delivering ---- */

static warning *take(void) {
  warning *taken = first;
  first = taken->next;
  if (!first) end = &first;
  return taken;
}

/* With the lock. The text of the next one, in the operation's memory, with its taker's module
 * pinned; NULL: there is none, or it must be tried again. */
static const char *next_text(pd__operation *operation, pd_warning *kind, bool *again) {
  *again = false;
  if (!first || !taker.handle) return NULL;
  pd__pinning how = pd__pin_module(operation, taker.module);
  if (how == PD__UNPINNED) {
    pd__operation_unlock(operation);
    pd__pins_take(operation);
    pd__operation_lock(operation);
    *again = true;
    return NULL;
  }
  if (how == PD__LEAVING) return NULL;
  warning *taken = take();
  *kind = taken->kind;
  update_due();
  size_t length = strlen(taken->text.message);
  const char *text = pd__arena_text(&operation->arena, taken->text.message, length);
  free(taken);
  *again = text == NULL; /* it is lost, for want of memory */
  return text;
}

void pd__warnings_deliver(pd__operation *operation) {
  bool again = true;
  while (again && pd__is_due(PD__DUE_WARNINGS)) {
    pd__operation_lock(operation);
    pd_warning kind = PD_WARNING_GENERAL;
    const char *text = next_text(operation, &kind, &again);
    pd_warning_handler handle = taker.handle;
    void *context = taker.context;
    pd__operation_unlock(operation);
    if (!text) continue;
    PD__IN_HOOK();
    handle(text, kind, context);
    again = true;
  }
}

void pd__warnings_take(pd__operation *operation, pd_warning_handler handle, void *context,
                       pd_module *module) {
  pd__module_unregister(operation, taker.module);
  taker.handle = handle;
  taker.context = context;
  taker.module = module;
  update_due();
}

void pd__warnings_leave(pd__operation *operation, const pd_module *module) {
  if (!pd__module_has(module, (uintptr_t)taker.handle)) return;
  pd__warnings_take(operation, NULL, NULL, NULL);
}
