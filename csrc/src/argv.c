/* The command line: split each word into a flag and its value, check all of
 * them, then set all of them. */
#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "given.h"
#include "platform.h"
#include "settings.h"
#include "sized.h"
#include "text.h"

/* One run over a command line. */
typedef struct parse {
  int argc;
  char **argv;
  int at;   /* the word under way */
  int kept; /* words kept so far, in `rest` */
  char **rest;
  const pd_parse_options *options;
  bool help;
  pd__given given;
} parse;

static bool is_flag(const char *text) { return text[0] == '-' && text[1] != '\0'; }

static bool is_number(const char *text) {
  return text[0] == '.' || (text[0] >= '0' && text[0] <= '9');
}

/* -5 and -.5 are values; -x and --x aren't. */
static bool is_value(const char *text) { return !is_flag(text) || is_number(text + 1); }

static bool is_malformed(parse *run, const pd__item *item, const char *text) {
  char quoted[PD__QUOTE_SIZE];
  if (item->length > 0 && *item->name != '-') return false;
  const char *why = item->length > 0 ? "expected one or two dashes before the name of a flag"
                                     : "expected the name of a flag before the =";
  pd__given_fail(&run->given, PD_ERR_ARGV, "%s: %s", pd__quote(quoted, text), why);
  return true;
}

static bool is_help(const pd__item *item) {
  return item->length == 4 && !strncmp(item->name, "help", 4);
}

static bool asks_for_help(const pd__item *item) {
  return !item->text && (is_help(item) || (item->length == 1 && *item->name == 'h'));
}

/* Take the word apart, and the next one too where that is its value. */
static void read_flag(parse *run, const char *text) {
  bool negated;
  pd__item item = pd__item_split(text);
  if (is_malformed(run, &item, text)) return;
  item.origin = (pd_origin){PD_SOURCE_ARGV, (uint32_t)run->at, NULL, 0};
  const char *next = run->at + 1 < run->argc ? run->argv[run->at + 1] : NULL;
  pd_flag *flag = pd__item_resolve(&item, &negated);
  bool wants = flag && !negated && !item.text && flag->def->type != PD_TYPE_bool;
  if (wants && next && is_value(next)) {
    item.text = next;
    run->at++;
  } else if (asks_for_help(&item) && (!flag || wants)) {
    run->help = true;
    return;
  } else if (wants || (!flag && !item.text && next && is_value(next))) {
    item.next = next; /* for messages */
  }
  if (!flag && is_help(&item)) { /* no flag can have this name */
    pd__given_fail(&run->given, PD_ERR_ARGV, "%shelp: takes no value", item.dashes);
  } else {
    pd__given_take(&run->given, &item);
  }
}

static void read_words(parse *run) {
  bool flags = true;
  for (run->at = 1; run->at < run->argc; run->at++) {
    char *text = run->argv[run->at]; /* NOLINT: check_arguments refuses NULL */
    if (flags && !strcmp(text, "--")) {
      flags = false;
    } else if (flags && is_flag(text)) {
      read_flag(run, text);
    } else {
      run->rest[run->kept++] = text;
      flags &= !run->options->stop_at_argument;
    }
  }
}

/* With the lock. */
static pd_status run_parse(parse *run, const char *prefix) {
  const pd_parse_options *options = run->options;
  pd__given *given = &run->given;
  if (options->settings) pd__settings_give(options->settings, given);
  given->changes.report = &given->report;
  if (prefix) pd__environment_read(prefix, &given->changes);
  read_words(run);
  if (run->help) {
    pd__given_drop(given);
    return pd__fail(given->report.first, PD_HELP, "help was asked for");
  }
  given->changes.ask_all = true;
  pd_status status = pd__given_finish(given);
  if (status == PD_OK) {
    if (!options->keep_startup) pd__startup_over = true;
    if (prefix) pd__environment_use(prefix);
  }
  return status;
}

static pd_status check_arguments(const int *argc, char **argv, const pd_parse_options *options,
                                 pd_error *err) {
  for (int i = 0; i < *argc; i++) {
    if (!argv[i]) return pd__fail(err, PD_ERR_ARGUMENT, "argv[%d] is NULL, argc is %d", i, *argc);
  }
  return options->env_prefix ? pd__environment_check(options->env_prefix, err) : PD_OK;
}

pd_status pd__do_parse_argv(int *argc, char **argv, const pd_parse_options *options,
                            pd_error *err) {
  if (!argc) return pd__fail_null(err, "argc");
  if (!argv) return pd__fail_null(err, "argv");
  pd_parse_options known = {.size = sizeof known};
  pd_status status = PD_OK;
  if (options) {
    status = pd__sized_check(options, PD__SIZE_UP_TO(pd_parse_options, errors), "options", err);
    if (status == PD_OK) status = pd__sized_take(options, &known, sizeof known, "options", err);
  }
  if (status == PD_OK) status = check_arguments(argc, argv, &known, err);
  if (status != PD_OK) return status;
  parse run = {.argc = *argc, .argv = argv, .options = &known};
  run.given.report = (pd__report){.list = known.errors, .first = err};
  run.given.allow_pending = known.allow_pending;
  run.rest = malloc(((size_t)(*argc > 0 ? *argc : 0) + 1) * sizeof *run.rest);
  if (!run.rest) return pd__fail_memory(err);
  pd__platform_lock();
  const char *prefix = pd__intern(known.env_prefix);
  status = known.env_prefix && !prefix ? pd__fail_memory(err) : run_parse(&run, prefix);
  pd__platform_unlock();
  pd__tell();
  if (status == PD_OK && known.arrange == PD_ARRANGE_REMOVE && *argc > 0) {
    memcpy(argv + 1, run.rest, (size_t)run.kept * sizeof *argv);
    *argc = run.kept + 1;
    argv[*argc] = NULL;
  }
  free(run.rest);
  return status;
}
