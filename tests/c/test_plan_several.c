/* Values that wait for flags that come together: what the validators of several flags see, and what
 * may happen while they are asked. */
#include "noted.h"

static const char *const n_and_m[] = {"n", "m", NULL};

/* ---- Validators of several flags ---- */

static pd_hook validate_both(void) {
  pd_flag *both[] = {find_flag("n"), find_flag("m")};
  pd_hook hook;
  CHECK_OK(
      pd_validator_add(both, 2, find_validator(), (void *)(uintptr_t)n_and_m, NULL, &hook, &err));
  return hook;
}

static pd_flag_def at_line(pd_type type, const char *name, uint32_t line) {
  pd_flag_def def = definition(type, name);
  def.file = "a.c";
  def.line = line;
  return def;
}

TEST(a_validator_of_flags_that_come_together_sees_what_both_will_have) {
  pd_flag_def n = at_line(PD_TYPE_int64, "n", 3), m = at_line(PD_TYPE_int64, "m", 4);
  m.default_value.i64 = 9;
  CHECK_OK(JOIN(&n, &m));
  validate_both();
  leave_record();
  let_wait("n", "1", PD_SOURCE_FILE);
  let_wait("m", "2", PD_SOURCE_FILE);
  let_wait("n", "3", PD_SOURCE_FILE);
  CHECK_OK(JOIN(&n, &m));
  CHECK_STR(text_of(find_flag("n")), "3");
  CHECK_STR(text_of(find_flag("m")), "2");
  const char *questions = seen_since(), last[] = "; n=3 from file, m=2 from file; ";
  CHECK(!strncmp(questions, "n=1 from file, m=9 from default; ", 33));
  CHECK_STR(questions + strlen(questions) - strlen(last), last);
}

TEST(a_refusal_of_one_flag_leaves_the_other) {
  pd_flag_def n = at_line(PD_TYPE_int64, "n", 3), m = at_line(PD_TYPE_int64, "m", 4);
  CHECK_OK(JOIN(&n, &m));
  validate_both();
  leave_record();
  *refused = 1;
  let_wait("n", "1", PD_SOURCE_FILE);
  let_wait("m", "2", PD_SOURCE_FILE);
  CHECK_OK(JOIN(&n, &m));
  CHECK_STR(join_error(0), "--n=1 (file), --m=0 (default): not 1");
  CHECK_STR(text_of(find_flag("n")), "0");
  CHECK_STR(text_of(find_flag("m")), "2");
}

TEST(a_validator_of_a_flag_that_is_there_sees_its_value) {
  pd_flag_def n = at_line(PD_TYPE_int64, "n", 3), m = definition(PD_TYPE_int64, "m");
  pd_flag *other = define(&m);
  CHECK_OK(JOIN(&n));
  validate_both();
  leave_record();
  set_from(other, PD_SOURCE_FILE, "3");
  set_from(other, PD_SOURCE_FILE, "4");
  let_wait("n", "1", PD_SOURCE_FILE);
  CHECK_OK(JOIN(&n));
  CHECK_STR(seen_since(), "n=1 from file, m=4 from file; ");
  leave_record();
  set_from(other, PD_SOURCE_RUNTIME, "5");
  let_wait("n", "2", PD_SOURCE_FILE);
  CHECK_OK(JOIN(&n));
  CHECK_STR(seen_since(), "n=2 from file, m=5 from run time; ");
}

TEST(a_validator_is_asked_only_if_all_its_flags_are_defined_with_their_types) {
  pd_flag_def n = at_line(PD_TYPE_int64, "n", 3), m = at_line(PD_TYPE_int64, "m", 4);
  pd_flag_def text = at_line(PD_TYPE_string, "m", 4);
  CHECK_OK(JOIN(&n, &m));
  validate_both();
  leave_record();
  let_wait("n", "1", PD_SOURCE_FILE);
  CHECK_OK(JOIN(&n));
  CHECK_STR(seen_since(), "");
  leave_record();
  let_wait("n", "2", PD_SOURCE_FILE);
  CHECK_OK(JOIN(&n, &text));
  CHECK_STR(seen_since(), "");
  leave_record();
  let_wait("n", "3", PD_SOURCE_FILE);
  CHECK_OK(JOIN(&n, &m));
  CHECK_STR(seen_since(), "n=3 from file, m=0 from default; ");
}

TEST(a_value_of_any_of_the_flags_makes_another_question) {
  pd_flag_def n = at_line(PD_TYPE_int64, "n", 3), m = at_line(PD_TYPE_int64, "m", 4);
  static const char *const m_and_n[] = {"m", "n", NULL};
  CHECK_OK(JOIN(&n, &m));
  pd_flag *both[] = {find_flag("m"), find_flag("n")};
  void *names = (void *)(uintptr_t)m_and_n;
  CHECK_OK(pd_validator_add(both, 2, find_validator(), names, NULL, NULL, &err));
  leave_record();
  let_wait("n", "1", PD_SOURCE_FILE);
  let_wait("n", "3", PD_SOURCE_FILE);
  CHECK_OK(JOIN(&n, &m));
  CHECK_STR(seen_since(), "m=0 from default, n=1 from file; m=0 from default, n=3 from file; ");
}

TEST(a_retired_flag_asks_no_validator_of_others_either) {
  pd_flag_def n = at_line(PD_TYPE_int64, "n", 3), m = at_line(PD_TYPE_int64, "m", 4);
  m.retired = "no longer read";
  CHECK_OK(JOIN(&n, &m));
  validate_both();
  pd_flag *alone = find_flag("m");
  void *names = (void *)(uintptr_t)n_alone;
  CHECK_OK(pd_validator_add(&alone, 1, find_validator(), names, NULL, NULL, &err));
  leave_record();
  let_wait("n", "1", PD_SOURCE_FILE);
  let_wait("m", "2", PD_SOURCE_FILE);
  CHECK_OK(JOIN(&n, &m));
  CHECK_STR(seen_since(), "n=1 from file, m=0 from default; ");
}

TEST(a_variable_that_means_two_flags_of_a_record_is_a_conflict) {
  pd_flag_def one = at_line(PD_TYPE_int64, "a.b", 3), two = at_line(PD_TYPE_int64, "a_b", 4);
  setenv("PLAN_a_b", "1", 1);
  CHECK_OK(pd_environment_enable("PLAN_", NULL, &err));
  CHECK_OK(JOIN(&one, &two));
  CHECK(strstr(join_error(0), "PLAN_a_b") && strstr(join_error(1), "PLAN_a_b"));
  CHECK_STR(text_of(find_flag("a.b")), "0");
  CHECK_STR(text_of(find_flag("a_b")), "0");
}

TEST(every_refusal_is_reported_once) {
  pd_flag_def n = at_line(PD_TYPE_int64, "n", 3), m = at_line(PD_TYPE_int64, "m", 4);
  CHECK_OK(JOIN(&n, &m));
  for (int i = 0; i < 3; i++) validate_both();
  leave_record();
  *refused = 1;
  let_wait("n", "1", PD_SOURCE_FILE);
  CHECK_OK(JOIN(&n, &m));
  CHECK(pd_error_list_count(join_errors) == 3);
}

TEST(a_validator_sees_what_was_assigned_to_a_variable) {
  static int64_t number;
  pd_flag_def n = at_line(PD_TYPE_int64, "n", 3), m = definition(PD_TYPE_int64, "m");
  m.cell = &number;
  m.assignable = true;
  define(&m);
  CHECK_OK(JOIN(&n));
  validate_both();
  leave_record();
  number = 8;
  let_wait("n", "1", PD_SOURCE_FILE);
  CHECK_OK(JOIN(&n));
  CHECK_STR(seen_since(), "n=1 from file, m=8 from run time; ");
}

static int notices;
static void count_notice(pd_flag *flag, void *context) { notices += flag && context; }

TEST(a_watcher_is_no_validator) {
  pd_flag_def n = definition(PD_TYPE_int64, "n");
  pd_flag *flag = define(&n);
  CHECK_OK(pd_watcher_add(flag, count_notice, &notices, NULL, NULL, &err));
  n = validated("n");
  CHECK_OK(pd_flag_set_int64(flag, 4, &err));
  CHECK(notices == 1);
  CHECK_OK(pd_flag_replace(&n, NULL, 0, &flag, &err));
  CHECK_STR(seen_since(), "n=4 from run time; ");
  CHECK(notices == 1);
}

/* ---- What happens while a validator is asked ---- */

static pd_flag_def other_def;
static int times;

static void define_other(void) {
  if (times++ == 0) CHECK_OK(pd_flag_register(&other_def, NULL, &err));
}

static void replace_other(void) {
  if (times++ == 0) CHECK_OK(pd_flag_replace(&other_def, NULL, 0, NULL, &err));
}

TEST(a_definition_that_its_own_validator_makes_is_made_once) {
  pd_flag *flag = NULL;
  pd_flag_info info = {.size = sizeof info};
  other_def = validated("n");
  *during = define_other;
  let_wait("n", "1", PD_SOURCE_FILE);
  CHECK_OK(pd_flag_register(&other_def, &flag, &err));
  CHECK_STR(text_of(flag), "1");
  CHECK_STR(seen_since(), "n=1 from file; n=1 from file; ");
  CHECK_OK(pd_flag_get_info(flag, &info, &err));
  CHECK(info.cells == 0);
}

TEST(a_name_that_is_taken_while_a_validator_is_asked_is_a_conflict) {
  pd_flag_def def = validated("n");
  def.aliases = "m";
  other_def = definition(PD_TYPE_int64, "m");
  *during = define_other;
  let_wait("n", "1", PD_SOURCE_FILE);
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, "'m' is already defined, int64; refused: as an alias of 'n', int64"));
  CHECK(!is_defined("n") && is_defined("m"));
  CHECK(pd_pending_check(NULL, NULL) == PD_ERR_UNDEFINED);
}

static void ask_while(void (*what)(void), bool optional) {
  pd_flag_def n = at_line(PD_TYPE_int64, "n", 3);
  other_def = definition(PD_TYPE_int64, "m");
  other_def.optional = optional;
  pd_flag *other = define(&other_def);
  CHECK_OK(JOIN(&n));
  validate_both();
  leave_record();
  *during = what;
  let_wait("n", "1", PD_SOURCE_FILE);
  CHECK_OK(JOIN(&n));
  CHECK(other == find_flag("m"));
}

TEST(a_validator_is_asked_again_about_another_definition_with_an_equal_value) {
  ask_while(replace_other, false);
  CHECK_STR(seen_since(), "n=1 from file, m=0 from default; n=1 from file, m=0 from default; ");
}

static void set_default_of_other(void) {
  if (times++ == 0) CHECK_OK(pd_flag_set_default(find_flag("m"), "0", &err));
}

TEST(a_validator_is_asked_again_when_a_flag_got_an_equal_value_after_none) {
  ask_while(set_default_of_other, true);
  CHECK_STR(seen_since(),
            "n=1 from file, m=0 (unset) from default; n=1 from file, m=0 from default; ");
}
