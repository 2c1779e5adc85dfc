/* Options: tokens that name other sources (--flagfile, --fromenv, --tryfromenv), --undefok, and
 * requests for help. */
#include <pd_flags/items.h>
#include <stdio.h>
#include <string.h>

#include "glob.h"
#include "input.h"

/* A flagfile while its lines are handled. */
typedef struct pd__open_file {
  const struct pd__open_file *outer; /* the file that includes it; or NULL */
  const pd__file *file;
  bool relevant; /* the flags that follow are for this program */
  bool patterns; /* the previous line was a list of program names */
} open_file;

/* Counts one more value of a file or variable. Returns false if there are too many. */
static bool count_and_check_limit(pd__reader *reader, const pd__token *token) {
  if (++reader->values <= PD__VALUES_MOST) return true;
  reader->closed = true;
  pd__reader_add_token_error(reader, token, PD_ERR_FILE,
                             ": files and variables give more than 1000000 values");
  return false;
}

/* The kinds of help, then the other options. A pd_config keeps --undefok until it is applied. */
enum { FLAGFILE = PD__HELP_KINDS, FROMENV, TRYFROMENV, UNDEFOK, OPTIONS };

#define HELP_NAME(name, number, text) [PD_HELP_##name] = text,
static const char option_names[OPTIONS][12] = {[FLAGFILE] = "flagfile",
                                               [FROMENV] = "fromenv",
                                               [TRYFROMENV] = "tryfromenv",
                                               [UNDEFOK] = "undefok",
                                               PD_HELP_MAP(HELP_NAME)};

/* Options that take a value cannot be negated. */
static bool can_option_take_value(int option) {
  return option >= FLAGFILE || option == PD_HELP_ON || option == PD_HELP_MATCH;
}

/* Returns the option that the token names, or -1. Sets *negated if it is written as --nohelp. */
static int find_option(const pd__token *token, bool *negated) {
  pd__token positive = *token;
  *negated = token->length > 2 && !strncmp(token->name, "no", 2);
  if (*negated) {
    positive.name += 2;
    positive.length -= 2;
  }
  for (int option = 0; option < OPTIONS; option++) {
    if (!pd__token_is_named(&positive, option_names[option])) continue;
    return *negated && can_option_take_value(option) ? -1 : option;
  }
  return !token->text && pd__token_is_named(token, "h") ? PD_HELP_ALL : -1;
}

bool pd__token_is_known(const pd__token *token) {
  bool negated;
  pd__meaning meaning = pd__token_resolve(token);
  if (meaning.flag) return !meaning.negated || pd__flag_def(meaning.flag)->type == PD_TYPE_bool;
  return find_option(token, &negated) >= 0;
}

/* ---- Help ---- */

static void handle_help_option(pd__reader *reader, const pd__token *token, int kind, bool negated) {
  char escaped[PD__ESCAPED_SIZE];
  static const pd_flag_def truth = {.type = PD_TYPE_bool};
  pd_value value = {.b = !negated};
  if (can_option_take_value(kind)) {
    if (!token->text) {
      pd__reader_add_token_error(reader, token, PD_ERR_ARGV,
                                 ": the value is missing, expected a part of a source file's name");
    }
    reader->help[kind] = token->text && *token->text ? token->text : NULL;
  } else if (token->text && negated) {
    pd__reader_add_token_error(reader, token, PD_ERR_ARGV, ": takes no value");
  } else if (token->text && pd__value_parse_with_unit(&truth, token->text, &value) != PD_OK) {
    pd__reader_add_token_error(reader, token, PD_ERR_VALUE, "=%s: expected " PD__BOOL_EXPECTED,
                               pd__escape_text(escaped, token->text));
  } else {
    reader->help[kind] = value.b ? "" : NULL;
  }
}

bool pd__option_find_requested_help(const pd__reader *reader, pd_help *help) {
  /* If there are several, gflags takes the first of these. */
  static const uint8_t order[PD__HELP_KINDS] = {PD_HELP_SHORT, PD_HELP_ALL,    PD_HELP_FULL,
                                                PD_HELP_ON,    PD_HELP_MATCH,  PD_HELP_PACKAGE,
                                                PD_HELP_XML,   PD_HELP_VERSION};
  for (int i = 0; i < PD__HELP_KINDS; i++) {
    if (!reader->help[order[i]]) continue;
    help->kind = order[i];
    help->pattern = reader->help[order[i]];
    return true;
  }
  return false;
}

/* ---- Other sources ---- */

/* Returns what is wrong with a list such as a,b; NULL if it is well-formed. The list may end with a
 * comma. */
static const char *find_list_fault(const char *list) {
  for (; *list; list += *list == ',') {
    if (*list == ',') return "an item of the list is empty";
    if (*list == '-') return "an item of the list begins with a dash";
    list += strcspn(list, ",");
  }
  return NULL;
}

static void resolve_and_handle_token(pd__reader *reader, const pd__token *token);

/* Handles the variable as a token. Its text is copied, since the program may change the variable.
 * In a pd_config its origin is the file that names it. */
static void handle_variable_as_token(pd__reader *reader, const pd__variable *variable,
                                     pd__token *token) {
  pd__arena *arena = &reader->operation->arena;
  const char *place;
  pd_error err;
  if (pd__variable_read_text(arena, variable, &place, &token->text, &err) != PD_OK) {
    pd__reader_add_error(reader, &err);
    return;
  }
  if (!reader->config) token->origin = (pd_origin){PD_SOURCE_ARGV, 0, place, 0};
  resolve_and_handle_token(reader, token);
}

static void read_fromenv_variable(pd__reader *reader, const pd__token *by, const char *name,
                                  size_t length, bool required) {
  char escaped[PD__ESCAPED_SIZE];
  const pd__variable_rules *rules = reader->sources->rules;
  pd_error err;
  pd__variable variable;
  pd__token token = {
      .dashes = "--", .name = name, .length = (uint32_t)length, .origin = by->origin};
  if (!count_and_check_limit(reader, by)) return;
  pd__meaning meaning = pd__token_resolve(&token);
  if (meaning.negated) {
    pd__reader_add_token_error(reader, by, PD_ERR_UNDEFINED,
                               ": no flag is named '%.*s', it negates one", (int)length, name);
    return;
  }
  if (!reader->config && !reader->allow_pending && !pd__token_is_known(&token)) {
    token.dashes = required ? "--fromenv=" : "--tryfromenv=";
    pd__reader_stage_token(reader, &token, &meaning);
    return;
  }
  pd_status status = pd__environment_find_variable(rules, name, length, &variable, &err);
  if (status == PD_OK && variable.text && meaning.flag) {
    status = pd__environment_check_unique(rules->prefix, meaning.node, &variable, &err);
  }
  if (status != PD_OK) {
    pd__reader_add_error(reader, &err);
  } else if (variable.text) {
    handle_variable_as_token(reader, &variable, &token);
  } else if (required) {
    pd__reader_add_token_error(reader, by, PD_ERR_ARGV, ": the environment has no %s",
                               pd__escape_text(escaped, variable.name));
  }
}

static void handle_listed_items(pd__reader *reader, const pd__token *token, int kind) {
  char escaped[PD__ESCAPED_SIZE];
  const char *complaint = find_list_fault(token->text);
  if (complaint) {
    pd__reader_add_token_error(reader, token, PD_ERR_ARGV, "=%s: %s",
                               pd__escape_text(escaped, token->text), complaint);
    if (kind != UNDEFOK) return; /* but add the names: one slip, one error */
  }
  for (const char *at = token->text; *at && (kind == UNDEFOK || !reader->closed);) {
    size_t length = strcspn(at, ",");
    if (kind == UNDEFOK) {
      pd__undefok_add(&reader->operation->arena, &reader->undefok, at, length);
    } else if (kind == FLAGFILE) {
      pd__reader_handle_flagfile(reader, at, length, token);
    } else {
      read_fromenv_variable(reader, token, at, length, kind == FROMENV);
    }
    at += length;
    at += *at == ',';
  }
}

static void handle_list_option(pd__reader *reader, const pd__token *token, int kind) {
  if (!token->text) {
    pd__reader_add_token_error(reader, token, PD_ERR_ARGV,
                               ": the value is missing, expected %s separated by commas",
                               kind == FLAGFILE ? "paths of files" : "names of flags");
  } else if (reader->depth == PD__DEPTH_MOST && kind != UNDEFOK) {
    reader->closed = true;
    pd__reader_add_token_error(
        reader, token, PD_ERR_DEPTH,
        ": nested more than 16 files and variables deep, perhaps in a circle");
  } else {
    reader->depth++;
    handle_listed_items(reader, token, kind);
    reader->depth--;
  }
}

bool pd__option_handle_undefok(pd__reader *reader, const pd__token *token) {
  bool excuses = *token->dashes && pd__token_is_named(token, option_names[UNDEFOK]);
  if (excuses) handle_list_option(reader, token, UNDEFOK);
  return excuses;
}

/* ---- Tokens ---- */

/* "--=5" and "---x": a name cannot begin with a dash, although `-` and `_` are the same in
 * names. */
static bool reject_malformed(pd__reader *reader, const pd__token *token) {
  char escaped[PD__ESCAPED_SIZE], place[PD__PREFIX_SIZE], text[PD__ESCAPED_SIZE];
  if (token->length > 0 && *token->name != '-') return false;
  if (token->length > 0) {
    pd__reader_add_token_error(reader, token, PD_ERR_ARGV,
                               ": expected one or two dashes before the name of a flag");
  } else {
    snprintf(text, sizeof text, "%s%s%s", token->dashes, token->text ? "=" : "",
             token->text ? token->text : "");
    pd__reader_add_token_error(reader, NULL, PD_ERR_ARGV, "%s%s: expected the name of a flag%s",
                               pd__origin_write_message_prefix(&token->origin, place),
                               pd__escape_text(escaped, text), token->text ? " before the =" : "");
  }
  return true;
}

bool pd__token_is_missing_value(const pd__token *token, const pd__meaning *meaning) {
  bool negated;
  if (token->text) return false;
  if (meaning->flag)
    return !meaning->negated && !pd__def_can_lack_value(pd__flag_def(meaning->flag));
  return can_option_take_value(find_option(token, &negated));
}

void pd__token_handle(pd__reader *reader, const pd__token *token, const pd__meaning *meaning) {
  pd_error err;
  bool negated;
  if (reject_malformed(reader, token)) return;
  int option = meaning->flag ? -1 : find_option(token, &negated); /* a flag may be named h */
  if (option >= FLAGFILE && !(reader->config && option == UNDEFOK)) {
    handle_list_option(reader, token, option);
  } else if (reader->config) {
    if (pd__config_append_token(reader->config, token, &err) != PD_OK)
      pd__reader_add_error(reader, &err);
  } else if (option >= 0) {
    handle_help_option(reader, token, option, negated);
  } else {
    pd__reader_stage_token(reader, token, meaning);
  }
}

static void resolve_and_handle_token(pd__reader *reader, const pd__token *token) {
  pd__meaning meaning = {NULL, NULL, false}; /* in a pd_config it is resolved when applied */
  if (!reader->config) meaning = pd__token_resolve(token);
  pd__token_handle(reader, token, &meaning);
}

/* ---- Flagfiles ---- */

static bool is_pattern_for_program(const pd__reader *reader, const char *pattern, size_t length) {
  const char *program = reader->program;
  const char *slash = program ? strrchr(program, '/') : NULL;
  return program && (pd__glob_is_match(pattern, length, program) ||
                     pd__glob_is_match(pattern, length, slash ? slash + 1 : program));
}

/* A pattern that is the name of a flag was most likely meant as the flag: the line is an error. */
static bool reject_flag_as_pattern(pd__reader *reader, pd__token *line, const char *name,
                                   size_t length) {
  pd__token token = {.dashes = "--", .name = name, .length = (uint32_t)length};
  char why[PD_NAME_MAX + 64];
  if (length > PD_NAME_MAX || !pd__token_is_known(&token)) return false;
  snprintf(why, sizeof why, "expected --%.*s, or names of programs", (int)length, name);
  pd__line_reject(&reader->operation->arena, line, name, length, why);
  pd__reader_add_token_error(reader, NULL, PD_ERR_FILE, "%s", line->text);
  return true;
}

/* Consecutive lines of patterns form one list. */
static void handle_program_patterns(pd__reader *reader, open_file *open, pd__token line) {
  bool relevant = open->patterns && open->relevant;
  for (const char *at = line.text; *at;) {
    size_t length = strcspn(at, PD__BLANKS);
    bool matches = is_pattern_for_program(reader, at, length);
    if (!matches && reject_flag_as_pattern(reader, &line, at, length)) return;
    relevant |= matches;
    at += length;
    at += strspn(at, PD__BLANKS);
  }
  open->patterns = true;
  open->relevant = relevant;
}

static void handle_flagfile_line(pd__reader *reader, open_file *open, const pd__token *line) {
  if (*line->dashes) {
    open->patterns = false;
    if (!open->relevant || !count_and_check_limit(reader, line)) return;
  }
  if (line->status != PD_OK) {
    pd__reader_add_token_error(reader, NULL, PD_ERR_FILE, "%s", line->text);
  } else if (*line->dashes) {
    resolve_and_handle_token(reader, line);
  } else {
    handle_program_patterns(reader, open, *line);
  }
}

static bool is_file_open(const pd__reader *reader, const pd__file *file) {
  const open_file *at = reader->file;
  while (at && at->file != file) at = at->outer;
  return at != NULL;
}

/* Counts the file. Returns true if it may be read, and reports the reason otherwise. */
static bool count_and_check_file(pd__reader *reader, const pd__file *file, const pd__token *by) {
  char escaped[PD__ESCAPED_SIZE];
  pd_status status = PD_ERR_DEPTH;
  const char *why = "includes itself";
  if (!is_file_open(reader, file) && reader->files == PD__FILES_MOST) {
    reader->closed = true;
    why = "more than 1000 flagfiles";
  } else if (!is_file_open(reader, file)) {
    bool fits = file->size <= PD__BYTES_MOST - reader->bytes;
    reader->files++;
    reader->bytes += fits ? file->size : 0;
    status = PD_ERR_FILE;
    why = fits ? file->why : PD__TOO_BIG;
  }
  if (why) {
    pd__reader_add_token_error(reader, by, status, "%s%s%s%s", by ? "=" : "",
                               pd__escape_text(escaped, file->path), *file->path ? ": " : "", why);
  }
  return !why;
}

void pd__reader_handle_flagfile(pd__reader *reader, const char *path, size_t length,
                                const pd__token *by) {
  const pd__file *file = pd__files_find(reader->sources, path, length);
  if (!file) {
    reader->closed = true;
    pd__reader_add_token_error(reader, by, PD_ERR_DEPTH, ": more than 1000 flagfiles");
    return;
  }
  if (!count_and_check_file(reader, file, by)) return;
  open_file open = {.outer = reader->file, .file = file, .relevant = true};
  reader->file = &open;
  for (size_t i = 0; i < file->lines.count && !reader->closed; i++) {
    handle_flagfile_line(reader, &open, &file->lines.items[i]);
  }
  reader->file = open.outer;
}
