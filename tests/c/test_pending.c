#include "check.h"

static char *argv[16];
static int argc;

/* Parse a line whose unknown flags wait. */
static void parse(const char *line) {
  static char words[512];
  pd_parse_options options = {.size = sizeof options, .allow_pending = true};
  snprintf(words, sizeof words, "program %s", line);
  argc = 0;
  for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
  argv[argc] = NULL;
  CHECK_OK(pd_parse_argv(&argc, argv, &options, &err));
}

static void wait_for(const char *name, const char *text, pd_source source) {
  pd_origin origin = {source, 3, source == PD_SOURCE_FILE ? "flags.conf" : NULL, 0};
  CHECK_OK(pd_pending_set(name, text, &origin, &err));
}

TEST(a_value_waits_for_its_flag_and_tells_where_it_came_from) {
  wait_for("later", "5", PD_SOURCE_FILE);
  pd_flag *flag = define_flag(PD_TYPE_int32, "later");
  CHECK_STR(text_of(flag), "5");
  pd_flag_entry entry = flag_entry(flag, 0);
  CHECK(entry.origin.source == PD_SOURCE_FILE && entry.origin.line == 3);
  CHECK_STR(entry.origin.place, "flags.conf");
  CHECK_OK(pd_pending_check(NULL, &err));
}

TEST(of_the_values_that_wait_the_highest_source_wins_then_the_latest) {
  wait_for("later", "1", PD_SOURCE_ARGV);
  wait_for("later", "2", PD_SOURCE_ARGV);
  wait_for("later", "3", PD_SOURCE_FILE);
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "later")), "2");
}

TEST(a_defined_flag_is_set_at_once) {
  pd_flag *flag = define_flag(PD_TYPE_int32, "now");
  CHECK_OK(pd_pending_set("now", "5", NULL, &err));
  CHECK_STR(text_of(flag), "5");
  CHECK_STATUS(pd_pending_set("now", "x", NULL, &err), PD_ERR_VALUE,
               "now=x: expected a 32-bit integer");
}

TEST(unknown_flags_of_a_line_wait_when_they_are_allowed_to) {
  parse("--later=5 one --quiet --noloud -dry-run two");
  CHECK(argc == 3);
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "later")), "5");
  CHECK_STR(text_of(define_flag(PD_TYPE_bool, "quiet")), "true");
  pd_flag *loud = DEFINE(PD_TYPE_bool, "loud", def.default_value.b = true);
  CHECK_STR(text_of(loud), "false");
  CHECK_STR(text_of(define_flag(PD_TYPE_bool, "dry_run")), "true");
  CHECK_OK(pd_pending_check(NULL, &err));
}

TEST(a_value_that_does_not_suit_is_an_error_of_the_definition) {
  pd_flag_def def = definition(PD_TYPE_int32, "later");
  pd_flag *flag = NULL;
  parse("--later=x");
  CHECK_STATUS(pd_flag_register(&def, &flag, &err), PD_ERR_VALUE,
               "--later=x: expected a 32-bit integer");
  CHECK_STR(text_of(flag), "0");
  def = definition(PD_TYPE_string, "text");
  parse("--text word");
  CHECK_STATUS(pd_flag_register(&def, &flag, &err), PD_ERR_ARGV,
               "--text: the value is missing, expected text; before the flag is defined, only "
               "--text=word is understood");
}

TEST(a_value_from_a_variable_of_another_name_tells_the_flag_too) {
  define_flag(PD_TYPE_int32, "now");
  pd_origin origin = {PD_SOURCE_ENVIRONMENT, 0, "APP_SETTING", 0};
  CHECK_STATUS(pd_pending_set("now", "x", &origin, &err), PD_ERR_VALUE,
               "environment: APP_SETTING (now)=x: expected a 32-bit integer");
  origin.place = NULL;
  CHECK_STATUS(pd_pending_set("now", "x", &origin, &err), PD_ERR_VALUE,
               "environment: (now)=x: expected a 32-bit integer");
}

TEST(a_negation_that_waits_gets_a_hint_of_its_own) {
  define_flag(PD_TYPE_bool, "verbose");
  parse("--noverbos");
  CHECK_STATUS(pd_pending_check(NULL, &err), PD_ERR_UNDEFINED,
               "--noverbos: the flag is not defined; did you mean 'noverbose'?");
}

TEST(an_alias_claims_what_waits_for_it) {
  parse("--lvl=5");
  pd_flag *flag = DEFINE(PD_TYPE_int32, "level", def.aliases = "lvl");
  CHECK_STR(text_of(flag), "5");
}

TEST(a_refused_definition_claims_nothing) {
  pd_flag_def def = definition(PD_TYPE_int32, "later");
  parse("--later=5");
  def.min.i64 = 1; /* the default is 0 */
  CHECK(pd_flag_register(&def, NULL, NULL) == PD_ERR_RANGE);
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "later")), "5");
}

TEST(a_line_with_an_error_lets_nothing_wait) {
  pd_parse_options options = {.size = sizeof options, .allow_pending = true};
  char program[] = "program", good[] = "--later=5", bad[] = "--9=x";
  char *words[] = {program, good, bad, NULL};
  int count = 3;
  CHECK_STATUS(pd_parse_argv(&count, words, &options, &err), PD_ERR_UNDEFINED,
               "--9: no such flag; arguments that begin with a dash go after --");
  CHECK_OK(pd_pending_check(NULL, &err));
}

TEST(what_waits_is_listed_and_the_unclaimed_are_reported_with_the_nearest_name) {
  pd_pending_info info = {.size = sizeof info};
  pd_error_list *errors = pd_error_list_new();
  define_flag(PD_TYPE_bool, "threads");
  parse("--thread=4 --other");
  CHECK_OK(pd_pending_get(0, &info, &err));
  CHECK_STR(info.name, "thread");
  CHECK_STR(info.text, "4");
  CHECK(info.origin.source == PD_SOURCE_ARGV && info.origin.line == 1);
  CHECK_OK(pd_pending_get(1, &info, &err));
  CHECK_STR(info.name, "other");
  CHECK(!info.text);
  CHECK_STATUS(pd_pending_get(2, &info, &err), PD_ERR_ARGUMENT, "there is no pending value 2");
  CHECK_STATUS(pd_pending_check(errors, &err), PD_ERR_UNDEFINED,
               "--thread: the flag is not defined; did you mean 'threads'?");
  CHECK(pd_error_list_count(errors) == 2);
  pd_error_list_free(errors);
}

static const char *name_at(size_t index) {
  static pd_pending_info info = {.size = sizeof info};
  return pd_pending_get(index, &info, NULL) == PD_OK ? info.name : "none";
}

TEST(a_list_of_what_waits_is_right_after_each_change) {
  CHECK_STR(name_at(0), "none");
  parse("--one=1 --two=2 --three=3");
  CHECK_STR(name_at(1), "two");
  pd_flag *one = define_flag(PD_TYPE_int64, "one");
  CHECK_STR(name_at(1), "three");
  CHECK_STR(name_at(2), "none");
  CHECK_OK(pd_flag_unregister(one, &err)); /* it keeps its value */
  CHECK_STR(name_at(1), "two");
  CHECK_STR(name_at(2), "three");
  CHECK_STR(name_at(0), "one");
  CHECK_OK(pd_pending_set("four", "4", NULL, &err));
  CHECK_STR(name_at(3), "four");
  CHECK_STR(name_at(3), "four");
  CHECK_STR(name_at(4), "none");
  CHECK_OK(pd_pending_set("five", "5", NULL, &err));
  CHECK_STR(name_at(4), "five");
}

TEST(names_that_no_flag_can_have_are_refused) {
  CHECK_STATUS(pd_pending_set("9", "x", NULL, &err), PD_ERR_NAME,
               "'9' can't be the name of a flag");
  CHECK_STATUS(pd_pending_set("", "x", NULL, &err), PD_ERR_NAME, "'' can't be the name of a flag");
  CHECK_STATUS(pd_pending_set(NULL, "x", NULL, &err), PD_ERR_ARGUMENT, "name is NULL");
  CHECK_STATUS(pd_pending_set("x", NULL, NULL, &err), PD_ERR_ARGUMENT, "text is NULL");
  CHECK_STATUS(pd_pending_get(0, NULL, &err), PD_ERR_ARGUMENT, "info is NULL");
}

static bool remove_flag(const pd_flag_entry *const *entries, void *flag, char *why, size_t size) {
  (void)entries, (void)why, (void)size;
  pd_flag_unregister(*(pd_flag **)flag, NULL);
  return true;
}

TEST(a_value_waits_if_its_flag_leaves_while_the_validator_is_asked) {
  static pd_flag *flag;
  pd_pending_info info = {.size = sizeof info};
  flag = define_flag(PD_TYPE_int32, "leaving");
  CHECK_OK(pd_validator_add(&flag, 1, remove_flag, &flag, NULL, NULL, &err));
  CHECK_OK(pd_pending_set("leaving", "5", NULL, &err));
  CHECK_OK(pd_pending_get(0, &info, &err));
  CHECK_STR(info.text, "5");
}

TEST(a_value_of_the_line_does_not_add_to_one_of_a_file) {
  pd_flag_def def = growing_list("several");
  wait_for("several", "file", PD_SOURCE_FILE);
  wait_for("several", "one", PD_SOURCE_ARGV);
  wait_for("several", "two", PD_SOURCE_ARGV);
  pd_flag *flag = register_flag(&def);
  CHECK_STR(text_of(flag), "one,two");
  pd_flag_entry entry = flag_entry(flag, 1);
  CHECK(entry.origin.source == PD_SOURCE_FILE);
  CHECK_STR(entry.value.str, "file");
}

static bool stops;
static int refused; /* the number of the flag that could not be defined */

/* The validator of each flag defines the next one, for which a value waits. */
static bool define_next(const pd_flag_entry *const *entries, void *context, char *why,
                        size_t size) {
  (void)context, (void)why, (void)size;
  if (stops) return true;
  int next = (int)entries[0]->value.i64 + 1;
  char name[32], text[16];
  snprintf(name, sizeof name, "nested_%d", next);
  snprintf(text, sizeof text, "%d", next);
  pd_flag_def def = definition(PD_TYPE_int32, name);
  def.validate = define_next;
  CHECK_OK(pd_pending_set(name, text, NULL, &err));
  pd_status status = pd_flag_register(&def, NULL, &err);
  CHECK(status == PD_OK || status == PD_ERR_DEPTH);
  if (status != PD_OK) refused = next;
  return true;
}

TEST(a_value_still_waits_if_calls_are_nested_too_deeply_to_define_its_flag) {
  char name[32];
  pd_flag *flag = NULL;
  pd_flag_def def = definition(PD_TYPE_int32, "nested_0");
  def.validate = define_next;
  CHECK_OK(pd_pending_set("nested_0", "0", NULL, &err));
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  CHECK(refused > 8);
  snprintf(name, sizeof name, "nested_%d", refused);
  CHECK(pd_flag_find(name, &flag, NULL) == PD_ERR_UNDEFINED);
  stops = true;
  def.name = name;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  CHECK_STR(text_of(flag), name + strlen("nested_"));
}

/* ---- Forms of a name ---- */

TEST(only_a_bool_gets_what_waits_for_its_negation) {
  parse("--nolevel --no_depth");
  define_flag(PD_TYPE_int32, "level");
  pd_flag *depth = DEFINE(PD_TYPE_bool, "depth", def.default_value.b = true);
  CHECK_STR(text_of(depth), "false");
  CHECK_STATUS(pd_pending_check(NULL, &err), PD_ERR_UNDEFINED,
               "--nolevel: the flag is not defined; did you mean 'level'?");
}

TEST(a_negation_with_a_text_is_another_flag) {
  parse("--noloud=5");
  pd_flag *loud = DEFINE(PD_TYPE_bool, "loud", def.default_value.b = true);
  CHECK_STR(text_of(loud), "true");
  CHECK(pd_pending_check(NULL, NULL) == PD_ERR_UNDEFINED);
}

TEST(the_order_counts_among_all_names_of_a_flag) {
  pd_flag_def def = definition(PD_TYPE_bool, "loud");
  pd_flag *loud;
  def.aliases = "noisy";
  def.old_names = "shrill";
  parse("--noloud --shrill --no_noisy --loud --noshrill");
  CHECK_OK(pd_flag_register(&def, &loud, &err));
  CHECK_STR(text_of(loud), "false");
  CHECK_OK(pd_flag_unregister(loud, &err));
  parse("--noloud --no_noisy --noshrill --noisy");
  CHECK_OK(pd_flag_register(&def, &loud, &err));
  CHECK_STR(text_of(loud), "true");
  CHECK_OK(pd_pending_check(NULL, &err));
}

/* ---- Limits ---- */

TEST(a_name_keeps_its_latest_pending_values_of_each_source) {
  pd_pending_info info = {.size = sizeof info};
  char text[16];
  wait_for("later", "first", PD_SOURCE_FILE);
  for (int i = 0; i < 40; i++) {
    snprintf(text, sizeof text, "%d", i);
    wait_for("later", text, PD_SOURCE_ARGV);
  }
  CHECK_OK(pd_pending_get(0, &info, &err));
  CHECK_STR(info.text, "first");
  CHECK_OK(pd_pending_get(1, &info, &err));
  CHECK_STR(info.name, "later");
  CHECK_STR(info.text, "24");
  CHECK_OK(pd_pending_get(PD_HISTORY_KEPT + 1, &info, &err));
  CHECK_STR(info.text, "39");
  CHECK(pd_pending_get(PD_HISTORY_KEPT + 2, &info, NULL) == PD_ERR_ARGUMENT);
  CHECK_STR(text_of(define_flag(PD_TYPE_string, "later")), "39");
}

TEST(the_name_of_a_value_that_is_dropped_is_still_known) {
  char text[16];
  for (int i = 0; i < 40; i++) {
    snprintf(text, sizeof text, "%d", i);
    wait_for("later", text, PD_SOURCE_ARGV);
  }
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "later")), "39");
  CHECK_OK(pd_pending_check(NULL, &err));
}

TEST(of_many_values_that_nobody_wants_100_are_reported) {
  pd_error_list *errors = pd_error_list_new();
  char name[16];
  for (int i = 0; i < 100; i++) {
    snprintf(name, sizeof name, "later%d", i);
    wait_for(name, "1", PD_SOURCE_FILE);
  }
  CHECK(pd_pending_check(errors, NULL) == PD_ERR_UNDEFINED);
  CHECK(pd_error_list_count(errors) == 100);
  wait_for("another", "1", PD_SOURCE_FILE);
  wait_for("one_more", "1", PD_SOURCE_FILE);
  pd_error_list_free(errors);
  errors = pd_error_list_new();
  CHECK(pd_pending_check(errors, NULL) == PD_ERR_UNDEFINED);
  CHECK(pd_error_list_count(errors) == 101);
  CHECK_STR(pd_error_list_at(errors, 100)->message,
            "2 more values are pending for flags that are not defined");
  pd_error_list_free(errors);
}

/* ---- Flags that are defined, and get what waits later ---- */

static pd_snapshot *snapshot;

/* The definition comes after a snapshot, which brings back what waited for it. */
static pd_flag *define_and_restore(const pd_flag_def *def) {
  pd_flag *flag = NULL;
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  pd_flag_register(def, &flag, NULL);
  CHECK(flag);
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  pd_snapshot_free(snapshot);
  return flag;
}

static size_t count_pending(void) {
  pd_pending_info info = {.size = sizeof info};
  size_t count = 0;
  while (pd_pending_get(count, &info, NULL) == PD_OK) count++;
  return count;
}

TEST(uses_of_a_list_that_waited_add_up_for_a_flag_that_is_there) {
  pd_flag_def def = growing_list("several");
  wait_for("several", "file", PD_SOURCE_FILE);
  wait_for("several", "one", PD_SOURCE_ARGV);
  wait_for("several", "two", PD_SOURCE_ARGV);
  wait_for("several", "three", PD_SOURCE_ARGV);
  pd_flag *flag = define_and_restore(&def);
  CHECK_STR(text_of(flag), "one,two,three");
  pd_flag_entry entry = flag_entry(flag, 1);
  CHECK(entry.origin.source == PD_SOURCE_FILE);
  CHECK_STR(entry.value.str, "file");
  CHECK(count_pending() == 0);
}

TEST(uses_of_a_list_that_does_not_grow_follow_one_another) {
  pd_flag_def def = definition(PD_TYPE_string, "several");
  def.list = PD_TYPE_string;
  wait_for("several", "one", PD_SOURCE_ARGV);
  wait_for("several", "two", PD_SOURCE_ARGV);
  CHECK_STR(text_of(define_and_restore(&def)), "two");
}

TEST(uses_with_a_value_of_a_file_between_them_do_not_add_up) {
  pd_flag_def def = definition(PD_TYPE_string, "several");
  static const char *const names[] = {"several", "others"};
  def.list = PD_TYPE_string;
  def.multi = true;
  for (int i = 0; i < 2; i++) {
    pd_flag *flag = NULL;
    def.name = names[i];
    wait_for(names[i], "one", PD_SOURCE_ARGV);
    wait_for(names[i], "two", PD_SOURCE_ARGV);
    wait_for(names[i], "file", PD_SOURCE_FILE);
    wait_for(names[i], "three", PD_SOURCE_ARGV);
    wait_for(names[i], "four", PD_SOURCE_ARGV);
    if (i == 0) CHECK_OK(pd_flag_register(&def, &flag, &err));
    if (i == 1) flag = define_and_restore(&def);
    CHECK_STR(text_of(flag), "three,four");
  }
}

TEST(a_use_without_a_value_adds_nothing_to_a_list) {
  pd_flag_def def = growing_list("several");
  parse("--several");
  parse("--several=two");
  CHECK_STR(text_of(define_and_restore(&def)), "two");
}

static int asked;
static bool count_question(const pd_flag_entry *const *entries, void *context, char *why,
                           size_t size) {
  (void)context, (void)why, (void)size;
  CHECK_STR(entries[0]->value.str, "one,two,three");
  asked++;
  return true;
}

TEST(uses_that_add_up_are_one_value_for_a_validator) {
  pd_flag_def def = growing_list("several");
  def.validate = count_question;
  parse("--several=one --several=two --several=three");
  pd_flag *flag = register_flag(&def);
  CHECK(asked == 1);
  CHECK_STR(text_of(flag), "one,two,three");
}

TEST(a_bool_that_is_there_gets_what_waited_in_each_form) {
  pd_flag_def def = definition(PD_TYPE_bool, "loud");
  def.default_value.b = true;
  parse("--loud --noloud");
  CHECK_STR(text_of(define_and_restore(&def)), "false");
  def = definition(PD_TYPE_bool, "quiet");
  parse("--noquiet --quiet");
  CHECK_STR(text_of(define_and_restore(&def)), "true");
  CHECK(count_pending() == 0);
}

TEST(a_value_without_text_is_none_of_a_number_that_is_there) {
  pd_flag_def def = definition(PD_TYPE_int32, "level");
  parse("--level");
  CHECK_STR(text_of(define_and_restore(&def)), "0");
  CHECK(count_pending() == 0);
}

TEST(a_fleet_gives_no_secrets_whenever_they_are_defined) {
  pd_flag_def def = definition(PD_TYPE_string, "secret");
  def.sensitive = true;
  wait_for("secret", "known to all", PD_SOURCE_FLEET);
  CHECK_STR(text_of(define_and_restore(&def)), "");
  CHECK(count_pending() == 0);
  def.name = "other";
  wait_for("other", "known to all", PD_SOURCE_FLEET);
  pd_flag *flag = register_flag(&def);
  CHECK_STR(text_of(flag), "");
  CHECK(count_pending() == 0);
  def = definition(PD_TYPE_string, "public");
  wait_for("public", "known to all", PD_SOURCE_FLEET);
  CHECK_STR(text_of(define_and_restore(&def)), "known to all");
}

TEST(a_list_of_what_waits_is_right_after_an_override_has_ended) {
  pd_flag *one = define_flag(PD_TYPE_int64, "one"), *two = define_flag(PD_TYPE_int64, "two");
  pd_override override = push_override(one, "1");
  CHECK_OK(pd_flag_set_int64(two, 2, &err));
  CHECK_OK(pd_flag_unregister(one, &err));
  CHECK_OK(pd_flag_unregister(two, &err));
  CHECK_STR(name_at(0), "one");
  CHECK_STR(name_at(1), "two");
  define_flag(PD_TYPE_int64, "another");
  CHECK_OK(pd_override_pop(override, &err));
  CHECK_STR(name_at(1), "none");
  CHECK_STR(name_at(0), "two");
}

TEST(a_list_of_what_waits_is_right_after_a_snapshot_was_restored) {
  pd_flag *one = define_flag(PD_TYPE_int64, "one"), *two = define_flag(PD_TYPE_int64, "two");
  CHECK_OK(pd_flag_set_int64(two, 2, &err));
  CHECK_OK(pd_flag_unregister(two, &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(pd_flag_set_int64(one, 1, &err));
  CHECK_OK(pd_flag_unregister(one, &err));
  CHECK_STR(name_at(0), "one");
  CHECK_STR(name_at(1), "two");
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  CHECK_STR(name_at(1), "none");
  CHECK_STR(name_at(0), "two");
  pd_snapshot_free(snapshot);
}
