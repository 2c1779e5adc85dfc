/* The command line: split each word into a flag and its value, check all of
 * them, then set all of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "environment.h"
#include "pending.h"
#include "platform.h"
#include "registry.h"
#include "sized.h"
#include "text.h"

/* One run over a command line. */
typedef struct parse {
  int argc;
  char **argv;
  int at;   /* the word under way */
  int kept; /* words kept so far, in `rest` */
  char **rest;
  uint8_t arrange;
  bool stop_at_argument;
  bool keep_startup;
  bool allow_pending;
  bool help;
  pd__pending *pending; /* the newest first */
  pd__changes changes;
  pd__report report;
} parse;

/* A word that begins with a dash, taken apart. */
typedef struct argument {
  const char *dashes; /* "-" or "--", for messages */
  const char *name;
  size_t length;     /* of the name */
  const char *value; /* behind '=', or NULL */
} argument;

static bool is_flag(const char *text) { return text[0] == '-' && text[1] != '\0'; }

static bool is_number(const char *text) {
  return text[0] == '.' || (text[0] >= '0' && text[0] <= '9');
}

/* -5 and -.5 are values; -x and --x aren't. */
static bool is_value(const char *text) { return !is_flag(text) || is_number(text + 1); }

static argument split(const char *text) {
  argument word = {.dashes = text[1] == '-' ? "--" : "-"};
  word.name = text + strlen(word.dashes);
  word.length = strcspn(word.name, "=");
  if (word.name[word.length]) word.value = word.name + word.length + 1;
  return word;
}

/* "nox" or "no-x" for a flag x: give x. An exact name was looked for before. */
static pd_flag *find_negated(const argument *word) {
  if (word->length < 3 || strncmp(word->name, "no", 2) != 0) return NULL;
  pd_flag *flag = pd__names_resolve(word->name + 2, word->length - 2);
  bool dash = word->name[2] == '-' || word->name[2] == '_';
  if (!flag && dash) flag = pd__names_resolve(word->name + 3, word->length - 3);
  return flag;
}

/* "--=5" and "---x": no name can be like that, though `-` and `_` are alike. */
static bool is_malformed(parse *run, const argument *word, const char *text) {
  char quoted[PD__QUOTE_SIZE];
  if (word->length > 0 && *word->name != '-') return false;
  const char *why = word->length > 0 ? "expected one or two dashes before the name of a flag"
                                     : "expected the name of a flag before the =";
  pd__report_fail(&run->report, PD_ERR_ARGV, "%s: %s", pd__quote(quoted, text), why);
  return true;
}

/* No flag of that name is defined yet. The word that may be its value isn't taken. */
static bool let_wait(parse *run, const argument *word) {
  const char *next = run->at + 1 < run->argc ? run->argv[run->at + 1] : NULL;
  pd_origin origin = {PD_SOURCE_ARGV, (uint32_t)run->at, NULL, 0};
  pd__pending *made;
  pd_error err;
  pd_status status =
      pd__pending_prepare(word->name, word->length, word->value,
                          next && is_value(next) ? next : NULL, &origin, &made, &err);
  if (status == PD_ERR_NAME) return false;
  if (status == PD_OK) {
    made->following = run->pending;
    run->pending = made;
  } else {
    pd__report_add(&run->report, &err);
  }
  return true;
}

/* Keep them in the order of the line, or drop them. */
static void finish_pending(parse *run, bool keep) {
  pd__pending *ordered = NULL;
  while (run->pending) {
    pd__pending *each = run->pending;
    run->pending = each->following;
    each->following = ordered;
    ordered = each;
  }
  while (ordered) {
    pd__pending *each = ordered;
    ordered = each->following;
    if (keep) {
      pd__pending_keep(each);
    } else {
      free(each);
    }
  }
}

static void fail_unknown(parse *run, const argument *word) {
  char name[PD__QUOTE_SIZE], hint[PD__HINT_SIZE], shown[PD_NAME_MAX + 2];
  size_t length = word->length <= PD_NAME_MAX ? word->length : PD_NAME_MAX + 1;
  snprintf(shown, sizeof shown, "%.*s", (int)length, word->name);
  pd__names_hint(word->name, word->length, "--", hint);
  if (!*hint && is_number(word->name)) {
    snprintf(hint, sizeof hint, "; arguments that begin with a dash go after --");
  }
  pd__report_fail(&run->report, PD_ERR_UNDEFINED, "%s%s: no such flag%s", word->dashes,
                  pd__quote(name, shown), hint);
}

static void add(parse *run, pd_flag *flag, const char *text, int index) {
  pd_origin origin = {PD_SOURCE_ARGV, (uint32_t)index, NULL, 0};
  pd__changes_add(&run->changes, flag, text, (pd_value){0}, &origin, &run->report);
}

static void read_negated(parse *run, const argument *word, pd_flag *flag) {
  int length = (int)word->length;
  if (flag->def->type != PD_TYPE_bool) {
    pd__report_fail(&run->report, PD_ERR_ARGV, "%s%.*s: %s is %s, and only a bool can be negated",
                    word->dashes, length, word->name, flag->name, pd_type_name(flag->type));
  } else if (word->value) {
    pd__report_fail(&run->report, PD_ERR_ARGV,
                    "%s%.*s: takes no value; write --%s=true or --%s=false", word->dashes, length,
                    word->name, flag->name, flag->name);
  } else {
    add(run, flag, "false", run->at);
  }
}

static bool is_help(const argument *word) {
  return word->length == 4 && !strncmp(word->name, "help", 4);
}

static bool asks_for_help(const argument *word) {
  return !word->value && (is_help(word) || (word->length == 1 && *word->name == 'h'));
}

/* The value of a flag that isn't bool stands in the next word. */
static void read_next(parse *run, const argument *word, pd_flag *flag) {
  int index = run->at;
  const char *next = index + 1 < run->argc ? run->argv[index + 1] : NULL;
  char expected[256], quoted[PD__QUOTE_SIZE];
  if (next && is_value(next)) {
    run->at++;
    add(run, flag, next, index);
    return;
  }
  if (asks_for_help(word)) {
    run->help = true;
    return;
  }
  pd__value_expected(flag->def, false, expected, sizeof expected);
  if (!next) {
    pd__report_fail(&run->report, PD_ERR_ARGV, "--%s: the value is missing, expected %s",
                    flag->name, expected);
  } else {
    pd__report_fail(
        &run->report, PD_ERR_ARGV,
        "--%s: the value is missing before %s, expected %s; a value that begins with a dash is "
        "written --%s=VALUE",
        flag->name, pd__quote(quoted, next), expected, flag->name);
  }
}

static void read_unknown(parse *run, const argument *word) {
  if (is_help(word)) { /* no flag can have this name */
    pd__report_fail(&run->report, PD_ERR_ARGV, "%shelp: takes no value", word->dashes);
  } else if (!run->allow_pending || !let_wait(run, word)) {
    fail_unknown(run, word);
  }
}

static void read_flag(parse *run, const char *text) {
  argument word = split(text);
  if (is_malformed(run, &word, text)) return;
  pd_flag *flag = pd__names_resolve(word.name, word.length);
  pd_flag *negated = flag ? NULL : find_negated(&word);
  if (negated) {
    read_negated(run, &word, negated);
  } else if (!flag && asks_for_help(&word)) {
    run->help = true;
  } else if (!flag) {
    read_unknown(run, &word);
  } else if (word.value) {
    add(run, flag, word.value, run->at);
  } else if (flag->def->type == PD_TYPE_bool) {
    add(run, flag, "true", run->at);
  } else {
    read_next(run, &word, flag);
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
      flags &= !run->stop_at_argument;
    }
  }
}

/* With the lock. */
static pd_status run_parse(parse *run, const char *prefix) {
  if (prefix) pd__environment_read(prefix, &run->changes, &run->report);
  read_words(run);
  if (run->help) {
    pd__fail(run->report.first, PD_HELP, "help was asked for");
    pd__report nothing = {.status = PD_HELP};
    finish_pending(run, false);
    return pd__changes_finish(&run->changes, 0, &nothing);
  }
  pd_status status = pd__changes_finish(&run->changes, 0, &run->report);
  finish_pending(run, status == PD_OK);
  if (status == PD_OK) {
    if (!run->keep_startup) pd__startup_over = true;
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
  parse run = {.argc = *argc,
               .argv = argv,
               .stop_at_argument = known.stop_at_argument,
               .arrange = known.arrange,
               .keep_startup = known.keep_startup,
               .allow_pending = known.allow_pending};
  run.report = (pd__report){.list = known.errors, .first = err};
  run.rest = malloc(((size_t)(*argc > 0 ? *argc : 0) + 1) * sizeof *run.rest);
  if (!run.rest) return pd__fail_memory(err);
  pd__platform_lock();
  const char *prefix = pd__intern(known.env_prefix);
  status = known.env_prefix && !prefix ? pd__fail_memory(err) : run_parse(&run, prefix);
  pd__platform_unlock();
  if (status == PD_OK && known.arrange == PD_ARRANGE_REMOVE && *argc > 0) {
    memcpy(argv + 1, run.rest, (size_t)run.kept * sizeof *argv);
    *argc = run.kept + 1;
    argv[*argc] = NULL;
  }
  free(run.rest);
  return status;
}
