/* Values that wait for a definition, and those that a former one left: who is asked about them
 * before the flag is defined, and what comes of it. */
#include "joined.h"

#include "plugged.h"

static char *seen; /* what the validator of the plugin was asked, "n=5 from file; ..." */
static int64_t *refused;

static void (**during)(void); /* what the validator calls */

static pd_validator find_validator(void) {
  void *plugin = open_plugin("noting");
  seen = symbol(plugin, "noting_seen");
  refused = symbol(plugin, "noting_refused");
  during = symbol(plugin, "noting_during");
  return (pd_validator)(intptr_t)symbol(plugin, "noting_validate");
}

static const char *seen_since(void) {
  static char last[1024];
  snprintf(last, sizeof last, "%s", seen);
  *seen = '\0';
  return last;
}

static const char *const n_alone[] = {"n", NULL};
static const char *const n_and_m[] = {"n", "m", NULL};

static pd_flag_def validated(const char *name) {
  pd_flag_def def = definition(PD_TYPE_int64, name);
  def.validate = find_validator();
  def.context = (void *)(uintptr_t)n_alone;
  return def;
}

static void let_wait(const char *name, const char *text, pd_source source) {
  pd_origin origin = {source, 0, NULL, 0};
  CHECK_OK(pd_pending_set(name, text, &origin, &err));
}

static void set_from(pd_flag *flag, pd_source source, const char *text) {
  pd_assignment item = {.flag = flag, .text = text};
  pd_origin origin = {source, 0, NULL, 0};
  CHECK_OK(pd_batch_set(&item, 1, &origin, NULL, &err));
}

static pd_flag *define(const pd_flag_def *def) {
  pd_flag *flag = NULL;
  CHECK_OK(pd_flag_register(def, &flag, &err));
  return flag;
}

/* ---- Pending values ---- */

TEST(a_validator_sees_what_each_value_would_put_into_effect) {
  pd_flag_def def = validated("n");
  let_wait("n", "1", PD_SOURCE_FILE);
  let_wait("n", "2", PD_SOURCE_ARGV);
  let_wait("n", "3", PD_SOURCE_FILE); /* stays below that of the command line */
  let_wait("n", "4", PD_SOURCE_RUNTIME);
  CHECK_STR(text_of(define(&def)), "4");
  CHECK_STR(seen_since(), "n=1 from file; n=2 from argv; n=4 from run time; ");
}

TEST(an_equal_value_of_another_source_is_another_question) {
  pd_flag_def def = validated("n");
  let_wait("n", "5", PD_SOURCE_FILE);
  let_wait("n", "5", PD_SOURCE_ARGV);
  CHECK_STR(text_of(define(&def)), "5");
  CHECK_STR(seen_since(), "n=5 from file; n=5 from argv; ");
}

TEST(an_equal_value_of_the_same_source_is_asked_about_once) {
  pd_flag_def def = validated("n");
  let_wait("n", "5", PD_SOURCE_FILE);
  let_wait("n", "6", PD_SOURCE_FILE);
  let_wait("n", "5", PD_SOURCE_FILE);
  CHECK_STR(text_of(define(&def)), "5");
  CHECK_STR(seen_since(), "n=5 from file; n=6 from file; ");
}

TEST(a_refused_value_is_reported_and_the_others_count) {
  pd_flag_def def = validated("n");
  pd_flag *flag = NULL;
  *refused = 2;
  let_wait("n", "1", PD_SOURCE_FILE);
  let_wait("n", "2", PD_SOURCE_ARGV);
  let_wait("n", "x", PD_SOURCE_ARGV);
  let_wait("n", "3", PD_SOURCE_FILE);
  CHECK_STATUS(pd_flag_register(&def, &flag, &err), PD_ERR_REFUSED, "--n=2: not 2");
  CHECK_STR(text_of(flag), "3");
  CHECK_STR(seen_since(), "n=1 from file; n=2 from argv; n=3 from file; ");
  CHECK_OK(pd_pending_check(NULL, &err));
}

TEST(a_flag_without_a_value_is_given_one) {
  pd_flag_def def = validated("n");
  def.optional = true;
  let_wait("n", "0", PD_SOURCE_FILE);
  pd_flag *flag = define(&def);
  CHECK_STR(seen_since(), "n=0 from file; ");
  CHECK(!(*pd_flag_get_state(flag) & PD_STATE_UNSET));
}

TEST(a_retired_flag_asks_nobody_and_warns) {
  pd_flag_def def = validated("n");
  def.retired = "no longer read";
  let_wait("n", "5", PD_SOURCE_FILE);
  CHECK_STR(text_of(define(&def)), "0");
  CHECK_STR(seen_since(), "");
  CHECK_OK(pd_pending_check(NULL, &err));
}

static char warned[1020];
static int warnings;
static void note_warning(const char *message, pd_warning kind, void *context) {
  (void)kind, (void)context;
  warnings++;
  snprintf(warned, sizeof warned, "%s", message);
}

TEST(a_value_that_waited_warns_of_its_flag_once) {
  pd_flag_def def = definition(PD_TYPE_int64, "n");
  CHECK_OK(pd_warning_handle(note_warning, NULL, &err));
  define(&def);
  CHECK(warnings == 0);
  def.name = "retired";
  def.retired = "no longer read";
  define(&def);
  CHECK(warnings == 0);
  def.name = "given";
  let_wait("given", "5", PD_SOURCE_FILE);
  let_wait("given", "6", PD_SOURCE_FILE);
  define(&def);
  CHECK(warnings == 1 && strstr(warned, "given") && strstr(warned, "no longer read"));
  def.retired = NULL;
  def.deprecated = "use another";
  def.name = "late";
  let_wait("late", "5", PD_SOURCE_FILE);
  define(&def);
  CHECK(warnings == 2 && strstr(warned, "late") && strstr(warned, "use another"));
}

TEST(the_environment_comes_before_what_waits) {
  pd_flag_def def = validated("n");
  setenv("PLAN_n", "1", 1);
  CHECK_OK(pd_environment_enable("PLAN_", NULL, &err));
  let_wait("n", "2", PD_SOURCE_FILE);
  let_wait("n", "3", PD_SOURCE_ARGV);
  CHECK_STR(text_of(define(&def)), "3");
  CHECK_STR(seen_since(), "n=1 from environment; n=3 from argv; ");
}

TEST(a_variable_of_an_old_name_warns) {
  pd_flag_def def = definition(PD_TYPE_int64, "n");
  CHECK_OK(pd_warning_handle(note_warning, NULL, &err));
  setenv("PLAN_former", "1", 1);
  CHECK_OK(pd_environment_enable("PLAN_", NULL, &err));
  def.old_names = "former";
  CHECK_STR(text_of(define(&def)), "1");
  CHECK(warnings == 1 && strstr(warned, "former"));
}

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

/* ---- Values of a former definition ---- */

TEST(the_value_of_the_former_definition_that_will_be_in_effect_is_asked_about) {
  pd_flag_def was = definition(PD_TYPE_string, "n"), def = validated("n");
  pd_flag *flag = define(&was);
  set_from(flag, PD_SOURCE_FILE, "2");
  set_from(flag, PD_SOURCE_ARGV, "3");
  set_from(flag, PD_SOURCE_RUNTIME, "x");
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK_STATUS(pd_flag_register(&def, NULL, &err), PD_ERR_VALUE, "n=x: expected a 64-bit integer");
  CHECK_STR(seen_since(), "n=3 from argv; ");
  CHECK_STR(text_of(flag), "3");
}

TEST(if_it_is_refused_all_values_of_the_former_definition_go) {
  pd_flag_def was = definition(PD_TYPE_int64, "n"), def = validated("n");
  pd_flag *flag = define(&was);
  set_from(flag, PD_SOURCE_FILE, "2");
  set_from(flag, PD_SOURCE_ARGV, "3");
  CHECK_OK(pd_flag_unregister(flag, &err));
  *refused = 3;
  let_wait("n", "5", PD_SOURCE_FILE);
  CHECK_STATUS(pd_flag_register(&def, NULL, &err), PD_ERR_REFUSED, "--n=3: not 3");
  CHECK_STR(seen_since(), "n=3 from argv; n=5 from file; ");
  CHECK_STR(text_of(flag), "5");
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_FILE, &err));
  CHECK_STR(text_of(flag), "0");
}

TEST(a_value_that_waits_is_asked_about_beside_a_former_one) {
  pd_flag_def was = definition(PD_TYPE_int64, "n"), def = validated("n");
  pd_flag *flag = define(&was);
  set_from(flag, PD_SOURCE_ARGV, "3");
  CHECK_OK(pd_flag_unregister(flag, &err));
  let_wait("n", "5", PD_SOURCE_FILE); /* stays hidden */
  let_wait("n", "6", PD_SOURCE_RUNTIME);
  CHECK(define(&def) == flag);
  CHECK_STR(seen_since(), "n=3 from argv; n=6 from run time; ");
  CHECK_STR(text_of(flag), "6");
}

TEST(a_flag_that_begins_without_a_value_shows_none_of_a_former_definition) {
  pd_flag_def was = definition(PD_TYPE_int64, "n"), def = validated("n");
  pd_flag *flag = define(&was);
  CHECK_OK(pd_flag_set_int64(flag, 3, &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
  *refused = 3;
  def.optional = true;
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_REFUSED);
  CHECK(*pd_flag_get_state(flag) & PD_STATE_UNSET);
}

static pd_override push(pd_flag *flag, const char *text) {
  pd_override number;
  pd_assignment item = {.flag = flag, .text = text};
  CHECK_OK(pd_override_push(&item, 1, NULL, NULL, &number, &err));
  return number;
}

TEST(an_open_override_is_asked_about_first) {
  pd_flag_def was = definition(PD_TYPE_int64, "n"), def = validated("n");
  pd_flag *flag = define(&was);
  set_from(flag, PD_SOURCE_FILE, "2");
  pd_override number = push(flag, "8");
  CHECK_OK(pd_flag_set_int64(flag, 9, &err)); /* within it */
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(define(&def) == flag);
  CHECK_STR(seen_since(), "n=9 from override; ");
  CHECK_STR(text_of(flag), "9");
  CHECK_OK(pd_override_pop(number, &err));
  CHECK_STR(text_of(flag), "2");
}

TEST(an_override_that_is_refused_ends_for_its_flag) {
  pd_flag_def was = definition(PD_TYPE_int64, "n"), def = validated("n");
  pd_flag *flag = define(&was);
  set_from(flag, PD_SOURCE_FILE, "2");
  push(flag, "7");
  pd_override number = push(flag, "8");
  CHECK_OK(pd_flag_unregister(flag, &err));
  *refused = 8;
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_REFUSED);
  CHECK_STR(text_of(flag), "0");
  CHECK_OK(pd_override_pop(number, &err));
  CHECK_STR(text_of(flag), "0");
}

/* ---- Replacing ---- */

TEST(of_the_validators_only_those_that_stay_are_asked_when_a_definition_is_replaced) {
  pd_flag_def was = definition(PD_TYPE_int64, "n"), def = validated("n");
  pd_flag *flag = define(&was);
  pd_hook hooks[2];
  static const char *const goes[] = {"goes", NULL}, *const stays[] = {"stays", NULL};
  CHECK_OK(pd_flag_set_int64(flag, 4, &err));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(
        pd_validator_add(&flag, 1, def.validate, (void *)(uintptr_t)goes, NULL, &hooks[i], &err));
  }
  CHECK_OK(pd_validator_add(&flag, 1, def.validate, (void *)(uintptr_t)stays, NULL, NULL, &err));
  CHECK_OK(pd_flag_replace(&def, hooks, 2, &flag, &err));
  CHECK_STR(seen_since(), "n=4 from run time; stays=4 from run time; ");
  CHECK_STR(text_of(flag), "4");
}

/* ---- Converters ---- */

static int conversions;
static bool to_upper(const char *text, void *context, pd_writer write, void *out, char *why,
                     size_t size) {
  char upper[64];
  size_t length = strlen(text);
  (void)context;
  conversions++;
  snprintf(why, size, "no digits");
  for (size_t i = 0; i <= length; i++) {
    upper[i] = (char)(text[i] >= 'a' && text[i] <= 'z' ? text[i] - 32 : text[i]);
    if (text[i] >= '0' && text[i] <= '9') return false;
  }
  write(upper, length, out);
  return true;
}

TEST(each_text_that_waits_is_converted_once) {
  pd_flag_def def = definition(PD_TYPE_string, "mode");
  pd_flag *flag = NULL;
  def.convert = to_upper;
  let_wait("mode", "slow", PD_SOURCE_FILE);
  let_wait("mode", "a1", PD_SOURCE_FILE);
  let_wait("mode", "fast", PD_SOURCE_FILE);
  let_wait("mode", "slow", PD_SOURCE_FILE);
  CHECK_STATUS(pd_flag_register(&def, &flag, &err), PD_ERR_VALUE, "--mode=a1: no digits");
  CHECK_STR(text_of(flag), "SLOW");
  CHECK(conversions == 3);
}
