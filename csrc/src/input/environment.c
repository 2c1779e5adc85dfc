#include "environment.h"

#include <string.h>

#include "../platform/platform.h"
#include "../base/text.h"

static const char *later_prefix;

void pd__environment_variable(const char *prefix, const char *name, size_t length,
                              char out[PD__VARIABLE_SIZE]) {
  size_t before = strlen(prefix);
  if (length > PD_NAME_MAX) length = PD_NAME_MAX;
  memcpy(out, prefix, before);
  for (size_t i = 0; i < length; i++) {
    out[before + i] = name[i] == '-' || name[i] == '.' ? '_' : name[i];
  }
  out[before + length] = '\0';
}

static const char *text_of(const char *prefix, const char *name, size_t length,
                           char variable[PD__VARIABLE_SIZE]) {
  pd__environment_variable(prefix, name, length, variable);
  return pd__platform_getenv(variable);
}

/* Find the variable and its text: the flag's own, or that of an old name. Gives the node
 * of the name; NULL where none is set. */
static pd_flag *look_up(const char *prefix, pd_flag *flag, char variable[PD__VARIABLE_SIZE],
                        const char **text) {
  pd_flag *node = flag;
  *text = text_of(prefix, pd__flag_def(flag)->name, strlen(pd__flag_def(flag)->name), variable);
  for (const char *cursor = pd__list_begin(pd__flag_def(flag)->old_names); !*text && cursor;) {
    const char *name = cursor;
    size_t length = pd__list_next(&cursor);
    *text = text_of(prefix, name, length, variable);
    node = pd__names_find(name, length);
  }
  if (!*text) return NULL;
  if (node != flag) pd__warn_of_name(node, flag);
  return node;
}

void pd__environment_use(const char *prefix) { later_prefix = prefix; }
bool pd__environment_used(void) { return later_prefix != NULL; }

void pd__environment_apply(pd_flag *flag, pd__report *report) {
  char variable[PD__VARIABLE_SIZE];
  const char *text;
  if (flag->frozen) return; /* it keeps what it had when it was frozen */
  pd_flag *node = later_prefix ? look_up(later_prefix, flag, variable, &text) : NULL;
  if (!node) return;
  pd_origin origin = {PD_SOURCE_ENVIRONMENT, 0, variable, 0};
  pd__settle(node, text, &origin, report);
}

void pd__environment_read(const char *prefix, pd__changes *changes) {
  pd_flag *flag;
  for (uint32_t i = 0; (flag = pd__names_at(i)); i++) {
    char variable[PD__VARIABLE_SIZE];
    const char *text;
    pd_flag *node = pd__flag_def(flag) ? look_up(prefix, flag, variable, &text) : NULL;
    if (!node) continue;
    /* A flag that is closed by now must not be refused what it has taken before. */
    if (pd__flag_has(flag, PD_SOURCE_ENVIRONMENT, text)) continue;
    pd_origin origin = {PD_SOURCE_ENVIRONMENT, 0, variable, 0};
    pd__changes_add(changes, node, text, (pd_value){0}, &origin);
  }
}

pd_status pd__environment_check(const char *prefix, pd_error *err) {
  char quoted[PD__QUOTE_SIZE];
  if (strlen(prefix) <= PD_NAME_MAX && !strchr(prefix, '=')) return PD_OK;
  return pd__fail(err, PD_ERR_ARGUMENT,
                  "environment prefix '%s': expected at most %d bytes without '='",
                  pd__quote(quoted, prefix), PD_NAME_MAX);
}

pd_status pd__do_environment_enable(const char *prefix, pd_error_list *errors, pd_error *err) {
  pd__report report = {.list = errors, .first = err};
  pd__changes changes = {.report = &report};
  pd_error wrong;
  if (prefix && pd__environment_check(prefix, &wrong) != PD_OK) {
    pd__report_add(&report, &wrong);
    return report.status;
  }
  pd__platform_lock();
  const char *kept = pd__intern(prefix);
  if (prefix && !kept) {
    pd__fail_memory(&wrong);
    pd__report_add(&report, &wrong);
  } else if (prefix) {
    pd__environment_read(kept, &changes);
  }
  pd_status status = pd__changes_finish(&changes);
  if (status == PD_OK) pd__environment_use(kept);
  pd__platform_unlock();
  pd__tell();
  return status;
}
