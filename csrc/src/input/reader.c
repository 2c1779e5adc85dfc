/* From tokens to changes: those of flags become changes, those of other names wait or are errors,
 * and all of it takes effect or nothing does. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "input.h"

/* A line of a million wrong tokens must not fill the memory with their errors. */
#define ERRORS_SHOWN 100

void pd__reader_begin(pd__reader *reader, pd__operation *operation, pd__report *report) {
  *reader = (pd__reader){.operation = operation, .report = report, .prefix = "FLAGS_"};
  pd__changes_begin(&reader->changes, operation, report);
}

/* ---- Findings ---- */

static pd__finding *add_finding(pd__reader *reader) {
  pd__arena *arena = &reader->operation->arena;
  if (reader->count == reader->capacity) {
    size_t capacity = reader->capacity ? 2 * reader->capacity : 8;
    pd__finding *findings = pd__arena_grow(
        arena, reader->findings, reader->count * sizeof *findings, capacity * sizeof *findings);
    if (!findings) {
      reader->out_of_memory = true;
      return NULL;
    }
    reader->findings = findings;
    reader->capacity = capacity;
  }
  return &reader->findings[reader->count++];
}

static void add_error(pd__reader *reader, const pd_error *err) {
  if (reader->errors++ >= ERRORS_SHOWN) return;
  pd__finding *finding = add_finding(reader);
  if (!finding) return;
  *finding = (pd__finding){.error = pd__arena_take(&reader->operation->arena, sizeof *err)};
  if (finding->error) {
    *finding->error = *err;
  } else {
    reader->out_of_memory = true;
    reader->count--;
  }
}

void pd__reader_fail(pd__reader *reader, pd_status status, const char *format, ...) {
  char message[sizeof(((pd_error *)0)->message)];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  pd_error err;
  pd__fail(&err, status, "%s", message);
  add_error(reader, &err);
}

/* ---- Tokens ---- */

void pd__reader_assign(pd__reader *reader, pd_flag *node, const char *text, const pd_origin *origin,
                       uint32_t literal) {
  pd_error err;
  pd_status status =
      pd__changes_try(&reader->changes, node, text, (pd_value){0}, origin, literal, &err);
  if (status != PD_OK) add_error(reader, &err);
}

static void add_negated(pd__reader *reader, pd_flag *flag, const pd__token *token) {
  char source[PD__SOURCE_SIZE];
  if (pd__flag_def(flag)->type != PD_TYPE_bool) {
    pd__reader_fail(reader, PD_ERR_ARGV, "%s: %s is %s, and only a bool can be negated",
                    pd__token_shown(token, source), pd__flag_def(flag)->name,
                    pd__type_name(flag->type));
  } else if (token->text) {
    pd__reader_fail(reader, PD_ERR_ARGV, "%s: takes no value; write --%s=true or --%s=false",
                    pd__token_shown(token, source), pd__flag_def(flag)->name,
                    pd__flag_def(flag)->name);
  } else {
    pd__reader_assign(reader, flag, "false", &token->origin, token->literal);
  }
}

static void fail_missing(pd__reader *reader, const pd_flag *flag, const char *name,
                         const pd__token *token) {
  char expected[256], quoted[PD__QUOTE_SIZE], source[PD__SOURCE_SIZE];
  pd__value_expected(pd__flag_def(flag), expected, sizeof expected);
  pd__source_of(name, &token->origin, source);
  if (token->next && !pd__flag_def(flag)->sensitive) {
    pd__reader_fail(reader, PD_ERR_ARGV,
                    "%s: the value is missing before %s, expected %s; a value that begins with a "
                    "dash is written --%s=VALUE",
                    source, pd__quote(quoted, token->next), expected, name);
  } else {
    pd__reader_fail(reader, PD_ERR_ARGV, "%s: the value is missing, expected %s", source, expected);
  }
}

void pd__reader_take(pd__reader *reader, const pd__token *token, const pd__meaning *meaning) {
  pd_flag *flag = meaning->flag;
  if (token->status != PD_OK) {
    pd__reader_fail(reader, (pd_status)token->status, "%s", token->text);
  } else if (!flag) {
    pd__finding *finding = add_finding(reader);
    if (finding) *finding = (pd__finding){.token = *token};
  } else if (meaning->negated) {
    add_negated(reader, flag, token);
  } else if (token->text) {
    pd__reader_assign(reader, meaning->node, token->text, &token->origin, token->literal);
  } else if (pd__flag_def(flag)->type == PD_TYPE_bool) {
    pd__reader_assign(reader, meaning->node, "true", &token->origin, token->literal);
  } else {
    fail_missing(reader, flag, meaning->node->name, token);
  }
}

/* The place is where the value stood: nothing is wrong there now. */
static void fail_kept(pd__reader *reader, const pd_flag *flag, const pd_origin *origin) {
  char place[PD__PLACE_SIZE];
  size_t length = strlen(pd__place_of(origin, place));
  if (length > 2) length -= 2; /* ": " */
  pd__reader_fail(reader, PD_ERR_FROZEN, "--%s: %s, and the file no longer gives its value%s%.*s%s",
                  pd__flag_def(flag)->name,
                  flag->frozen ? "is frozen" : "can be set at startup only", length ? " (" : "",
                  (int)length, place, length ? ")" : "");
}

void pd__reader_drop(pd__reader *reader, pd_flag *flag, pd_source source) {
  pd_error err;
  pd__report wrong = {.first = &err};
  pd__entry given;
  if (!pd__history_find(flag, source, &given)) return;
  pd_origin origin = pd__entry_origin(&given);
  if (pd__flag_check_open(reader->operation, flag, &origin, NULL) != PD_OK) {
    fail_kept(reader, flag, &origin);
    return;
  }
  reader->changes.report = &wrong;
  pd__changes_drop(&reader->changes, flag, source);
  reader->changes.report = reader->report;
  if (wrong.status != PD_OK) add_error(reader, &err);
}

/* ---- The end ---- */

static void report_unknown(pd__reader *reader, const pd__token *token) {
  char suggestion[PD__SUGGESTION_SIZE], source[PD__SOURCE_SIZE];
  size_t before = strlen(token->dashes);
  bool option = before && token->dashes[before - 1] == '-'; /* or --fromenv= lists it, or a key */
  pd__suggest(token->name, token->length, option ? "--" : NULL, suggestion);
  bool number = *token->name == '.' || (*token->name >= '0' && *token->name <= '9');
  if (!*suggestion && number && option && !token->origin.place) {
    snprintf(suggestion, sizeof suggestion, "; arguments that begin with a dash go after --");
  }
  pd__report_fail(reader->report, PD_ERR_UNDEFINED, "%s: no such flag%s",
                  pd__token_shown(token, source), suggestion);
}

/* Unloading a module takes its flags from those who have files with values for them. */
static bool has_gone(const pd__reader *reader, const pd__token *token) {
  if (!reader->renews_files || token->origin.source != PD_SOURCE_FILE) return false;
  const pd_flag *node = pd__names_find(token->name, token->length);
  return node && node->known;
}

/* Whether the value of an unknown name is to wait. */
static bool may_wait(const pd__reader *reader, const pd__token *token) {
  bool waits = reader->allow_pending || has_gone(reader, token);
  return waits && pd__name_valid(token->name, token->length);
}

static bool is_excused(const pd__reader *reader, const pd__token *token) {
  return pd__undefok_has(&reader->undefok, token->name, token->length);
}

/* Without memory nothing that was found is sure. */
static void report_findings(pd__reader *reader) {
  size_t shown = 0, unknown = 0;
  if (reader->out_of_memory) {
    pd__report_memory(reader->report);
    return;
  }
  pd__undefok_close(&reader->undefok);
  for (size_t i = 0; i < reader->count; i++) {
    const pd__finding *finding = &reader->findings[i];
    const pd__token *token = &finding->token;
    if (!finding->error && (may_wait(reader, token) || is_excused(reader, token))) continue;
    unknown += !finding->error;
    if (shown == ERRORS_SHOWN) continue;
    shown++;
    if (finding->error) {
      pd__report_add(reader->report, finding->error);
    } else {
      report_unknown(reader, token);
    }
  }
  size_t more = reader->errors + unknown - shown;
  if (more > 0) {
    pd__report_fail(reader->report, PD_ERR_ARGV, "%zu more errors aren't shown", more);
  }
}

/* What is to wait. Of many values for one name, the line and the files keep only the last ones
 * each. */
typedef struct waiting {
  pd__reader *reader;
  bool *done;    /* of each finding: it is prepared */
  uint8_t *made; /* of each name, of the line and of files */
} waiting;

static pd__pending *prepare_one(const waiting *all, size_t i) {
  pd__reader *reader = all->reader;
  const pd__token *token = &reader->findings[i].token;
  pd__pending given = {.name = token->name,
                       .length = token->length,
                       .text = token->text,
                       .next = token->next,
                       .literal = token->literal,
                       .excused = is_excused(reader, token),
                       .origin = token->origin};
  pd__pending *made = NULL;
  pd_error err;
  if (pd__pending_prepare(&given, &made, &err) != PD_OK) {
    pd__report_add(reader->report, &err);
    return NULL;
  }
  all->done[i] = true;
  all->made[2 * made->node->index + (token->origin.source == PD_SOURCE_FILE)]++;
  made->order = i;
  return made;
}

static bool waits(const waiting *all, size_t i) {
  const pd__finding *finding = &all->reader->findings[i];
  return !finding->error && !all->done[i] && may_wait(all->reader, &finding->token);
}

/* The first value for each name that is new, so that names stand in the order of the line. */
static pd__pending *prepare_first(const waiting *all) {
  pd__pending *first = NULL, **end = &first;
  for (size_t i = 0; i < all->reader->count; i++) {
    const pd__token *token = &all->reader->findings[i].token;
    if (!waits(all, i) || pd__names_find(token->name, token->length)) continue;
    if ((*end = prepare_one(all, i))) end = &(*end)->following;
  }
  return first;
}

/* The others from the last to the first, put into the list where they belong. */
static pd__pending *prepare_last(const waiting *all) {
  pd__pending *first = NULL;
  for (size_t i = all->reader->count; i-- > 0;) {
    const pd__token *token = &all->reader->findings[i].token;
    if (!waits(all, i)) continue;
    const pd_flag *node = pd__names_find(token->name, token->length);
    size_t kind = token->origin.source == PD_SOURCE_FILE;
    if (node && all->made[2 * (size_t)node->index + kind] > PD_HISTORY_KEPT) continue;
    pd__pending *made = prepare_one(all, i);
    if (!made) continue;
    made->following = first;
    first = made;
  }
  return first;
}

static pd__pending *merge(pd__pending *a, pd__pending *b) {
  pd__pending *first = NULL, **end = &first;
  while (a || b) {
    pd__pending **from = !b || (a && a->order < b->order) ? &a : &b;
    *end = *from;
    *from = (*from)->following;
    end = &(*end)->following;
  }
  *end = NULL;
  return first;
}

/* In the order of the line; with an error: nothing. */
static pd__pending *prepare_pending(pd__reader *reader) {
  pd__arena *arena = &reader->operation->arena;
  size_t names = pd__names_count() + reader->count;
  if (reader->count == 0) return NULL;
  waiting all = {reader, pd__arena_take(arena, reader->count), pd__arena_take(arena, 2 * names)};
  if (!all.done || !all.made) {
    pd__report_memory(reader->report);
    return NULL;
  }
  pd__pending *first = prepare_first(&all);
  return merge(first, prepare_last(&all));
}

/* A flag that another thread has defined while the validators were asked didn't
 * find its value. */
static void keep(pd__reader *reader, pd__pending *pending) {
  size_t length = strlen(pending->name);
  char name[PD_NAME_MAX + 1];
  memcpy(name, pending->name, length);
  pd__pending_keep(pending);
  pd_flag *flag = pd__resolve_negated(name, length).flag;
  pd__report nobody = {.first = NULL};
  if (flag) pd__pending_apply(reader->operation, flag, &nobody);
}

/* The lock isn't let go between the validators and the end. */
pd_status pd__reader_finish(pd__reader *reader) {
  report_findings(reader);
  if (pd__changes_ask(&reader->changes) != PD_OK) return reader->report->status;
  pd__pending *prepared = prepare_pending(reader);
  pd_status status = pd__changes_commit(&reader->changes);
  if (status == PD_OK && reader->renews_files) pd__pending_forget(PD_SOURCE_FILE);
  while (prepared) {
    pd__pending *each = prepared;
    prepared = each->following;
    if (status == PD_OK) {
      keep(reader, each);
    } else {
      pd__pending_drop(each);
    }
  }
  return status;
}
