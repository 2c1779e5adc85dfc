/* Warnings: kept until somebody takes them, each given once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks.h"
#include "../platform/platform.h"

typedef struct warning {
  struct warning *next;
  pd_error text;
} warning;

static warning *first;
static pd_warning_handler handler;
static void *handler_context;
bool pd__warnings_due;

static void update_due(void) {
  __atomic_store_n(&pd__warnings_due, first != NULL && handler != NULL, __ATOMIC_RELEASE);
}

/* A warning that finds no memory is lost. */
static warning *add(void) {
  warning **end = &first;
  warning *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  while (*end) end = &(*end)->next;
  *end = made;
  update_due();
  return made;
}

static void warn(const char *subject, const char *what, const char *why) {
  warning *made = add();
  if (made) pd__fail(&made->text, PD_OK, "%s %s: %s", subject, what, why);
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
  if (flag->warned) return;
  flag->warned = true;
  pd__source_of(flag->name, origin, source);
  if (pd__flag_def(flag)->retired) {
    warn(source, "is retired, its value is ignored", pd__flag_def(flag)->retired);
  } else {
    warn(source, "is deprecated", pd__flag_def(flag)->deprecated);
  }
}

void pd__warnings_tell(void) {
  while (__atomic_load_n(&pd__warnings_due, __ATOMIC_ACQUIRE)) {
    pd__platform_lock();
    warning *taken = handler ? first : NULL;
    pd_warning_handler give = handler;
    void *context = handler_context;
    if (taken) first = taken->next;
    update_due();
    pd__platform_unlock();
    if (taken) give(taken->text.message, context);
    free(taken);
  }
}

pd_status pd__do_warning_handle(pd_warning_handler wanted, void *context, pd_error *err) {
  (void)err;
  pd__platform_lock();
  handler = wanted;
  handler_context = context;
  update_due();
  pd__platform_unlock();
  pd__tell();
  return PD_OK;
}

pd_status pd__do_warning_report(const char *message, pd_error *err) {
  if (!message) return pd__fail(err, PD_ERR_ARGUMENT, "pd_warning_report: message is NULL");
  pd__platform_lock();
  warning *made = add();
  if (made) pd__fail(&made->text, PD_OK, "%s", message);
  pd__platform_unlock();
  pd__warnings_tell();
  return PD_OK;
}
