/* Definitions that are published and leave again: variables, names, imports. */
#include "joined.h"
#include "used.h"

static pd_flag_def at_line(pd_type type, const char *name, uint32_t line) {
  pd_flag_def def = definition(type, name);
  def.file = "a.c";
  def.line = line;
  return def;
}

static pd_flag_def import_of(pd_type type, const char *name, void *cell) {
  pd_flag_def def = at_line(type, name, 3);
  def.kind = PD_KIND_IMPORT;
  def.cell = cell;
  return def;
}

static bool is_assignable(const pd_flag *flag) { return *pd_flag_get_state(flag) & 0x80; }

/* ---- Variables that modules assign to ---- */

TEST(what_a_module_has_assigned_before_it_joined_is_a_value) {
  static int64_t number, six = 6;
  static const char *text, *same = "default";
  static bool mark;
  pd_flag_def n = at_line(PD_TYPE_int64, "n", 3), t = at_line(PD_TYPE_string, "t", 4);
  pd_flag_def b = at_line(PD_TYPE_bool, "b", 5), s = at_line(PD_TYPE_string, "s", 6);
  n.assignable = t.assignable = b.assignable = s.assignable = true;
  n.cell = &number;
  n.default_value.i64 = 5;
  t.cell = &text;
  t.default_value.str = s.default_value.str = "default";
  b.cell = &mark;
  b.default_value.b = true;
  s.cell = &same;
  text = "mine";
  pd_flag_def m = n;
  m.name = "m";
  m.cell = &six;
  CHECK_OK(JOIN(&n, &t, &b, &s, &m));
  CHECK_STR(text_of(find_flag("m")), "6");
  CHECK_STR(text_of(find_flag("n")), "0");
  CHECK_STR(text_of(find_flag("t")), "mine");
  CHECK_STR(text_of(find_flag("b")), "false");
  CHECK_STR(text_of(find_flag("s")), "default");
  pd_flag_entry entry = flag_entry(find_flag("s"), 0);
  CHECK(entry.origin.source == PD_SOURCE_DEFAULT);
  entry = flag_entry(find_flag("n"), 0);
  CHECK(entry.origin.source == PD_SOURCE_RUNTIME);
  CHECK_OK(pd_flag_reset(find_flag("n"), &err));
  CHECK(number == 5);
}

TEST(what_a_module_assigns_last_is_kept_for_its_next_record) {
  static int64_t number;
  pd_flag_def n = at_line(PD_TYPE_int64, "n", 3);
  n.assignable = true;
  n.cell = &number;
  CHECK_OK(JOIN(&n));
  number = 7;
  leave_record();
  number = 0;
  CHECK_OK(JOIN(&n));
  CHECK(number == 7);
}

TEST(of_values_that_do_not_suit_only_the_latest_of_each_source_is_reported) {
  pd_flag_def n = at_line(PD_TYPE_int64, "n", 3), m = n;
  CHECK_OK(JOIN(&n));
  CHECK_OK(pd_flag_set_int64(find_flag("n"), 50, &err));
  CHECK_OK(pd_flag_set_int64(find_flag("n"), 60, &err));
  m.max.i64 = 9;
  CHECK_OK(JOIN(&m));
  CHECK(pd_error_list_count(join_errors) == 1);
  CHECK_STR(join_error(0), "n=60: expected an integer <= 9");
}

TEST(a_variable_that_no_module_assigns_to_is_not_read) {
  static int64_t number = 9;
  pd_flag_def n = at_line(PD_TYPE_int64, "n", 3);
  n.cell = &number;
  CHECK_OK(JOIN(&n));
  CHECK_STR(text_of(find_flag("n")), "0");
  CHECK(number == 0);
}

TEST(a_flag_without_a_variable_is_not_assignable) {
  pd_flag_def def = definition(PD_TYPE_int64, "n");
  def.assignable = true;
  pd_flag_def of_record = def;
  of_record.name = "m";
  CHECK_OK(JOIN(&of_record));
  CHECK(!is_assignable(find_flag("m")));
  pd_flag *flag = register_flag(&def);
  CHECK(!is_assignable(flag));
  static int64_t number;
  def.cell = &number;
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  CHECK(is_assignable(flag));
  number = 4;
  CHECK_STR(text_of(flag), "4");
}

TEST(an_import_says_whether_a_replaced_flag_is_assignable) {
  static int64_t plain, assigned;
  pd_flag_def import = import_of(PD_TYPE_int64, "n", &plain), def = definition(PD_TYPE_int64, "n");
  CHECK_OK(JOIN(&import));
  pd_flag *flag = register_flag(&def);
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  CHECK(!is_assignable(flag));
  import.cell = &assigned;
  import.assignable = true;
  CHECK_OK(JOIN(&import));
  CHECK(is_assignable(flag));
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  CHECK(is_assignable(flag));
  assigned = 6;
  CHECK_STR(text_of(flag), "6");
}

/* ---- Several variables ---- */

TEST(every_variable_of_a_flag_is_set_and_one_that_leaves_is_not) {
  static int64_t own, imported, more = 7;
  pd_flag_def def = definition(PD_TYPE_int64, "n"),
              import = import_of(PD_TYPE_int64, "n", &imported);
  def.cell = &own;
  pd_flag *flag = register_flag(&def);
  CHECK_OK(JOIN(&import));
  CHECK_OK(pd_flag_set_int64(flag, 3, &err));
  CHECK(own == 3 && imported == 3);
  leave_record();
  CHECK_OK(pd_flag_set_int64(flag, 4, &err));
  CHECK(own == 4 && imported == 3);
  import.default_value.i64 = 8;
  CHECK_OK(JOIN(&import));
  CHECK(imported == 4);
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(imported == 8);
  def.cell = &more;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  CHECK(more == 4 && imported == 4);
  CHECK(flag_info(flag).cells == 2);
}

TEST(the_second_of_two_records_of_one_flag_keeps_it) {
  static int64_t own, other;
  pd_flag_def def = at_line(PD_TYPE_int64, "n", 3), again = def;
  def.cell = &own;
  def.aliases = again.aliases = "m";
  again.cell = &other;
  CHECK_OK(JOIN(&def));
  uint32_t generation = *pd_flag_get_generation(find_flag("n"));
  pd_flag *flag = register_flag(&again);
  CHECK(*pd_flag_get_generation(flag) == generation);
  leave_record();
  CHECK(find_flag("n") == flag && find_flag("m") == flag);
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  CHECK(other == 5 && own == 0);
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(pd_flag_find("m", &flag, NULL) == PD_ERR_UNDEFINED);
}

/* ---- Names ---- */

TEST(an_import_waits_for_its_own_name_when_its_flag_has_left) {
  static int64_t imported = 1;
  pd_flag_def import = import_of(PD_TYPE_int64, "m", &imported);
  pd_flag_def def = definition(PD_TYPE_int64, "n");
  import.default_value.i64 = 77;
  def.aliases = "m";
  CHECK_OK(JOIN(&import));
  pd_flag *flag = register_flag(&def);
  CHECK(imported == 0);
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(imported == 77);
  def.aliases = NULL;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  CHECK(imported == 77);
  def.name = "m";
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  CHECK(imported == 0);
}

TEST(an_old_name_is_one_as_long_as_the_definition_says_so) {
  pd_flag_def def = definition(PD_TYPE_int64, "n");
  def.old_names = "m";
  pd_flag *flag = register_flag(&def);
  def.old_names = NULL;
  def.aliases = "m";
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  setenv("PUBLISH_m", "5", 1); /* aliases have no variables */
  CHECK_OK(pd_environment_enable("PUBLISH_", NULL, &err));
  CHECK_STR(text_of(flag), "0");
  CHECK_STR(flag_info(flag).aliases, "m");
}

TEST(values_of_a_sensitive_definition_stay_secret) {
  pd_flag_def def = definition(PD_TYPE_int64, "n");
  def.sensitive = true;
  pd_flag *flag = register_flag(&def);
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  def.sensitive = false;
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  pd_flag_info info = flag_info(flag);
  CHECK(info.sensitive);
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  info = flag_info(flag);
  CHECK(!info.sensitive);
}

/* ---- Memory ---- */

static void import_and_leave(int i) {
  static int64_t imported;
  char name[40];
  snprintf(name, sizeof name, "nobody_defines_number_%d", i);
  pd_flag_def import = import_of(PD_TYPE_int64, name, &imported);
  CHECK_OK(JOIN(&import));
  leave_record();
}

TEST(the_names_of_imports_that_left_are_freed) { check_released(import_and_leave, 3000, 4096); }

static void let_wait_and_restore(int i) {
  char name[40];
  pd_snapshot *snapshot;
  snprintf(name, sizeof name, "nobody_defines_number_%d", i);
  CHECK_OK(pd_pending_set("later", "a value that waits for its flag", NULL, &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(pd_pending_set(name, "a value that waits for its flag", NULL, &err));
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  pd_snapshot_free(snapshot);
}

TEST(pending_values_that_a_snapshot_drops_are_freed) {
  check_released(let_wait_and_restore, 3000, 4096);
}

/* Defines it after the snapshot, which gives it what waited. */
static void define_and_restore(int i) {
  pd_snapshot *snapshot;
  const char *name = i % 2 ? "secret" : "public";
  pd_flag_def def = definition(PD_TYPE_string, name);
  static const pd_origin fleet = {PD_SOURCE_FLEET, 0, NULL, 0}, argv = {PD_SOURCE_ARGV, 0, NULL, 0};
  def.list = PD_TYPE_string;
  def.multi = true;
  def.sensitive = i % 2;
  CHECK_OK(pd_pending_set(name, "one", &argv, &err));
  CHECK_OK(pd_pending_set(name, "two", &argv, &err));
  CHECK_OK(pd_pending_set(name, "three", &fleet, &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  pd_flag *flag = register_flag(&def);
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  CHECK_STR(text_of(flag), def.sensitive ? "one,two" : "three");
  pd_snapshot_free(snapshot);
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
}

TEST(pending_values_that_are_applied_are_freed) { check_released(define_and_restore, 2000, 4096); }
