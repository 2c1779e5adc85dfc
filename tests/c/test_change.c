#include "check.h"

static pd_flag *level(void) {
  return DEFINE(PD_TYPE_int32, "level", def.default_value.i64 = 6, def.file = "alpha.c",
                def.line = 12);
}

static void set_from(pd_flag *flag, pd_source source, const char *text) {
  pd_assignment item = {.flag = flag, .text = text};
  pd_origin origin = {source, 7, source == PD_SOURCE_FILE ? "flags.conf" : "FLAGS_level", 0};
  CHECK_OK(pd_batch_set(&item, 1, &origin, NULL, &err));
}

static pd_source source_of(const pd_flag *flag) { return flag_info(flag).source; }

TEST(a_higher_source_wins_however_late_a_lower_one_comes) {
  static const pd_source order[] = {PD_SOURCE_ENVIRONMENT, PD_SOURCE_RUNTIME, PD_SOURCE_FILE,
                                    PD_SOURCE_ARGV, PD_SOURCE_FILE};
  static const char *const values[] = {"1", "2", "3", "4", "5"};
  static const char *const expected[] = {"1", "2", "2", "2", "2"};
  pd_flag *flag = level();
  for (int i = 0; i < 5; i++) {
    set_from(flag, order[i], values[i]);
    CHECK_STR(text_of(flag), expected[i]);
  }
  CHECK(source_of(flag) == PD_SOURCE_RUNTIME);
}

TEST(the_ranks_are_default_file_environment_argv_run_time) {
  pd_flag *flag = level();
  CHECK(source_of(flag) == PD_SOURCE_DEFAULT);
  for (pd_source source = PD_SOURCE_FILE; source <= PD_SOURCE_RUNTIME; source++) {
    set_from(flag, source, source % 2 ? "1" : "2");
    CHECK(source_of(flag) == source);
    CHECK_STR(text_of(flag), source % 2 ? "1" : "2");
  }
}

TEST(of_one_source_the_later_value_wins) {
  pd_flag *flag = level();
  set_from(flag, PD_SOURCE_FILE, "1");
  set_from(flag, PD_SOURCE_FILE, "2");
  CHECK_STR(text_of(flag), "2");
}

static void check_entry(pd_flag *flag, size_t index, int64_t value, pd_source source, uint32_t line,
                        const char *place) {
  pd_flag_entry entry = flag_entry(flag, index);
  CHECK(entry.value.i64 == value);
  CHECK(entry.origin.source == source);
  CHECK(entry.origin.line == line);
  if (place) {
    CHECK_STR(entry.origin.place, place);
  } else {
    CHECK(!entry.origin.place);
  }
}

TEST(the_entries_tell_what_a_value_hides_and_where_each_came_from) {
  pd_flag *flag = level();
  pd_flag_entry entry = {.size = sizeof entry};
  set_from(flag, PD_SOURCE_ENVIRONMENT, "2");
  set_from(flag, PD_SOURCE_FILE, "1");
  CHECK_OK(pd_flag_set_int32(flag, 9, &err));
  check_entry(flag, 0, 9, PD_SOURCE_RUNTIME, 0, NULL);
  check_entry(flag, 1, 2, PD_SOURCE_ENVIRONMENT, 7, "FLAGS_level");
  check_entry(flag, 2, 1, PD_SOURCE_FILE, 7, "flags.conf");
  check_entry(flag, 3, 6, PD_SOURCE_DEFAULT, 12, "alpha.c");
  CHECK_STATUS(pd_flag_get_entry(flag, 4, &entry, &err), PD_ERR_ARGUMENT, "level: has no entry 4");
}

TEST(a_reset_drops_every_value_but_the_default) {
  pd_flag *flag = level();
  set_from(flag, PD_SOURCE_FILE, "1");
  CHECK_OK(pd_flag_set_int32(flag, 9, &err));
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK_STR(text_of(flag), "6");
  check_entry(flag, 0, 6, PD_SOURCE_DEFAULT, 12, "alpha.c");
  CHECK_OK(pd_flag_reset(flag, &err));
}

TEST(a_frozen_flag_refuses_every_change_until_it_is_unfrozen) {
  pd_flag *flag = level();
  CHECK_OK(pd_flag_set_int32(flag, 5, &err));
  CHECK_OK(pd_flag_freeze(flag, &err));
  CHECK_STATUS(pd_flag_set_int32(flag, 1, &err), PD_ERR_FROZEN, "level: is frozen");
  CHECK_STATUS(pd_flag_reset(flag, &err), PD_ERR_FROZEN, "level: is frozen");
  pd_assignment item = {.flag = flag, .text = "2"};
  pd_origin origin = {PD_SOURCE_FILE, 3, "flags.conf", 0};
  CHECK_STATUS(pd_batch_set(&item, 1, &origin, NULL, &err), PD_ERR_FROZEN,
               "flags.conf:3: --level: is frozen");
  CHECK_STR(text_of(flag), "5");
  CHECK(flag_info(flag).frozen);
  CHECK_OK(pd_flag_unfreeze(flag, &err));
  CHECK_OK(pd_flag_set_int32(flag, 1, &err));
}

TEST(a_read_only_flag_keeps_its_default) {
  pd_flag *flag = DEFINE(PD_TYPE_int32, "build", def.read_only = true, def.default_value.i64 = 77);
  CHECK_STATUS(pd_flag_set_int32(flag, 1, &err), PD_ERR_READ_ONLY, "build: is read-only");
  CHECK_STATUS(pd_flag_set_from_string(flag, "77", &err), PD_ERR_READ_ONLY, "build: is read-only");
  CHECK_STATUS(pd_flag_reset(flag, &err), PD_ERR_READ_ONLY, "build: is read-only");
  CHECK_STR(text_of(flag), "77");
}

TEST(a_startup_only_flag_is_closed_once_a_command_line_was_parsed) {
  pd_flag *flag = DEFINE(PD_TYPE_int32, "threads", def.startup_only = true);
  CHECK_OK(pd_flag_set_int32(flag, 1, &err));
  CHECK_OK(parse_line("--threads=2", NULL));
  CHECK_STR(text_of(flag), "1"); /* run time wins over argv */
  CHECK_STATUS(pd_flag_set_int32(flag, 3, &err), PD_ERR_FROZEN,
               "threads: can be set at startup only, and the command line has been parsed");
  CHECK(flag_info(flag).frozen);
  CHECK_STATUS(parse_line("--threads=2", NULL), PD_ERR_FROZEN,
               "--threads: can be set at startup only, and the command line has been parsed");
}

static void count_call(pd_flag *flag, void *context) {
  (void)flag;
  ++*(int *)context;
}

TEST(a_startup_only_flag_accepts_the_value_that_it_has_from_every_source) {
  pd_flag_def def = definition(PD_TYPE_int32, "threads"), wait = definition(PD_TYPE_double, "wait");
  pd_flag *flag, *other;
  int calls = 0;
  def.startup_only = wait.startup_only = true;
  wait.unit = "seconds";
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  CHECK_OK(pd_flag_register(&wait, &other, &err));
  CHECK_OK(pd_flag_set_int32(flag, 16, &err));
  CHECK_OK(pd_flag_set_double(other, 0.5, &err));
  CHECK_OK(pd_watcher_add(flag, count_call, &calls, NULL, NULL, &err));
  end_startup();
  CHECK_OK(pd_flag_set_int32(flag, 16, &err));
  CHECK_OK(pd_flag_set_from_string(flag, "0x10", &err));
  pd_assignment items[] = {{.flag = flag, .text = "16"}, {.flag = other, .text = "500ms"}};
  for (int source = PD_SOURCE_FILE; source <= PD_SOURCE_RUNTIME; source++) {
    pd_origin origin = {(pd_source)source, 1, NULL, 0};
    CHECK_OK(pd_batch_set(items, 2, &origin, NULL, &err));
  }
  pd_override number;
  CHECK_OK(pd_override_push(items, 2, NULL, NULL, &number, &err));
  CHECK_OK(pd_override_pop(number, &err));
  CHECK_OK(parse_line("--threads=16", NULL));
  CHECK_STATUS(parse_line("--threads=17", NULL), PD_ERR_FROZEN,
               "--threads: can be set at startup only, and the command line has been parsed");
  items[0].text = "17";
  CHECK(pd_batch_set(items, 2, NULL, NULL, &err) == PD_ERR_FROZEN);
  CHECK(pd_flag_set_from_string(flag, "x", &err) == PD_ERR_FROZEN);
  CHECK(calls == 0);
  CHECK(flag_entry(flag, 1).origin.source ==
        PD_SOURCE_DEFAULT); /* the history has one value, as before */
}

TEST(a_startup_only_flag_accepts_the_default_that_it_has_and_no_other) {
  pd_flag_def def = definition(PD_TYPE_int32, "threads"), none = definition(PD_TYPE_int32, "limit");
  pd_flag *flag, *unset;
  def.startup_only = none.startup_only = none.optional = true;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  CHECK_OK(pd_flag_register(&none, &unset, &err));
  CHECK_OK(pd_flag_set_int32(flag, 16, &err));
  end_startup();
  CHECK_OK(pd_flag_set_default(flag, "0", &err));
  CHECK_STATUS(pd_flag_set_default(flag, "16", &err), PD_ERR_FROZEN,
               "threads: can be set at startup only, and the command line has been parsed");
  CHECK(pd_flag_set_int32(unset, 0, &err) == PD_ERR_FROZEN); /* it has no value */
}

TEST(a_frozen_flag_does_not_accept_the_value_that_it_has) {
  pd_flag *flag = DEFINE(PD_TYPE_int32, "threads", def.startup_only = true);
  end_startup();
  CHECK_OK(pd_flag_set_int32(flag, 0, &err));
  CHECK_OK(pd_flag_freeze(flag, &err));
  CHECK_STATUS(pd_flag_set_int32(flag, 0, &err), PD_ERR_FROZEN, "threads: is frozen");
}

TEST(a_startup_only_text_or_list_accepts_the_value_that_it_has) {
  pd_flag_def def = definition(PD_TYPE_string, "device"), list = definition(PD_TYPE_string, "ids");
  pd_flag *flag, *ids;
  def.startup_only = list.startup_only = true;
  def.default_value.str = "cpu";
  list.default_value.str = "1,0x10,\"3\"";
  list.list = PD_TYPE_int32;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  CHECK_OK(pd_flag_register(&list, &ids, &err));
  end_startup();
  CHECK_OK(pd_flag_set_string(flag, "cpu", &err));
  CHECK(pd_flag_set_string(flag, "gpu", &err) == PD_ERR_FROZEN);
  CHECK(pd_flag_set_string(flag, NULL, &err) == PD_ERR_FROZEN);
  CHECK_OK(pd_flag_set_string(ids, "1,16,3", &err));
  CHECK_STR(text_of(ids), "1,0x10,\"3\"");
  CHECK(pd_flag_set_string(ids, "1,16", &err) == PD_ERR_FROZEN);
  CHECK(pd_flag_set_string(ids, "1,16,3,4", &err) == PD_ERR_FROZEN);
  CHECK(pd_flag_set_string(ids, "1,17,3", &err) == PD_ERR_FROZEN);
}

TEST(a_refused_value_names_its_source_and_what_was_expected) {
  pd_flag *flag = DEFINE(PD_TYPE_int32, "batch_size", def.min.i64 = 1, def.max.i64 = 4096,
                         def.default_value.i64 = 32);
  pd_assignment item = {.flag = flag, .text = "0"};
  pd_origin origins[] = {{PD_SOURCE_FILE, 12, "flags.conf", 0},
                         {PD_SOURCE_ENVIRONMENT, 0, "FLAGS_batch_size", 0},
                         {PD_SOURCE_ARGV, 1, NULL, 0},
                         {PD_SOURCE_RUNTIME, 0, NULL, 0},
                         {PD_SOURCE_LIVE, 0, "pid 4312", 0}};
  static const char *const messages[] = {
      "flags.conf:12: --batch_size=0: expected an integer in [1, 4096]",
      "environment: FLAGS_batch_size=0: expected an integer in [1, 4096]",
      "--batch_size=0: expected an integer in [1, 4096]",
      "batch_size=0: expected an integer in [1, 4096]",
      "batch_size=0: expected an integer in [1, 4096]"};
  for (int i = 0; i < 5; i++) {
    CHECK_STATUS(pd_batch_set(&item, 1, &origins[i], NULL, &err), PD_ERR_RANGE, messages[i]);
  }
  CHECK_STATUS(pd_flag_set_int32(flag, 5000, &err), PD_ERR_RANGE,
               "batch_size=5000: expected an integer in [1, 4096]");
}

TEST(every_type_says_what_it_expects) {
  static const char *const expected[] = {
      PD__BOOL_EXPECTED,  "a 32-bit integer",           "an unsigned 32-bit integer",
      "a 64-bit integer", "an unsigned 64-bit integer", "a number"};
  for (int type = PD_TYPE_bool; type < PD_TYPE_string; type++) {
    char message[128], name[] = "t0";
    name[1] = (char)('0' + type);
    snprintf(message, sizeof message, "%s=x: expected %s", name, expected[type - 1]);
    CHECK_STATUS(pd_flag_set_from_string(define_flag((pd_type)type, name), "x", &err), PD_ERR_VALUE,
                 message);
  }
}

TEST(one_sided_ranges_are_told_as_such) {
  pd_flag *flag = DEFINE(PD_TYPE_int64, "low", def.min.i64 = 0);
  CHECK_STATUS(pd_flag_set_int64(flag, -1, &err), PD_ERR_RANGE, "low=-1: expected an integer >= 0");
  flag = DEFINE(PD_TYPE_uint64, "high", def.max.u64 = 7);
  CHECK_STATUS(pd_flag_set_uint64(flag, 8, &err), PD_ERR_RANGE,
               "high=8: expected an integer in [0, 7]");
  flag = DEFINE(PD_TYPE_double, "both", def.min.f64 = 0, def.max.f64 = 0.25);
  CHECK_STATUS(pd_flag_set_double(flag, 0.5, &err), PD_ERR_RANGE,
               "both=0.5: expected a number in [0, 0.25]");
}

TEST(a_change_reaches_every_cell_before_the_call_returns) {
  static double cells[3];
  pd_flag_def def = definition(PD_TYPE_double, "ratio");
  pd_flag *flag;
  for (int i = 0; i < 3; i++) {
    def.cell = &cells[i];
    CHECK_OK(pd_flag_register(&def, &flag, &err));
  }
  CHECK_OK(pd_flag_set_double(flag, 0.75, &err));
  for (int i = 0; i < 3; i++) CHECK(cells[i] == 0.75);
  CHECK(*(const double *)pd_flag_get_address(flag) == 0.75);
}

TEST(the_value_of_one_source_can_be_dropped) {
  pd_flag *flag = level();
  set_from(flag, PD_SOURCE_ARGV, "1");
  set_from(flag, PD_SOURCE_RUNTIME, "2");
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_FILE, &err));
  CHECK_STR(text_of(flag), "2");
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_RUNTIME, &err));
  CHECK_STR(text_of(flag), "1");
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_ARGV, &err));
  CHECK_STR(text_of(flag), "6");
  CHECK(pd_flag_drop(flag, PD_SOURCE_DEFAULT, &err) == PD_ERR_ARGUMENT);
  CHECK(pd_flag_drop(flag, PD_SOURCE_OVERRIDE, &err) == PD_ERR_ARGUMENT);
}

/* ---- Live values: from outside the running process, of the rank of run time ---- */

static void set_live(pd_flag *flag, const char *text) {
  pd_assignment item = {.flag = flag, .text = text};
  pd_origin origin = {PD_SOURCE_LIVE, 0, "pid 4312", 0};
  CHECK_OK(pd_batch_set(&item, 1, &origin, NULL, &err));
}

TEST(of_live_and_run_time_the_later_value_wins) {
  pd_flag *flag = level();
  set_from(flag, PD_SOURCE_ARGV, "1");
  set_live(flag, "2");
  CHECK_STR(text_of(flag), "2");
  CHECK(source_of(flag) == PD_SOURCE_LIVE);
  CHECK_OK(pd_flag_set_int32(flag, 3, &err));
  CHECK_STR(text_of(flag), "3");
  CHECK(source_of(flag) == PD_SOURCE_RUNTIME);
  set_live(flag, "4");
  set_from(flag, PD_SOURCE_ARGV, "5"); /* of a lower rank: hidden */
  CHECK_STR(text_of(flag), "4");
  check_entry(flag, 0, 4, PD_SOURCE_LIVE, 0, "pid 4312");
  check_entry(flag, 1, 3, PD_SOURCE_RUNTIME, 0, NULL);
  check_entry(flag, 2, 2, PD_SOURCE_LIVE, 0, "pid 4312"); /* replaced */
  check_entry(flag, 3, 5, PD_SOURCE_ARGV, 7, "FLAGS_level");
}

TEST(a_live_value_that_is_dropped_uncovers_that_of_run_time_and_the_other_way_round) {
  pd_flag *flag = level();
  CHECK_OK(pd_flag_set_int32(flag, 1, &err));
  set_live(flag, "2");
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_LIVE, &err));
  CHECK_STR(text_of(flag), "1");
  set_live(flag, "3");
  CHECK_OK(pd_flag_set_int32(flag, 4, &err));
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_RUNTIME, &err)); /* both of its values */
  CHECK_STR(text_of(flag), "3");
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_RUNTIME, &err));
  CHECK_STR(text_of(flag), "3");
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_LIVE, &err));
  CHECK_STR(text_of(flag), "6");
  check_entry(flag, 0, 6, PD_SOURCE_DEFAULT, 12, "alpha.c");
}

TEST(a_hidden_value_of_run_time_can_be_dropped_below_a_live_one) {
  pd_flag *flag = level();
  int calls = 0;
  CHECK_OK(pd_flag_set_int32(flag, 1, &err));
  set_live(flag, "2");
  CHECK_OK(pd_watcher_add(flag, count_call, &calls, NULL, NULL, &err));
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_RUNTIME, &err));
  CHECK_STR(text_of(flag), "2");
  CHECK(calls == 0);
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_LIVE, &err));
  CHECK_STR(text_of(flag), "6");
  CHECK(calls == 1);
}

TEST(a_reset_drops_live_values_too) {
  pd_flag *flag = level();
  set_live(flag, "1");
  CHECK_OK(pd_flag_set_int32(flag, 2, &err));
  set_live(flag, "3");
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK_STR(text_of(flag), "6");
  check_entry(flag, 0, 6, PD_SOURCE_DEFAULT, 12, "alpha.c");
}

TEST(an_override_hides_live_values_and_run_time_changes_it) {
  pd_flag *flag = level();
  pd_override number = push_override(flag, "1");
  set_live(flag, "2");
  CHECK_STR(text_of(flag), "1");
  CHECK_OK(pd_flag_set_int32(flag, 3, &err));
  CHECK_STR(text_of(flag), "3");
  CHECK_OK(pd_override_pop(number, &err));
  CHECK_STR(text_of(flag), "2");
  CHECK(source_of(flag) == PD_SOURCE_LIVE);
}

TEST(a_live_assignment_of_no_value_resets_an_optional_flag_below_its_overrides) {
  pd_flag *flag = DEFINE(PD_TYPE_int32, "limit", def.optional = true);
  pd_assignment none = {.flag = flag}, item = {.flag = flag, .text = "1"};
  pd_origin origin = {PD_SOURCE_LIVE, 0, "pid 4312", 0};
  CHECK_OK(pd_flag_set_int32(flag, 2, &err));
  set_live(flag, "3");
  CHECK_OK(pd_batch_set(&none, 1, &origin, NULL, &err));
  CHECK(source_of(flag) == PD_SOURCE_DEFAULT);
  CHECK(*pd_flag_get_state(flag) & PD_STATE_UNSET);
  pd_override number;
  set_live(flag, "3");
  CHECK_OK(pd_override_push(&item, 1, NULL, NULL, &number, &err));
  CHECK_OK(pd_batch_set(&none, 1, &origin, NULL, &err));
  CHECK_STR(text_of(flag), "1");
  CHECK_OK(pd_override_pop(number, &err));
  CHECK(source_of(flag) == PD_SOURCE_DEFAULT);
  CHECK(*pd_flag_get_state(flag) & PD_STATE_UNSET);
}

TEST(a_live_value_waits_for_its_flag_and_comes_back_with_a_snapshot) {
  pd_origin origin = {PD_SOURCE_LIVE, 0, "pid 4312", 0};
  CHECK_OK(pd_pending_set("level", "4", &origin, &err));
  CHECK_OK(pd_pending_set("level", "3", NULL, &err));
  pd_flag *flag = level();
  CHECK_STR(text_of(flag), "3");
  check_entry(flag, 1, 4, PD_SOURCE_LIVE, 0, "pid 4312");
  pd_snapshot *before = NULL;
  CHECK_OK(pd_snapshot_take(&before, &err));
  set_live(flag, "5");
  CHECK_OK(pd_snapshot_restore(before, &err));
  CHECK_STR(text_of(flag), "3");
  check_entry(flag, 1, 4, PD_SOURCE_LIVE, 0, "pid 4312");
  pd_snapshot_free(before);
}

TEST(a_retired_flag_refuses_live_values_as_it_refuses_those_of_run_time) {
  pd_flag *flag = DEFINE(PD_TYPE_int32, "old", def.retired = "never read");
  pd_assignment item = {.flag = flag, .text = "1"};
  pd_origin origin = {PD_SOURCE_LIVE, 0, "pid 4312", 0};
  CHECK_STATUS(pd_batch_set(&item, 1, &origin, NULL, &err), PD_ERR_READ_ONLY,
               "old: is retired: never read");
}

static bool is_even(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  *(pd_source *)context = entries[0]->origin.source;
  snprintf(why, size, "expected an even number");
  return entries[0]->value.i64 % 2 == 0;
}

TEST(validators_see_live_values_and_what_a_drop_uncovers) {
  pd_flag *flag = level();
  pd_source seen = PD_SOURCE_DEFAULT;
  CHECK_OK(pd_flag_set_int32(flag, 1, &err));
  set_live(flag, "2");
  CHECK_OK(pd_validator_add(&flag, 1, is_even, &seen, NULL, NULL, &err));
  set_live(flag, "4");
  CHECK(seen == PD_SOURCE_LIVE);
  pd_assignment item = {.flag = flag, .text = "3"};
  pd_origin origin = {PD_SOURCE_LIVE, 0, "pid 4312", 0};
  CHECK_STATUS(pd_batch_set(&item, 1, &origin, NULL, &err), PD_ERR_REFUSED,
               "level=3: expected an even number");
  CHECK(pd_flag_drop(flag, PD_SOURCE_LIVE, &err) == PD_ERR_REFUSED); /* 1 would hold again */
  CHECK(seen == PD_SOURCE_RUNTIME);
  CHECK_STR(text_of(flag), "4");
}
