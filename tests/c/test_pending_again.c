/* Pending values that a flag gets although it is defined already, and edges of their listing. */
#include "check.h"

static void parse(const char *line) { CHECK_OK(parse_pending(line)); }

static void wait_for(const char *name, const char *text, pd_source source) {
  pd_origin origin = {source, 3, source == PD_SOURCE_FILE ? "flags.conf" : NULL, 0};
  CHECK_OK(pd_pending_set(name, text, &origin, &err));
}

/* The definition comes after a snapshot, which brings back what waited for it. */
static pd_flag *define_and_restore(const pd_flag_def *def) {
  static pd_snapshot *snapshot;
  pd_flag *flag = NULL;
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  pd_flag_register(def, &flag, NULL);
  CHECK(flag);
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  pd_snapshot_free(snapshot);
  return flag;
}

static pd_pending_info info_at(size_t index) {
  pd_pending_info info = {.size = sizeof info};
  if (pd_pending_get(index, &info, NULL) != PD_OK) info.name = info.text = "none";
  return info;
}

static const char *name_at(size_t index) { return info_at(index).name; }

/* ---- Forms of a value ---- */

TEST(a_bool_that_is_there_gets_its_text) {
  pd_flag_def def = definition(PD_TYPE_bool, "loud");
  def.default_value.b = true;
  parse("--loud=false");
  CHECK_STR(text_of(define_and_restore(&def)), "false");
}

TEST(a_negation_with_a_text_is_none_of_a_flag_that_is_there) {
  pd_flag_def def = definition(PD_TYPE_bool, "loud");
  def.default_value.b = true;
  parse("--noloud=5");
  CHECK_STR(text_of(define_and_restore(&def)), "true");
  CHECK(pd_pending_check(NULL, NULL) == PD_ERR_UNDEFINED);
}

TEST(a_flag_whose_name_is_a_prefix_of_negations_negates_nothing) {
  pd_flag_def def = definition(PD_TYPE_bool, "loud");
  def.default_value.b = true;
  parse("--no_ --no");
  CHECK_STR(text_of(define_and_restore(&def)), "true");
  CHECK_STR(text_of(define_flag(PD_TYPE_bool, "no_")), "true");
  CHECK_STR(text_of(define_flag(PD_TYPE_bool, "no")), "true");
}

TEST(a_use_without_a_value_behind_one_with_a_value_adds_nothing) {
  pd_flag_def def = growing_list("several");
  parse("--several=two");
  parse("--several");
  CHECK_STR(text_of(define_and_restore(&def)), "two");
}

TEST(a_use_on_a_line_does_not_add_to_the_value_of_a_file_behind_it) {
  pd_flag_def def = growing_list("several");
  wait_for("several", "one", PD_SOURCE_ARGV);
  wait_for("several", "file", PD_SOURCE_FILE);
  wait_for("several", "two", PD_SOURCE_ARGV);
  pd_flag *flag = register_flag(&def);
  CHECK_STR(text_of(flag), "two");
  pd_flag_entry entry = flag_entry(flag, 1);
  CHECK(entry.origin.source == PD_SOURCE_FILE);
  CHECK_STR(entry.value.str, "file");
}

TEST(a_list_that_grows_needs_no_value_of_its_own) {
  pd_flag_def def = growing_list("several");
  wait_for("another", "one", PD_SOURCE_ARGV);
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  CHECK_STR(name_at(0), "another");
}

TEST(a_value_waits_for_the_longest_name) {
  char name[PD_NAME_MAX + 1];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  wait_for(name, "5", PD_SOURCE_FILE);
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, name)), "5");
}

TEST(a_value_of_an_unknown_source_is_refused) {
  pd_origin origin = {(pd_source)99, 0, NULL, 0};
  CHECK(pd_pending_set("later", "5", &origin, &err) == PD_ERR_ARGUMENT);
  CHECK_STR(name_at(0), "none");
}

TEST(a_value_for_startup_only_that_is_restored_counts) {
  pd_flag_def def = definition(PD_TYPE_int32, "early");
  def.startup_only = true;
  parse("--early=5");
  CHECK(pd_startup_over());
  CHECK_STR(text_of(define_and_restore(&def)), "5");
}

/* ---- A flag that leaves meanwhile ---- */

static pd_flag *leaving;
static bool leaves; /* the validator takes the flag away */
static bool take_away(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  if (leaves) pd_flag_unregister(leaving, NULL);
  return true;
}

/* The first value is that of a file: with it, the flag leaves. */
static void leave_while_restoring(const pd_flag_def *def) {
  pd_snapshot *snapshot = NULL;
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(pd_flag_register(def, &leaving, &err));
  CHECK_OK(pd_validator_add(&leaving, 1, take_away, NULL, NULL, NULL, &err));
  leaves = true;
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  leaves = false;
  pd_snapshot_free(snapshot);
}

TEST(what_a_flag_that_leaves_has_not_got_yet_waits_for_the_next_one) {
  pd_flag_def def = definition(PD_TYPE_int32, "leaving");
  wait_for("leaving", "1", PD_SOURCE_FILE);
  wait_for("leaving", "2", PD_SOURCE_ARGV);
  wait_for("leaving", "3", PD_SOURCE_ARGV);
  leave_while_restoring(&def);
  CHECK_STR(info_at(0).text, "2");
  CHECK_STR(info_at(1).text, "3");
  CHECK_STR(name_at(2), "none");
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "leaving")), "3");
}

TEST(uses_of_a_list_that_leaves_wait_for_the_next_one_as_one_value) {
  pd_flag_def def = growing_list("leaving");
  wait_for("leaving", "file", PD_SOURCE_FILE);
  wait_for("leaving", "one", PD_SOURCE_ARGV);
  wait_for("leaving", "two", PD_SOURCE_ARGV);
  wait_for("leaving", "last", PD_SOURCE_RUNTIME);
  leave_while_restoring(&def);
  CHECK_STR(info_at(0).text, "one,two");
  CHECK_STR(info_at(1).text, "last");
  CHECK_STR(name_at(2), "none");
  pd_flag *flag = register_flag(&def);
  CHECK_STR(text_of(flag), "last");
}

TEST(a_secret_of_a_fleet_waits_again_if_its_flag_leaves) {
  pd_flag_def def = definition(PD_TYPE_string, "leaving");
  def.sensitive = true;
  wait_for("leaving", "1", PD_SOURCE_FILE);
  wait_for("leaving", "2", PD_SOURCE_FLEET);
  leave_while_restoring(&def);
  CHECK_STR(info_at(0).text, "2");
}

/* ---- Listing ---- */

TEST(a_value_for_an_earlier_name_is_listed_before_one_that_is_known) {
  pd_flag *one = define_flag(PD_TYPE_int64, "one");
  CHECK_OK(pd_flag_unregister(one, &err));
  wait_for("two", "2", PD_SOURCE_FILE);
  CHECK_STR(name_at(0), "two");
  wait_for("one", "1", PD_SOURCE_FILE);
  CHECK_STR(name_at(0), "one");
  CHECK_STR(name_at(1), "two");
  CHECK_STR(name_at(5), "none");
}

TEST(a_value_that_makes_way_for_a_later_one_is_listed_no_more) {
  char text[16];
  for (int i = 0; i < 30; i++) {
    snprintf(text, sizeof text, "%d", i);
    wait_for("later", text, PD_SOURCE_ARGV);
    snprintf(text, sizeof text, "%d", i < PD_HISTORY_KEPT ? 0 : i - PD_HISTORY_KEPT);
    CHECK_STR(info_at(0).text, text);
  }
}

TEST(what_a_flag_has_left_is_listed_before_what_waits_for_its_name) {
  pd_flag *one = define_flag(PD_TYPE_int64, "one");
  CHECK_OK(pd_flag_set_int64(one, 1, &err));
  CHECK_OK(pd_flag_unregister(one, &err));
  wait_for("one", "2", PD_SOURCE_ARGV);
  CHECK_STR(info_at(0).text, "1");
  const char *left = info_at(0).text;
  CHECK_STR(info_at(1).text, "2");
  CHECK_STR(name_at(2), "none");
  CHECK_STR(text_of(define_flag(PD_TYPE_int64, "another")), "0");
  CHECK_STR(left, "1");
}

TEST(a_value_that_a_snapshot_takes_away_is_listed_no_more) {
  pd_snapshot *before;
  pd_pending_info info = {.size = sizeof info};
  CHECK_OK(pd_snapshot_take(&before, &err));
  wait_for("later", "1", PD_SOURCE_FILE);
  CHECK_STR(info_at(0).name, "later");
  CHECK_OK(pd_snapshot_restore(before, &err));
  CHECK(pd_pending_get(0, &info, &err) == PD_ERR_ARGUMENT);
  pd_snapshot_free(before);
}
