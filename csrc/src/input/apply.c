/* Applying the values of files or of the fleet: all of them or none. */
#include <string.h>

#include "input.h"

/* Returns the last token that names each flag, by the flag's index; NULL if memory is out. Sets
 * *whole if everything was read without an error. */
static const pd__token **find_last_tokens(const pd_config *config, pd__reader *reader,
                                          bool *whole) {
  size_t size = (pd__names_count() + 1) * sizeof(pd__token *);
  const pd__token **last = pd__arena_alloc(&reader->operation->arena, size);
  *whole = true;
  for (size_t i = 0; last && i < config->values.count; i++) {
    const pd__token *token = &config->values.items[i];
    pd_flag *flag = pd__token_resolve(token).flag;
    if (flag) last[pd__name_index(flag)] = token;
    if (token->status != PD_OK) *whole = false;
  }
  return last;
}

static bool can_change_flag(pd__reader *reader, pd_flag *flag, const pd__token *token) {
  return pd__flag_check_settable(reader->operation, flag, &token->origin, NULL) == PD_OK;
}

/* A flag that is frozen or past startup keeps the value that an earlier application gave it: no
 * error if the last token that names it has that value. */
static bool has_same_fixed_value(pd__reader *reader, const pd__token *token, pd_flag *flag) {
  if (!token || can_change_flag(reader, flag, token)) return false;
  const char *text = token->text;
  if (!text) text = pd__token_resolve(token).negated ? "false" : "true";
  return pd__flag_has_same_value_from(token->origin.source, flag, text);
}

/* Drops the previous values of the source before the new ones are assigned, so that the history
 * does not show them as replaced within one file. */
static void drop_source_values(pd__reader *reader, const pd__token **last) {
  for (pd_flag *flag = NULL; (flag = pd__names_next(flag));) {
    const pd__token *token = last[pd__name_index(flag)];
    bool drops = pd__flag_def(flag) && (!token || can_change_flag(reader, flag, token));
    if (drops) pd__reader_stage_drop(reader, flag, reader->renews);
  }
}

void pd__config_stage_values(const pd_config *config, pd__reader *reader) {
  bool whole;
  const pd__token **last = find_last_tokens(config, reader, &whole);
  if (!last) return;
  reader->renews = config->source;
  if (whole) drop_source_values(reader, last);
  for (size_t i = 0; i < config->values.count; i++) {
    const pd__token *token = &config->values.items[i];
    pd__meaning meaning = pd__token_resolve(token);
    pd_flag *flag = meaning.flag;
    bool stood = flag && has_same_fixed_value(reader, last[pd__name_index(flag)], flag);
    if (!stood && !pd__option_handle_undefok(reader, token))
      pd__reader_stage_token(reader, token, &meaning);
  }
}

static pd_status assign_config_and_finish(const pd_config *config, bool allow_pending,
                                          pd_status (*finish)(pd__reader *), pd_error_list *errors,
                                          pd_error *err) {
  if (!config) return pd__fail_null(err, "config");
  pd__report report = {.list = errors, .first = err};
  pd__reader reader;
  PD__LOCKED_OPERATION(operation);
  pd__reader_begin(&reader, &operation, &report);
  reader.allow_pending = allow_pending;
  reader.changes.yields = config->source != PD_SOURCE_FLEET && !pd__startup_over;
  pd__config_stage_values(config, &reader);
  return pd__operation_return(&operation, finish(&reader));
}

pd_status pd_config_apply(const pd_config *config, bool allow_pending, pd_error_list *errors,
                          pd_error *err) {
  return assign_config_and_finish(config, allow_pending, pd__reader_commit, errors, err);
}

pd_status pd_config_check(const pd_config *config, bool allow_pending, pd_error_list *errors,
                          pd_error *err) {
  return assign_config_and_finish(config, allow_pending, pd__reader_report_and_validate, errors,
                                  err);
}

pd_status pd_config_add_flagfile(pd_config *config, const char *path, const char *program,
                                 pd_error_list *errors, pd_error *err) {
  if (!config) return pd__fail_null(err, "config");
  if (!path) return pd__fail_null(err, "path");
  size_t before = config->values.count;
  pd__report report = {.list = errors, .first = err};
  pd__reader reader;
  PD__OPERATION(operation);
  pd__files files = {.arena = &operation.arena, .rules = &config->rules};
  pd__files_read(&files, path, strlen(path));
  pd__operation_lock(&operation);
  pd__reader_begin(&reader, &operation, &report);
  reader.config = config;
  reader.program = program;
  reader.sources = &files;
  pd__reader_handle_flagfile(&reader, path, strlen(path), NULL);
  pd_status status = pd__reader_commit(&reader);
  pd__operation_end(&operation);
  if (status != PD_OK) config->values.count = before; /* all or nothing */
  return status;
}
