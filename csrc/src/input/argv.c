/* The command line: which words are flags, values of flags, and arguments. */
#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "../platform/platform.h"
#include "config.h"
#include "../base/sized.h"
#include "../base/text.h"
#include "words.h"

/* One run over a command line. */
typedef struct parse {
  int argc;
  char **argv;
  int at;         /* the word under way */
  bool *argument; /* of each word: it is no flag, and no value of one */
  char **fresh;   /* room for the new line */
  const pd_parse_options *options;
  pd__words words;
} parse;

static bool is_flag(const char *text) { return text[0] == '-' && text[1] != '\0'; }

static bool is_number(const char *text) {
  return text[0] == '.' || (text[0] >= '0' && text[0] <= '9');
}

/* -5 and -.5 are values; -x and --x aren't. */
static bool is_value(const char *text) { return !is_flag(text) || is_number(text + 1); }

/* Take a word that is --name=value, of a flag that is known: the most frequent by far. */
static bool read_whole(parse *run, const char *text) {
  const char *name = text + 2, *equals = text[1] == '-' && *name != '-' ? strchr(name, '=') : NULL;
  pd_flag *node = equals ? pd__names_resolve(name, (size_t)(equals - name)) : NULL;
  pd_origin origin = {PD_SOURCE_ARGV, (uint32_t)run->at, NULL, 0};
  if (node) pd__given_text(&run->words.given, node, equals + 1, &origin);
  return node != NULL;
}

/* Take the word apart, and the next one too where that is its value. */
static void read_flag(parse *run, const char *text) {
  if (read_whole(run, text)) return;
  pd__item item = pd__item_split(text);
  item.origin = (pd_origin){PD_SOURCE_ARGV, (uint32_t)run->at, NULL, 0};
  char *next = run->at + 1 < run->argc ? run->argv[run->at + 1] : NULL;
  pd__meaning meaning = pd__item_resolve(&item);
  bool wants = pd__words_wants(&item, &meaning);
  if (wants && next && is_value(next)) {
    item.text = next;
    run->at++;
  } else if (wants && item.length == 1 && *item.name == 'h') {
    run->words.help[PD_HELP_ALL] = "";
    return;
  } else if (wants || (!item.text && next && is_value(next))) {
    item.next = next; /* for messages */
  }
  pd__words_take_as(&run->words, &item, &meaning, text);
}

static void read_words(parse *run) {
  bool flags = true;
  for (run->at = 1; run->at < run->argc; run->at++) {
    char *text = run->argv[run->at]; /* NOLINT: check_arguments refuses NULL */
    if (flags && text[0] == '-' && text[1] == '-' && !text[2]) {
      flags = false;
    } else if (flags && is_flag(text)) {
      read_flag(run, text);
    } else {
      run->argument[run->at] = true;
      flags &= !run->options->stop_at_argument;
    }
  }
}

static pd_status give_help(parse *run, const pd_help *asked, pd_error *err) {
  pd_help help = *asked;
  help.size = sizeof help;
  help.pattern = pd__intern(help.pattern);
  if (!help.pattern) return pd__fail_memory(err);
  if (run->options->help) pd__sized_give(run->options->help, &help, sizeof help);
  return pd__fail(err, PD_HELP, "help was asked for");
}

/* With the lock. */
static pd_status run_parse(parse *run, pd_error *err) {
  const pd_parse_options *options = run->options;
  pd__given *given = &run->words.given;
  const char *prefix = options->env_prefix;
  pd_help help;
  if (prefix && !(prefix = pd__intern(prefix))) return pd__fail_memory(err);
  if (options->config) pd__settings_give(options->config, &run->words);
  given->changes.report = &given->report;
  pd__changes_reserve(&given->changes, (size_t)run->argc);
  if (prefix) pd__environment_read(prefix, &given->changes);
  read_words(run);
  if (pd__words_help(&run->words, &help)) {
    pd__given_drop(given);
    return give_help(run, &help, err);
  }
  given->changes.ask_all = true;
  pd_status status = pd__given_finish(given);
  if (status == PD_OK) {
    if (!options->keep_startup) pd__startup_over = true;
    if (prefix) pd__environment_use(prefix);
  }
  return status;
}

/* Put the words in `fresh` that are arguments, or that aren't; give the end. */
static int gather(parse *run, bool arguments, int end) {
  for (int i = 1; i < run->argc; i++) {
    if (run->argument[i] == arguments) run->fresh[end++] = run->argv[i];
  }
  return end;
}

static void arrange(parse *run, int *argc) {
  int first = run->argc > 0, end;
  if (run->options->arrange != PD_ARRANGE_REMOVE) first = gather(run, false, first);
  end = gather(run, true, first);
  if (run->options->arrange == PD_ARRANGE_LEAVE || run->argc == 0) return;
  if (run->options->first) *run->options->first = first;
  memcpy(run->argv + 1, run->fresh + 1, (size_t)(end - 1) * sizeof *run->argv);
  run->argv[end] = NULL;
  *argc = end;
}

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
  return options->env_prefix ? pd__environment_check(options->env_prefix, err) : PD_OK;
}

static pd_status take_options(const pd_parse_options *options, pd_parse_options *known,
                              pd_error *err) {
  *known = (pd_parse_options){.size = sizeof *known};
  if (!options) return PD_OK;
  pd_status status =
      pd__sized_check(options, PD__SIZE_UP_TO(pd_parse_options, errors), "options", err);
  if (status == PD_OK) status = pd__sized_take(options, known, sizeof *known, "options", err);
  if (status != PD_OK || !known->help) return status;
  return pd__sized_check(known->help, PD__SIZE_UP_TO(pd_help, pattern), "options->help", err);
}

pd_status pd__do_parse_argv(int *argc, char **argv, const pd_parse_options *options,
                            pd_error *err) {
  if (!argc) return pd__fail_null(err, "argc");
  if (!argv) return pd__fail_null(err, "argv");
  pd_parse_options known;
  pd_status status = take_options(options, &known, err);
  if (status == PD_OK) status = check_arguments(argc, argv, &known, err);
  if (status != PD_OK) return status;
  parse run = {.argc = *argc, .argv = argv, .options = &known};
  run.words.program = *argc > 0 ? argv[0] : NULL;
  run.words.prefix = known.env_prefix ? known.env_prefix : "FLAGS_";
  run.words.given.report = (pd__report){.list = known.errors, .first = err};
  run.words.given.allow_pending = known.allow_pending;
  run.argument = calloc((size_t)*argc + 1, sizeof *run.argument);
  run.fresh = calloc((size_t)*argc + 1, sizeof *run.fresh);
  if (run.argument && run.fresh) {
    pd__platform_lock();
    status = run_parse(&run, err);
    pd__words_free(&run.words);
    pd__platform_unlock();
    pd__tell();
    if (status == PD_OK) arrange(&run, argc);
  } else {
    status = pd__fail_memory(err);
  }
  free(run.argument);
  free(run.fresh);
  return status;
}
