/* Where a value came from, as messages show it.
 *
 * Built with: -I$SOURCES $LIBRARY
 */
#include "check.h"

#include <registry/registry.h>

static const char *place_of(pd_origin origin) {
  static char out[PD__PREFIX_SIZE];
  return pd__origin_write_message_prefix(&origin, out);
}

static const char *written(pd_origin origin) {
  static char out[PD__ESCAPED_SIZE];
  return pd__origin_write_description(&origin, out);
}

static const char *subject_of(const char *name, pd_origin origin) {
  static char out[PD__SOURCE_SIZE];
  return pd__origin_write_message_subject(name, &origin, out);
}

static pd_origin variable(const char *place) {
  return (pd_origin){PD_SOURCE_ENVIRONMENT, 0, place, 0};
}

TEST(the_place_of_a_message_has_file_line_and_column) {
  CHECK_STR(place_of((pd_origin){PD_SOURCE_FILE, 0, "a.conf", 0}), "a.conf: ");
  CHECK_STR(place_of((pd_origin){PD_SOURCE_FILE, 0, "a.conf", 7}), "a.conf: ");
  CHECK_STR(place_of((pd_origin){PD_SOURCE_FILE, 3, "a.conf", 0}), "a.conf:3: ");
  CHECK_STR(place_of((pd_origin){PD_SOURCE_FILE, 3, "a.conf", 7}), "a.conf:3:7: ");
  CHECK_STR(place_of((pd_origin){PD_SOURCE_FLEET, 3, "store", 0}), "store revision 3: ");
  CHECK_STR(place_of((pd_origin){PD_SOURCE_FILE, 3, NULL, 7}), "");
  CHECK_STR(place_of((pd_origin){PD_SOURCE_RUNTIME, 3, "x.py", 0}), "");
  CHECK_STR(place_of((pd_origin){PD_SOURCE_LIVE, 3, "curl", 0}), "");
  CHECK_STR(place_of((pd_origin){PD_SOURCE_OVERRIDE, 3, "x.py", 0}), "x.py:3: ");
  CHECK_STR(place_of((pd_origin){PD_SOURCE_ARGV, 3, NULL, 0}), "");
  CHECK_STR(place_of((pd_origin){PD_SOURCE_ARGV, 3, "a.flags", 0}), "a.flags:3: ");
}

TEST(variables_are_of_the_environment_also_where_the_line_names_them) {
  CHECK_STR(place_of(variable("FLAGS_level")), "environment: ");
  CHECK_STR(place_of(variable(NULL)), "environment: ");
  CHECK_STR(place_of((pd_origin){PD_SOURCE_ARGV, 0, "FLAGS_level", 0}), "environment: ");
  CHECK_STR(place_of((pd_origin){PD_SOURCE_ARGV, 0, NULL, 0}), "");
  CHECK_STR(place_of((pd_origin){PD_SOURCE_FILE, 0, "FLAGS_level", 0}), "FLAGS_level: ");
}

TEST(a_long_path_is_shown_by_its_end) {
  char path[400], expected[400];
  for (size_t length = 250; length < 270; length++) {
    for (size_t i = 0; i < length; i++) path[i] = (char)('a' + i % 26);
    path[length] = '\0';
    bool whole = length <= 255;
    snprintf(expected, sizeof expected, "%s%s:3:7: ", whole ? "" : "...",
             path + (whole ? 0 : length - 252));
    CHECK_STR(place_of((pd_origin){PD_SOURCE_FILE, 3, path, 7}), expected);
  }
}

TEST(an_origin_alone_has_a_place_or_the_name_of_its_source) {
  CHECK_STR(written((pd_origin){PD_SOURCE_DEFAULT, 12, "level.c", 0}), "default");
  CHECK_STR(written((pd_origin){PD_SOURCE_RUNTIME, 0, NULL, 0}), "run time");
  CHECK_STR(written((pd_origin){PD_SOURCE_RUNTIME, 0, "", 0}), "run time");
  CHECK_STR(written((pd_origin){PD_SOURCE_FILE, 3, "a.conf", 7}), "a.conf:3");
  CHECK_STR(written((pd_origin){PD_SOURCE_FILE, 0, "a.conf", 0}), "a.conf");
  CHECK_STR(written((pd_origin){PD_SOURCE_FILE, 3, NULL, 0}), "file");
  CHECK_STR(written((pd_origin){PD_SOURCE_FLEET, 3, "store", 0}), "store revision 3");
  CHECK_STR(written((pd_origin){PD_SOURCE_FLEET, 3, NULL, 0}), "fleet");
  CHECK_STR(written((pd_origin){PD_SOURCE_ARGV, 2, NULL, 0}), "argv[2]");
  CHECK_STR(written((pd_origin){PD_SOURCE_ARGV, 0, NULL, 0}), "argv");
  CHECK_STR(written((pd_origin){PD_SOURCE_ARGV, 2, "a.flags", 0}), "a.flags:2");
  CHECK_STR(written((pd_origin){PD_SOURCE_ARGV, 0, "FLAGS_level", 0}), "$FLAGS_level");
  CHECK_STR(written(variable("FLAGS_level")), "$FLAGS_level");
  CHECK_STR(written(variable(NULL)), "environment");
  CHECK_STR(written(variable("")), "environment");
}

TEST(a_long_place_alone_is_shown_by_its_end) {
  char path[400], expected[400];
  size_t most = PD__ESCAPED_SIZE - 15 - 1;
  for (size_t length = most - 5; length < most + 10; length++) {
    for (size_t i = 0; i < length; i++) path[i] = (char)('a' + i % 26);
    path[length] = '\0';
    bool whole = length <= most;
    snprintf(expected, sizeof expected, "%s%s:4294967295", whole ? "" : "...",
             path + (whole ? 0 : length - most));
    CHECK_STR(written((pd_origin){PD_SOURCE_FILE, UINT32_MAX, path, 0}), expected);
  }
}

TEST(a_subject_has_dashes_on_a_line_and_in_a_file) {
  CHECK_STR(subject_of("level", (pd_origin){PD_SOURCE_ARGV, 2, NULL, 0}), "--level");
  CHECK_STR(subject_of("level", (pd_origin){PD_SOURCE_FILE, 2, "f", 0}), "f:2: --level");
  CHECK_STR(subject_of("level", (pd_origin){PD_SOURCE_RUNTIME, 2, "f", 0}), "level");
  CHECK_STR(subject_of("level", (pd_origin){PD_SOURCE_FLEET, 2, "f", 0}), "f revision 2: level");
}

TEST(a_variable_that_ends_with_the_name_of_the_flag_stands_alone) {
  const char *same[][2] = {{"level", "FLAGS_level"}, {"level", "level"}, {"level", "LEVEL"},
                           {"level", "APP_LeVeL"},   {"a-b", "X_a_b"},   {"a.b-c", "X_A_B_C"},
                           {"a-b", "X_a-b"},         {"a5z", "A5Z"},     {"Level", "X_Level"},
                           {"Level", "LEVEL"},       {"az", "X_AZ"},     {"a.b", "a.b"}};
  const char *others[][2] = {{"level", "FLAGS_lever"}, {"level", "5LEVEl_"}, {"a_b", "A?B"},
                             {"a5", "A\x15"},          {"A", "!"},           {"a.b", "a-b"},
                             {"a-b", "a.b"},           {"level", "LEVE"},    {"a_b", "a-b"}};
  char expected[64];
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    snprintf(expected, sizeof expected, "environment: %s", same[i][1]);
    CHECK_STR(subject_of(same[i][0], variable(same[i][1])), expected);
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    snprintf(expected, sizeof expected, "environment: %s (%s)", others[i][1], others[i][0]);
    CHECK_STR(subject_of(others[i][0], variable(others[i][1])), expected);
  }
  CHECK_STR(subject_of("level", variable(NULL)), "environment: (level)");
  const char *longer = "level";
  CHECK_STR(subject_of("level", variable(longer + 2)), "environment: vel (level)");
}

TEST(hosts_give_values_from_sources_between_files_and_run_time) {
  pd_origin origin = {PD_SOURCE_FILE, 0, NULL, 0};
  CHECK_OK(pd__origin_check_settable(NULL, &err));
  pd_source good[] = {PD_SOURCE_FILE,  PD_SOURCE_ENVIRONMENT, PD_SOURCE_ARGV,
                      PD_SOURCE_FLEET, PD_SOURCE_RUNTIME,     PD_SOURCE_LIVE};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    origin.source = good[i];
    CHECK_OK(pd__origin_check_settable(&origin, &err));
  }
  pd_source bad[] = {PD_SOURCE_DEFAULT, PD_SOURCE_OVERRIDE, PD_SOURCE_SCOPE, (pd_source)99};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char expected[128];
    origin.source = bad[i];
    snprintf(expected, sizeof expected,
             "origin->source is %d, expected file, environment, argv, fleet, run time or live",
             (int)bad[i]);
    CHECK_STATUS(pd__origin_check_settable(&origin, &err), PD_ERR_ARGUMENT, expected);
  }
}
