#include "check.h"

static pd_flag *count, *name, *dry_run, *ratio;
static pd_error_list *errors;
static char *argv[32];
static int argc;

static void start(void) {
  count = DEFINE(PD_TYPE_int32, "count", def.max.i64 = 100);
  name = DEFINE(PD_TYPE_string, "alpha_mode", def.choices = "fast|best|--odd|", def.aliases = "m");
  dry_run = define_flag(PD_TYPE_bool, "dry-run");
  ratio = define_flag(PD_TYPE_double, "ratio");
  errors = pd_error_list_new();
}

/* Parse a line of words that are separated by blanks; "''" is an empty word. */
static pd_status parse_with(const char *line, pd_parse_options *options) {
  static char words[1024];
  snprintf(words, sizeof words, "program %s", line);
  argc = 0;
  for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
    argv[argc++] = strcmp(word, "''") != 0 ? word : word + 2;
  }
  argv[argc] = NULL;
  return pd_parse_argv(&argc, argv, options, &err);
}

static pd_status parse(const char *line) {
  pd_parse_options options = {.size = sizeof options, .errors = errors};
  return parse_with(line, &options);
}

/* The words that are left, joined by blanks. */
static const char *rest(void) {
  static char words[1024];
  words[0] = '\0';
  for (int i = 0; i < argc; i++) sprintf(words + strlen(words), "%s%s", i ? " " : "", argv[i]);
  CHECK(!argv[argc]);
  return words;
}

static void parses(const char *line, const char *left) {
  CHECK_OK(parse(line));
  CHECK_STR(rest(), left);
}

/* The whole line is read, and gives the flag this value. */
static void gives(const char *line, const pd_flag *flag, const char *value) {
  parses(line, "program");
  check_str(__FILE__, __LINE__, line, text_of(flag), value);
}

/* One word is wrong: nothing changes. */
static void refuses(const char *line, pd_status status, const char *message) {
  char before[1100], value[64];
  snprintf(value, sizeof value, "%s", text_of(count));
  snprintf(before, sizeof before, "program %s", line);
  CHECK_STATUS(parse(line), status, message);
  CHECK_STR(rest(), before);
  CHECK_STR(text_of(count), value);
}

TEST(a_value_stands_behind_an_equals_sign_or_in_the_next_word) {
  start();
  gives("--count=1", count, "1");
  gives("--count 2", count, "2");
  gives("-count 3", count, "3");
  gives("-count=4", count, "4");
}

TEST(a_bool_is_on_alone_and_off_with_no) {
  start();
  gives("--dry_run", dry_run, "true");
  gives("--nodry-run", dry_run, "false");
  gives("--dry-run=yes", dry_run, "true");
  gives("--no-dry-run", dry_run, "false");
  gives("--dry-run --no_dry_run", dry_run, "false");
}

TEST(a_bool_never_takes_the_next_word) {
  start();
  parses("--dry-run false", "program false");
  CHECK_STR(text_of(dry_run), "true");
}

TEST(an_exact_name_wins_over_a_negation) {
  start();
  pd_flag *exact = define_flag(PD_TYPE_bool, "nocount");
  gives("--nocount", exact, "true");
}

TEST(flags_are_removed_and_other_words_keep_their_order) {
  start();
  parses("one --count 5 two - --dry-run three '' --alpha_mode=best four",
         "program one two - three  four");
  CHECK(argc == 7);
}

TEST(after_two_dashes_everything_is_left_alone) {
  start();
  parses("one --count=5 -- --count=6 --unknown -- x", "program one --count=6 --unknown -- x");
  CHECK_STR(text_of(count), "5");
}

TEST(keep_flags_leaves_the_line_as_it_is) {
  start();
  pd_parse_options options = {.size = sizeof options, .arrange = PD_ARRANGE_LEAVE};
  CHECK_OK(parse_with("one --count 5 -- two", &options));
  CHECK_STR(rest(), "program one --count 5 -- two");
  CHECK_STR(text_of(count), "5");
}

TEST(the_later_of_two_values_wins) {
  start();
  gives("--count=1 --count=2", count, "2");
}

TEST(dash_and_underscore_are_alike_and_aliases_work) {
  start();
  gives("--dry_run --alpha-mode=best", dry_run, "true");
  CHECK_STR(text_of(name), "best");
  gives("-m fast", name, "fast");
}

TEST(a_negative_number_is_a_value) {
  start();
  gives("--count -5 --ratio -.5", count, "-5");
  CHECK_STR(text_of(ratio), "-0.5");
  gives("--count=-6", count, "-6");
}

TEST(a_single_dash_and_an_empty_word_are_values_too) {
  start();
  pd_flag *text = define_flag(PD_TYPE_string, "text");
  gives("--text -", text, "-");
  gives("--text ''", text, "");
  gives("--text=a=b", text, "a=b");
  gives("--text=", text, "");
}

TEST(a_value_that_looks_like_a_flag_is_not_taken_by_mistake) {
  start();
  refuses("--alpha_mode --count=5", PD_ERR_ARGV,
          "--alpha_mode: the value is missing before --count=5, expected one of fast, best, --odd, "
          "\"\"; a value that begins with a dash is written --alpha_mode=VALUE");
  gives("--alpha_mode=--odd", name, "--odd");
}

TEST(a_value_that_is_missing_at_the_end_is_an_error) {
  start();
  refuses("--count", PD_ERR_ARGV, "--count: the value is missing, expected an integer <= 100");
  refuses("--count --", PD_ERR_ARGV,
          "--count: the value is missing before --, expected an integer <= 100; a value that "
          "begins with a dash is written --count=VALUE");
}

TEST(a_bad_value_says_what_was_expected) {
  start();
  refuses("--count=", PD_ERR_VALUE, "--count=: expected an integer <= 100");
  refuses("--count=1x", PD_ERR_VALUE, "--count=1x: expected an integer <= 100");
  refuses("--count 101", PD_ERR_RANGE, "--count=101: expected an integer <= 100");
  refuses("--alpha_mode=slow", PD_ERR_CHOICE,
          "--alpha_mode=slow: expected one of fast, best, --odd, \"\"");
  refuses("--dry-run=maybe", PD_ERR_VALUE, "--dry-run=maybe: expected " PD__BOOL_EXPECTED);
  refuses("--ratio=1,5", PD_ERR_VALUE, "--ratio=1,5: expected a number");
}

TEST(a_negation_takes_no_value_and_only_a_bool_has_one) {
  start();
  refuses("--nodry-run=true", PD_ERR_ARGV,
          "--nodry-run: takes no value; write --dry-run=true or --dry-run=false");
  refuses("--nocount", PD_ERR_ARGV, "--nocount: count is int32, and only a bool can be negated");
  refuses("-no-count", PD_ERR_ARGV, "-no-count: count is int32, and only a bool can be negated");
}

TEST(an_unknown_flag_gets_the_nearest_known_one) {
  start();
  refuses("--cuont=5", PD_ERR_UNDEFINED, "--cuont: no such flag; did you mean '--count'?");
  refuses("-dryrun", PD_ERR_UNDEFINED, "-dryrun: no such flag; did you mean '--dry-run'?");
  refuses("--zzzzzz", PD_ERR_UNDEFINED, "--zzzzzz: no such flag");
  refuses("--ALPHA-MODE=x", PD_ERR_UNDEFINED,
          "--ALPHA-MODE: no such flag; did you mean '--alpha_mode'?");
  refuses("--alph", PD_ERR_UNDEFINED, "--alph: no such flag; did you mean '--alpha_mode'?");
  refuses("--nodry-rum", PD_ERR_UNDEFINED,
          "--nodry-rum: no such flag; did you mean '--nodry-run'?");
  refuses("--no-DRY", PD_ERR_UNDEFINED, "--no-DRY: no such flag; did you mean '--nodry-run'?");
  refuses("--nocuont", PD_ERR_UNDEFINED, "--nocuont: no such flag");
  refuses("-5", PD_ERR_UNDEFINED, "-5: no such flag; arguments that begin with a dash go after --");
}

TEST(a_misspelt_word_of_the_line_gets_the_right_one) {
  start();
  refuses("--hlep", PD_ERR_UNDEFINED, "--hlep: no such flag; did you mean '--help'?");
  refuses("--flagfle=x", PD_ERR_UNDEFINED, "--flagfle: no such flag; did you mean '--flagfile'?");
  refuses("--tryfrom=x", PD_ERR_UNDEFINED, "--tryfrom: no such flag; did you mean '--tryfromenv'?");
  refuses("-Version", PD_ERR_UNDEFINED, "-Version: no such flag; did you mean '--version'?");
}

TEST(an_error_calls_a_flag_as_the_line_does) {
  start();
  DEFINE(PD_TYPE_int32, "cache", def.aliases = "store", def.old_names = "buffer_size");
  refuses("--store=x", PD_ERR_VALUE, "--store=x: expected a 32-bit integer");
  refuses("--buffer-size=x", PD_ERR_VALUE, "--buffer_size=x: expected a 32-bit integer");
  refuses("--store", PD_ERR_ARGV, "--store: the value is missing, expected a 32-bit integer");
  refuses("--cache=x", PD_ERR_VALUE, "--cache=x: expected a 32-bit integer");
}

TEST(a_word_without_a_name_or_with_three_dashes_is_an_error) {
  start();
  define_flag(PD_TYPE_bool, "_x");
  refuses("--=5", PD_ERR_ARGV, "--=5: expected the name of a flag before the =");
  refuses("-=5", PD_ERR_ARGV, "-=5: expected the name of a flag before the =");
  refuses("---x", PD_ERR_ARGV, "---x: expected one or two dashes before the name of a flag");
  refuses("---", PD_ERR_ARGV, "---: expected one or two dashes before the name of a flag");
  define_flag(PD_TYPE_bool, "_x"); /* a dash is as good as the underscore, but not here */
  refuses("---x=1", PD_ERR_ARGV, "---x: expected one or two dashes before the name of a flag");
}

TEST(all_errors_of_a_line_are_reported_together) {
  start();
  refuses("--count=5 --zzzzzz --count=x --ratio=1 --alpha_mode=slow --count", PD_ERR_UNDEFINED,
          "--zzzzzz: no such flag");
  CHECK(pd_error_list_count(errors) == 4);
  CHECK_STR(pd_error_list_at(errors, 1)->message, "--count=x: expected an integer <= 100");
  CHECK_STR(pd_error_list_at(errors, 3)->message,
            "--count: the value is missing, expected an integer <= 100");
  CHECK_STR(text_of(ratio), "0");
}

TEST(help_is_told_and_nothing_changes) {
  start();
  refuses("--count=5 --help", PD_HELP, "help was asked for");
  refuses("-h --zzzzzz", PD_HELP, "help was asked for");
  refuses("-help", PD_HELP, "help was asked for");
  refuses("--help=x", PD_ERR_VALUE, "--help=x: expected " PD__BOOL_EXPECTED);
  parses("-- --help", "program --help");
}

TEST(a_bool_called_h_is_a_flag) {
  start();
  pd_flag *h = define_flag(PD_TYPE_bool, "h");
  gives("-h", h, "true");
  refuses("--help", PD_HELP, "help was asked for");
}

TEST(another_flag_called_h_takes_a_value_and_without_one_asks_for_help) {
  start();
  pd_flag *h = define_flag(PD_TYPE_int32, "h");
  gives("-h 5", h, "5");
  refuses("--count=5 -h", PD_HELP, "help was asked for");
  refuses("-h --count=5", PD_HELP, "help was asked for");
}

TEST(what_follows_a_missing_value_is_still_read) {
  start();
  CHECK(parse("--alpha_mode --count=x --zzzzzz") == PD_ERR_ARGV);
  CHECK(pd_error_list_count(errors) == 3);
}

TEST(the_flags_by_which_gflags_completes_are_unknown) {
  start();
  CHECK(parse("--tab_completion_word=--co") == PD_ERR_UNDEFINED);
  CHECK(parse("--tab_completion_columns=80") == PD_ERR_UNDEFINED);
}

TEST(the_environment_ranks_below_the_line) {
  start();
  setenv("FLAGS_count", "1", 1);
  setenv("FLAGS_ratio", "2", 1);
  setenv("FLAGS_unknown", "3", 1);
  pd_parse_options options = {.size = sizeof options, .env_prefix = "FLAGS_"};
  CHECK_OK(parse_with("--count=7", &options));
  CHECK_STR(text_of(count), "7");
  CHECK_STR(text_of(ratio), "2");
  setenv("FLAGS_late", "4", 1);
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "late")), "4");
}

TEST(errors_of_the_environment_and_the_line_come_together) {
  start();
  setenv("FLAGS_ratio", "x", 1);
  pd_parse_options options = {.size = sizeof options, .env_prefix = "FLAGS_", .errors = errors};
  CHECK_STATUS(parse_with("--count=x", &options), PD_ERR_VALUE,
               "environment: FLAGS_ratio=x: expected a number");
  CHECK(pd_error_list_count(errors) == 2);
  options.env_prefix = "=";
  CHECK_STATUS(parse_with("", &options), PD_ERR_ARGUMENT,
               "environment prefix '=': expected at most 255 bytes without '='");
}

TEST(a_value_tells_its_index_on_the_line) {
  start();
  parses("one --count 5", "program one");
  pd_flag_entry entry = flag_entry(count, 0);
  CHECK(entry.origin.source == PD_SOURCE_ARGV && entry.origin.line == 2 && !entry.origin.place);
}

TEST(a_very_long_and_a_strange_word_are_shown_in_short) {
  char words[400] = "--";
  start();
  memset(words + 2, 'a', sizeof words - 3);
  CHECK(parse(words) == PD_ERR_UNDEFINED);
  CHECK(strlen(err.message) < 120 && strstr(err.message, "aaa...: no such flag"));
  refuses("--a\nb\xff", PD_ERR_UNDEFINED, "--a\\x0ab\\xff: no such flag");
}

TEST(a_line_of_wrong_words_tells_a_hundred_errors_and_counts_the_others) {
  static char *words[1001], unknown[] = "--unknown", wrong[] = "--count=x";
  start();
  words[0] = unknown;
  for (int i = 1; i < 1000; i++) words[i] = i % 2 ? unknown : wrong;
  int count_of_words = 1000;
  pd_parse_options options = {.size = sizeof options, .errors = errors};
  CHECK_STATUS(pd_parse_argv(&count_of_words, words, &options, &err), PD_ERR_UNDEFINED,
               "--unknown: no such flag");
  CHECK(pd_error_list_count(errors) == 101);
  CHECK_STR(pd_error_list_at(errors, 99)->message, "--count=x: expected an integer <= 100");
  CHECK_STR(pd_error_list_at(errors, 100)->message, "899 more errors are not shown");
}

static void arranges(pd_arrange how, const char *line, const char *arranged, int first) {
  int index = -1;
  pd_parse_options options = {.size = sizeof options, .arrange = (uint8_t)how, .first = &index};
  CHECK_OK(parse_with(line, &options));
  CHECK_STR(rest(), arranged);
  CHECK(index == first);
}

TEST(the_line_keeps_arguments_or_all_or_has_its_flags_in_front) {
  const char *line = "a --count 5 b -m fast --dry-run -- c --d";
  start();
  arranges(PD_ARRANGE_REMOVE, line, "program a b c --d", 1);
  arranges(PD_ARRANGE_LEAVE, line, "program a --count 5 b -m fast --dry-run -- c --d", -1);
  arranges(PD_ARRANGE_REORDER, line, "program --count 5 -m fast --dry-run -- a b c --d", 7);
  arranges(PD_ARRANGE_REORDER, "", "program", 1);
  arranges(PD_ARRANGE_REORDER, "a", "program a", 1);
  CHECK_STR(text_of(count), "5");
}

TEST(behind_the_first_argument_no_flag_is_read_where_that_is_asked_for) {
  start();
  pd_parse_options options = {
      .size = sizeof options, .stop_at_argument = true, .arrange = PD_ARRANGE_REORDER};
  CHECK_OK(parse_with("--count 5 run --count=7 --other", &options));
  CHECK_STR(rest(), "program --count 5 run --count=7 --other");
  CHECK_STR(text_of(count), "5");
}

TEST(an_arrangement_is_one_that_is_known) {
  start();
  pd_parse_options options = {.size = sizeof options, .arrange = 3};
  CHECK_STATUS(parse_with("", &options), PD_ERR_ARGUMENT,
               "options->arrange is 3, expected a pd_arrange");
}

TEST(an_empty_or_broken_line_is_told) {
  char program[] = "program";
  char *none[] = {NULL}, *broken[] = {program, NULL, NULL};
  int zero = 0, two = 2;
  CHECK_OK(pd_parse_argv(&zero, none, NULL, &err));
  CHECK(zero == 0);
  CHECK_STATUS(pd_parse_argv(&two, broken, NULL, &err), PD_ERR_ARGUMENT,
               "argv[1] is NULL, argc is 2");
  pd_parse_options options = {.size = 1};
  char message[80];
  snprintf(message, sizeof message, "options->size is 1, expected %zu or more",
           offsetof(pd_parse_options, errors) + sizeof options.errors);
  CHECK_STATUS(pd_parse_argv(&zero, none, &options, &err), PD_ERR_ARGUMENT, message);
}

/* ---- Slips ---- */

static void define_letters(void) {
  pd_flag_def def = definition(PD_TYPE_int32, "port");
  start();
  def.aliases = "p";
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  def = definition(PD_TYPE_bool, "verbose");
  def.aliases = "v";
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  define_flag(PD_TYPE_bool, "q");
  def = definition(PD_TYPE_string, "key");
  def.aliases = "k";
  def.sensitive = true;
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  def = definition(PD_TYPE_string, "sizes");
  def.list = PD_TYPE_int32;
  CHECK_OK(pd_flag_register(&def, NULL, &err));
}

TEST(a_letter_with_its_value_joined_is_told_the_form) {
  define_letters();
  refuses("-p9", PD_ERR_UNDEFINED,
          "-p9: no such flag; flags are written --name=value, did you mean '--port=9'?");
  refuses("-px", PD_ERR_UNDEFINED, "-px: no such flag");
  refuses("--p9", PD_ERR_UNDEFINED, "--p9: no such flag");
  refuses("-r0.5", PD_ERR_UNDEFINED,
          "-r0.5: no such flag; flags are written --name=value, did you mean '--ratio=0.5'?");
  refuses("-c200", PD_ERR_UNDEFINED, "-c200: no such flag"); /* out of its range */
}

TEST(joined_letters_are_told_apart) {
  define_letters();
  refuses("-vq", PD_ERR_UNDEFINED,
          "-vq: no such flag; each flag is written by itself, did you mean '-v -q'?");
  refuses("-hv", PD_ERR_UNDEFINED,
          "-hv: no such flag; each flag is written by itself, did you mean '-h -v'?");
  refuses("-vp", PD_ERR_UNDEFINED, "-vp: no such flag");
}

TEST(joined_letters_of_which_one_is_unknown_are_told_apart) {
  define_letters();
  refuses("-vx", PD_ERR_UNDEFINED,
          "-vx: no such flag; each flag is written by itself, as in '-v -x', and no flag is named "
          "x");
  refuses("-xvq", PD_ERR_UNDEFINED,
          "-xvq: no such flag; each flag is written by itself, as in '-x -v -q', and no flag is "
          "named x");
  refuses("-vxx", PD_ERR_UNDEFINED, "-vxx: no such flag");
  refuses("-xp", PD_ERR_UNDEFINED, "-xp: no such flag");
  refuses("-hx", PD_ERR_UNDEFINED, "-hx: no such flag");
  refuses("-v7", PD_ERR_UNDEFINED, "-v7: no such flag");
  refuses("-vk", PD_ERR_UNDEFINED, "-vk: no such flag");
  refuses("-kv", PD_ERR_UNDEFINED, "-k<redacted>: no such flag");
}

TEST(a_letter_that_is_a_hidden_flag_is_not_called_unknown) {
  define_letters();
  DEFINE(PD_TYPE_bool, "s", def.hidden = true);
  refuses("-vs", PD_ERR_UNDEFINED, "-vs: no such flag");
}

static const char *last_error(void) {
  return pd_error_list_at(errors, pd_error_list_count(errors) - 1)->message;
}

static const char *missing_before(const char *next) {
  static char message[256];
  snprintf(message, sizeof message,
           "--port: the value is missing before %s, expected a 32-bit integer; a value that begins "
           "with a dash is written --port=VALUE",
           next);
  return message;
}

TEST(what_may_be_a_part_of_a_secret_is_not_shown) {
  define_letters();
  refuses("-khunter2", PD_ERR_UNDEFINED, "-k<redacted>: no such flag");
  refuses("-khunter2==", PD_ERR_UNDEFINED, "-k<redacted>: no such flag");
  refuses("--port --key=hunter2", PD_ERR_ARGV, missing_before("--key"));
  refuses("--port --kez=hunter2", PD_ERR_ARGV, missing_before("--kez"));
  refuses("--port -khunter2", PD_ERR_ARGV, missing_before("-k"));
  refuses("--key=47 -11", PD_ERR_UNDEFINED, "argv[2]: no such flag");
  refuses("--nokay -4711", PD_ERR_UNDEFINED, "--nokay: no such flag");
  CHECK_STR(last_error(), "argv[2]: no such flag");
}

static void refuses_argument(const char *line, const char *message) {
  pd_parse_options options = {.size = sizeof options, .errors = errors, .no_arguments = true};
  CHECK_STATUS(parse_with(line, &options), PD_ERR_ARGV, message);
}

TEST(arguments_may_be_refused) {
  define_letters();
  pd_parse_options options = {.size = sizeof options, .no_arguments = true};
  CHECK_OK(parse_with("--port=9 --", &options));
  refuses_argument("--port=9 file", "file: expected no argument");
  refuses_argument("-- --port", "--port: expected no argument");
}

TEST(undefined_flags_may_be_left_in_their_places) {
  define_letters();
  pd_parse_options options = {.size = sizeof options, .errors = errors, .known_only = true};
  CHECK_OK(parse_with("-x a --port=9 --theirs=1 -vq --their value --noport b", &options));
  CHECK_STR(rest(), "program -x a --theirs=1 -vq --their value --noport b");
  CHECK_OK(parse_with("--theirs -- --port=8", &options));
  CHECK_STR(rest(), "program --theirs -- --port=8");
  CHECK_OK(parse_with("--=5 ---x -5 --nofromenv", &options));
  CHECK_STR(rest(), "program --=5 ---x -5 --nofromenv");
}

TEST(known_flags_are_checked_where_undefined_ones_are_left) {
  define_letters();
  pd_parse_options options = {.size = sizeof options, .errors = errors, .known_only = true};
  CHECK_STATUS(parse_with("--theirs --port=x", &options), PD_ERR_VALUE,
               "--port=x: expected a 32-bit integer");
  CHECK_STATUS(parse_with("--theirs --port", &options), PD_ERR_ARGV,
               "--port: the value is missing, expected a 32-bit integer");
  CHECK_STATUS(parse_with("--theirs --help", &options), PD_HELP, "help was asked for");
}

TEST(undefined_flags_stop_nothing_but_their_values_may) {
  define_letters();
  pd_parse_options options = {.size = sizeof options, .errors = errors, .known_only = true};
  options.stop_at_argument = true;
  CHECK_OK(parse_with("--theirs=1 --port=9 file --port=8", &options));
  CHECK_STR(rest(), "program --theirs=1 file --port=8");
}

TEST(undefined_flags_cannot_be_left_and_kept_pending_or_refused) {
  pd_parse_options options = {.size = sizeof options, .errors = errors, .known_only = true};
  options.allow_pending = true;
  CHECK_STATUS(parse_with("--theirs", &options), PD_ERR_ARGUMENT,
               "options: known_only leaves undefined flags as arguments, expected it without "
               "allow_pending");
  options.no_arguments = true;
  CHECK_STATUS(parse_with("--theirs", &options), PD_ERR_ARGUMENT,
               "options: known_only leaves undefined flags as arguments, expected it without "
               "no_arguments");
}

TEST(what_follows_the_first_argument_is_refused_too_where_that_ends_the_flags) {
  define_letters();
  pd_parse_options options = {.size = sizeof options, .errors = errors, .no_arguments = true};
  options.stop_at_argument = true;
  CHECK_OK(parse_with("--port=9", &options));
  CHECK_STATUS(parse_with("file --port=8", &options), PD_ERR_ARGV, "file: expected no argument");
  CHECK_STR(last_error(), "--port=8: expected no argument");
}

TEST(a_bool_with_its_value_apart_is_told_the_form) {
  define_letters();
  refuses_argument("--verbose true",
                   "true: expected no argument; a bool takes its value after =, as in "
                   "--verbose=true");
  refuses_argument("--verbose maybe", "maybe: expected no argument");
  refuses_argument("--noverbose true", "true: expected no argument");
  refuses_argument("--verbose=true false", "false: expected no argument");
  refuses_argument("--verbose -q true",
                   "true: expected no argument; a bool takes its value after =, as in --q=true");
  CHECK_OK(parse("--verbose true")); /* as in gflags */
  CHECK_STR(rest(), "program true");
}

TEST(a_list_with_its_items_apart_is_told_the_form) {
  define_letters();
  refuses_argument("--sizes 1 2 3",
                   "2: expected no argument; items of a list are separated by commas, as in "
                   "--sizes=1,2,3");
  refuses_argument("--sizes=1,2 3 x",
                   "3: expected no argument; items of a list are separated by commas, as in "
                   "--sizes=1,2,3");
  refuses_argument("--sizes '' 2",
                   "2: expected no argument; items of a list are separated by commas");
  refuses_argument("--sizes 10000000,10000000,10000000,10000000,10000000,10000000,10000000 2",
                   "2: expected no argument; items of a list are separated by commas");
  refuses_argument("--sizes 1 x", "x: expected no argument");
  refuses("--sizes 1 -2", PD_ERR_UNDEFINED,
          "-2: no such flag; items of a list are separated by commas, as in --sizes=1,-2");
}

TEST(items_that_a_shell_would_change_are_not_suggested) {
  define_letters();
  DEFINE(PD_TYPE_string, "paths", def.list = PD_TYPE_string);
  const char *shells[] = {"a;b", "a&b", "a|b", "*.c", "a?", "(a)",
                          "<a",  "a>b", "{a}", "[a]", "a!b"};
  for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
    char line[64];
    snprintf(line, sizeof line, "--paths=%s x", shells[i]);
    refuses_argument(line, "x: expected no argument; items of a list are separated by commas");
  }
}

TEST(an_argument_behind_a_sensitive_flag_may_be_a_part_of_its_value) {
  define_letters();
  refuses_argument("--key=my secret key", "argv[2]: expected no argument");
  refuses_argument("--key=my --port=9 x", "x: expected no argument");
}

TEST(an_argument_that_may_be_the_value_of_a_misspelt_flag_is_not_shown) {
  define_letters();
  pd_parse_options options = {.size = sizeof options, .errors = errors, .no_arguments = true};
  CHECK_STATUS(parse_with("--kez hunter2", &options), PD_ERR_UNDEFINED,
               "--kez: no such flag; did you mean '--key'?");
  CHECK_STR(last_error(), "argv[2]: expected no argument");
  refuses_argument("--nokey hunter2", "--nokey: key is string, and only a bool can be negated");
  CHECK_STR(last_error(), "argv[2]: expected no argument");
  refuses_argument("-- --key hunter2", "--key: expected no argument");
  CHECK_STR(last_error(), "argv[3]: expected no argument");
  refuses_argument("-- --key=hunter2", "--key: expected no argument");
  refuses_argument("-- --port=2", "--port=2: expected no argument");
  refuses_argument("-- -khunter2", "-k: expected no argument");
}
