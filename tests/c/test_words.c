/* The words of every command line: --fromenv, --tryfromenv, --undefok and help. */
#include "check.h"

static pd_flag *count, *level, *dry_run;
static pd_error_list *errors;
static pd_help help;
static bool allow_pending;
static const char *env_prefix;

static void start(void) {
  count = define_flag(PD_TYPE_int32, "count");
  level = define_flag(PD_TYPE_int32, "log-level");
  dry_run = define_flag(PD_TYPE_bool, "dry_run");
  errors = pd_error_list_new();
}

/* Parse words that are separated by blanks; no arguments are left. */
static pd_status parse(const char *line) {
  static char words[1024], *argv[64];
  int argc = 1;
  argv[0] = words;
  snprintf(words, sizeof words, "program %s", line);
  strtok(words, " ");
  for (char *word; (word = strtok(NULL, " "));) argv[argc++] = word;
  argv[argc] = NULL;
  help = (pd_help){.size = sizeof help, .kind = 99};
  pd_parse_options options = {.size = sizeof options,
                              .errors = errors,
                              .allow_pending = allow_pending,
                              .env_prefix = env_prefix,
                              .help = &help};
  return pd_parse_argv(&argc, argv, &options, &err);
}

static void refuses(const char *line, pd_status status, const char *message) {
  pd_error_list_free(errors);
  errors = pd_error_list_new();
  CHECK_STATUS(parse(line), status, message);
  CHECK(pd_error_list_count(errors) == 1);
  CHECK_STR(text_of(count), "0");
}

static void asks(const char *line, pd_help_kind kind, const char *pattern) {
  CHECK_STATUS(parse(line), PD_HELP, "help was asked for");
  CHECK(help.kind == kind);
  CHECK_STR(help.pattern, pattern);
}

TEST(fromenv_takes_flags_from_variables_in_its_place_on_the_line) {
  start();
  setenv("FLAGS_count", "5", 1);
  setenv("FLAGS_log_level", "6", 1);
  CHECK_OK(parse("--count=1 --fromenv=count,log-level"));
  CHECK_STR(text_of(count), "5");
  CHECK_STR(text_of(level), "6");
  pd_flag_entry entry = flag_entry(count, 0);
  CHECK(entry.origin.source == PD_SOURCE_ARGV && entry.origin.line == 0);
  CHECK_STR(entry.origin.place, "FLAGS_count");
  CHECK_OK(parse("--fromenv count --count=1"));
  CHECK_STR(text_of(count), "1");
}

TEST(fromenv_wants_the_variable_and_tryfromenv_does_not) {
  start();
  unsetenv("FLAGS_count");
  refuses("--fromenv=count", PD_ERR_ARGV, "--fromenv: the environment has no FLAGS_count");
  CHECK_OK(parse("--tryfromenv=count,dry_run"));
  CHECK_STR(text_of(count), "0");
}

TEST(variables_have_the_prefix_of_the_line) {
  start();
  env_prefix = "APP_";
  setenv("APP_count", "5", 1);
  setenv("FLAGS_count", "6", 1);
  CHECK_OK(parse("--fromenv=count"));
  CHECK_STR(text_of(count), "5");
}

TEST(a_variable_that_does_not_suit_its_flag_is_named) {
  start();
  setenv("FLAGS_count", "many", 1);
  refuses("--fromenv=count", PD_ERR_VALUE,
          "environment: FLAGS_count=many: expected a 32-bit integer");
  refuses("--tryfromenv=count", PD_ERR_VALUE,
          "environment: FLAGS_count=many: expected a 32-bit integer");
}

TEST(an_unknown_flag_is_an_error_with_or_without_its_variable) {
  start();
  setenv("FLAGS_weirdo", "", 1);
  refuses("--fromenv=weirdo", PD_ERR_UNDEFINED, "--fromenv=weirdo: no such flag");
  refuses("--tryfromenv=weirdo", PD_ERR_UNDEFINED, "--tryfromenv=weirdo: no such flag");
  refuses("-tryfromenv count,cuont", PD_ERR_UNDEFINED,
          "--tryfromenv=cuont: no such flag; did you mean 'count'?");
  setenv("FLAGS_fromenv", "nowhere", 1);
  refuses("--fromenv=fromenv", PD_ERR_UNDEFINED, "environment: --fromenv=nowhere: no such flag");
  CHECK_OK(parse("--tryfromenv=weirdo,nowhere --undefok=nowhere,weirdo"));
}

TEST(a_variable_may_say_fromenv_as_any_text) {
  start();
  pd_flag *name = define_flag(PD_TYPE_string, "name");
  setenv("FLAGS_name", "fromenv", 1);
  CHECK_OK(parse("--fromenv=name"));
  CHECK_STR(text_of(name), "fromenv");
}

TEST(fromenv_names_flags_and_no_negations) {
  start();
  const char *why = "--fromenv: no flag is named 'no-dry_run', it negates one";
  refuses("--dry_run --fromenv=no-dry_run", PD_ERR_UNDEFINED, why);
  setenv("FLAGS_nodry_run", "1", 1);
  refuses("--tryfromenv=nodry_run", PD_ERR_UNDEFINED,
          "--tryfromenv: no flag is named 'nodry_run', it negates one");
}

TEST(a_variable_may_hold_names_of_further_variables) {
  start();
  setenv("FLAGS_fromenv", "count", 1);
  setenv("FLAGS_count", "5", 1);
  setenv("FLAGS_undefok", "foo", 1);
  CHECK_OK(parse("--fromenv=fromenv,undefok --foo=3"));
  CHECK_STR(text_of(count), "5");
}

TEST(a_circle_of_variables_ends) {
  start();
  setenv("FLAGS_fromenv", "tryfromenv,tryfromenv", 1);
  setenv("FLAGS_tryfromenv", "fromenv,fromenv", 1);
  refuses(
      "--fromenv=fromenv", PD_ERR_DEPTH,
      "environment: FLAGS_tryfromenv: nested more than 16 files and variables deep, perhaps in a "
      "circle");
}

TEST(a_value_that_waits_for_its_flag_comes_from_the_variable) {
  start();
  allow_pending = true;
  setenv("FLAGS_later", "5", 1);
  CHECK_OK(parse("--fromenv=later --tryfromenv=never"));
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "later")), "5");
  CHECK_OK(pd_pending_check(NULL, &err));
}

TEST(names_of_undefok_need_not_be_known_wherever_they_stand) {
  start();
  CHECK_OK(parse("--foo --undefok=foo,fum,"));
  CHECK_OK(parse("--undefok=fee,fi,foo,fum --nofoo --no-fum=1 --fi=2 -fee"));
  CHECK_OK(parse("--undefok=foo --foo --nofoo"));
  CHECK_OK(parse("--undefok foo-bar --undefok=other --foo_bar=7 --other"));
  refuses("--undefok=fo --foo", PD_ERR_UNDEFINED, "--foo: no such flag");
  refuses("--undefok=foot --foo", PD_ERR_UNDEFINED, "--foo: no such flag");
  refuses("--foo --undefok=foo,,bar --bar", PD_ERR_ARGV,
          "--undefok=foo,,bar: an item of the list is empty");
  refuses("--undefok=fee,--foo --foo --fee", PD_ERR_ARGV,
          "--undefok=fee,--foo: an item of the list begins with a dash");
  refuses("--undefok= --foo", PD_ERR_UNDEFINED, "--foo: no such flag");
}

TEST(undefok_excuses_no_wrong_value) {
  start();
  refuses("--undefok=count --count=x", PD_ERR_VALUE, "--count=x: expected a 32-bit integer");
  refuses("--undefok=nocount --nocount", PD_ERR_ARGV,
          "--nocount: count is int32, and only a bool can be negated");
}

TEST(an_excused_value_waits_and_nobody_complains) {
  start();
  allow_pending = true;
  CHECK_OK(parse("--undefok=foo --foo=5"));
  CHECK_OK(pd_pending_check(NULL, &err));
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "foo")), "5");
}

TEST(lists_of_names_have_no_empty_items_and_no_dashes) {
  start();
  refuses("--undefok=,a", PD_ERR_ARGV, "--undefok=,a: an item of the list is empty");
  refuses("--fromenv=a,,b", PD_ERR_ARGV, "--fromenv=a,,b: an item of the list is empty");
  refuses("--tryfromenv=a,--b", PD_ERR_ARGV,
          "--tryfromenv=a,--b: an item of the list begins with a dash");
  refuses("--flagfile=-x", PD_ERR_ARGV, "--flagfile=-x: an item of the list begins with a dash");
  CHECK_OK(parse("--fromenv= --tryfromenv= --flagfile= --undefok="));
}

TEST(a_word_without_its_list_is_an_error) {
  start();
  refuses("--fromenv", PD_ERR_ARGV,
          "--fromenv: the value is missing, expected names of flags separated by commas");
  refuses("--flagfile --dry_run", PD_ERR_ARGV,
          "--flagfile: the value is missing, expected paths of files separated by commas");
}

TEST(no_flag_has_the_name_of_a_word) {
  static const char *const names[] = {"help", "flagfile", "fromenv", "tryfromenv", "undefok"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    pd_flag_def def = definition(PD_TYPE_string, names[i]);
    CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_CONFLICT);
  }
  CHECK_STR(err.message,
            "definition of 'undefok': --undefok lets flags be unknown, expected another name");
}

TEST(each_word_for_help_tells_its_kind_and_pattern) {
  start();
  asks("--help", PD_HELP_ALL, "");
  asks("-h", PD_HELP_ALL, "");
  asks("--helpfull", PD_HELP_FULL, "");
  asks("-helpshort=yes", PD_HELP_SHORT, "");
  asks("--helpon=main", PD_HELP_ON, "main");
  asks("--helpon main", PD_HELP_ON, "main");
  asks("-helpmatch sub", PD_HELP_MATCH, "sub");
  asks("--helppackage", PD_HELP_PACKAGE, "");
  asks("--helpxml", PD_HELP_XML, "");
  asks("--version", PD_HELP_VERSION, "");
}

TEST(help_beats_errors_and_among_its_kinds_the_order_is_that_of_gflags) {
  start();
  asks("--zzz --count=x --version", PD_HELP_VERSION, "");
  asks("--undefok=,a --help", PD_HELP_ALL, "");
  asks("--version --helpxml --help", PD_HELP_ALL, "");
  asks("--helpon=a --help --helpshort", PD_HELP_SHORT, "");
}

TEST(help_can_be_taken_back) {
  start();
  CHECK_OK(parse("--help --nohelp --version=false --noversion --help=no --helpon="));
  asks("--nohelp --help", PD_HELP_ALL, "");
  setenv("FLAGS_help", "false", 1);
  setenv("FLAGS_version", "true", 1);
  CHECK_OK(parse("--fromenv=help"));
  asks("--fromenv=version", PD_HELP_VERSION, "");
}

TEST(a_wrong_word_for_help_is_an_error) {
  start();
  refuses("--help=banana", PD_ERR_VALUE, "--help=banana: expected " PD__BOOL_EXPECTED);
  refuses("--nohelp=1", PD_ERR_ARGV, "--nohelp: takes no value");
  refuses("--helpon", PD_ERR_ARGV,
          "--helpon: the value is missing, expected a part of a source file's name");
}

TEST(a_flag_called_version_is_a_flag) {
  start();
  pd_flag *version = define_flag(PD_TYPE_string, "version");
  CHECK_OK(parse("--version 2"));
  CHECK_STR(text_of(version), "2");
}

TEST(the_struct_for_help_tells_its_size) {
  char program[] = "program";
  char *argv[] = {program, NULL};
  int argc = 1;
  pd_help small = {.size = 4};
  pd_parse_options options = {.size = sizeof options, .help = &small};
  CHECK_STATUS(pd_parse_argv(&argc, argv, &options, &err), PD_ERR_ARGUMENT,
               "options->help->size is 4, expected 24 or more");
}
