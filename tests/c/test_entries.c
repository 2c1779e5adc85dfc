/* The values that flags were given, and where each came from: the first one of a plain
 * flag has no entry of its own until somebody needs it. */
#define CHECK_DEFINES_FLAGS
#include "check.h"

PD_DEFINE_int32(first, 1, "So that the program has a record");

static pd_flag *define_one(const char *name, pd_type type) {
  return DEFINE(type, name, def.file = "alpha.c", def.line = 12);
}

/* "run time 0: 3, argv 1: 2, default 12: 0": all that the flag has, the current one first. */
static const char *entries_of(const pd_flag *flag, bool text) {
  static char all[512];
  pd_flag_entry entry = {.size = sizeof entry};
  size_t used = 0;
  for (size_t i = 0; pd_flag_get_entry(flag, i, &entry, NULL) == PD_OK; i++) {
    const char *replaced = entry.replaced ? "was " : "";
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s%s %u: ", i ? ", " : "", replaced,
                             pd_source_name(entry.origin.source), entry.origin.line);
    used += text ? (size_t)snprintf(all + used, sizeof all - used, "%s", entry.value.str)
                 : (size_t)snprintf(all + used, sizeof all - used, "%d", (int)entry.value.i64);
  }
  return all;
}

static void set_from_file(pd_flag *flag, const char *text) {
  pd_assignment item = {.flag = flag, .text = text};
  pd_origin origin = {PD_SOURCE_FILE, 7, "flags.conf", 3};
  CHECK_OK(pd_batch_set(&item, 1, &origin, NULL, &err));
}

TEST(an_argument_and_a_set_are_remembered_with_their_place) {
  pd_flag *level = define_one("level", PD_TYPE_int32);
  CHECK_STR(entries_of(level, false), "default 12: 0");
  CHECK_OK(parse_line("stay --level=2", NULL));
  CHECK_STR(entries_of(level, false), "argv 2: 2, default 12: 0");
  CHECK_OK(pd_flag_set_int32(level, 3, &err));
  CHECK_STR(entries_of(level, false), "run time 0: 3, argv 2: 2, default 12: 0");
  CHECK_OK(pd_flag_drop(level, PD_SOURCE_RUNTIME, &err));
  CHECK_STR(entries_of(level, false), "argv 2: 2, default 12: 0");
  CHECK_STR(text_of(level), "2");
  CHECK_OK(pd_flag_drop(level, PD_SOURCE_ARGV, &err));
  CHECK_STR(entries_of(level, false), "default 12: 0");
  CHECK_STR(text_of(level), "0");
}

TEST(a_source_that_gave_nothing_drops_nothing) {
  pd_flag *level = define_one("level", PD_TYPE_int32);
  CHECK_OK(pd_flag_set_int32(level, 3, &err));
  CHECK_OK(pd_flag_drop(level, PD_SOURCE_ARGV, &err));
  CHECK_STR(entries_of(level, false), "run time 0: 3, default 12: 0");
  CHECK_OK(pd_flag_reset(level, &err));
  CHECK_STR(entries_of(level, false), "default 12: 0");
}

TEST(arguments_for_one_flag_are_all_remembered) {
  pd_flag *level = define_one("level", PD_TYPE_int32);
  CHECK_OK(parse_line("--level=1 --level=2 --level=3", NULL));
  CHECK_STR(entries_of(level, false), "argv 3: 3, was argv 2: 2, was argv 1: 1, default 12: 0");
  CHECK_OK(parse_line("--level=4", NULL));
  CHECK_STR(entries_of(level, false),
            "argv 1: 4, was argv 3: 3, was argv 2: 2, was argv 1: 1, default 12: 0");
}

TEST(a_line_that_is_refused_leaves_no_trace_in_the_flags_it_named) {
  pd_flag *level = define_one("level", PD_TYPE_int32);
  CHECK_STATUS(parse_line("--level=1 --level=2 --level=x", NULL), PD_ERR_VALUE,
               "--level=x: expected a 32-bit integer");
  CHECK_STR(entries_of(level, false), "default 12: 0");
  CHECK_OK(parse_line("--level=5", NULL));
  CHECK_STR(entries_of(level, false), "argv 1: 5, default 12: 0");
}

TEST(a_lower_source_that_comes_later_stands_below) {
  pd_flag *level = define_one("level", PD_TYPE_int32);
  CHECK_OK(pd_flag_set_int32(level, 3, &err));
  set_from_file(level, "9");
  CHECK_STR(entries_of(level, false), "run time 0: 3, file 7: 9, default 12: 0");
  CHECK_OK(parse_line("--level=4", NULL));
  CHECK_STR(entries_of(level, false), "run time 0: 3, argv 1: 4, file 7: 9, default 12: 0");
  CHECK_STR(text_of(level), "3");
}

TEST(a_layer_hides_a_value_and_gives_it_back) {
  pd_flag *level = define_one("level", PD_TYPE_int32);
  CHECK_OK(pd_flag_set_int32(level, 3, &err));
  pd_override override = push_override(level, "8");
  CHECK_STR(entries_of(level, false), "override 0: 8, run time 0: 3, default 12: 0");
  CHECK_OK(pd_override_pop(override, &err));
  CHECK_STR(entries_of(level, false), "run time 0: 3, default 12: 0");
  CHECK_STR(text_of(level), "3");
}

static char seen[128];

static bool look(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  snprintf(seen, sizeof seen, "%d from %s %u", (int)entries[0]->value.i64,
           pd_source_name(entries[0]->origin.source), entries[0]->origin.line);
  return true;
}

TEST(a_validator_that_comes_later_is_shown_the_value_of_before) {
  pd_flag *level = define_one("level", PD_TYPE_int32);
  CHECK_OK(parse_line("stay stay --level=4", NULL));
  CHECK_OK(pd_validator_add(&level, 1, look, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flags_validate(NULL, &err));
  CHECK_STR(seen, "4 from argv 3");
  CHECK_OK(pd_flag_set_int32(level, 5, &err));
  CHECK_STR(seen, "5 from run time 0");
  CHECK_STR(entries_of(level, false), "run time 0: 5, argv 3: 4, default 12: 0");
}

static int told;

static void watch(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  told++;
}

TEST(a_watcher_of_all_flags_and_a_validator_see_a_plain_flag_alike) {
  pd_flag *level = define_one("level", PD_TYPE_int32), *other = define_one("other", PD_TYPE_int32);
  CHECK_OK(pd_watcher_add(NULL, watch, NULL, NULL, NULL, &err));
  CHECK_OK(parse_line("--level=4 --other=1 --other=2", NULL));
  CHECK(told == 2);
  CHECK_STR(entries_of(other, false), "argv 3: 2, was argv 2: 1, default 12: 0");
  CHECK_OK(pd_validator_add(&level, 1, look, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_set_int32(level, 5, &err));
  CHECK_STR(seen, "5 from run time 0");
  CHECK_OK(pd_flag_drop(level, PD_SOURCE_RUNTIME, &err));
  CHECK_STR(seen, "4 from argv 1");
  CHECK(told == 4);
}

TEST(text_is_remembered_as_it_was_given) {
  pd_flag *mode = define_one("mode", PD_TYPE_string);
  char text[] = "fast";
  CHECK_OK(pd_flag_set_string(mode, text, &err));
  text[0] = 'l';
  CHECK_STR(entries_of(mode, true), "run time 0: fast, default 12: ");
  CHECK_OK(parse_line("--mode=best", NULL));
  CHECK_STR(entries_of(mode, true), "run time 0: fast, argv 1: best, default 12: ");
}

/* The program's record leaves, and comes again with one other definition. */
static pd_flag *join_again(pd_type type, const pd_flag_def **defs, pd_flag_def *def) {
  const pd_host *host = pd__module_v1.host;
  host->module_leave(&pd__module_v1);
  *def = definition(type, "other");
  def->file = "alpha.c";
  def->line = 12;
  defs[0] = def;
  pd__module_v1.defs = defs;
  pd__module_v1.defs_end = defs + 1;
  host->module_join(&pd__module_v1);
  pd_flag *flag = find_flag("other");
  return flag;
}

TEST(a_value_finds_the_next_definition_whatever_its_type) {
  static const pd_flag_def *defs[1];
  static pd_flag_def number, text, again;
  CHECK(FLAGS_first == 1);
  pd_flag *flag = join_again(PD_TYPE_int32, defs, &number);
  CHECK_OK(pd_flag_set_int32(flag, 31, &err));
  CHECK(join_again(PD_TYPE_string, defs, &text) == flag);
  CHECK_STR(entries_of(flag, true), "run time 0: 31, default 12: ");
  CHECK_STR(text_of(flag), "31");
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK_OK(pd_flag_set_string(flag, "x", &err));
  CHECK(join_again(PD_TYPE_int32, defs, &again) == flag);
  CHECK_STR(entries_of(flag, false), "default 12: 0");
}

/* ---- Origins ---- */

static void set_at(pd_flag *flag, const char *text, pd_source source, const char *place,
                   uint32_t line, uint32_t column) {
  pd_assignment item = {.flag = flag, .text = text};
  pd_origin origin = {source, line, place, column};
  CHECK_OK(pd_batch_set(&item, 1, &origin, NULL, &err));
}

static size_t count_entries(const pd_flag *flag) {
  size_t count = 0;
  pd_flag_entry entry = {.size = sizeof entry};
  while (pd_flag_get_entry(flag, count, &entry, NULL) == PD_OK) count++;
  return count;
}

static void set_each_part(pd_flag *flag, size_t before) {
  set_at(flag, "1", PD_SOURCE_FILE, "a.conf", 3, 7);
  CHECK(count_entries(flag) == before + 1);
  set_at(flag, "2", PD_SOURCE_FILE, "a.conf", 3, 7);
  CHECK(count_entries(flag) == before + 1);
  set_at(flag, "3", PD_SOURCE_FILE, "a.conf", 4, 7);
  CHECK(count_entries(flag) == before + 2);
  set_at(flag, "4", PD_SOURCE_FILE, "a.conf", 4, 8);
  CHECK(count_entries(flag) == before + 3);
  set_at(flag, "5", PD_SOURCE_FILE, "b.conf", 4, 8);
  CHECK(count_entries(flag) == before + 4);
  set_at(flag, "6", PD_SOURCE_FILE, NULL, 0, 0);
  CHECK(count_entries(flag) == before + 5);
  set_at(flag, "7", PD_SOURCE_FILE, NULL, 0, 0);
  CHECK(count_entries(flag) == before + 5);
  set_at(flag, "8", PD_SOURCE_FILE, NULL, 0, 1);
  CHECK(count_entries(flag) == before + 6);
  set_at(flag, "9", PD_SOURCE_FILE, NULL, 1, 0);
  CHECK(count_entries(flag) == before + 7);
}

TEST(each_part_of_an_origin_makes_another_entry) {
  pd_flag *level = define_one("level", PD_TYPE_int32);
  set_each_part(level, 1);
  CHECK_STR(entries_of(level, false),
            "file 1: 9, was file 0: 8, was file 0: 7, was file 4: 5, was file 4: 4, "
            "was file 4: 3, was file 3: 2, default 12: 0");
}

TEST(each_part_of_an_origin_makes_another_entry_below_a_higher_source) {
  pd_flag *level = define_one("level", PD_TYPE_int32);
  set_at(level, "0", PD_SOURCE_ARGV, NULL, 2, 0);
  set_each_part(level, 2);
  CHECK(!strncmp(entries_of(level, false), "argv 2: 0, file 1: 9, was file 0: 8, ", 37));
}

TEST(sources_are_told_apart_where_nothing_else_differs) {
  pd_flag *level = define_one("level", PD_TYPE_int32);
  CHECK_OK(pd_flag_set_int32(level, 1, &err));
  set_at(level, "2", PD_SOURCE_LIVE, NULL, 0, 0);
  CHECK_OK(pd_flag_set_int32(level, 3, &err));
  CHECK_OK(pd_flag_set_int32(level, 4, &err));
  CHECK_STR(entries_of(level, false), "run time 0: 4, live 0: 2, was run time 0: 1, default 12: 0");
  set_at(level, "5", PD_SOURCE_RUNTIME, "x.py", 0, 0);
  CHECK_STR(entries_of(level, false),
            "run time 0: 5, was run time 0: 4, live 0: 2, was run time 0: 1, default 12: 0");
}

TEST(the_place_of_a_value_is_a_copy) {
  char place[] = "a.conf";
  pd_flag *level = define_one("level", PD_TYPE_int32);
  pd_origin origin = {PD_SOURCE_FILE, 3, place, 0};
  CHECK_OK(pd_pending_set("level", "5", &origin, &err));
  memset(place, 'x', sizeof place - 1);
  CHECK_STR(flag_entry(level, 0).origin.place, "a.conf");
}

TEST(what_a_snapshot_restores_is_replaced_as_before) {
  pd_snapshot *snapshot;
  pd_flag *level = define_one("level", PD_TYPE_int32);
  CHECK_OK(parse_line("--level=1 --level=2", NULL));
  CHECK_OK(pd_flag_set_int32(level, 3, &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(pd_flag_reset(level, &err));
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  CHECK_STR(entries_of(level, false), "run time 0: 3, argv 2: 2, was argv 1: 1, default 12: 0");
  pd_snapshot_free(snapshot);
}

TEST(a_default_that_another_definition_would_refuse_goes_without_an_error) {
  pd_flag *level = define_one("level", PD_TYPE_int32);
  pd_flag_def def = definition(PD_TYPE_int64, "level");
  def.default_value.i64 = 5;
  def.min.i64 = 1;
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &level, &err));
  CHECK_STR(entries_of(level, false), "default 0: 5");
}

TEST(of_the_replaced_values_of_a_source_the_latest_are_kept) {
  pd_flag *level = define_one("level", PD_TYPE_int32);
  for (uint32_t line = 1; line <= PD_HISTORY_KEPT + 5; line++) {
    set_at(level, "1", PD_SOURCE_FILE, "a.conf", line, 0);
    CHECK(count_entries(level) == (line <= PD_HISTORY_KEPT ? line : PD_HISTORY_KEPT + 1) + 1);
  }
  set_at(level, "2", PD_SOURCE_ARGV, NULL, 1, 0);
  set_at(level, "3", PD_SOURCE_FILE, "b.conf", 1, 0);
  CHECK(count_entries(level) == PD_HISTORY_KEPT + 3);
  CHECK_OK(pd_flag_reset(level, &err));
  push_override(level, "1");
  for (uint32_t line = 1; line <= PD_HISTORY_KEPT + 5; line++) {
    set_at(level, "1", PD_SOURCE_RUNTIME, "x.py", line, 0);
  }
  CHECK(count_entries(level) == PD_HISTORY_KEPT + 2);
}

TEST(values_that_are_applied_together_have_places_of_their_own) {
  static const char *const places[] = {"a.conf", NULL, "b.conf", "b.conf", NULL, "a.conf"};
  enum { COUNT = sizeof places / sizeof *places };
  pd_flag *flags[COUNT];
  char name[16];
  pd_config *config = config_of(PD_SOURCE_FILE);
  for (int i = 0; i < COUNT; i++) {
    pd_origin origin = {PD_SOURCE_FILE, 0, places[i], 0};
    snprintf(name, sizeof name, "flag_%d", i);
    flags[i] = define_one(name, PD_TYPE_int32);
    CHECK_OK(pd_config_add(config, name, "1", 0, &origin, &err));
  }
  CHECK_OK(pd_config_apply(config, false, NULL, &err));
  pd_config_free(config);
  for (int i = 0; i < COUNT; i++) {
    pd_flag_entry entry = flag_entry(flags[i], 0);
    CHECK(!entry.origin.place == !places[i]);
    if (places[i]) CHECK_STR(entry.origin.place, places[i]);
  }
}
