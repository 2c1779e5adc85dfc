#include "check.h"

static pd_flag *define_level(void) {
  return DEFINE(PD_TYPE_int32, "alpha-level.x", def.min.i64 = 0, def.max.i64 = 9);
}

static void set(const char *variable, const char *value) { CHECK(!setenv(variable, value, 1)); }

TEST(the_environment_is_not_read_until_it_is_turned_on) {
  set("FLAGS_alpha_level_x", "5");
  pd_flag *flag = define_level();
  CHECK_STR(text_of(flag), "0");
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  CHECK_STR(text_of(flag), "5");
}

TEST(a_later_definition_finds_its_value_too) {
  set("FLAGS_alpha_level_x", "5");
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  pd_flag *flag = define_level();
  CHECK_STR(text_of(flag), "5");
  pd_flag_entry entry = flag_entry(flag, 0);
  CHECK(entry.origin.source == PD_SOURCE_ENVIRONMENT);
  CHECK_STR(entry.origin.place, "FLAGS_alpha_level_x");
}

TEST(null_ends_it_for_later_definitions) {
  set("FLAGS_alpha_level_x", "5");
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  CHECK_OK(pd_environment_enable(NULL, NULL, &err));
  CHECK_STR(text_of(define_level()), "0");
}

TEST(a_bad_value_for_a_defined_flag_is_an_error_and_sets_none) {
  set("FLAGS_alpha_level_x", "12");
  set("FLAGS_other", "1");
  set("FLAGS_third", "maybe");
  pd_flag *flag = define_level(), *other = define_flag(PD_TYPE_bool, "other");
  define_flag(PD_TYPE_bool, "third");
  pd_error_list *errors = pd_error_list_new();
  CHECK_STATUS(pd_environment_enable("FLAGS_", errors, &err), PD_ERR_RANGE,
               "environment: FLAGS_alpha_level_x=12: expected an integer in [0, 9]");
  CHECK(pd_error_list_count(errors) == 2);
  CHECK_STR(pd_error_list_at(errors, 1)->message,
            "environment: FLAGS_third=maybe: expected " PD__BOOL_EXPECTED);
  pd_error_list_free(errors);
  CHECK_STR(text_of(flag), "0");
  CHECK_STR(text_of(other), "false");
  set("FLAGS_late", "1");
  CHECK_STR(text_of(define_flag(PD_TYPE_bool, "late")), "false"); /* it was not turned on */
}

TEST(a_bad_value_for_a_later_definition_leaves_the_default_and_is_reported) {
  set("FLAGS_alpha_level_x", "12");
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  pd_flag_def def = definition(PD_TYPE_int32, "alpha-level.x");
  def.max.i64 = 9;
  pd_flag *flag = NULL;
  CHECK_STATUS(pd_flag_register(&def, &flag, &err), PD_ERR_RANGE,
               "environment: FLAGS_alpha_level_x=12: expected an integer <= 9");
  CHECK(flag);
  CHECK_STR(text_of(flag), "0");
}

TEST(a_read_only_flag_takes_nothing_from_the_environment) {
  pd_flag_def def = definition(PD_TYPE_int32, "build");
  pd_flag *flag = NULL;
  set("FLAGS_build", "9");
  def.read_only = true;
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  CHECK_STATUS(pd_flag_register(&def, &flag, &err), PD_ERR_READ_ONLY,
               "environment: FLAGS_build: is read-only");
  CHECK_STR(text_of(flag), "0");
  CHECK_STATUS(pd_environment_enable("FLAGS_", NULL, &err), PD_ERR_READ_ONLY,
               "environment: FLAGS_build: is read-only");
}

TEST(the_environment_may_be_read_again_when_flags_are_closed) {
  set("FLAGS_threads", "4");
  pd_flag *flag = DEFINE(PD_TYPE_int32, "threads", def.startup_only = true);
  pd_parse_options options = {.size = sizeof options, .env_prefix = "FLAGS_"};
  CHECK_OK(parse_line("", &options));
  CHECK_OK(parse_line("", &options));
  CHECK_STR(text_of(flag), "4");
  set("FLAGS_threads", "5");
  CHECK_STATUS(parse_line("", &options), PD_ERR_FROZEN,
               "environment: FLAGS_threads: can be set at startup only, and the command line has "
               "been parsed");
}

TEST(an_empty_variable_is_an_empty_string_but_no_number) {
  set("FLAGS_s", "");
  set("FLAGS_n", "");
  pd_flag_def def = definition(PD_TYPE_string, "s");
  def.default_value.str = "default";
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  pd_flag *flag = register_flag(&def);
  CHECK_STR(text_of(flag), "");
  def = definition(PD_TYPE_int32, "n");
  CHECK_STATUS(pd_flag_register(&def, &flag, &err), PD_ERR_VALUE,
               "environment: FLAGS_n: is empty, expected a 32-bit integer");
}

TEST(prefixes_may_be_anything_short_without_an_equals_sign) {
  char prefix[PD_NAME_MAX + 2];
  memset(prefix, 'P', sizeof prefix - 1);
  prefix[PD_NAME_MAX + 1] = '\0';
  CHECK(pd_environment_enable(prefix, NULL, &err) == PD_ERR_ARGUMENT);
  CHECK(strstr(err.message, "PPP...': expected at most 255 bytes without '='"));
  CHECK_STATUS(pd_environment_enable("A=", NULL, &err), PD_ERR_ARGUMENT,
               "environment prefix 'A=': expected at most 255 bytes without '='");
  prefix[PD_NAME_MAX] = '\0';
  CHECK_OK(pd_environment_enable(prefix, NULL, &err));
  set("plain", "1");
  CHECK_OK(pd_environment_enable("", NULL, &err));
  CHECK_STR(text_of(define_flag(PD_TYPE_bool, "plain")), "true");
}

TEST(aliases_have_no_variable_of_their_own) {
  set("FLAGS_lvl", "5");
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  pd_flag *flag = DEFINE(PD_TYPE_int32, "level", def.aliases = "lvl");
  CHECK_STR(text_of(flag), "0");
}

static char warning[200];
static void keep_warning(const char *message, pd_warning kind, void *context) {
  CHECK(kind == PD_WARNING_DEPRECATED && !context);
  CHECK(!*warning);
  snprintf(warning, sizeof warning, "%s", message);
}

static pd_flag *define_cache(void) {
  pd_flag_def def = definition(PD_TYPE_int32, "cache");
  pd_flag *flag = NULL;
  def.old_names = "buf.size|buffer";
  CHECK(pd_flag_register(&def, &flag, &err) == PD_OK || flag);
  return flag;
}

TEST(an_old_name_has_a_variable_that_warns) {
  set("FLAGS_buffer", "5");
  CHECK_OK(pd_warning_handle(keep_warning, NULL, &err));
  pd_flag *flag = define_cache();
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  CHECK_STR(text_of(flag), "5");
  CHECK_STR(warning, "buffer is deprecated: use cache");
  CHECK_STR(flag_entry(flag, 0).origin.place, "FLAGS_buffer");
}

TEST(a_later_definition_finds_the_variable_of_an_old_name) {
  set("FLAGS_buf_size", "5");
  CHECK_OK(pd_warning_handle(keep_warning, NULL, &err));
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  CHECK_STR(text_of(define_cache()), "5");
  CHECK_STR(warning, "buf.size is deprecated: use cache");
}

TEST(the_variable_of_the_flag_itself_goes_before_those_of_old_names) {
  set("FLAGS_buffer", "5");
  set("FLAGS_cache", "6");
  CHECK_OK(pd_warning_handle(keep_warning, NULL, &err));
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  CHECK_STR(text_of(define_cache()), "6");
  CHECK_STR(warning, "");
}

TEST(a_bad_value_of_an_old_name_names_its_variable) {
  set("FLAGS_buffer", "x");
  pd_flag *flag = define_cache();
  CHECK_STATUS(pd_environment_enable("FLAGS_", NULL, &err), PD_ERR_VALUE,
               "environment: FLAGS_buffer=x: expected a 32-bit integer");
  CHECK_STR(text_of(flag), "0");
}

TEST(an_old_name_is_warned_of_only_when_its_value_is_taken) {
  set("FLAGS_buffer", "x");
  CHECK_OK(pd_warning_handle(keep_warning, NULL, &err));
  pd_flag *flag = define_cache();
  CHECK(pd_environment_enable("FLAGS_", NULL, &err) == PD_ERR_VALUE);
  CHECK_STR(warning, "");
  set("FLAGS_buffer", "5");
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  CHECK_STR(warning, "buffer is deprecated: use cache");
  CHECK_STR(text_of(flag), "5");
}

TEST(a_later_definition_warns_of_no_old_name_whose_value_it_cannot_take) {
  set("FLAGS_buffer", "x");
  CHECK_OK(pd_warning_handle(keep_warning, NULL, &err));
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  CHECK_STR(text_of(define_cache()), "0");
  CHECK_STR(warning, "");
}

/* ---- Names in upper case ---- */

static const char *const differ =
    "environment: APP_alpha_level_x and APP_ALPHA_LEVEL_X are set to different values, expected "
    "one of them";

TEST(a_variable_may_have_the_name_in_upper_case) {
  set("APP_ALPHA_LEVEL_X", "5");
  pd_flag *flag = define_level();
  CHECK_OK(pd_environment_enable("APP_", NULL, &err));
  CHECK_STR(text_of(flag), "5");
  CHECK_STR(flag_entry(flag, 0).origin.place, "APP_ALPHA_LEVEL_X");
  set("APP_ALPHA_LEVEL_X", "12");
  CHECK_STATUS(pd_environment_enable("APP_", NULL, &err), PD_ERR_RANGE,
               "environment: APP_ALPHA_LEVEL_X=12: expected an integer in [0, 9]");
}

TEST(a_prefix_is_taken_as_it_is_and_an_empty_one_has_no_upper_case) {
  set("app_LATE", "5");
  set("LATE", "6");
  pd_flag *flag = define_flag(PD_TYPE_int32, "late");
  CHECK_OK(pd_environment_enable("", NULL, &err));
  CHECK_STR(text_of(flag), "0");
  CHECK_OK(pd_environment_enable("app_", NULL, &err));
  CHECK_STR(text_of(flag), "5");
}

TEST(both_spellings_may_say_the_same_and_the_exact_one_counts) {
  set("APP_alpha_level_x", "5");
  set("APP_ALPHA_LEVEL_X", "5");
  pd_flag *flag = define_level();
  CHECK_OK(pd_environment_enable("APP_", NULL, &err));
  CHECK_STR(flag_entry(flag, 0).origin.place, "APP_alpha_level_x");
}

TEST(two_spellings_with_different_values_are_an_error_of_every_parse) {
  pd_parse_options options = {.size = sizeof options, .env_prefix = "APP_"};
  pd_flag *flag = define_flag(PD_TYPE_int32, "alpha-level_x");
  set("APP_alpha_level_x", "5");
  CHECK_OK(parse_line("--alpha_level_x=3", &options));
  set("APP_ALPHA_LEVEL_X", "6");
  CHECK_STATUS(parse_line("--alpha_level_x=3", &options), PD_ERR_CONFLICT, differ);
  CHECK_STATUS(parse_line("--alpha_level_x=3", &options), PD_ERR_CONFLICT, differ);
  CHECK_STATUS(pd_environment_enable("APP_", NULL, &err), PD_ERR_CONFLICT, differ);
  options.env_prefix = NULL;
  set("FLAGS_ALPHA_LEVEL_X", "7");
  CHECK_OK(parse_line("--fromenv=alpha_level_x", &options));
  CHECK_STR(text_of(flag), "7");
  set("FLAGS_alpha_level_x", "8");
  CHECK_STATUS(parse_line("--fromenv=alpha_level_x", &options), PD_ERR_CONFLICT,
               "environment: FLAGS_alpha_level_x and FLAGS_ALPHA_LEVEL_X are set to different "
               "values, expected one of them");
}

TEST(a_later_definition_meets_both_spellings_too) {
  set("APP_ALPHA_LEVEL_X", "5");
  CHECK_OK(pd_environment_enable("APP_", NULL, &err));
  set("APP_LATE", "7");
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "late")), "7");
  set("APP_alpha_level_x", "6");
  pd_flag_def def = definition(PD_TYPE_int32, "alpha-level.x");
  pd_flag *flag = NULL;
  CHECK_STATUS(pd_flag_register(&def, &flag, &err), PD_ERR_CONFLICT, differ);
  CHECK(flag);
  CHECK_STR(text_of(flag), "0");
}

TEST(a_variable_that_two_flags_may_mean_is_an_error) {
  define_flag(PD_TYPE_int32, "net_port");
  pd_flag *other = define_flag(PD_TYPE_int32, "Net_Port");
  set("APP_Net_Port", "5");
  CHECK_OK(pd_environment_enable("APP_", NULL, &err));
  CHECK_STR(text_of(other), "5");
  set("APP_NET_PORT", "5");
  CHECK_STATUS(pd_environment_enable("APP_", NULL, &err), PD_ERR_CONFLICT,
               "environment: APP_NET_PORT: means both 'net_port' and 'Net_Port', expected a "
               "variable of one flag");
  CHECK_OK(pd_environment_enable(NULL, NULL, &err));
  CHECK(!unsetenv("APP_NET_PORT"));
  CHECK_OK(pd_environment_enable("APP_", NULL, &err));
  set("APP_NET_PORT", "5");
  pd_flag_def def = definition(PD_TYPE_int32, "net.PORT");
  pd_flag *flag = NULL;
  CHECK(pd_flag_register(&def, &flag, &err) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, "environment: APP_NET_PORT: means both 'net.PORT' and '"));
}

TEST(an_old_name_claims_its_variable_too) {
  define_cache();
  define_flag(PD_TYPE_int32, "Buffer");
  set("FLAGS_BUFFER", "5");
  CHECK_STATUS(pd_environment_enable("FLAGS_", NULL, &err), PD_ERR_CONFLICT,
               "environment: FLAGS_BUFFER: means both 'buffer' and 'Buffer', expected a variable "
               "of one flag");
}
