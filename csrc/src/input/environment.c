/* Values from the environment: <prefix><name>, once a host turns it on. */
#include <string.h>

#include "input.h"

static char later_prefix[PD_NAME_MAX + 1]; /* of later definitions, while they are given values */

static char fold(char c) { return c == '-' || c == '.' ? '_' : c; }

const char *pd__environment_text(const char *prefix, const char *name, size_t length,
                                 char variable[PD__VARIABLE_SIZE]) {
  size_t before = strlen(prefix);
  if (length > PD_NAME_MAX) length = PD_NAME_MAX;
  memcpy(variable, prefix, before);
  for (size_t i = 0; i < length; i++) variable[before + i] = fold(name[i]);
  variable[before + length] = '\0';
  return pd__platform_getenv(variable);
}

/* Find the variable and its text: the flag's own, or that of an old name. Gives the node
 * of the name; NULL where none is set. */
static pd_flag *look_up(const char *prefix, pd_flag *flag, char variable[PD__VARIABLE_SIZE],
                        const char **text) {
  const pd_flag_def *def = pd__flag_def(flag);
  pd_flag *node = flag;
  *text = pd__environment_text(prefix, def->name, strlen(def->name), variable);
  for (const char *cursor = pd__list_begin(def->old_names); !*text && cursor;) {
    const char *name = cursor;
    size_t length = pd__list_next(&cursor);
    *text = pd__environment_text(prefix, name, length, variable);
    node = pd__names_find(name, length);
  }
  if (!*text) return NULL;
  if (node != flag) pd__warn_of_name(node, flag);
  return node;
}

/* ---- Names that are alike but for a dot ---- */

static bool is_alike(const char *a, const char *b) {
  while (*a && fold(*a) == fold(*b)) a++, b++;
  return !*a && !*b;
}

/* Two flags that one variable would set: neither is meant for sure. */
pd_status pd__environment_check_twin(const pd_flag *flag, const char *variable, pd_error *err) {
  if (!strpbrk(flag->name, "._-")) return PD_OK;
  for (pd_flag *other = NULL; (other = pd__names_next(other));) {
    if (other == flag || !other->defined || !is_alike(other->name, flag->name)) continue;
    return pd__fail(err, PD_ERR_CONFLICT,
                    "environment: %s: means both '%s' and '%s', expected a variable of one flag",
                    variable, flag->name, other->name);
  }
  return PD_OK;
}

/* ---- Reading ---- */

/* Make of a variable and its text what the flag takes; false, reported: it takes nothing. The
 * program may change a variable while validators run: the text is copied. */
static bool prepare(pd__operation *operation, const pd_flag *flag, const char *variable,
                    const char **text, pd_origin *origin, pd__report *report) {
  pd__arena *arena = &operation->arena;
  const char *place = pd__arena_text(arena, variable, strlen(variable));
  pd_error err;
  *origin = (pd_origin){PD_SOURCE_ENVIRONMENT, 0, place, 0};
  *text = pd__arena_text(arena, *text, strlen(*text));
  pd_status status =
      place && *text ? pd__environment_check_twin(flag, variable, &err) : pd__fail_memory(&err);
  if (status != PD_OK) pd__report_add(report, &err);
  return status == PD_OK;
}

/* Give a flag that is being defined the value that the environment has for it. */
static void apply(pd__operation *operation, pd_flag *flag, pd__report *report) {
  char variable[PD__VARIABLE_SIZE];
  const char *text;
  pd_origin origin;
  if (flag->frozen) return; /* it keeps what it had when it was frozen */
  pd_flag *node = look_up(later_prefix, flag, variable, &text);
  if (node && prepare(operation, flag, variable, &text, &origin, report)) {
    pd__pending_settle(operation, node, text, &origin, report);
  }
}

void pd__environment_use(const char *prefix) {
  if (prefix) strcpy(later_prefix, prefix); /* which was checked to fit */
  pd__define_from(prefix ? apply : NULL);
}

void pd__environment_read(const char *prefix, pd__changes *changes) {
  for (pd_flag *flag = NULL; (flag = pd__names_next(flag));) {
    char variable[PD__VARIABLE_SIZE];
    const char *text;
    pd_origin origin;
    pd_flag *node = flag->defined ? look_up(prefix, flag, variable, &text) : NULL;
    if (!node || pd__has_given(PD_SOURCE_ENVIRONMENT, flag, text)) continue;
    if (prepare(changes->operation, flag, variable, &text, &origin, changes->report)) {
      pd__changes_add(changes, node, text, (pd_value){0}, &origin, 0);
    }
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
  pd_error wrong;
  if (prefix && pd__environment_check(prefix, &wrong) != PD_OK) {
    pd__report_add(&report, &wrong);
    return report.status;
  }
  pd__changes changes;
  PD__LOCKED_OPERATION(operation);
  pd__changes_begin(&changes, &operation, &report);
  if (prefix) pd__environment_read(prefix, &changes);
  pd_status status = pd__changes_finish(&changes);
  if (status == PD_OK) pd__environment_use(prefix);
  return pd__operation_return(&operation, status);
}
