/* Two flags that would have one variable, of the environment or of a module: an error that names
 * both, and never two flags of which one takes the other's value. */
#include "check.h"

static void names_both(const char *message) {
  if (!strstr(message, "net.port") || !strstr(message, "net_port")) {
    check_fail(__FILE__, __LINE__, "doesn't name both flags: %s", message);
  }
}

static void names_variable(const char *message) {
  names_both(message);
  if (!strstr(message, "FLAGS_net_port")) {
    check_fail(__FILE__, __LINE__, "doesn't name the variable: %s", message);
  }
}

static bool is_alone(const pd_flag *flag, int64_t expected) {
  int64_t value = 0;
  CHECK_OK(pd_flag_get_int64(flag, &value, &err));
  return value == expected;
}

/* ---- Of the environment ---- */

TEST(two_flags_of_one_environment_variable_are_an_error_that_names_both) {
  pd_flag *dotted = define_flag(PD_TYPE_int64, "net.port");
  pd_flag *plain = define_flag(PD_TYPE_int64, "net_port");
  setenv("FLAGS_net_port", "80", 1);
  CHECK(pd_environment_enable("FLAGS_", NULL, &err) != PD_OK);
  names_variable(err.message);
  CHECK(is_alone(dotted, 0) && is_alone(plain, 0));
}

TEST(a_variable_that_isnt_set_hinders_no_two_flags) {
  unsetenv("FLAGS_net_port");
  define_flag(PD_TYPE_int64, "net.port");
  define_flag(PD_TYPE_int64, "net_port");
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
}

TEST(a_late_flag_that_claims_the_variable_of_another_one_keeps_its_default_and_says_why) {
  setenv("FLAGS_net_port", "80", 1);
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  pd_flag *plain = define_flag(PD_TYPE_int64, "net_port"), *dotted = NULL;
  CHECK(is_alone(plain, 80));
  pd_flag_def def = definition(PD_TYPE_int64, "net.port");
  CHECK(pd_flag_register(&def, &dotted, &err) != PD_OK);
  CHECK(dotted); /* it is defined */
  names_variable(err.message);
  CHECK(is_alone(dotted, 0) && is_alone(plain, 80));
}

TEST(fromenv_of_a_name_whose_variable_another_flag_claims_is_an_error) {
  pd_flag *dotted = define_flag(PD_TYPE_int64, "net.port");
  define_flag(PD_TYPE_int64, "net_port");
  setenv("FLAGS_net_port", "80", 1);
  CHECK(parse_line("--fromenv=net.port", NULL) != PD_OK);
  names_variable(err.message);
  CHECK(is_alone(dotted, 0));
}

TEST(an_alias_claims_its_variable_too) {
  DEFINE(PD_TYPE_int64, "first", def.aliases = "net.port");
  pd_flag *plain = define_flag(PD_TYPE_int64, "net_port");
  setenv("FLAGS_net_port", "80", 1);
  pd_status status = pd_environment_enable("FLAGS_", NULL, &err);
  if (status != PD_OK) {
    names_variable(err.message);
    return;
  }
  CHECK(is_alone(plain, 80)); /* unless variables of aliases aren't read at all */
  pd_flag *first = find_flag("first");
  CHECK(is_alone(first, 0));
}

TEST(the_same_definition_again_may_bring_the_same_cell) {
  static int64_t cell;
  pd_flag *first = NULL, *again = NULL;
  pd_flag_def def = definition(PD_TYPE_int64, "net.port");
  def.cell = &cell;
  CHECK_OK(pd_flag_register(&def, &first, &err));
  CHECK_OK(pd_flag_register(&def, &again, &err));
  CHECK(first == again);
}
