/* The command line: which tokens are flags, which are their values, and which are arguments. */
#include <stdio.h>
#include <string.h>

#include "../base/sized.h"
#include "../base/text.h"
#include "../op/op.h"
#include "../registry/journal.h"
#include "input.h"

/* One run over a command line. */
typedef struct parse {
  int argc;
  char **argv;
  int at;                /* the current token */
  const pd_flag *last;   /* the last flag on the line; NULL if there is none or it isn't known */
  const char *last_text; /* its value; NULL: it has none */
  bool last_negated;     /* it was given as --noname */
  int last_at;           /* index of the last of its tokens */
  bool *argument;        /* for each token: true if it is neither a flag nor the value of one */
  unsigned arguments;    /* how many of them so far */
  char **fresh;          /* where the new line is built: argv itself, unless it is reordered */
  const pd_parse_options *options;
  pd__variable_rules rules;
  pd__files files;
  pd__reader reader;
} parse;

static bool is_flag_token(const char *text) { return text[0] == '-' && text[1] != '\0'; }

/* -5 and -.5 are values; -x and --x aren't. */
static bool can_be_value(const char *text) {
  return !is_flag_token(text) || strchr(".0123456789", text[1]) != NULL;
}

static bool is_end_of_flags(const char *text) { return strcmp(text, "--") == 0; }

/* ---- Before the lock is taken ---- */

/* Reads all files that the command line may name. Whether a token is an option can depend on the
 * flags, so some files may be read and not used. */
static void read_named_files(parse *run) {
  for (int i = 1; i < run->argc && !is_end_of_flags(run->argv[i]); i++) {
    if (!is_flag_token(run->argv[i])) continue;
    pd__token token = pd__token_split(run->argv[i]);
    bool followed = i + 1 < run->argc && can_be_value(run->argv[i + 1]);
    if (!token.text && followed) token.text = run->argv[i + 1];
    pd__files_read_named(&run->files, &token);
  }
}

/* ---- Parsing, with the lock ---- */

static void record_last_flag(parse *run, const pd__meaning *meaning, const char *text) {
  run->last = meaning->flag;
  run->last_text = text;
  run->last_negated = meaning->negated;
  run->last_at = run->at;
}

/* ---- Suggestions ---- */

/* Suggests a fix for an argument right after a flag: --sizes 1 2 3. */
static void suggest_arguments_as_value(const parse *run, char out[PD__SUGGESTION_SIZE]) {
  out[0] = '\0';
  if (!run->last || run->last_negated || run->last_at != run->at - 1) return;
  size_t count = 0;
  while (run->at + (int)count < run->argc && can_be_value(run->argv[run->at + (int)count])) count++;
  pd__suggest_arguments_as_value(run->last, run->last_text, run->argv + run->at, count, out);
}

/* Returns whether the token under way is not shown, since it may belong to a secret: after a
 * sensitive flag it may be a part of its value, and after a name that is not defined, or that is
 * itself an argument, the value of a flag. */
static bool can_be_secret(const parse *run) {
  const char *before = run->argv[run->at - 1];
  if (run->last && pd__flag_is_sensitive(run->last)) return true;
  if (run->at == 1 || can_be_value(before) || is_end_of_flags(before)) return false;
  bool known = run->last && run->last_at == run->at - 1;
  return !known && !strchr(before, '=');
}

static void report_unexpected_argument(parse *run) {
  char escaped[PD__ESCAPED_SIZE], suggestion[PD__SUGGESTION_SIZE];
  const char *text = run->argv[run->at];
  size_t shown = can_be_value(text) ? strlen(text) : pd__token_get_nonsecret_length(text);
  suggest_arguments_as_value(run, suggestion);
  if (can_be_secret(run)) {
    pd__reader_add_token_error(&run->reader, NULL, PD_ERR_ARGV, "argv[%d]: expected no argument",
                               run->at);
  } else {
    pd__reader_add_token_error(&run->reader, NULL, PD_ERR_ARGV, "%s: expected no argument%s",
                               pd__escape_part(escaped, text, shown), suggestion);
  }
}

/* A bool never takes the next token: --cache false leaves an argument, and the bool true. */
static void warn_of_ignored_value(parse *run) {
  char suggestion[PD__SUGGESTION_SIZE], escaped[PD__ESCAPED_SIZE];
  bool command = run->arguments < run->options->commands;
  if (run->options->look || run->options->no_arguments || command) return;
  if (run->last && pd__flag_def(run->last)->list) return; /* 1 and 2 of --sizes 0 1 2 */
  run->at++;                                              /* as if the next token were under way */
  suggest_arguments_as_value(run, suggestion);
  if (*suggestion) {
    pd__fail(pd__warning_add(PD_WARNING_ARGUMENT), PD_OK,
             "--%s: the argument %s is not its value%s", pd__flag_def(run->last)->name,
             pd__escape_text(escaped, run->argv[run->at]), suggestion);
  }
  run->at--;
}

/* An unknown flag that looks like a negative number may belong to the last flag: --sizes 1 -2. */
static void suggest_negative_number(parse *run, pd__token *token) {
  char suggestion[PD__SUGGESTION_SIZE];
  suggest_arguments_as_value(run, suggestion);
  if (*suggestion) {
    token->suggestion =
        pd__arena_copy_text(&run->reader.operation->arena, suggestion, strlen(suggestion));
  }
}

/* ---- Tokens ---- */

/* Handles --name=value of a known flag, by far the most frequent token. */
static bool assign_known_flag(parse *run, const char *text) {
  const char *name = text + 2, *equals = text[1] == '-' && *name != '-' ? strchr(name, '=') : NULL;
  pd_flag *node = equals ? pd__names_find_defined_node(name, (size_t)(equals - name)) : NULL;
  pd_origin origin = {PD_SOURCE_ARGV, (uint32_t)run->at, NULL, 0};
  if (node) pd__reader_stage_assignment(&run->reader, node, equals + 1, &origin, 0);
  if (node) record_last_flag(run, &(pd__meaning){pd__resolve_alias(node), node, false}, equals + 1);
  return node != NULL;
}

/* Splits and handles the token. If the flag takes the next token as its value, handles that,
 * too. */
static void handle_flag_token(parse *run, const char *text) {
  if (assign_known_flag(run, text)) return;
  pd__token token = pd__token_split(text);
  token.origin = (pd_origin){PD_SOURCE_ARGV, (uint32_t)run->at, NULL, 0};
  char *next = run->at + 1 < run->argc ? run->argv[run->at + 1] : NULL;
  if (run->options->known_only && !pd__token_is_known(&token)) {
    run->argument[run->at] = true;
    return;
  }
  pd__meaning meaning = pd__token_resolve(&token);
  bool wants = pd__token_is_missing_value(&token, &meaning);
  if (wants && next && can_be_value(next)) {
    token.text = next;
    run->at++;
  } else if (wants && token.length == 1 && *token.name == 'h') {
    run->reader.help[PD_HELP_ALL] = "";
    return;
  } else if (wants || (!token.text && next && can_be_value(next))) {
    token.next = next; /* for messages */
  }
  token.secret = !meaning.flag && can_be_value(text) && can_be_secret(run);
  if (!meaning.flag && can_be_value(text)) suggest_negative_number(run, &token);
  record_last_flag(run, &meaning, token.text);
  pd__token_handle(&run->reader, &token, &meaning);
  if (meaning.flag) warn_of_ignored_value(run);
}

static void handle_tokens(parse *run) {
  bool flags = true;
  for (run->at = 1; run->at < run->argc; run->at++) {
    const char *text = run->argv[run->at];
    if (flags && is_end_of_flags(text)) {
      flags = false;
      run->argument[run->at] = run->options->known_only;
    } else if (flags && is_flag_token(text)) {
      handle_flag_token(run, text);
    } else {
      run->argument[run->at] = true;
      if (run->arguments++ < run->options->commands) continue;
      if (run->options->no_arguments) report_unexpected_argument(run);
      flags &= !run->options->stop_at_argument;
    }
  }
}

/* ---- Looking ---- */

static int find_argument(const parse *run, int wanted) {
  int at = 1;
  while (at < run->argc && (!run->argument[at] || wanted-- > 0)) at++;
  return at < run->argc ? at : run->argc;
}

/* Returns the texts that the source of `last`, the last one in the list, gives the flag. */
static const char *join_change_texts(parse *run, const pd__changes *changes,
                                     const pd__change *last) {
  pd__arena *arena = &run->reader.operation->arena;
  const char *joined = last->text;
  if (!pd__flag_def(last->flag)->list) return pd__intern_text(joined);
  for (const pd__change *each = last; joined && each-- > changes->items;) {
    if (each->action != PD__ASSIGN || each->origin.source != last->origin.source) continue;
    size_t before = strlen(each->text), size = before + strlen(joined) + 2;
    char *both = pd__arena_alloc(arena, size);
    if (both) snprintf(both, size, "%s%s%s", each->text, *joined && before ? "," : "", joined);
    joined = both;
  }
  return joined ? pd__intern_text(joined) : NULL;
}

/* Returns the assignment that decides on the wanted flag, or NULL. */
static const pd__change *find_deciding_change(const pd__changes *changes) {
  pd_flag_entry now = {.size = sizeof now};
  const pd__change *last = changes->count > 0 ? &changes->items[changes->count - 1] : NULL;
  if (!last || last->action != PD__ASSIGN) return NULL;
  if (pd__flag_fill_entry(last->flag, 0, &now, NULL) != PD_OK) return NULL;
  bool hidden = pd_source_rank(now.origin.source) > pd_source_rank(last->origin.source);
  return hidden ? NULL : last;
}

static pd_status begin_preview(parse *run, pd_error *err) {
  pd_flag *flag = (pd_flag *)run->options->look->flag;
  run->reader.changes.previews = true;
  if (!flag) return PD_OK;
  run->reader.changes.previewed_flag = pd__resolve_alias(flag);
  pd_status status = pd__flag_adopt_and_check_defined(run->reader.operation, flag, err);
  if (status != PD_OK || !pd__flag_is_sensitive(pd__resolve_alias(flag))) return status;
  return pd__fail(err, PD_ERR_ARGUMENT, "options->look: %s is sensitive", pd__flag_name(flag));
}

static pd_status write_preview(parse *run, pd_error *err) {
  pd_parse_look *asked = run->options->look;
  pd_parse_look look = {.size = sizeof look, .flag = asked->flag, .argument = asked->argument};
  const pd__change *last = find_deciding_change(&run->reader.changes);
  look.index = find_argument(run, look.argument);
  if (last) {
    look.text = join_change_texts(run, &run->reader.changes, last);
    look.origin = last->origin;
    if (look.origin.place) look.origin.place = pd__intern_text(look.origin.place);
  }
  bool whole = !last || (look.text && (look.origin.place || !last->origin.place));
  if (!whole || run->reader.operation->arena.failed) return pd__fail_memory(err);
  pd__sized_copy_out(asked, &look, sizeof look);
  return PD_OK;
}

static pd_status write_help_request(const parse *run, pd_help *help, pd_error *err) {
  help->pattern = pd__intern_text(help->pattern);
  if (!help->pattern) return pd__fail_memory(err);
  if (run->options->help) pd__sized_copy_out(run->options->help, help, sizeof *help);
  return pd__fail(err, PD_HELP, "help was asked for");
}

/* What is frozen keeps its value, as it would if the line gave another. */
static void drop_former_argv_values(parse *run) {
  pd__reader *reader = &run->reader;
  for (size_t i = 0; i < run->options->former_count; i++) {
    pd_flag *flag = run->options->former[i];
    pd_origin origin = {.source = PD_SOURCE_ARGV};
    if (!flag || pd__flag_adopt_and_check_defined(reader->operation, flag, NULL) != PD_OK) continue;
    if (pd__flag_check_settable(reader->operation, flag, &origin, NULL) != PD_OK) continue;
    pd__changes_add_drop(&reader->changes, flag, PD_SOURCE_ARGV);
  }
}

static pd_status parse_and_commit_line(parse *run, pd_error *err) {
  const pd_parse_options *options = run->options;
  pd__reader *reader = &run->reader;
  const pd__variable_rules *rules = options->env_prefix ? &run->rules : NULL;
  pd_help help = {.size = sizeof help};
  if (options->former && !options->look) drop_former_argv_values(run);
  if (options->config) pd__config_stage_values(options->config, reader);
  if (options->env_flags) pd__reader_read_flags_variable(reader, options->env_flags);
  if (rules) pd__environment_stage_values(rules, &reader->changes);
  handle_tokens(run);
  if (options->look) return write_preview(run, err);
  if (pd__option_find_requested_help(reader, &help)) return write_help_request(run, &help, err);
  reader->changes.ask_all = reader->changes.yields = true;
  pd_status status = pd__reader_commit(reader);
  if (status != PD_OK) return status;
  if (!options->keep_startup) pd__startup_over = true;
  pd__journal_mark_stale();
  if (rules) pd__environment_use_for_new_flags(rules);
  if (rules && !options->keep_startup) {
    pd__environment_warn_of_unknown(rules, options->warn_unknown_env, options->env_flags);
  }
  return PD_OK;
}

/* ---- The rearranged command line ---- */

/* Copies the tokens that are arguments, or those that are not, to `fresh`. Returns the new end. */
static int copy_tokens(parse *run, bool arguments, int end) {
  for (int i = 1; i < run->argc; i++) {
    if (run->argument[i] == arguments) run->fresh[end++] = run->argv[i];
  }
  return end;
}

static void reorder_argv(parse *run, int *argc) {
  if (run->options->arrange == PD_ARRANGE_LEAVE || run->argc == 0) return;
  bool removes = run->options->arrange == PD_ARRANGE_REMOVE; /* the others move to the front */
  int first = removes ? 1 : copy_tokens(run, false, 1);
  int end = copy_tokens(run, true, first);
  if (run->options->first) *run->options->first = first;
  if (!removes) memcpy(run->argv + 1, run->fresh + 1, (size_t)(end - 1) * sizeof *run->argv);
  run->argv[end] = NULL;
  *argc = end;
}

/* ---- Public functions ---- */

static pd_status check_arguments(const int *argc, char **argv, const pd_parse_options *options,
                                 pd_error *err) {
  if (*argc < 0) return pd__fail(err, PD_ERR_ARGUMENT, "argc is %d", *argc);
  for (int i = 0; i < *argc; i++) {
    if (!argv[i]) return pd__fail(err, PD_ERR_ARGUMENT, "argv[%d] is NULL, argc is %d", i, *argc);
  }
  if (options->arrange > PD_ARRANGE_REORDER) {
    return pd__fail(err, PD_ERR_ARGUMENT, "options->arrange is %u, expected a pd_arrange",
                    options->arrange);
  }
  if (options->known_only && (options->allow_pending || options->no_arguments)) {
    return pd__fail(err, PD_ERR_ARGUMENT,
                    "options: known_only leaves undefined flags as arguments, "
                    "expected it without %s",
                    options->no_arguments ? "no_arguments" : "allow_pending");
  }
  if (options->env_flags && (!*options->env_flags || strchr(options->env_flags, '='))) {
    return pd__fail(err, PD_ERR_ARGUMENT, "options->env_flags: expected the name of a variable");
  }
  return options->env_prefix ? pd__environment_check_prefix(options->env_prefix, err) : PD_OK;
}

static pd_status copy_parse_options(const pd_parse_options *options, pd_parse_options *known,
                                    pd_error *err) {
  *known = (pd_parse_options){.size = sizeof *known};
  if (!options) return PD_OK;
  size_t least = PD__SIZE_UP_TO(pd_parse_options, errors);
  pd_status status = pd__sized_copy_in(options, least, known, sizeof *known, "options", err);
  if (status == PD_OK && known->look) {
    size_t looks = PD__SIZE_UP_TO(pd_parse_look, origin);
    status = pd__sized_check(known->look, looks, "options->look", err);
  }
  if (status != PD_OK || !known->help) return status;
  return pd__sized_check(known->help, PD__SIZE_UP_TO(pd_help, pattern), "options->help", err);
}

static void restore_strictness(const bool *before) { pd__preference_strict = *before; }

pd_status pd_parse_argv(int *argc, char **argv, const pd_parse_options *options, pd_error *err) {
  if (!argc) return pd__fail_null(err, "argc");
  if (!argv) return pd__fail_null(err, "argv");
  pd_parse_options known;
  pd_status status = copy_parse_options(options, &known, err);
  if (status == PD_OK) status = check_arguments(argc, argv, &known, err);
  if (status != PD_OK) return status;
  pd__report report = {.list = known.look ? NULL : known.errors, .first = known.look ? NULL : err};
  parse run = {.argc = *argc, .argv = argv, .options = &known};
  bool before __attribute__((cleanup(restore_strictness), unused)) = pd__preference_strict;
  pd__preference_strict = !known.allow_pending;
  PD__OPERATION(operation);
  run.argument = pd__arena_alloc(&operation.arena, (size_t)*argc + 1);
  run.fresh = argv;
  if (known.arrange == PD_ARRANGE_REORDER) {
    run.fresh = pd__arena_alloc(&operation.arena, ((size_t)*argc + 1) * sizeof *run.fresh);
  }
  if (!run.argument || !run.fresh) return pd__fail_memory(err);
  run.files.arena = &operation.arena;
  run.rules.ignore_empty = known.env_ignore_empty;
  run.rules.read_files = known.env_files;
  strcpy(run.rules.prefix, known.env_prefix ? known.env_prefix : "FLAGS_");
  run.files.rules = &run.rules;
  read_named_files(&run);
  pd__operation_lock(&operation);
  pd__reader_begin(&run.reader, &operation, &report);
  uint32_t names = pd__names_count(); /* few command lines give a flag more than one value */
  pd__changes_reserve(&run.reader.changes, (size_t)*argc < names ? (size_t)*argc : names);
  run.reader.sources = &run.files;
  run.reader.program = *argc > 0 ? argv[0] : NULL;
  run.reader.allow_pending = known.allow_pending;
  if (known.look) status = begin_preview(&run, err);
  if (status == PD_OK) status = parse_and_commit_line(&run, err);
  if (status == PD_OK && !known.look) reorder_argv(&run, argc);
  return pd__operation_return(&operation, status);
}
