#include "check.h"

static pd_flag *count, *name, *dry_run, *items;
static pd_error_list *errors;

static void start(void) {
  count = DEFINE(PD_TYPE_int32, "count", def.max.i64 = 100);
  name = define_flag(PD_TYPE_string, "name");
  dry_run = define_flag(PD_TYPE_bool, "dry-run");
  items = DEFINE(PD_TYPE_string, "items", def.list = PD_TYPE_int32);
  errors = pd_error_list_new();
}

static void put(pd_config *config, const char *key, const char *text, uint32_t literal,
                uint32_t line) {
  char path[] = "conf.toml"; /* all text is copied */
  pd_origin origin = {PD_SOURCE_RUNTIME, line, path, 8};
  CHECK_OK(pd_config_add(config, key, text, literal, &origin, &err));
  memset(path, 'x', sizeof path - 1);
}

/* Settings of one value, or none. */
static pd_config *settings_of(const char *key, const char *text) {
  pd_config *config = new_config();
  CHECK(config);
  if (key) put(config, key, text, 0, 12);
  return config;
}

static pd_status apply(const char *key, const char *text, bool allow_pending) {
  pd_config *config = settings_of(key, text);
  pd_status status = pd_config_apply(config, allow_pending, errors, &err);
  pd_config_free(config);
  return status;
}

static pd_origin origin_of(pd_flag *flag) { return flag_entry(flag, 0).origin; }

static pd_status parse(const char *words, pd_config *config) {
  pd_parse_options options = {.size = sizeof options, .config = config, .errors = errors};
  return parse_line(words, &options);
}

TEST(settings_give_flags_their_values_with_file_line_and_column) {
  start();
  CHECK_OK(apply("count", "5", false));
  CHECK_STR(text_of(count), "5");
  pd_origin origin = origin_of(count);
  CHECK(origin.source == PD_SOURCE_FILE && origin.line == 12 && origin.column == 8);
  CHECK_STR(origin.place, "conf.toml");
}

TEST(of_two_settings_of_a_flag_the_later_wins) {
  start();
  pd_config *config = settings_of("count", "5");
  put(config, "count", "6", 0, 13);
  CHECK_OK(pd_config_apply(config, false, NULL, &err));
  CHECK_STR(text_of(count), "6");
  CHECK_OK(pd_config_apply(config, false, NULL, &err));
  CHECK_STR(text_of(count), "6");
}

TEST(a_flag_that_new_settings_do_not_name_loses_what_the_old_gave) {
  start();
  CHECK_OK(apply("count", "5", false));
  CHECK_OK(apply("name", "x", false));
  CHECK_STR(text_of(count), "0");
  CHECK_STR(text_of(name), "x");
  CHECK_OK(apply(NULL, NULL, false));
  CHECK_STR(text_of(name), "");
}

/* A variable that tells which values it was given. */
static int32_t shown[8];
static size_t shows;

static bool load_last(void *cell, pd_value *value) {
  value->i64 = *(int32_t *)cell;
  return true;
}
static void store_and_note(void *cell, pd_value value) {
  if (shows < sizeof shown / sizeof *shown) shown[shows++] = (int32_t)value.i64;
  *(int32_t *)cell = (int32_t)value.i64;
}

static void check_only_shown(int32_t value) {
  CHECK(shows > 0);
  for (size_t i = 0; i < shows; i++) CHECK(shown[i] == value);
  shows = 0;
}

TEST(while_new_settings_are_applied_readers_see_no_value_in_between) {
  static const pd_cell_access access = {
      .size = sizeof access, .load = load_last, .store = store_and_note};
  static int32_t variable;
  start();
  DEFINE(PD_TYPE_int32, "watched", def.cell = &variable, def.access = &access);
  CHECK_OK(apply("watched", "5", false));
  shows = 0;
  CHECK_OK(apply("watched", "6", false));
  check_only_shown(6);
  pd_config *config = settings_of("watched", "7");
  put(config, "watched", "8", 0, 13);
  CHECK_OK(pd_config_apply(config, false, errors, &err));
  check_only_shown(8);
  pd_config_free(config);
  CHECK_OK(apply(NULL, NULL, false));
  check_only_shown(0);
}

TEST(settings_do_not_touch_values_of_higher_rank) {
  start();
  CHECK_OK(parse("--count=7", NULL));
  CHECK_OK(apply("count", "5", false));
  CHECK_STR(text_of(count), "7");
  CHECK_OK(apply(NULL, NULL, false));
  CHECK_STR(text_of(count), "7");
}

TEST(settings_of_a_command_line_stand_below_it) {
  start();
  pd_config *config = settings_of("count", "5");
  put(config, "name", "x", 0, 13);
  CHECK_OK(parse("--count=7", config));
  CHECK_STR(text_of(count), "7");
  CHECK_STR(text_of(name), "x");
}

TEST(a_wrong_setting_changes_nothing_and_all_errors_are_told) {
  start();
  CHECK_OK(apply("dry_run", "yes", false));
  pd_config *config = settings_of("count", "500");
  put(config, "name", "x", 0, 13);
  put(config, "cuont", "5", 0, 14);
  CHECK_STATUS(pd_config_apply(config, false, errors, &err), PD_ERR_RANGE,
               "conf.toml:12:8: --count=500: expected an integer <= 100");
  CHECK(pd_error_list_count(errors) == 2);
  CHECK_STR(pd_error_list_at(errors, 1)->message,
            "conf.toml:14:8: cuont: no such flag; did you mean 'count'?");
  CHECK_STR(text_of(name), "");
  CHECK_STR(text_of(dry_run), "true");
  CHECK_STATUS(parse("--name=y", config), PD_ERR_RANGE,
               "conf.toml:12:8: --count=500: expected an integer <= 100");
  CHECK_STR(text_of(name), "");
}

TEST(a_setting_is_not_negated) {
  start();
  CHECK_STATUS(apply("nodry_run", "true", false), PD_ERR_UNDEFINED,
               "conf.toml:12:8: nodry_run: no such flag; did you mean 'dry-run'?");
}

TEST(a_setting_for_an_unknown_name_waits_where_that_is_allowed) {
  CHECK_OK(apply("later", "5", true));
  CHECK_OK(apply("later", "6", true));
  pd_flag *later = define_flag(PD_TYPE_int32, "later");
  CHECK_STR(text_of(later), "6");
  CHECK(flag_entry(later, 1).origin.source == PD_SOURCE_DEFAULT);
}

TEST(new_settings_drop_what_waited_of_the_old) {
  CHECK_OK(apply("later", "5", true));
  CHECK_OK(apply(NULL, NULL, true));
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "later")), "0");
}

TEST(a_number_is_no_text_for_a_string_flag_but_an_item_for_a_list) {
  start();
  pd_config *config = new_config();
  put(config, "items", "7", PD_TYPE_int64, 1);
  put(config, "count", "7", PD_TYPE_int64, 2);
  CHECK_OK(pd_config_apply(config, false, NULL, &err));
  CHECK_STR(text_of(items), "7");
  put(config, "name", "1.1", PD_TYPE_double, 3);
  CHECK_STATUS(pd_config_apply(config, false, NULL, &err), PD_ERR_TYPE,
               "conf.toml:3:8: --name=1.1: expected text; write it in quotes");
  CHECK_STR(text_of(name), "");
}

TEST(a_closed_flag_keeps_its_setting_but_takes_no_other_one) {
  start();
  pd_config *config = settings_of("count", "4");
  put(config, "count", "5", 0, 13);
  CHECK_OK(pd_config_apply(config, false, NULL, &err));
  CHECK_OK(pd_flag_freeze(count, &err));
  CHECK_OK(pd_config_apply(config, false, NULL, &err));
  CHECK_STATUS(apply("count", "6", false), PD_ERR_FROZEN, "conf.toml:12:8: --count: is frozen");
  CHECK_STATUS(apply("name", "x", false), PD_ERR_FROZEN,
               "--count: is frozen, and the file no longer gives its value (conf.toml:13:8)");
  CHECK_STR(text_of(count), "5");
  CHECK_STR(text_of(name), "");
}

TEST(a_startup_only_flag_that_its_file_leaves_out_is_named_with_its_old_place) {
  start();
  DEFINE(PD_TYPE_int32, "threads", def.startup_only = true);
  CHECK_OK(apply("threads", "4", false));
  end_startup();
  CHECK_STATUS(apply("name", "x", false), PD_ERR_FROZEN,
               "--threads: can be set at startup only, and the file no longer gives its value "
               "(conf.toml:12:8)");
  CHECK_STATUS(apply("threads", "5", false), PD_ERR_FROZEN,
               "conf.toml:12:8: --threads: can be set at startup only, and the command line has "
               "been parsed");
}

TEST(settings_without_a_place_name_the_flag_alone) {
  start();
  pd_config *config = new_config();
  CHECK_OK(pd_config_add(config, "count", "x", 0, NULL, &err));
  CHECK_STATUS(pd_config_apply(config, false, NULL, &err), PD_ERR_VALUE,
               "--count=x: expected an integer <= 100");
}

TEST(settings_check_their_arguments) {
  pd_config *config = new_config();
  CHECK_STATUS(pd_config_add(NULL, "a", "b", 0, NULL, &err), PD_ERR_ARGUMENT, "config is NULL");
  CHECK_STATUS(pd_config_add(config, NULL, "b", 0, NULL, &err), PD_ERR_ARGUMENT, "name is NULL");
  CHECK_STATUS(pd_config_add(config, "a", NULL, 0, NULL, &err), PD_ERR_ARGUMENT, "text is NULL");
  CHECK_STATUS(pd_config_add(config, "a", "b", 99, NULL, &err), PD_ERR_ARGUMENT,
               "literal is 99, expected 0, a pd_type, or one for a list");
  CHECK_STATUS(pd_config_apply(NULL, false, NULL, &err), PD_ERR_ARGUMENT, "config is NULL");
  pd_config_free(NULL);
  pd_config_free(config);
}

TEST(an_error_of_a_file_comes_with_the_others_in_its_place) {
  start();
  pd_config *config = settings_of("count", "101");
  pd_error broken = {.status = PD_ERR_FILE, .message = "conf.toml:13:1: broken"};
  CHECK_OK(pd_config_fail(config, &broken, &err));
  put(config, "nobody", "1", 0, 14);
  CHECK(pd_config_apply(config, false, errors, &err) == PD_ERR_RANGE);
  CHECK(pd_error_list_count(errors) == 3);
  CHECK(pd_error_list_at(errors, 1)->status == PD_ERR_FILE);
  CHECK_STR(pd_error_list_at(errors, 1)->message, "conf.toml:13:1: broken");
  CHECK_STATUS(pd_config_fail(NULL, &broken, &err), PD_ERR_ARGUMENT, "config is NULL");
  CHECK_STATUS(pd_config_fail(config, NULL, &err), PD_ERR_ARGUMENT, "error is NULL");
  broken.status = PD_OK;
  CHECK_STATUS(pd_config_fail(config, &broken, &err), PD_ERR_ARGUMENT, "error->status is PD_OK");
  pd_config_free(config);
}

TEST(an_error_of_a_file_whose_text_has_no_end_is_cut) {
  start();
  pd_config *config = config_of(PD_SOURCE_FILE);
  pd_error broken = {.status = PD_ERR_FILE};
  memset(broken.message, 'x', sizeof broken.message);
  CHECK_OK(pd_config_fail(config, &broken, &err));
  CHECK(pd_config_apply(config, false, NULL, &err) == PD_ERR_FILE);
  CHECK(strlen(err.message) == sizeof broken.message - 1);
  pd_config_free(config);
}

TEST(one_error_of_a_file_is_enough_to_refuse_all_settings) {
  start();
  pd_config *config = settings_of("count", "5");
  pd_error broken = {.status = PD_ERR_FILE, .message = "conf.toml:13:1: broken"};
  CHECK_OK(pd_config_fail(config, &broken, &err));
  CHECK_STATUS(parse("--count=6", config), PD_ERR_FILE, "conf.toml:13:1: broken");
  CHECK_STR(text_of(count), "0");
  pd_config_free(config);
}

#define LIST_OF(type) (PD_TYPE_string + 16 * (type))

TEST(lists_are_for_list_flags_and_their_items_are_typed_strictly) {
  start();
  DEFINE(PD_TYPE_string, "names", def.list = PD_TYPE_string);
  static const struct {
    const char *key, *text;
    uint32_t literal;
    const char *refused;
  } cases[] = {
      {"items", "1,2", LIST_OF(PD_TYPE_int64), NULL},
      {"items", "1,2", LIST_OF(0), NULL},
      {"items", "1", PD_TYPE_int64, NULL},
      {"names", "a,b", LIST_OF(0), NULL},
      {"names", "a,b", LIST_OF(PD_TYPE_string), NULL},
      {"names", "a,b", 0, NULL},
      {"names", "a,1.1", LIST_OF(PD_TYPE_double),
       "conf.toml:2:8: --names=a,1.1: expected items of text; write them in quotes"},
      {"names", "1", PD_TYPE_int64, "conf.toml:2:8: --names=1: expected text; write it in quotes"},
      {"name", "a", LIST_OF(0), "conf.toml:2:8: --name=a: expected one value, not a list"},
      {"count", "1", LIST_OF(PD_TYPE_int64),
       "conf.toml:2:8: --count=1: expected one value, not a list"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    pd_config *config = new_config();
    put(config, cases[i].key, cases[i].text, cases[i].literal, 2);
    if (cases[i].refused) {
      CHECK_STATUS(pd_config_apply(config, false, NULL, &err), PD_ERR_TYPE, cases[i].refused);
    } else {
      CHECK_OK(pd_config_apply(config, false, NULL, &err));
    }
    pd_config_free(config);
  }
}

TEST(what_waits_is_typed_as_strictly) {
  pd_config *config = new_config();
  put(config, "late", "1.1", PD_TYPE_double, 2);
  CHECK_OK(pd_config_apply(config, true, NULL, &err));
  pd_config_free(config);
  pd_flag_def def = definition(PD_TYPE_string, "late");
  pd_flag *late;
  CHECK_STATUS(pd_flag_register(&def, &late, &err), PD_ERR_TYPE,
               "conf.toml:2:8: --late=1.1: expected text; write it in quotes");
  CHECK_STR(text_of(late), "");
}
