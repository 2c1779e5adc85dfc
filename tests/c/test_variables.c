/* Variables that name files, that hold many flags, that are empty or misspelt. */
#include <unistd.h>

#include "tokens.h"

static char warned[1024];
static pd_warning warned_of;
static int warnings;

static void keep(const char *message, pd_warning kind, void *context) {
  (void)context;
  snprintf(warned, sizeof warned, "%s", message);
  warned_of = kind;
  warnings++;
}

static void set(const char *variable, const char *value) { CHECK(!setenv(variable, value, 1)); }

TEST(a_variable_one_edit_away_from_that_of_a_flag_is_a_warning) {
  define_flag(PD_TYPE_int32, "ann_threads");
  define_flag(PD_TYPE_int32, "n");
  CHECK_OK(pd_warning_handle(keep, NULL, &err));
  set("APP_ann_treads", "4");
  set("APP_trees", "4");
  set("APP_x", "4");
  CHECK_OK(pd_environment_enable("APP_", NULL, &err));
  CHECK(warnings == 1 && warned_of == PD_WARNING_UNKNOWN);
  CHECK_STR(warned, "environment variable APP_ann_treads names no flag; did you mean "
                    "APP_ann_threads?");
  CHECK_OK(parse(NULL, NULL, (pd_parse_options){.env_prefix = "APP_"}));
  CHECK(warnings == 2);
  CHECK_OK(parse(NULL, NULL, (pd_parse_options){.env_prefix = "APP_", .keep_startup = true}));
  CHECK_OK(pd_environment_enable("", NULL, &err)); /* every variable is one with this prefix */
  CHECK(warnings == 2);
}

TEST(all_variables_that_name_no_flag_are_warnings_if_that_is_asked_for) {
  define_flag(PD_TYPE_int32, "ann_threads");
  CHECK_OK(pd_warning_handle(keep, NULL, &err));
  set("APP_trees", "4");
  CHECK_OK(parse(NULL, NULL, (pd_parse_options){.env_prefix = "APP_", .warn_unknown_env = true}));
  CHECK(warnings == 1);
  CHECK_STR(warned, "environment variable APP_trees names no flag");
}

TEST(a_name_with_another_digit_is_not_misspelt) {
  define_flag(PD_TYPE_int32, "shard_1_of");
  CHECK_OK(pd_warning_handle(keep, NULL, &err));
  set("APP_shard_2_of", "4");
  set("APP_shard_10_of", "4");
  CHECK_OK(pd_environment_enable("APP_", NULL, &err));
  CHECK(warnings == 0);
}

TEST(a_name_that_values_wait_for_is_not_misspelt) {
  define_flag(PD_TYPE_int32, "level_a");
  CHECK_OK(pd_warning_handle(keep, NULL, &err));
  CHECK_OK(pd_pending_set("level_b", "2", NULL, &err));
  set("APP_level_b", "4");
  CHECK_OK(pd_environment_enable("APP_", NULL, &err));
  CHECK(warnings == 0);
}

TEST(an_argument_that_a_bool_could_have_as_its_value_is_a_warning) {
  pd_flag *flag = define_flag(PD_TYPE_bool, "lower");
  CHECK_OK(pd_warning_handle(keep, NULL, &err));
  CHECK_OK(parse("--lower", "false", (pd_parse_options){.arrange = PD_ARRANGE_LEAVE}));
  CHECK(warnings == 1 && warned_of == PD_WARNING_ARGUMENT);
  CHECK_STR(warned, "--lower: the argument false is not its value; a bool takes its value after =, "
                    "as in --lower=false");
  CHECK_STR(text_of(flag), "true");
  CHECK_OK(parse("--lower", "file", (pd_parse_options){.arrange = PD_ARRANGE_LEAVE}));
  CHECK_OK(parse("--lower", "on", (pd_parse_options){.commands = 1}));
  CHECK(warnings == 1);
}

TEST(an_empty_variable_may_count_as_not_set) {
  pd_flag *flag = define_flag(PD_TYPE_int32, "n");
  set("APP_n", "");
  pd_parse_options options = {.env_prefix = "APP_"};
  CHECK_STATUS(parse(NULL, NULL, options), PD_ERR_VALUE,
               "environment: APP_n: is empty, expected a 32-bit integer");
  options.env_ignore_empty = true;
  CHECK_OK(parse(NULL, NULL, options));
  CHECK_STR(text_of(flag), "0");
}

TEST(a_variable_may_name_a_file_with_the_value) {
  char path[] = "/tmp/pd_flags_value_XXXXXX", place[64];
  FILE *file = fdopen(mkstemp(path), "w");
  CHECK(file && fputs("4\n", file) >= 0 && !fclose(file));
  pd_flag *flag = define_flag(PD_TYPE_int32, "n");
  set("APP_n_FILE", path);
  CHECK_OK(parse(NULL, NULL, (pd_parse_options){.env_prefix = "APP_", .env_files = true}));
  CHECK_STR(text_of(flag), "4");
  pd_flag_entry entry = flag_entry(flag, 0);
  snprintf(place, sizeof place, "APP_n_FILE=%s", path);
  CHECK(entry.origin.source == PD_SOURCE_ENVIRONMENT);
  CHECK_STR(entry.origin.place, place);
  pd_snapshot *snapshot; /* has the rules, too */
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(pd_environment_enable(NULL, NULL, &err));
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  pd_snapshot_free(snapshot);
  set("APP_late_FILE", path);
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "late")), "4");
  CHECK(!remove(path));
}

TEST(a_variable_may_hold_many_flags) {
  pd_flag *n = define_flag(PD_TYPE_int32, "n"), *s = define_flag(PD_TYPE_string, "s");
  pd_flag *b = define_flag(PD_TYPE_bool, "b");
  set("APP_FLAGS", " --n=4 --s=a\\ 'b \"'\"c'\\\"\" -b ");
  CHECK_OK(parse(NULL, NULL, (pd_parse_options){.env_flags = "APP_FLAGS"}));
  CHECK_STR(text_of(n), "4");
  CHECK_STR(text_of(s), "a b \"c'\"");
  CHECK_STR(text_of(b), "true");
  CHECK_OK(parse("--n=5", NULL, (pd_parse_options){.env_flags = "APP_FLAGS"}));
  CHECK_STR(text_of(n), "5");
  set("APP_FLAGS", "--n 4");
  CHECK_STATUS(parse(NULL, NULL, (pd_parse_options){.env_flags = "APP_FLAGS"}), PD_ERR_ARGV,
               "environment: APP_FLAGS (n): the value is missing, expected a 32-bit integer");
  CHECK_STATUS(parse(NULL, NULL, (pd_parse_options){.env_flags = ""}), PD_ERR_ARGUMENT,
               "options->env_flags: expected the name of a variable");
}
