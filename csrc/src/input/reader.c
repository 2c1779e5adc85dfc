/* Turns tokens into changes. A token with the name of a flag becomes a change; any other is pending
 * or an error. Either all changes take effect or none does. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "input.h"

/* A command line with a million wrong tokens must not fill the memory with errors. */
#define ERRORS_SHOWN 100

void pd__reader_begin(pd__reader *reader, pd__operation *operation, pd__report *report) {
  *reader = (pd__reader){.operation = operation, .report = report};
  pd__changes_begin(&reader->changes, operation, report);
  reader->changes.merges = true;
}

/* ---- Findings ---- */

void pd__reader_add_error(pd__reader *reader, const pd_error *err) {
  if (reader->errors++ >= ERRORS_SHOWN) return;
  pd__arena *arena = &reader->operation->arena;
  const char *text = pd__arena_copy_text(arena, err->message, strlen(err->message));
  pd__token finding = {
      .name = "", .text = text, .status = (uint8_t)err->status, .about = reader->about};
  pd__tokens_add(arena, &reader->findings, finding);
}

void pd__reader_add_token_error(pd__reader *reader, const pd__token *token, pd_status status,
                                const char *format, ...) {
  char message[sizeof(((pd_error *)0)->message)];
  size_t used = token ? strlen(pd__token_write_message_subject(token, message)) : 0;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message + used, sizeof message - used, format, arguments);
  va_end(arguments);
  pd_error err;
  pd__fail(&err, status, "%s", message);
  pd__reader_add_error(reader, &err);
}

/* ---- Tokens ---- */

void pd__reader_stage_assignment(pd__reader *reader, pd_flag *node, const char *text,
                                 const pd_origin *origin, uint32_t literal) {
  pd_error err;
  pd_status status = pd__changes_stage_assignment(&reader->changes, node, text, (pd_value){0},
                                                  origin, literal, &err);
  if (status == PD_OK) return;
  reader->about = pd__resolve_alias(node);
  pd__reader_add_error(reader, &err);
  reader->about = NULL;
}

static void stage_negation(pd__reader *reader, pd_flag *flag, const pd__token *token) {
  const char *name = pd__flag_def(flag)->name;
  if (pd__flag_def(flag)->type != PD_TYPE_bool) {
    pd__reader_add_token_error(reader, token, PD_ERR_ARGV,
                               ": %s is %s, and only a bool can be negated", name,
                               pd_type_name(pd__flag_type(flag)));
  } else if (token->text) {
    pd__reader_add_token_error(reader, token, PD_ERR_ARGV,
                               ": takes no value; write --%s=true or --%s=false", name, name);
  } else {
    pd__reader_stage_assignment(reader, flag, "false", &token->origin, token->literal);
  }
}

/* -vvv is three uses of -v. */
static void stage_increment(pd__reader *reader, const pd__token *token,
                            const pd__meaning *meaning) {
  char number[PD__NUMBER_SIZE];
  const pd_flag_def *def = pd__flag_def(meaning->flag);
  bool letters = !pd__flag_name(meaning->node)[1];
  pd_value before = pd__changes_find_count_start(&reader->changes, meaning->flag, &token->origin);
  bool fits = pd__value_write_incremented(def, before, letters ? token->length : 1, number);
  const char *text = pd__arena_copy_text(&reader->operation->arena, number, strlen(number));
  if (!fits || !text) {
    pd__reader_add_token_error(reader, token, PD_ERR_RANGE, ": counts too far");
  } else {
    pd__reader_stage_assignment(reader, meaning->node, text, &token->origin, token->literal);
  }
}

static void fail_missing_value(pd__reader *reader, const pd_flag *flag, const char *name,
                               const pd__token *token) {
  char expected[256], quoted[PD__ESCAPED_SIZE], source[PD__SOURCE_SIZE];
  pd__value_write_expected(pd__flag_def(flag), expected, sizeof expected);
  pd__origin_write_message_subject(name, &token->origin, source);
  if (token->next && !pd__flag_is_sensitive(flag)) {
    size_t shown = pd__token_get_nonsecret_length(token->next);
    pd__reader_add_token_error(
        reader, NULL, PD_ERR_ARGV,
        "%s: the value is missing before %s, expected %s; a value that begins with a "
        "dash is written --%s=VALUE",
        source, pd__escape_part(quoted, token->next, shown), expected, name);
  } else {
    pd__reader_add_token_error(reader, NULL, PD_ERR_ARGV, "%s: the value is missing, expected %s",
                               source, expected);
  }
}

void pd__reader_stage_token(pd__reader *reader, const pd__token *token,
                            const pd__meaning *meaning) {
  pd_flag *flag = meaning->flag;
  if (token->status != PD_OK) {
    pd__reader_add_token_error(reader, NULL, (pd_status)token->status, "%s", token->text);
  } else if (!flag) {
    pd__tokens_add(&reader->operation->arena, &reader->findings, *token);
  } else if (meaning->negated) {
    stage_negation(reader, flag, token);
  } else if (!token->text && pd__flag_def(flag)->count) {
    stage_increment(reader, token, meaning);
  } else if (token->text || pd__flag_def(flag)->type == PD_TYPE_bool) {
    const char *text = token->text ? token->text : "true";
    pd__reader_stage_assignment(reader, meaning->node, text, &token->origin, token->literal);
  } else {
    fail_missing_value(reader, flag, pd__flag_name(meaning->node), token);
  }
}

/* The place is that of the previous value, since the source doesn't have one any more. */
static void fail_frozen_value(pd__reader *reader, const pd_flag *flag, const pd_origin *origin) {
  char place[PD__PREFIX_SIZE];
  size_t length = strlen(pd__origin_write_message_prefix(origin, place));
  if (length > 2) length -= 2; /* ": " */
  pd__reader_add_token_error(
      reader, NULL, PD_ERR_FROZEN, "--%s: %s, and the %s no longer gives its value%s%.*s%s",
      pd__flag_def(flag)->name,
      pd__flag_is_frozen(flag) ? "is frozen" : "can be set at startup only",
      pd_source_name(origin->source), length ? " (" : "", (int)length, place, length ? ")" : "");
}

void pd__reader_stage_drop(pd__reader *reader, pd_flag *flag, pd_source source) {
  pd__entry given;
  if (!pd__history_find_source_entry(flag, source, &given)) return;
  if (pd__flag_check_settable(reader->operation, flag, &given.origin, NULL) == PD_OK) {
    pd__changes_add_drop(&reader->changes, flag, source);
  } else {
    reader->about = flag;
    fail_frozen_value(reader, flag, &given.origin);
    reader->about = NULL;
  }
}

/* ---- Reporting and committing ---- */

/* Returns true if the token is like -p9: one dash, several characters, no value. */
static bool is_letter_cluster(const pd__token *token) {
  return !strcmp(token->dashes, "-") && !token->text && token->length > 1 &&
         !token->name[token->length];
}

static void report_undefined(pd__reader *reader, const pd__token *token) {
  char suggestion[PD__SUGGESTION_SIZE], source[PD__SOURCE_SIZE], place[PD__PREFIX_SIZE];
  size_t before = strlen(token->dashes);
  bool option = before && token->dashes[before - 1] == '-'; /* not from --fromenv=, and no key */
  pd__suggest_name(token->name, token->length, option ? "--" : NULL, suggestion);
  if (token->secret) {
    pd__report_fail(reader->report, PD_ERR_UNDEFINED, "argv[%u]: no such flag", token->origin.line);
    return;
  }
  if (!*suggestion && pd__token_has_attached_secret(token)) {
    pd__report_fail(reader->report, PD_ERR_UNDEFINED, "%s-%c%s: no such flag",
                    pd__origin_write_message_prefix(&token->origin, place), *token->name,
                    PD__REDACTED);
    return;
  }
  bool number = *token->name == '.' || (*token->name >= '0' && *token->name <= '9');
  if (!*suggestion && token->suggestion) {
    snprintf(suggestion, sizeof suggestion, "%s", token->suggestion);
  } else if (!*suggestion && number && option && !token->origin.place) {
    snprintf(suggestion, sizeof suggestion, "; arguments that begin with a dash go after --");
  } else if (!*suggestion && is_letter_cluster(token)) {
    pd__suggest_for_short_option(token->name, suggestion);
  }
  pd__report_fail(reader->report, PD_ERR_UNDEFINED, "%s: no such flag%s",
                  pd__token_write_message_subject(token, source), suggestion);
}

/* The flag existed when the source was applied before, and its module has been unloaded since. */
static bool is_unloaded_flag_name(const pd__reader *reader, const pd__token *token) {
  if (!reader->renews || token->origin.source != reader->renews) return false;
  return pd__name_has_been_defined(pd__names_find(token->name, token->length));
}

/* Returns true if the value of an undefined name becomes pending. Errors have no name. */
static bool can_be_pending(const pd__reader *reader, const pd__token *token) {
  bool waits = reader->allow_pending || is_unloaded_flag_name(reader, token);
  return waits && pd__name_is_valid(token->name, token->length);
}

/* Reports only the lack of memory if there is one: the findings may be incomplete then. */
static void report_errors(pd__reader *reader) {
  size_t shown = 0, unknown = 0;
  if (reader->operation->arena.failed) {
    pd__report_fail_memory(reader->report);
    return;
  }
  pd__undefok_sort(&reader->undefok);
  for (size_t i = 0; i < reader->findings.count; i++) {
    const pd__token *token = &reader->findings.items[i];
    bool named = token->status == PD_OK; /* otherwise it is an error */
    if (can_be_pending(reader, token) || (named && pd__undefok_covers(&reader->undefok, token)))
      continue;
    unknown += named;
    if (shown == ERRORS_SHOWN) continue;
    shown++;
    reader->report->flag = token->about;
    if (named) {
      report_undefined(reader, token);
    } else {
      pd__report_fail(reader->report, (pd_status)token->status, "%s", token->text);
    }
  }
  reader->report->flag = NULL;
  size_t more = reader->errors + unknown - shown;
  if (more > 0) {
    pd__report_fail(reader->report, PD_ERR_ARGV, "%zu more errors are not shown", more);
  }
}

/* Makes the values that become pending, in the order of the command line. */
static pd__pending *prepare_pending_values(const pd__reader *reader) {
  pd__pending *first = NULL, **end = &first;
  for (size_t i = 0; i < reader->findings.count; i++) {
    const pd__token *token = &reader->findings.items[i];
    pd__pending given = {.name = token->name,
                         .length = token->length,
                         .text = token->text,
                         .next = token->next,
                         .literal = token->literal,
                         .merges = true,
                         .ignore_undefined = pd__undefok_covers(&reader->undefok, token),
                         .origin = token->origin};
    pd_error err;
    if (!can_be_pending(reader, token)) continue;
    if (pd__pending_make_unlisted(&given, end, &err) == PD_OK) {
      end = &(*end)->following;
    } else {
      pd__report_add(reader->report, &err);
    }
  }
  return first;
}

/* If another thread has defined the flag while validators ran, it gets its value now. */
static void add_pending_value(pd__reader *reader, pd__pending *pending) {
  pd__pending_store(pending);
  pd_flag *flag = pd__resolve_flag_or_negation(pending->name, pending->length).flag;
  pd__report nobody = {.first = NULL};
  if (flag) pd__pending_apply_to_flag(reader->operation, flag, &nobody);
}

pd_status pd__reader_report_and_validate(pd__reader *reader) {
  report_errors(reader);
  return pd__changes_validate(&reader->changes);
}

/* The lock is held from the last validator to the end. */
pd_status pd__reader_commit(pd__reader *reader) {
  if (pd__reader_report_and_validate(reader) != PD_OK) return reader->report->status;
  pd__pending *prepared = prepare_pending_values(reader);
  pd_status status = pd__changes_commit(&reader->changes);
  if (status == PD_OK && reader->renews) pd__pending_drop_of_source(reader->renews);
  while (prepared) {
    pd__pending *each = prepared;
    prepared = each->following;
    if (status == PD_OK) {
      add_pending_value(reader, each);
    } else {
      pd__pending_discard_unlisted(each);
    }
  }
  return status;
}
