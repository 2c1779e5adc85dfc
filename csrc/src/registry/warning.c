/* Warnings: kept until a handler takes them; each is delivered once. Without a handler, a limited
 * number is kept. */
#include <stdlib.h>

#include "flag.h"
#include "hook.h"

typedef struct warning {
  struct warning *next;
  pd_warning kind;
  pd_error text;
} warning;

static warning *first, **end = &first;
static size_t kept, dropped;

static warning *unlink_first_warning(void) {
  warning *unlinked = first;
  if (!unlinked) return NULL;
  first = unlinked->next;
  if (!first) end = &first;
  kept--;
  return unlinked;
}

static void drop_oldest_warning(void) {
  free(unlink_first_warning());
  dropped++;
}

pd_error *pd__warning_add(pd_warning kind) {
  warning *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  if (kept >= PD_WARNINGS_KEPT && !pd__handlers[PD__HANDLE_WARNINGS].function)
    drop_oldest_warning();
  made->kind = kind;
  *end = made;
  end = &made->next;
  kept++;
  pd__set_pending_work(PD__WORK_WARNINGS, true);
  return &made->text;
}

void pd__warn_of_deprecated_name(pd_flag *node, const pd_flag *flag) {
  if (node->warned) return;
  node->warned = true;
  pd__fail(pd__warning_add(PD_WARNING_DEPRECATED), PD_OK, "%s is deprecated: use %s", node->name,
           flag->name);
}

void pd__warn_of_deprecated_flag(pd_flag *flag, const pd_origin *origin) {
  char source[PD__SOURCE_SIZE];
  const pd_flag_def *def = pd__flag_def(flag);
  if (flag->warned) return;
  flag->warned = true;
  pd__origin_write_message_subject(flag->name, origin, source);
  const char *what = def->retired ? "is retired, its value is ignored" : "is deprecated";
  pd__fail(pd__warning_add(PD_WARNING_DEPRECATED), PD_OK, "%s %s: %s", source, what,
           def->retired ? def->retired : def->deprecated);
}

/* ---- Delivering ---- */

/* Frees the warning however the handler ends. */
static void free_warning(warning **taken) { free(*taken); }

/* A warning of those that were dropped goes before the ones that came after them. */
static warning *unlink_next_warning(void) {
  warning *made = dropped > 0 ? calloc(1, sizeof *made) : NULL;
  if (!made) return unlink_first_warning();
  pd__fail(&made->text, PD_OK, "%zu earlier warning%s dropped, as no handler was set", dropped,
           dropped == 1 ? " was" : "s were");
  made->kind = PD_WARNING_GENERAL;
  dropped = 0;
  return made;
}

/* Without a handler, the warnings stay until one is set. */
void pd__warnings_deliver(pd__operation *operation) {
  for (bool any = true; any && pd__has_pending_work(PD__WORK_WARNINGS);) {
    pd__operation_lock(operation);
    pd__handler to = pd__handler_pin_module(operation, &pd__handlers[PD__HANDLE_WARNINGS]);
    warning *taken __attribute__((cleanup(free_warning))) =
        to.function ? unlink_next_warning() : NULL;
    any = taken != NULL;
    if (!any) pd__set_pending_work(PD__WORK_WARNINGS, false);
    if (any) pd__hooks_prepare_call(operation);
    pd__operation_unlock(operation);
    PD__IN_HOOK(operation);
    if (any) ((pd_warning_handler)to.function)(taken->text.message, taken->kind, to.context);
  }
}
