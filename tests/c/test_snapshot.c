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
  pd_flag_def def = definition(PD_TYPE_int32, "early");
  def.startup_only = true;
  pd_flag *early, *flag = before("flag");
  CHECK_OK(pd_flag_register(&def, &early, &err));
  pd_snapshot_free(snapshot);
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  char *argv[] = {(char[]){"program"}, (char[]){"--early=2"}, NULL};
  int argc = 2;
  CHECK_OK(pd_parse_argv(&argc, argv, NULL, &err));
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
