/* Values that wait for a definition, and those that a former one left: who is asked about them
 * before the flag is defined, and what comes of it. */
#include "noted.h"

#include "check.h"

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

TEST(if_it_is_refused_the_value_below_is_asked_about) {
  pd_flag_def was = definition(PD_TYPE_int64, "n"), def = validated("n");
  pd_flag *flag = define(&was);
  set_from(flag, PD_SOURCE_FILE, "2");
  set_from(flag, PD_SOURCE_ARGV, "3");
  CHECK_OK(pd_flag_unregister(flag, &err));
  *refused = 3;
  let_wait("n", "5", PD_SOURCE_FILE);
  CHECK_STATUS(pd_flag_register(&def, NULL, &err), PD_ERR_REFUSED, "--n=3: not 3");
  CHECK_STR(seen_since(), "n=3 from argv; n=2 from file; n=5 from file; ");
  CHECK_STR(text_of(flag), "5");
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_FILE, &err));
  CHECK_STR(text_of(flag), "0");
}

TEST(a_value_that_waits_is_asked_about_beside_a_former_one) {
  pd_flag_def was = definition(PD_TYPE_int64, "n"), def = validated("n");
  pd_flag *flag = define(&was);
  set_from(flag, PD_SOURCE_FILE, "2");
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

TEST(an_open_override_is_asked_about_first) {
  pd_flag_def was = definition(PD_TYPE_int64, "n"), def = validated("n");
  pd_flag *flag = define(&was);
  set_from(flag, PD_SOURCE_FILE, "2");
  pd_override number = push_override(flag, "8");
  CHECK_OK(pd_flag_set_int64(flag, 9, &err)); /* within it */
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(define(&def) == flag);
  CHECK_STR(seen_since(), "n=9 from override; ");
  CHECK_STR(text_of(flag), "9");
  CHECK_OK(pd_override_pop(number, &err));
  CHECK_STR(text_of(flag), "2");
}

TEST(an_override_that_is_refused_ends_for_its_flag_and_shows_the_one_below) {
  pd_flag_def was = definition(PD_TYPE_int64, "n"), def = validated("n");
  pd_flag *flag = define(&was);
  set_from(flag, PD_SOURCE_FILE, "2");
  push_override(flag, "7");
  pd_override number = push_override(flag, "8");
  CHECK_OK(pd_flag_unregister(flag, &err));
  *refused = 8;
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_REFUSED);
  CHECK_STR(text_of(flag), "7");
  CHECK_OK(pd_override_pop(number, &err));
  CHECK_STR(text_of(flag), "7");
}

TEST(a_temporary_change_is_asked_about_and_what_waits_goes_below_it) {
  pd_flag_def was = definition(PD_TYPE_int64, "n"), def = validated("n");
  was.runtime = def.runtime = true;
  pd_flag *flag = define(&was);
  set_from(flag, PD_SOURCE_FILE, "2");
  pd_override made = 0;
  pd_batch_change change = {.flag = flag, .text = "9"};
  pd_batch_options options = {.size = sizeof options, .override = &made};
  CHECK_OK(pd_batch_apply(&change, 1, &options, &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
  let_wait("n", "1", PD_SOURCE_FILE);
  let_wait("n", "3", PD_SOURCE_ARGV);
  CHECK(define(&def) == flag);
  CHECK_STR(seen_since(), "n=9 from override; n=1 from file; n=3 from argv; ");
  CHECK_STR(text_of(flag), "9");
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
