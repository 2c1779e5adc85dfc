/* Parsing and checking the value of an assignment. Nothing here changes a flag's value, except for
 * adopting what modules have assigned. */
#include "change.h"
#include "flag.h"
#include "hook.h"

static pd_status fail_startup_over(const char *name, const pd_origin *origin, pd_error *err) {
  char source[PD__SOURCE_SIZE];
  return pd__fail(err, PD_ERR_FROZEN,
                  "%s: can be set at startup only, and the command line has been parsed",
                  pd__origin_write_message_subject(name, origin, source));
}

static bool is_startup_over(const pd_flag *flag) {
  return pd__startup_over && pd__flag_def(flag)->startup_only;
}

/* Returns PD_OK if the flag accepts values from `origin`, startup aside; `name` is the one the
 * caller used. */
static pd_status check_writable(const pd_flag *flag, const char *name, const pd_origin *origin,
                                pd_error *err) {
  char source[PD__SOURCE_SIZE];
  const pd_flag_def *def = pd__flag_def(flag);
  bool retired =
      def->retired && pd_source_rank(origin->source) >= pd_source_rank(PD_SOURCE_RUNTIME);
  if (!def->read_only && !flag->frozen && !retired) return PD_OK;
  pd__origin_write_message_subject(name, origin, source);
  if (def->read_only) return pd__fail(err, PD_ERR_READ_ONLY, "%s: is read-only", source);
  if (flag->frozen) return pd__fail(err, PD_ERR_FROZEN, "%s: is frozen", source);
  return pd__fail(err, PD_ERR_READ_ONLY, "%s: is retired: %s", source, def->retired);
}

pd_status pd__flag_check_settable(pd__operation *operation, pd_flag *flag, const pd_origin *origin,
                                  pd_error *err) {
  pd_status status = pd__flag_adopt_and_check_defined(operation, flag, err);
  const char *name = status == PD_OK ? pd__flag_def(flag)->name : NULL;
  if (status == PD_OK) status = check_writable(flag, name, origin, err);
  return status == PD_OK && is_startup_over(flag) ? fail_startup_over(name, origin, err) : status;
}

pd_status pd__flag_check_type(pd__operation *operation, pd_flag *flag, pd_type type,
                              pd_error *err) {
  pd_status status = pd__flag_adopt_and_check_defined(operation, flag, err);
  if (status != PD_OK || flag->type == type) return status;
  return pd__fail(err, PD_ERR_TYPE, "%s: is %s, not %s", pd__flag_def(flag)->name,
                  pd_type_name(flag->type), pd_type_name(type));
}

pd_status pd__flag_check_text_or_type(pd__operation *operation, pd_flag *flag, const char *text,
                                      pd_type type, pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  return text ? pd__flag_adopt_and_check_defined(operation, flag, err)
              : pd__flag_check_type(operation, flag, type, err);
}

/* ---- Errors about a value ---- */

/* A launcher that passes on a variable which isn't set makes one that is empty. */
pd_status pd__fail_value_with_reason(pd_status status, const pd_flag *flag, const char *name,
                                     const char *text, const pd_origin *origin, const char *why,
                                     pd_error *err) {
  char source[PD__SOURCE_SIZE], quoted[PD__ESCAPED_SIZE];
  pd__origin_write_message_subject(name, origin, source);
  if (!*text && pd__origin_is_env_variable(origin)) {
    return pd__fail(err, status, "%s: is empty, %s", source, why);
  }
  return pd__fail(err, status, "%s=%s: %s", source,
                  flag->sensitive ? PD__REDACTED : pd__escape_text(quoted, text), why);
}

pd_status pd__fail_value(pd_status status, const pd_flag *flag, const char *name, const char *text,
                         const pd_origin *origin, pd_error *err) {
  char why[256];
  pd__value_explain_rejected_text(pd__flag_def(flag), text, why, sizeof why);
  return pd__fail_value_with_reason(status, flag, name, text, origin, why, err);
}

static pd_status check_literal_type(const pd__change *change, pd_error *err) {
  const char *why = pd__literal_find_fault(pd__flag_def(change->flag), change->literal);
  if (!why) return PD_OK;
  return pd__fail_value_with_reason(PD_ERR_TYPE, change->flag, change->node->name, change->text,
                                    &change->origin, why, err);
}

/* ---- Parsing ---- */

/* Choices are checked after the conversion, which may make a value one of them. */
static pd_status check_unconverted_value(const pd_flag_def *def, pd_value value) {
  pd_flag_def open = *def;
  if (!def->convert) return pd__value_check(def, value);
  open.choices = NULL;
  return pd__value_check(&open, value);
}

static pd_status parse_and_check_value(const pd_flag *flag, const char *text, pd_value *value) {
  if (flag->simple && text) return pd__value_parse(flag->type, text, value);
  pd_status status = text ? pd__value_parse_with_unit(pd__flag_def(flag), text, value) : PD_OK;
  return status == PD_OK ? check_unconverted_value(pd__flag_def(flag), *value) : status;
}

static pd_status parse_and_check_change(pd__change *change, pd_error *err) {
  const pd_flag *flag = change->flag;
  if (flag->type == PD_TYPE_string && !change->text && !change->value.str) {
    return pd__fail(err, PD_ERR_ARGUMENT, "%s: the value is NULL, expected text", flag->name);
  }
  if (change->literal && check_literal_type(change, err) != PD_OK) return PD_ERR_TYPE;
  pd_status status = parse_and_check_value(flag, change->text, &change->value);
  if (status == PD_OK) return PD_OK;
  char number[PD__NUMBER_SIZE];
  const char *text =
      change->text ? change->text : pd__value_get_text(flag->type, change->value, number);
  return pd__fail_value(status, flag, change->node->name, text, &change->origin, err);
}

/* Returns true if the flag has the value of the change, or the default if that is to change. */
static bool has_value_of_change(const pd__change *change) {
  const pd_flag *flag = change->flag;
  bool defaults = change->origin.source == PD_SOURCE_DEFAULT;
  if (!defaults && flag->state & PD_STATE_UNSET) return false;
  pd_value value = defaults ? pd__flag_get_current_default(flag) : pd__flag_value(flag);
  return pd__value_is_equivalent(pd__flag_def(flag), change->value, value);
}

/* After startup, a startup-only flag still accepts the value that it has, which changes nothing: a
 * forked child or the initializer of a pool may set everything again. */
static pd_status check_unchanged_after_startup(pd__change *change, pd_error *err) {
  bool kept = parse_and_check_change(change, NULL) == PD_OK && has_value_of_change(change);
  change->action = PD__IDLE;
  return kept ? PD_OK : fail_startup_over(change->node->name, &change->origin, err);
}

/* Returns whether the library itself has made the flag: such are those of operations. */
static bool is_internally_defined_flag(const pd_flag *flag) {
  return !flag->cells->module && !flag->cells->registered;
}

pd_status pd__flag_check_scopable(const pd__changes *changes, const pd_flag *flag, const char *name,
                                  pd_error *err) {
  if (!changes->scopes || pd__flag_def(flag)->scoped) return PD_OK;
  if (is_internally_defined_flag(flag)) {
    return pd__fail(err, PD_ERR_TYPE,
                    "%s: only scoped operations have a choice of one thread or task: define it by "
                    "PD_DEFINE_SCOPED_OP",
                    name);
  }
  return pd__fail(err, PD_ERR_TYPE,
                  "%s: only scoped flags have values of one thread or task: define it by "
                  "PD_DEFINE_SCOPED_%s, or in Python by define(..., scoped=True)",
                  name, pd_type_name(flag->type));
}

pd_status pd__prepare_change(pd__change *change, const pd__changes *changes, pd_error *err) {
  pd_flag *flag = change->flag;
  bool plain = flag->defined && !flag->assignable;
  pd_status status =
      plain ? PD_OK : pd__flag_adopt_and_check_defined(changes->operation, flag, err);
  if (status == PD_OK) status = pd__flag_check_scopable(changes, flag, change->node->name, err);
  if (status != PD_OK) return status;
  change->action = PD__ASSIGN;
  change->generation = flag->generation;
  change->type = flag->type;
  if (!flag->simple || flag->frozen) {
    const pd_flag_def *def = pd__flag_def(flag);
    status = check_writable(flag, change->node->name, &change->origin, err);
    if (status != PD_OK) return status;
    bool warns = (def->retired || def->deprecated) && !changes->are_drafts;
    if (warns) pd__warn_of_deprecated_flag(flag, &change->origin);
    if (def->retired) change->action = PD__IDLE;
    bool late = is_startup_over(flag) && !changes->is_defining && !def->retired;
    if (late && !def->convert) return check_unchanged_after_startup(change, err);
  }
  return change->action == PD__IDLE ? PD_OK : parse_and_check_change(change, err);
}

pd_status pd__prepare_check_converted(pd__change *change, const pd__changes *changes,
                                      const char *text, pd_error *err) {
  const pd_flag *flag = change->flag;
  pd_status status = pd__value_check(pd__flag_def(flag), change->value);
  if (status != PD_OK) {
    return pd__fail_value(status, flag, change->node->name, text, &change->origin, err);
  }
  if (!is_startup_over(flag) || changes->is_defining) return PD_OK;
  change->action = PD__IDLE;
  return has_value_of_change(change) ? PD_OK
                                     : fail_startup_over(change->node->name, &change->origin, err);
}

void pd__prepare_reset(pd__change *change, bool pushes) {
  pd_flag *flag = change->flag;
  if (!change->resets) return;
  bool over = pd__flag_own_override(flag) && change->origin.source != PD_SOURCE_LIVE;
  change->action = pushes || over ? PD__ASSIGN : PD__RESET;
  change->type = flag->type;
  change->value = pd__flag_get_current_default(flag);
}

pd_source pd__change_get_effective_source(const pd__change *change) {
  bool below = change->origin.source != PD_SOURCE_RUNTIME || !pd__flag_own_override(change->flag);
  return below ? change->origin.source : PD_SOURCE_OVERRIDE;
}

/* ---- After the lock was released ---- */

static pd_status prepare_change_again(pd__change *change, const pd__changes *changes,
                                      pd_error *err) {
  pd_flag *flag = change->flag;
  if (flag->defined) pd__prepare_reset(change, changes->pushes); /* overrides may have changed */
  if (change->action == PD__ASSIGN && !change->resets && change->generation != flag->generation) {
    pd_status typed = PD_OK; /* text suits every type */
    if (!change->text) typed = pd__flag_check_type(changes->operation, flag, change->type, err);
    return typed == PD_OK ? pd__prepare_change(change, changes, err) : typed;
  }
  pd_status status = pd__flag_adopt_and_check_defined(changes->operation, flag, err);
  if (status != PD_OK || change->action == PD__IDLE) return status;
  status = check_writable(flag, change->node->name, &change->origin, err);
  bool converts = change->action == PD__ASSIGN && pd__flag_def(flag)->convert;
  bool late = status == PD_OK && is_startup_over(flag) && !changes->is_defining && !converts;
  return late ? fail_startup_over(change->node->name, &change->origin, err) : status;
}

void pd__prepare_changes_again(pd__changes *changes) {
  for (size_t i = 0; i < changes->count; i++) {
    pd_error err;
    pd__change *change = &changes->items[i];
    changes->hooked |= pd__flag_has_hooks(change->flag);
    if (prepare_change_again(change, changes, &err) != PD_OK) {
      pd__report_add(changes->report, &err);
      change->action = PD__IDLE; /* its value may be of another type: it isn't converted */
    }
  }
}
