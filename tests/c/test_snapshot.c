/* Snapshots put back everything that a test may change. */
#include "check.h"

static pd_snapshot *snapshot;

static pd_flag *before(const char *name) {
  pd_flag *flag = define_flag(PD_TYPE_int32, name);
  CHECK_OK(pd_flag_set_int32(flag, 1, &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  return flag;
}

static void restore(void) {
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  CHECK(pd_snapshot_next_change(snapshot, NULL) == NULL);
}

/* Sources of the history, the current one first. */
static const char *sources_of(const pd_flag *flag) {
  static char all[256];
  pd_flag_entry entry = {.size = sizeof entry};
  *all = '\0';
  for (size_t i = 0; pd_flag_get_entry(flag, i, &entry, NULL) == PD_OK; i++) {
    strcat(strcat(all, i ? ", " : ""), pd_source_name(entry.origin.source));
  }
  return all;
}

static void set_from(pd_flag *flag, pd_source source, const char *text) {
  pd_assignment item = {.flag = flag, .text = text};
  pd_origin origin = {source, 7, "place", 0};
  CHECK_OK(pd_batch_set(&item, 1, &origin, NULL, &err));
}

TEST(values_and_their_histories_return) {
  pd_flag *flag = before("flag");
  set_from(flag, PD_SOURCE_FILE, "2");
  set_from(flag, PD_SOURCE_RUNTIME, "3");
  set_from(flag, PD_SOURCE_DEFAULT, "4");
  CHECK(pd_snapshot_next_change(snapshot, NULL) == flag);
  CHECK(pd_snapshot_next_change(snapshot, flag) == NULL);
  restore();
  CHECK_STR(text_of(flag), "1");
  CHECK_STR(sources_of(flag), "run time, default");
  CHECK_OK(pd_flag_reset(flag, &err));
  restore();
  CHECK_STR(text_of(flag), "1");
  pd_snapshot_free(snapshot);
}

TEST(an_override_that_began_later_ends_and_can_still_be_popped) {
  pd_override outer, inner;
  pd_flag *flag = define_flag(PD_TYPE_int32, "flag");
  pd_assignment item = {.flag = flag, .text = "5"};
  CHECK_OK(pd_override_push(&item, 1, NULL, NULL, &outer, &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(pd_flag_set_int32(flag, 6, &err));
  item.text = "7";
  CHECK_OK(pd_override_push(&item, 1, NULL, NULL, &inner, &err));
  restore();
  CHECK_STR(text_of(flag), "5");
  CHECK_OK(pd_override_pop(inner, &err));
  CHECK_STR(text_of(flag), "5");
  CHECK_OK(pd_override_pop(outer, &err));
  CHECK_STR(text_of(flag), "0");
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  CHECK_STR(text_of(flag), "0"); /* who began it has ended it */
  pd_snapshot_free(snapshot);
}

TEST(startup_and_freezing_return) {
  pd_flag *early, *flag = before("flag");
  early = DEFINE(PD_TYPE_int32, "early", def.startup_only = true);
  pd_snapshot_free(snapshot);
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(parse_line("--early=2", NULL));
  CHECK_OK(pd_flag_freeze(flag, &err));
  restore();
  CHECK_STR(text_of(early), "0");
  CHECK_OK(pd_flag_set_int32(early, 3, &err));
  CHECK_OK(pd_flag_set_int32(flag, 3, &err));
  CHECK_OK(pd_flag_freeze(flag, &err));
  restore();
  CHECK_STR(text_of(flag), "1");
}

TEST(pending_values_return_and_others_go) {
  pd_pending_info info = {.size = sizeof info};
  CHECK_OK(pd_pending_set("later", "1", NULL, &err));
  CHECK_OK(pd_pending_set("last", "2", NULL, &err));
  before("flag");
  CHECK_OK(pd_pending_set("later", "8", NULL, &err));
  CHECK_OK(pd_pending_set("never", "9", NULL, &err));
  restore();
  restore();
  CHECK_OK(pd_pending_get(1, &info, &err));
  CHECK(pd_pending_get(2, &info, NULL) == PD_ERR_ARGUMENT);
  pd_snapshot_free(snapshot);
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "later")), "1");
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "last")), "2");
}

TEST(a_flag_that_was_defined_later_has_what_it_would_have_if_defined_now) {
  setenv("APP_set", "4", 1);
  setenv("LATER_plain", "5", 1);
  CHECK_OK(pd_environment_enable("APP_", NULL, &err));
  CHECK_OK(pd_pending_set("waited", "3", NULL, &err));
  before("flag");
  pd_flag *waited = define_flag(PD_TYPE_int32, "waited"), *set = define_flag(PD_TYPE_int32, "set");
  pd_flag *plain = define_flag(PD_TYPE_int32, "plain");
  CHECK_OK(pd_environment_enable("LATER_", NULL, &err));
  CHECK_STR(text_of(plain), "5");
  CHECK(pd_snapshot_next_definition(snapshot, NULL) == waited);
  CHECK(pd_snapshot_next_definition(snapshot, waited) == set);
  CHECK(pd_snapshot_next_definition(snapshot, plain) == NULL);
  CHECK_OK(pd_flag_set_int32(waited, 7, &err));
  CHECK_OK(pd_flag_set_int32(set, 7, &err));
  CHECK_OK(pd_flag_freeze(set, &err));
  for (int i = 0; i < 2; i++) {
    restore();
    CHECK_STR(text_of(waited), "3");
    CHECK_STR(text_of(set), "4");
    CHECK_STR(text_of(plain), "0");
    CHECK_STR(sources_of(set), "environment, default");
  }
}

static int noticed;

static void notice(pd_flag *flag, void *context) {
  (void)context;
  noticed++;
  CHECK_STR(text_of(flag), noticed == 1 ? "2" : "1");
}

static bool reject(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  return entries[0]->value.i64 != 1;
}

TEST(watchers_are_notified_and_validators_are_not_asked) {
  pd_flag *flag = before("flag");
  CHECK_OK(pd_watcher_add(flag, notice, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_set_int32(flag, 2, &err));
  CHECK_OK(pd_validator_add(&flag, 1, reject, NULL, NULL, NULL, &err));
  restore();
  CHECK(noticed == 2);
  restore();
  CHECK(noticed == 2);
}

TEST(texts_return) {
  pd_flag *text = define_flag(PD_TYPE_string, "text");
  CHECK_OK(pd_flag_set_string(text, "one", &err));
  before("flag");
  CHECK_OK(pd_flag_set_string(text, "two", &err));
  restore();
  CHECK_STR(text_of(text), "one");
}

TEST(a_missing_argument_is_reported) {
  CHECK(pd_snapshot_take(NULL, &err) == PD_ERR_ARGUMENT);
  CHECK(pd_snapshot_restore(NULL, &err) == PD_ERR_ARGUMENT);
  CHECK(pd_snapshot_next_change(NULL, NULL) == NULL);
  CHECK(pd_snapshot_next_definition(NULL, NULL) == NULL);
  pd_snapshot_free(NULL);
}

/* ---- Where values came from ---- */

static void set_at(pd_flag *flag, const char *text, pd_origin origin) {
  pd_assignment item = {.flag = flag, .text = text};
  CHECK_OK(pd_batch_set(&item, 1, &origin, NULL, &err));
}

static pd_origin origin_of(const pd_flag *flag, size_t index) {
  return flag_entry(flag, index).origin;
}

TEST(the_origin_of_an_equal_value_returns) {
  static const pd_origin others[] = {{PD_SOURCE_FILE, 8, "place", 3},
                                     {PD_SOURCE_FILE, 7, "other", 3},
                                     {PD_SOURCE_FILE, 7, "place", 4},
                                     {PD_SOURCE_ARGV, 7, "place", 3}};
  pd_flag *flag = define_flag(PD_TYPE_int32, "flag");
  set_at(flag, "5", (pd_origin){PD_SOURCE_FILE, 7, "place", 3});
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    CHECK_OK(pd_flag_drop(flag, PD_SOURCE_FILE, &err));
    set_at(flag, "5", others[i]);
    restore();
    pd_origin origin = origin_of(flag, 0);
    CHECK(origin.source == PD_SOURCE_FILE && origin.line == 7 && origin.column == 3);
    CHECK_STR(origin.place, "place");
    CHECK_STR(sources_of(flag), "file, default");
  }
}

TEST(a_value_below_the_current_one_returns) {
  pd_flag *flag = define_flag(PD_TYPE_int32, "flag");
  set_from(flag, PD_SOURCE_FILE, "2");
  set_from(flag, PD_SOURCE_ARGV, "3");
  CHECK_OK(pd_flag_set_int32(flag, 4, &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  set_from(flag, PD_SOURCE_FILE, "7");
  CHECK(!pd_snapshot_next_change(snapshot, NULL));
  restore();
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_RUNTIME, &err));
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_ARGV, &err));
  CHECK_STR(text_of(flag), "2");
  restore();
  CHECK_STR(sources_of(flag), "run time, argv, file, default");
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_FILE, &err));
  restore();
  CHECK_STR(sources_of(flag), "run time, argv, file, default");
}

TEST(a_value_that_came_below_the_current_one_goes) {
  pd_flag *flag = before("flag");
  set_from(flag, PD_SOURCE_FILE, "7");
  restore();
  CHECK_STR(sources_of(flag), "run time, default");
}

TEST(an_equal_value_of_another_source_is_a_change) {
  pd_flag *flag = before("flag"), *untouched = define_flag(PD_TYPE_int32, "untouched");
  pd_snapshot_free(snapshot);
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(pd_flag_set_int32(untouched, 0, &err));
  CHECK(pd_snapshot_next_change(snapshot, NULL) == untouched);
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_RUNTIME, &err));
  CHECK(pd_snapshot_next_change(snapshot, NULL) == flag);
  CHECK(pd_snapshot_next_change(snapshot, flag) == untouched);
  restore();
  CHECK_STR(sources_of(untouched), "default");
}

TEST(a_default_that_was_set_returns_and_one_that_was_not_goes) {
  pd_flag *flag = define_flag(PD_TYPE_int32, "flag"), *other = define_flag(PD_TYPE_int32, "other");
  CHECK_OK(pd_flag_set_default(flag, "5", &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(pd_flag_set_default(flag, "6", &err));
  CHECK_OK(pd_flag_set_default(other, "6", &err));
  restore();
  CHECK_STR(text_of(flag), "5");
  CHECK_STR(text_of(other), "0");
}

/* ---- Overrides ---- */

TEST(the_values_of_an_open_override_return) {
  pd_flag *flag = define_flag(PD_TYPE_int32, "flag");
  pd_override outer = push_override(flag, "5"), inner = push_override(flag, "6");
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(pd_flag_set_int32(flag, 7, &err)); /* in the inner one */
  CHECK(pd_snapshot_next_change(snapshot, NULL) == flag);
  restore();
  CHECK_STR(text_of(flag), "6");
  CHECK_OK(pd_override_pop(inner, &err));
  CHECK_STR(text_of(flag), "5");
  CHECK_OK(pd_flag_set_int32(flag, 8, &err));
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  CHECK_STR(text_of(flag), "5");
  CHECK_OK(pd_override_pop(outer, &err));
  CHECK_STR(text_of(flag), "0");
}

TEST(an_override_of_a_flag_that_had_none_ends) {
  pd_flag *flag = define_flag(PD_TYPE_int32, "flag");
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  push_override(flag, "5");
  restore();
  CHECK_STR(text_of(flag), "0");
}

TEST(an_override_that_took_the_place_of_another_one_ends) {
  pd_flag *flag = define_flag(PD_TYPE_int32, "flag");
  pd_override first = push_override(flag, "5");
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(pd_override_pop(first, &err));
  pd_override second = push_override(flag, "5");
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  CHECK_STR(text_of(flag), "0");
  CHECK_OK(pd_override_pop(second, &err));
  CHECK_STR(text_of(flag), "0");
}

TEST(the_value_below_an_override_returns) {
  pd_flag *flag = define_flag(PD_TYPE_int32, "flag");
  set_from(flag, PD_SOURCE_FILE, "2");
  pd_override number = push_override(flag, "5");
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  set_from(flag, PD_SOURCE_FILE, "3");
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  CHECK_OK(pd_override_pop(number, &err));
  CHECK_STR(text_of(flag), "2");
}

/* ---- Definitions that came and went ---- */

TEST(a_flag_that_has_left_gets_its_value_when_it_is_defined_again) {
  pd_flag *flag = before("flag"), *late = define_flag(PD_TYPE_int32, "late");
  CHECK_OK(pd_flag_set_int32(flag, 9, &err));
  CHECK_OK(pd_flag_set_int32(late, 9, &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK_OK(pd_flag_unregister(late, &err));
  CHECK(!pd_snapshot_next_change(snapshot, NULL) && !pd_snapshot_next_definition(snapshot, NULL));
  restore();
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "flag")), "1");
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "late")), "0");
}

static pd_flag *replace(pd_type type, const char *name, const char *choices) {
  pd_flag_def def = definition(type, name);
  pd_flag *flag = NULL;
  if (type == PD_TYPE_string) def.default_value.str = "none";
  def.choices = choices;
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  return flag;
}

TEST(another_definition_keeps_the_values_that_suit_it_and_its_own_default) {
  pd_flag *suits = define_flag(PD_TYPE_int32, "suits"), *not = define_flag(PD_TYPE_int32, "not");
  pd_flag *plain = define_flag(PD_TYPE_int32, "plain"), *set = define_flag(PD_TYPE_int32, "set");
  set_from(suits, PD_SOURCE_FILE, "2");
  CHECK_OK(pd_flag_set_int32(suits, 1, &err));
  CHECK_OK(pd_flag_set_int32(not, 1, &err));
  CHECK_OK(pd_flag_set_default(set, "5", &err));
  CHECK_OK(pd_flag_set_default(suits, "5", &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  replace(PD_TYPE_string, "suits", NULL);
  CHECK_OK(pd_flag_reset(not, &err));
  replace(PD_TYPE_string, "not", "none|some");
  replace(PD_TYPE_string, "plain", NULL);
  replace(PD_TYPE_string, "set", NULL);
  CHECK_OK(pd_flag_set_string(suits, "x", &err));
  CHECK_OK(pd_flag_set_string(not, "some", &err));
  CHECK_OK(pd_flag_set_string(plain, "x", &err));
  CHECK_OK(pd_flag_set_string(set, "x", &err));
  CHECK(pd_snapshot_next_definition(snapshot, NULL) == suits);
  CHECK(!pd_snapshot_next_change(snapshot, NULL)); /* the definitions are other ones */
  restore();
  CHECK_STR(text_of(suits), "1");
  CHECK_STR(sources_of(suits), "run time, file, default");
  CHECK_STR(text_of(not ), "none");
  CHECK_STR(text_of(plain), "none");
  CHECK_STR(text_of(set), "none");
  CHECK_OK(pd_flag_drop(suits, PD_SOURCE_RUNTIME, &err));
  CHECK_OK(pd_flag_drop(suits, PD_SOURCE_FILE, &err));
  CHECK_STR(text_of(suits), "none");
}

TEST(a_flag_that_was_defined_later_gets_what_waited_without_an_environment) {
  CHECK_OK(pd_pending_set("waited", "3", NULL, &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  pd_flag *waited = define_flag(PD_TYPE_int32, "waited");
  CHECK_OK(pd_flag_set_int32(waited, 7, &err));
  restore();
  CHECK_STR(text_of(waited), "3");
  CHECK_OK(pd_pending_check(NULL, &err));
}

TEST(a_frozen_flag_that_comes_again_gets_nothing_from_the_environment) {
  setenv("APP_flag", "4", 1);
  pd_flag *flag = define_flag(PD_TYPE_int32, "flag");
  CHECK_OK(pd_flag_freeze(flag, &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK_OK(pd_environment_enable("APP_", NULL, &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  define_flag(PD_TYPE_int32, "flag");
  CHECK_STR(text_of(flag), "0");
  CHECK_OK(pd_flag_unfreeze(flag, &err));
  restore();
  CHECK_STR(text_of(flag), "0");
  CHECK(pd_flag_set_int32(flag, 1, &err) == PD_ERR_FROZEN);
}

/* ---- Marks ---- */

static int warnings;
static void count_warning(const char *message, pd_warning kind, void *context) {
  (void)message, (void)kind, (void)context;
  warnings++;
}

TEST(a_deprecated_flag_warns_again) {
  DEFINE(PD_TYPE_int32, "old", def.deprecated = "use the new one");
  CHECK_OK(pd_warning_handle(count_warning, NULL, &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  for (int i = 1; i < 4; i++) {
    CHECK_OK(pd_flag_set_by_name("old", "1", &err));
    CHECK_OK(pd_flag_set_by_name("old", "2", &err));
    CHECK(warnings == i);
    restore();
  }
}

static bool is_sensitive(const pd_flag *flag) { return flag_info(flag).sensitive; }

TEST(whether_values_are_secret_returns) {
  pd_flag *flag = before("flag");
  pd_flag_def def = definition(PD_TYPE_int32, "flag");
  def.sensitive = true;
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  CHECK(is_sensitive(flag));
  restore();
  CHECK(is_sensitive(flag));
  def.sensitive = false;
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  restore();
  CHECK(!is_sensitive(flag));
}

TEST(what_is_restored_is_an_event) {
  pd_journal_event event = {.size = sizeof event};
  pd_flag *flag = before("flag");
  CHECK_OK(pd_journal_start(&err));
  CHECK_OK(pd_flag_set_int32(flag, 2, &err));
  uint64_t since = pd_journal_get_revision();
  restore();
  CHECK_OK(pd_journal_get(since, &event, &err));
  CHECK(event.flag == flag && event.new_value.i64 == 1);
}

/* ---- Pending values ---- */

TEST(pending_values_of_several_names_keep_their_order) {
  CHECK_OK(pd_pending_set("level", "1", NULL, &err));
  CHECK_OK(pd_pending_set("lvl", "2", NULL, &err));
  CHECK_OK(pd_pending_set("level", "3", NULL, &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  restore();
  pd_flag *flag = DEFINE(PD_TYPE_int32, "level", def.aliases = "lvl");
  CHECK_STR(text_of(flag), "3");
}

TEST(a_snapshot_without_pending_values_drops_those_that_came_later) {
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(pd_pending_set("later", "1", NULL, &err));
  restore();
  CHECK_STR(text_of(define_flag(PD_TYPE_int32, "later")), "0");
}

/* ---- Watchers and variables ---- */

static int calls;
static void count_call(pd_flag *flag, void *context) { calls += flag && !context; }

TEST(only_watchers_of_values_that_change_are_notified) {
  pd_flag *flag = before("flag"), *same = define_flag(PD_TYPE_int32, "same");
  pd_snapshot_free(snapshot);
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(pd_watcher_add(same, count_call, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_set_int32(flag, 2, &err));
  restore();
  CHECK(calls == 0);
  CHECK_OK(pd_flag_set_int32(same, 2, &err));
  restore();
  CHECK(calls == 2);
}

TEST(what_a_module_has_assigned_counts) {
  static int32_t cell;
  pd_flag *flag = DEFINE(PD_TYPE_int32, "assigned", def.cell = &cell, def.assignable = true);
  cell = 3;
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  cell = 4;
  CHECK(pd_snapshot_next_change(snapshot, NULL) == flag);
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  CHECK(cell == 3);
  cell = 5;
  restore();
  CHECK(cell == 3);
}
