/* Values of the fleet that a flag can't take: they are dropped with a warning, each with all values
 * of its revision, and what they were for gets what it would have without them. */
#include "joined.h"

#define FLEET "dir:///mnt/job42"

/* ---- What the fleet gives ---- */

typedef struct value {
  const char *name, *text;
  uint32_t revision;
} value;

static pd_status apply_from(const char *place, const value *values, size_t count) {
  pd_config *config = config_of(PD_SOURCE_FLEET);
  for (size_t i = 0; i < count; i++) {
    pd_origin origin = {PD_SOURCE_FLEET, values[i].revision, place, 0};
    CHECK_OK(pd_config_add(config, values[i].name, values[i].text, 0, &origin, &err));
  }
  pd_status status = pd_config_apply(config, true, NULL, &err);
  pd_config_free(config);
  return status;
}

#define GIVE(...)                                                                                  \
  CHECK_OK(                                                                                        \
      apply_from(FLEET, (value[]){__VA_ARGS__}, sizeof((value[]){__VA_ARGS__}) / sizeof(value)))

static char warned[1020];
static int warnings;
static void note_warning(const char *message, pd_warning kind, void *context) {
  warnings++;
  CHECK(kind == PD_WARNING_DROPPED && !context);
  snprintf(warned, sizeof warned, "%s", message);
}

static void start(void) { CHECK_OK(pd_warning_handle(note_warning, NULL, &err)); }

static uint64_t count_dropped(void) { return pd_config_count_dropped(PD_SOURCE_FLEET); }

/* ---- Definitions ---- */

static pd_flag_def bounded(const char *name) {
  pd_flag_def def = definition(PD_TYPE_int64, name);
  def.default_value.i64 = 1;
  def.max.i64 = 9;
  return def;
}

static pd_flag *define(pd_flag_def def) { return register_flag(&def); }

static bool is_even(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  if (entries[0]->value.i64 % 2 == 0 && !context) return true;
  snprintf(why, size, "expected an even number");
  return false;
}

static bool is_ordered(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  if (entries[0]->value.i64 < entries[1]->value.i64 && !context) return true;
  snprintf(why, size, "low must be below high");
  return false;
}

static const char *source_of(const pd_flag *flag) {
  return pd_source_name(flag_entry(flag, 0).origin.source);
}

TEST(a_value_out_of_range_is_dropped_with_a_warning_that_says_all) {
  start();
  GIVE({"level", "10", 12});
  pd_flag *flag = define(bounded("level"));
  CHECK_STR(text_of(flag), "1");
  CHECK_STR(source_of(flag), "default");
  CHECK_STR(warned, FLEET " revision 12: level=10: expected an integer <= 9; the fleet's values of "
                          "revision 12 are dropped");
  CHECK(warnings == 1 && count_dropped() == 1 && pd_config_count_dropped(PD_SOURCE_FILE) == 0);
  CHECK_OK(pd_pending_check(NULL, &err));
}

TEST(the_value_of_another_source_takes_effect_instead) {
  start();
  GIVE({"level", "10", 12});
  CHECK_OK(parse_pending("--level=5"));
  pd_flag *flag = define(bounded("level"));
  CHECK_STR(text_of(flag), "5");
  CHECK_STR(source_of(flag), "argv");
}

TEST(a_bad_value_of_another_source_is_an_error_as_ever) {
  start();
  pd_flag_def def = bounded("level");
  GIVE({"level", "x", 12});
  CHECK_OK(parse_pending("--level=10"));
  CHECK_STATUS(pd_flag_register(&def, NULL, &err), PD_ERR_RANGE,
               "--level=10: expected an integer <= 9");
  CHECK(warnings == 1);
}

TEST(what_its_own_validator_rejects_is_dropped) {
  start();
  pd_flag_def def = definition(PD_TYPE_int64, "even");
  def.validate = is_even;
  GIVE({"even", "3", 7});
  CHECK_STR(text_of(define(def)), "0");
  CHECK_STR(warned, FLEET " revision 7: even=3: expected an even number; the fleet's values of "
                          "revision 7 are dropped");
}

static bool accepts_no_text(const char *text, void *context, pd_writer write, void *out, char *why,
                            size_t size) {
  (void)text, (void)context, (void)write, (void)out;
  snprintf(why, size, "expected no text");
  return false;
}

TEST(what_its_converter_rejects_is_dropped) {
  start();
  pd_flag_def def = definition(PD_TYPE_string, "path");
  def.convert = accepts_no_text;
  GIVE({"path", "x", 7});
  CHECK_STR(text_of(define(def)), "");
  CHECK(warnings == 1 && strstr(warned, "path=x: expected no text"));
}

/* ---- Batches ---- */

TEST(all_values_of_the_revision_are_dropped_and_none_of_another) {
  start();
  GIVE({"first", "5", 12}, {"bad", "10", 12}, {"later", "5", 12}, {"other", "5", 13});
  pd_flag *first = define(bounded("first")), *other = define(bounded("other"));
  CHECK_STR(text_of(first), "5");
  define(bounded("bad"));
  CHECK_STR(text_of(first), "1");
  CHECK(count_dropped() == 2);
  CHECK_STR(text_of(define(bounded("later"))), "1");
  CHECK_STR(text_of(other), "5");
  CHECK(warnings == 1 && count_dropped() == 3);
}

TEST(the_same_revision_of_another_fleet_is_another_one) {
  start();
  pd_flag *mine = define(bounded("mine"));
  pd_origin elsewhere = {PD_SOURCE_FLEET, 12, "dir:///mnt/job43", 0};
  CHECK_OK(pd_pending_set("bad", "10", &elsewhere, &err));
  pd_origin here = {PD_SOURCE_FLEET, 12, FLEET, 0};
  CHECK_OK(pd_pending_set("mine", "5", &here, &err));
  define(bounded("bad"));
  CHECK_STR(text_of(mine), "5");
}

static char told[200];
static void note_change(pd_flag *flag, void *context) {
  snprintf(told, sizeof told, "%s=%s", pd_flag_get_name(flag), text_of(flag));
  CHECK(!context);
}

TEST(a_watcher_sees_that_a_value_is_dropped_with_another) {
  start();
  pd_flag *first = define(bounded("first"));
  GIVE({"first", "5", 12}, {"bad", "10", 12});
  CHECK_OK(pd_watcher_add(first, note_change, NULL, NULL, NULL, &err));
  define(bounded("bad"));
  CHECK_STR(told, "first=1");
}

TEST(the_flags_of_a_module_get_none_of_a_refused_revision) {
  start();
  pd_flag_def one = bounded("one"), bad = bounded("bad"), other = bounded("other");
  GIVE({"one", "5", 12}, {"bad", "10", 12}, {"other", "5", 13});
  CHECK(JOIN(&one, &bad, &other) == PD_OK);
  CHECK(pd_error_list_count(join_errors) == 0 && count_dropped() == 2);
  pd_flag *flag = find_flag("one");
  CHECK_STR(text_of(flag), "1");
  CHECK_OK(pd_flag_find("other", &flag, &err));
  CHECK_STR(text_of(flag), "5");
}

TEST(a_frozen_flag_keeps_the_value_of_a_refused_revision) {
  start();
  pd_flag *first = define(bounded("first"));
  GIVE({"first", "5", 12}, {"bad", "10", 12});
  CHECK_OK(pd_flag_freeze(first, &err));
  define(bounded("bad"));
  CHECK_STR(text_of(first), "5");
  CHECK(warnings == 1 && count_dropped() == 1);
}

TEST(after_startup_a_startup_only_flag_keeps_it_too) {
  start();
  pd_flag_def def = bounded("first");
  def.startup_only = true;
  pd_flag *first = define(def);
  GIVE({"first", "5", 12}, {"bad", "10", 12}, {"late", "10", 13});
  CHECK_OK(parse_pending(""));
  define(bounded("bad"));
  CHECK_STR(text_of(first), "5");
  def.name = "late";
  CHECK_STR(text_of(define(def)), "1");
  CHECK(warnings == 2);
}

TEST(the_next_values_of_the_fleet_may_be_of_the_revision_again) {
  start();
  GIVE({"bad", "10", 12}, {"later", "5", 12});
  define(bounded("bad"));
  GIVE({"later", "5", 12});
  CHECK_STR(text_of(define(bounded("later"))), "5");
}

TEST(a_snapshot_that_is_restored_lets_the_values_be_judged_again) {
  start();
  pd_snapshot *before = NULL;
  GIVE({"bad", "10", 12}, {"later", "5", 12});
  CHECK_OK(pd_snapshot_take(&before, &err));
  define(bounded("bad"));
  CHECK_OK(pd_snapshot_restore(before, &err));
  CHECK(warnings == 2 && count_dropped() == 2);
  CHECK_STR(text_of(define(bounded("later"))), "1");
  pd_snapshot_free(before);
}

TEST(if_too_many_revisions_are_refused_all_of_them_are) {
  char names[102][16];
  value values[102];
  start();
  for (uint32_t i = 0; i < 102; i++) {
    snprintf(names[i], sizeof *names, "bad_%u", i);
    values[i] = (value){names[i], i == 0 ? "5" : "10", i + 1};
  }
  CHECK_OK(apply_from(FLEET, values, 102));
  pd_flag *good = define(bounded(names[0]));
  for (int i = 1; i <= 100; i++) define(bounded(names[i]));
  CHECK_STR(text_of(good), "5");
  CHECK(warnings == 100 && count_dropped() == 100);
  define(bounded(names[101]));
  CHECK_STR(text_of(good), "1");
  CHECK_STR(warned, "more than 100 revisions of the fleet were refused: all of its values are "
                    "dropped");
  CHECK(count_dropped() == 102);
}

/* ---- Validators of several flags ---- */

static pd_flag *low, *high;
static void define_pair(void) {
  low = define_flag(PD_TYPE_int64, "low");
  pd_flag_def def = definition(PD_TYPE_int64, "high");
  def.default_value.i64 = 3;
  high = define(def);
}

static void check_pair(void) {
  pd_flag *both[] = {low, high};
  CHECK_OK(pd_validator_add(both, 2, is_ordered, NULL, NULL, NULL, &err));
}

TEST(a_validator_that_is_added_waits_for_the_command_line) {
  start();
  GIVE({"low", "9", 12});
  define_pair();
  check_pair();
  CHECK_STR(text_of(low), "9");
  CHECK_OK(parse_pending("--high=10"));
  CHECK_STR(text_of(low), "9");
  CHECK(warnings == 0);
}

TEST(what_it_still_rejects_then_is_dropped) {
  start();
  GIVE({"low", "9", 12}, {"mate", "5", 12});
  define_pair();
  pd_flag *mate = define(bounded("mate"));
  check_pair();
  CHECK_OK(parse_pending("--high=5"));
  CHECK_STR(text_of(low), "0");
  CHECK_STR(text_of(high), "5");
  CHECK_STR(text_of(mate), "1");
  CHECK_STR(warned, "--low=9 (" FLEET " revision 12), --high=5 (argv[1]): low must be below high; "
                    "the fleet's values of revision 12 are dropped");
}

TEST(what_is_rejected_without_the_fleet_too_is_an_error_and_drops_nothing) {
  start();
  GIVE({"low", "9", 12});
  define_pair();
  check_pair();
  CHECK_STATUS(parse_pending("--high=-1"), PD_ERR_REFUSED,
               "--low=0 (default), --high=-1 (argv[1]): low must be below high");
  CHECK_STR(text_of(low), "9");
  CHECK(warnings == 0 && count_dropped() == 0);
}

TEST(a_validator_that_is_added_after_startup_checks_at_once) {
  start();
  GIVE({"low", "9", 12});
  define_pair();
  CHECK_OK(parse_pending(""));
  check_pair();
  CHECK_STR(text_of(low), "0");
  CHECK(warnings == 1);
}

TEST(so_does_one_whose_flags_all_have_their_values_from_the_fleet) {
  start();
  GIVE({"low", "9", 12}, {"high", "8", 13});
  define_pair();
  check_pair();
  CHECK_STR(text_of(low), "0");
  CHECK_STR(text_of(high), "3");
  CHECK(warnings == 2);
}

TEST(a_value_at_run_time_hides_that_of_the_fleet_from_a_new_validator) {
  start();
  GIVE({"low", "9", 12});
  define_pair();
  CHECK_OK(pd_flag_set_int64(low, 1, &err));
  CHECK_OK(pd_validator_add(&low, 1, is_even, NULL, NULL, NULL, &err));
  CHECK(warnings == 0);
}

TEST(a_change_that_a_validator_rejects_because_of_the_fleet_is_an_error_as_ever) {
  start();
  GIVE({"low", "2", 12});
  define_pair();
  check_pair();
  CHECK(pd_flag_set_int64(high, 1, &err) == PD_ERR_REFUSED);
  CHECK_STR(text_of(low), "2");
}

TEST(a_check_of_all_values_drops_what_it_rejects) {
  start();
  GIVE({"low", "9", 12});
  define_pair();
  check_pair();
  CHECK_OK(pd_flags_validate(NULL, &err));
  CHECK_STR(text_of(low), "0");
}

TEST(the_environment_takes_precedence_over_what_does_not_suit_it) {
  start();
  GIVE({"low", "2", 12});
  define_pair();
  check_pair();
  setenv("REFUSAL_high", "1", 1);
  CHECK_OK(pd_environment_enable("REFUSAL_", NULL, &err));
  CHECK_STR(text_of(low), "0");
  CHECK_STR(text_of(high), "1");
}

static pd_status give_file(pd_status (*function)(const pd_config *, bool, pd_error_list *,
                                                 pd_error *)) {
  pd_config *config = config_of(PD_SOURCE_FILE);
  CHECK_OK(pd_config_add(config, "high", "1", 0, NULL, &err));
  pd_status status = function(config, false, NULL, &err);
  pd_config_free(config);
  return status;
}

TEST(so_do_files_until_startup_is_over_and_a_check_changes_nothing) {
  start();
  GIVE({"low", "2", 12});
  define_pair();
  check_pair();
  CHECK_OK(give_file(pd_config_check));
  CHECK(warnings == 0);
  CHECK_OK(parse_pending(""));
  CHECK(give_file(pd_config_apply) == PD_ERR_REFUSED);
  CHECK_STR(text_of(low), "2");
}

/* ---- Former definitions ---- */

TEST(a_value_that_a_flag_kept_is_dropped_if_its_next_definition_refuses_it) {
  start();
  pd_flag *flag = define_flag(PD_TYPE_int64, "level"), *mate = define(bounded("mate"));
  GIVE({"level", "10", 12}, {"mate", "5", 12});
  CHECK_OK(pd_flag_set_int64(flag, 4, &err)); /* hides it */
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK_STR(text_of(define(bounded("level"))), "4");
  CHECK_STR(text_of(mate), "1");
  CHECK(warnings == 1 && count_dropped() == 2);
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_RUNTIME, &err));
  CHECK_STR(text_of(flag), "1");
}

TEST(what_the_validator_of_the_next_definition_rejects_uncovers_the_value_below) {
  start();
  pd_flag *flag = define_flag(PD_TYPE_int64, "even");
  pd_flag_def def = definition(PD_TYPE_int64, "even");
  GIVE({"even", "3", 12});
  CHECK_OK(parse_pending("--even=4"));
  CHECK_OK(pd_flag_unregister(flag, &err));
  def.validate = is_even;
  CHECK_STR(text_of(define(def)), "4");
  CHECK_STR(source_of(flag), "argv");
  CHECK(warnings == 1);
}

TEST(a_definition_that_another_one_replaces_loses_what_does_not_suit) {
  start();
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  pd_flag_def def = bounded("level");
  GIVE({"level", "10", 12});
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  CHECK_STR(text_of(flag), "1");
  CHECK(warnings == 1);
}

/* The rule is the library's own: it stays when the program's record leaves. */
TEST(a_definition_is_not_refused_because_of_a_value_of_another_flag) {
  start();
  pd_flag_def def = definition(PD_TYPE_int64, "high");
  low = define_flag(PD_TYPE_int64, "low");
  CHECK(JOIN(&def) == PD_OK);
  CHECK_OK(pd_flag_find("high", &high, &err));
  CHECK_OK(pd_group_add(PD_GROUP_AT_MOST_ONE, (pd_flag *[]){low, high}, 2, NULL, &err));
  leave_record();
  GIVE({"low", "2", 12});
  CHECK_OK(parse_pending("--high=1"));
  CHECK(JOIN(&def) == PD_OK);
  CHECK(pd_error_list_count(join_errors) == 0 && count_dropped() == 1);
  CHECK_STR(text_of(high), "1");
  CHECK_STR(text_of(low), "0");
}
