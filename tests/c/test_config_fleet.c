/* Configurations of the fleet, and pd_config_check. */
#include "check.h"

static pd_flag *count, *name, *threads;
static pd_error_list *errors;
static int asked;

static bool is_even(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  asked++;
  if (entries[0]->value.i64 % 2 == 0) return true;
  snprintf(why, size, "expected an even number");
  return false;
}

static void start(void) {
  count = DEFINE(PD_TYPE_int32, "count", def.max.i64 = 100, def.validate = is_even);
  name = define_flag(PD_TYPE_string, "name");
  threads = DEFINE(PD_TYPE_int32, "threads", def.startup_only = true);
  errors = pd_error_list_new();
}

static void put(pd_config *config, const char *key, const char *text, uint32_t revision) {
  pd_origin origin = {PD_SOURCE_FILE, revision, "dir:///mnt/job42", 0};
  CHECK_OK(pd_config_add(config, key, text, 0, &origin, &err));
}

typedef pd_status ending(const pd_config *, bool, pd_error_list *, pd_error *);

/* Gives the source one value, or none. */
static pd_status give(ending *function, pd_source source, const char *key, const char *text) {
  pd_config *config = config_of(source);
  if (key) put(config, key, text, 12);
  pd_status status = function(config, false, NULL, &err);
  pd_config_free(config);
  return status;
}

static pd_status apply(const char *key, const char *text) {
  return give(pd_config_apply, PD_SOURCE_FLEET, key, text);
}

static pd_status check(const char *key, const char *text) {
  return give(pd_config_check, PD_SOURCE_FLEET, key, text);
}

static pd_origin origin_of(pd_flag *flag) { return flag_entry(flag, 0).origin; }

TEST(a_configuration_is_of_files_or_of_the_fleet) {
  pd_config *config = NULL;
  CHECK_STATUS(pd_config_new(PD_SOURCE_ARGV, &config, &err), PD_ERR_ARGUMENT,
               "source is 3, expected file or fleet");
  CHECK_STATUS(pd_config_new((pd_source)99, &config, &err), PD_ERR_ARGUMENT,
               "source is 99, expected file or fleet");
  CHECK_STATUS(pd_config_new(PD_SOURCE_FLEET, NULL, &err), PD_ERR_ARGUMENT, "out is NULL");
  CHECK(!config);
}

TEST(a_value_of_the_fleet_has_its_address_and_revision_whatever_source_it_says) {
  start();
  CHECK_OK(apply("count", "4"));
  pd_origin origin = origin_of(count);
  CHECK(origin.source == PD_SOURCE_FLEET && origin.line == 12);
  CHECK_STR(origin.place, "dir:///mnt/job42");
  CHECK_STR(text_of(count), "4");
}

TEST(a_command_line_does_not_lower_the_fleet_and_run_time_stands_above_it) {
  start();
  CHECK_OK(apply("count", "4"));
  CHECK_OK(parse_line("--count=6", NULL));
  CHECK_STR(text_of(count), "4");
  CHECK_OK(pd_flag_set_int32(count, 8, &err));
  CHECK_OK(apply("count", "10"));
  CHECK_STR(text_of(count), "8");
  CHECK_OK(pd_flag_drop(count, PD_SOURCE_RUNTIME, &err));
  CHECK_STR(text_of(count), "10");
  CHECK_OK(apply(NULL, NULL));
  CHECK_STR(text_of(count), "6");
}

TEST(the_fleet_and_files_do_not_take_each_others_values) {
  start();
  CHECK_OK(give(pd_config_apply, PD_SOURCE_FILE, "name", "of a file"));
  CHECK_OK(apply("count", "4"));
  CHECK_OK(give(pd_config_apply, PD_SOURCE_FILE, NULL, NULL));
  CHECK_STR(text_of(name), "");
  CHECK_STR(text_of(count), "4");
  CHECK_OK(give(pd_config_apply, PD_SOURCE_FILE, "count", "2"));
  CHECK_OK(apply(NULL, NULL));
  CHECK_STR(text_of(count), "2");
}

TEST(what_waits_for_a_definition_is_that_of_the_fleet_until_the_fleet_drops_it) {
  pd_config *config = config_of(PD_SOURCE_FLEET), *file = config_of(PD_SOURCE_FILE);
  put(config, "later", "5", 3);
  put(config, "dropped", "5", 3);
  CHECK_OK(pd_config_apply(config, true, NULL, &err));
  CHECK_OK(pd_config_apply(file, true, NULL, &err));
  pd_flag *later = define_flag(PD_TYPE_int32, "later");
  CHECK(origin_of(later).source == PD_SOURCE_FLEET && origin_of(later).line == 3);
  pd_config *empty = config_of(PD_SOURCE_FLEET);
  CHECK_OK(pd_config_apply(empty, true, NULL, &err));
  CHECK_STR(text_of(later), "0");
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "dropped")), "0");
  pd_config_free(config);
  pd_config_free(file);
  pd_config_free(empty);
}

TEST(after_startup_a_startup_only_flag_keeps_its_value_of_the_fleet) {
  start();
  CHECK(!pd_startup_over());
  CHECK_OK(apply("threads", "4"));
  end_startup();
  CHECK(pd_startup_over());
  CHECK_OK(apply("threads", "4"));
  CHECK_STATUS(apply("threads", "5"), PD_ERR_FROZEN,
               "dir:///mnt/job42 revision 12: threads: can be set at startup only, and the command "
               "line has been parsed");
  CHECK_STATUS(apply("name", "x"), PD_ERR_FROZEN,
               "--threads: can be set at startup only, and the fleet no longer gives its value "
               "(dir:///mnt/job42 revision 12)");
  CHECK_STR(text_of(threads), "4");
  CHECK_STR(text_of(name), "");
}

TEST(a_check_finds_all_that_an_application_would_refuse_and_changes_nothing) {
  start();
  pd_config *config = config_of(PD_SOURCE_FLEET);
  CHECK_OK(apply("name", "before"));
  put(config, "count", "500", 13);
  put(config, "nobody", "5", 14);
  put(config, "name", "after", 15);
  CHECK_STATUS(pd_config_check(config, false, errors, &err), PD_ERR_RANGE,
               "dir:///mnt/job42 revision 13: count=500: expected an integer <= 100");
  CHECK(pd_error_list_count(errors) == 2);
  CHECK(pd_error_list_get_flag(errors, 0) == count && !pd_error_list_get_flag(errors, 1));
  CHECK_STR(pd_error_list_at(errors, 1)->message,
            "dir:///mnt/job42 revision 14: nobody: no such flag");
  CHECK_STATUS(check("count", "5"), PD_ERR_REFUSED,
               "dir:///mnt/job42 revision 12: count=5: expected an even number");
  CHECK_STATUS(pd_config_check(NULL, false, errors, &err), PD_ERR_ARGUMENT, "config is NULL");
  CHECK_STR(text_of(count), "0");
  CHECK_STR(text_of(name), "before");
  pd_config_free(config);
}

TEST(a_check_that_passes_asks_the_validators_and_changes_nothing) {
  start();
  CHECK_OK(apply("name", "before"));
  asked = 0;
  CHECK_OK(check("count", "4"));
  CHECK(asked > 0);
  CHECK_STR(text_of(count), "0");
  CHECK_STR(text_of(name), "before");
  pd_config *config = config_of(PD_SOURCE_FLEET);
  put(config, "later", "5", 3);
  CHECK_OK(pd_config_check(config, true, NULL, &err));
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "later")), "0");
  pd_pending_info info = {.size = sizeof info};
  CHECK(pd_pending_get(0, &info, &err) == PD_ERR_ARGUMENT);
  pd_config_free(config);
}

TEST(a_check_names_what_is_closed) {
  start();
  CHECK_OK(apply("threads", "4"));
  end_startup();
  CHECK_OK(check("threads", "4"));
  CHECK_STATUS(check("threads", "5"), PD_ERR_FROZEN,
               "dir:///mnt/job42 revision 12: threads: can be set at startup only, and the command "
               "line has been parsed");
  CHECK(check(NULL, NULL) == PD_ERR_FROZEN);
}
