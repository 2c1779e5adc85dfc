/* Which implementation is chosen, by the flag, the ranks and what can run here. */
#include "registered_op.h"

static void set(const char *text) { CHECK_OK(pd_flag_set_by_name("impl.sum", text, &err)); }

static void refuse(const char *text, const char *message) {
  char whole[600];
  snprintf(whole, sizeof whole, "impl.sum=%s: %s", text, message);
  CHECK_STATUS(pd_flag_set_by_name("impl.sum", text, &err), PD_ERR_REFUSED, whole);
}

static char warned[1020];
static int warnings;
static void note_warning(const char *message, pd_warning kind, void *context) {
  (void)kind, (void)context;
  warnings++;
  snprintf(warned, sizeof warned, "%s", message);
}

/* ---- Ranks ---- */

TEST(the_highest_rank_runs_and_of_equal_ones_the_first) {
  define_op();
  CHECK(call_op() == 1);
  pd_impl two = add_impl("two", 3, op_two);
  CHECK(call_op() == 2);
  pd_impl three = add_impl("three", 3, op_three);
  CHECK(call_op() == 2);
  CHECK_OK(pd_impl_unregister(two, &err));
  CHECK(call_op() == 3);
  add_impl("two", 3, op_two);
  CHECK(call_op() == 3);
  CHECK_OK(pd_impl_unregister(three, &err));
  CHECK(call_op() == 2);
}

TEST(a_lower_rank_than_that_of_the_native_one_waits_for_the_flag) {
  define_op();
  add_impl("two", -1, op_two);
  add_impl("three", 0, op_three); /* came later than the native one */
  CHECK(call_op() == 1);
  set("two,*");
  CHECK(call_op() == 2);
  set("three,two");
  CHECK(call_op() == 3);
  set("-native,*");
  CHECK(call_op() == 3);
  set("-native,-three,*");
  CHECK(call_op() == 2);
}

TEST(the_order_of_the_list_comes_before_ranks) {
  define_op();
  add_impl("two", 5, op_two);
  add_impl("three", 9, op_three);
  set("two,three");
  CHECK(call_op() == 2);
  set("*,two");
  CHECK(call_op() == 3);
  set("native,*");
  CHECK(call_op() == 1);
  CHECK_STR(impl_info("sum", 2).why, "after 'native' in the order");
  set("two");
  CHECK_STR(impl_info("sum", 2).why, "impl.sum leaves it out");
}

/* ---- The text of the flag ---- */

TEST(blanks_may_stand_around_names) {
  define_op();
  add_impl("two", 5, op_two);
  set(" native , two\t");
  CHECK(call_op() == 1);
  set(" -native, *");
  CHECK(call_op() == 2);
}

TEST(a_name_is_taken_whole) {
  define_op();
  add_impl("two", 5, op_two);
  add_impl("twofold", 4, op_three);
  set("twofold,*");
  CHECK(call_op() == 3);
  set("-two,*");
  CHECK(call_op() == 3);
  refuse("tw", "'tw' is no implementation of sum; did you mean 'two'?");
  refuse("twof!", "'twof' is no implementation of sum; did you mean 'two'?");
}

TEST(an_empty_list_and_a_list_of_what_is_not_there_run_the_native_one) {
  define_op();
  add_impl("two", 5, op_two);
  set("");
  CHECK(call_op() == 1);
  set("?missing");
  CHECK(call_op() == 1);
  CHECK_OK(pd_pending_check(NULL, &err));
  set("?missing,?two");
  CHECK(call_op() == 2);
}

TEST(a_list_that_is_wrong_is_refused_with_the_item) {
  static const char grammar[] = "is no implementation's name: expected NAME, NAME! (only this), "
                                "-NAME (never), ?NAME (if it is there) or *";
  char message[300];
  define_op();
  add_impl("two", 5, op_two);
  snprintf(message, sizeof message, "'t o' %s", grammar);
  refuse("t o", message);
  snprintf(message, sizeof message, "'' %s", grammar);
  refuse("-", message);
  refuse("!", message);
  refuse("two,-", message);
  snprintf(message, sizeof message, "'*two' %s", grammar);
  refuse("*two", message);
  refuse("two!,native", "'two' stands with !, expected nothing after it");
  refuse("two,native,two", "'two' is listed twice, expected it once");
  refuse("two,?two", "'two' is listed twice, expected it once");
  refuse("*,two,*", "'*' is listed twice, expected it once");
  add_impl("twofold", 4, op_three);
  set("two,twofold,native");
  set("two,native,*");
  set("native,two!");
}

TEST(an_unknown_name_is_refused_with_those_that_there_are) {
  pd_op_signature more = {"sum", "float (float)", {PD_CODE_FLOAT, PD_CODE_FLOAT}};
  define_op();
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  def.signature = &more;
  pd_impl number = add_op(&def);
  add_impl("two", 5, op_two);
  refuse("something_else",
         "'something_else' is no implementation of sum; double (double) has native, two; float "
         "(float) has native");
  CHECK_OK(pd_impl_unregister(number, &err));
  refuse("something_else",
         "'something_else' is no implementation of sum; double (double) has native, two");
  refuse("-twx,*", "'twx' is no implementation of sum; did you mean 'two'?");
  add_impl("twig", 4, op_three); /* farther away, and later */
  refuse("-twx,*", "'twx' is no implementation of sum; did you mean 'two'?");
}

TEST(only_values_that_are_given_early_may_name_what_comes_later) {
  static const pd_source early[] = {PD_SOURCE_FILE, PD_SOURCE_ENVIRONMENT, PD_SOURCE_ARGV};
  define_op();
  pd_assignment item = {.text = "later,*"};
  CHECK_OK(pd_flag_find("impl.sum", &item.flag, &err));
  for (int i = 0; i < 3; i++) {
    pd_origin origin = {early[i], 0, NULL, 0};
    CHECK_OK(pd_batch_set(&item, 1, &origin, NULL, &err));
  }
  pd_origin origin = {PD_SOURCE_FLEET, 0, NULL, 0};
  CHECK(pd_batch_set(&item, 1, &origin, NULL, &err) == PD_ERR_REFUSED);
  CHECK_STATUS(pd_pending_check(NULL, &err), PD_ERR_UNDEFINED,
               "--impl.sum: 'later' is no implementation of sum; double (double) has native");
  add_impl("later", -9, op_two);
  CHECK(call_op() == 2);
  CHECK_OK(pd_pending_check(NULL, &err));
}

TEST(a_value_that_waits_is_checked_when_the_operation_comes) {
  static const pd_origin file = {PD_SOURCE_FILE, 0, NULL, 0};
  CHECK_OK(pd_pending_set("impl.sum", "two,,two", &file, &err));
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_REFUSED);
  CHECK(strstr(err.message, "is no implementation's name") || strstr(err.message, "listed twice"));
  pd_impl_info impl = impl_info("sum", 0);
  CHECK(impl.chosen);
}

TEST(a_value_of_run_time_that_waits_names_what_is_there) {
  CHECK_OK(pd_pending_set("impl.sum", "later,*", NULL, &err));
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  CHECK_STATUS(pd_impl_register(&def, NULL, &err), PD_ERR_REFUSED,
               "impl.sum=later,*: 'later' is no implementation of sum; double (double) has native");
  CHECK_STR(text_of(op_info("sum").flag), "*");
}

/* ---- What can run here ---- */

static const char *reason; /* why the implementations of this test can't run */
static int asked;
static const char *is_usable(void) {
  asked++;
  return reason;
}

static pd_impl add_asked(const char *name, int32_t rank, op_function *function) {
  pd_op_def def = op_def(PD_KIND_IMPL, name, function);
  def.choice.rank = rank;
  def.choice.usable = is_usable;
  return add_op(&def);
}

TEST(an_implementation_is_asked_only_when_it_would_be_chosen) {
  define_op();
  add_asked("low", -1, op_two);
  CHECK(asked == 0);
  pd_impl high = add_asked("high", 1, op_three);
  CHECK(asked == 1 && call_op() == 3);
  set("low,*");
  CHECK(asked == 2 && call_op() == 2);
  set("*");
  set("low,*");
  CHECK(asked == 2 && call_op() == 2);
  CHECK_OK(pd_impl_unregister(high, &err));
  CHECK(asked == 2 && call_op() == 2);
}

TEST(what_cannot_run_is_passed_over_until_it_is_asked_again) {
  define_op();
  reason = "no luck";
  add_asked("high", 2, op_three);
  add_impl("two", 1, op_two);
  CHECK(asked == 1 && call_op() == 2);
  CHECK_STR(impl_info("sum", 1).why, "no luck");
  set("high,*");
  CHECK(asked == 1 && call_op() == 2);
  reason = NULL;
  CHECK_OK(pd_op_check_again(find_op("sum", NULL), &err));
  CHECK(asked == 2 && call_op() == 3);
  reason = "no more";
  CHECK_OK(pd_op_check_again(find_op("sum", NULL), &err));
  CHECK(asked == 3 && call_op() == 2);
}

TEST(a_choice_of_nothing_else_asks_all_that_it_names) {
  define_op();
  CHECK_OK(pd_warning_handle(note_warning, NULL, &err));
  reason = "no luck";
  add_asked("low", -2, op_three);
  add_asked("lower", -3, op_two);
  refuse("low!", "'low' can't run here: double (double): no luck");
  CHECK(asked == 1);
  refuse("lower,low!",
         "'low' can't run here: double (double): no luck, lower of double (double): no luck");
  CHECK(asked == 2);
  set("native,low!");
  CHECK(call_op() == 1 && asked == 2 && warnings == 0);
  set("?low");
  CHECK(call_op() == 1 && warnings == 0);
}

TEST(a_choice_that_runs_no_more_warns_once_for_each_list) {
  define_op();
  add_asked("low", -2, op_three);
  CHECK_OK(pd_warning_handle(note_warning, NULL, &err));
  set("low!");
  CHECK(call_op() == 3);
  reason = "no luck";
  for (int i = 0; i < 2; i++) {
    CHECK_OK(pd_op_check_again(find_op("sum", NULL), &err));
    CHECK(call_op() == 1 && warnings == 1);
  }
  CHECK_STR(warned, "impl.sum=low!: 'low' can't run here: double (double): no luck; the native one "
                    "runs");
  CHECK_STATUS(pd_pending_check(NULL, &err), PD_ERR_REFUSED,
               "impl.sum: 'low' can't run here: double (double): no luck");
  set("*");
  CHECK_OK(pd_op_check_again(find_op("sum", NULL), &err));
  CHECK(warnings == 1);
  CHECK_OK(pd_pending_check(NULL, &err));
}

TEST(a_choice_that_names_what_has_left_warns) {
  define_op();
  pd_impl two = add_impl("two", 5, op_two);
  CHECK_OK(pd_warning_handle(note_warning, NULL, &err));
  CHECK_OK(pd_impl_unregister(two, &err));
  CHECK(warnings == 0);
  two = add_impl("two", 5, op_two);
  pd_impl three = add_impl("three", 1, op_three);
  set("three,two,*");
  CHECK_OK(pd_impl_unregister(two, &err)); /* wasn't the one that ran */
  CHECK(warnings == 0 && call_op() == 3);
  CHECK_OK(pd_impl_unregister(three, &err));
  CHECK(warnings == 1 && call_op() == 1);
  CHECK_STR(warned,
            "impl.sum: implementation 'three' of double (double) has left, and the next one "
            "runs");
}

static const char *choose_all(void) {
  pd_error own;
  if (asked++ > 0) CHECK(pd_flag_set_by_name("impl.sum", "*", &own) == PD_OK);
  return asked > 1 ? "no luck" : NULL;
}

TEST(a_choice_that_is_given_up_while_it_is_asked_about_is_no_warning) {
  define_op();
  pd_op_def def = op_def(PD_KIND_IMPL, "foreign", NULL);
  def.choice.usable = choose_all;
  add_op(&def);
  CHECK_OK(pd_warning_handle(note_warning, NULL, &err));
  set("foreign!");
  CHECK(asked == 1);
  CHECK_OK(pd_op_check_again(find_op("sum", NULL), &err));
  CHECK(asked == 2 && warnings == 0);
  CHECK_STR(text_of(op_info("sum").flag), "*");
}

TEST(nothing_is_reported_of_an_operation_that_has_left) {
  pd_impl number = define_op();
  CHECK_OK(pd_impl_unregister(number, &err));
  CHECK_OK(pd_pending_check(NULL, &err));
}

/* ---- Callers that can call foreign implementations ---- */

static const char *chosen(void) {
  static pd_impl_info info;
  info = (pd_impl_info){.size = sizeof info};
  CHECK_OK(pd_op_choose(find_op("sum", NULL), &info, &err));
  return info.name;
}

TEST(of_several_native_implementations_the_first_runs_where_the_list_leaves_none) {
  pd_op_def def = op_def(PD_KIND_OP, "native", op_two);
  define_op();
  def.file = "elsewhere/ops.c"; /* the same line, compiled once more */
  set("?missing");
  add_op(&def);
  CHECK(call_op() == 1);
  set("-native");
  CHECK(call_op() == 1);
}

TEST(where_nothing_can_run_a_caller_is_told) {
  pd_impl_info info = {.size = sizeof info};
  reason = "no luck";
  pd_op_def def = op_def(PD_KIND_IMPL, "foreign", NULL);
  def.choice.usable = is_usable;
  add_op(&def);
  CHECK_STATUS(pd_op_choose(find_op("sum", NULL), &info, &err), PD_ERR_UNDEFINED,
               "operation 'sum', double (double): no implementation can run here");
  reason = NULL;
  CHECK_OK(pd_op_check_again(find_op("sum", NULL), &err));
  CHECK_STR(chosen(), "foreign");
  set("?missing");
  CHECK_STATUS(pd_op_choose(find_op("sum", NULL), &info, &err), PD_ERR_UNDEFINED,
               "operation 'sum', double (double): no implementation can run here");
}

TEST(a_native_implementation_that_cannot_run_runs_only_in_modules) {
  pd_impl_info info = {.size = sizeof info};
  reason = "no luck";
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  def.slot = &op_slot;
  def.choice.usable = is_usable;
  add_op(&def);
  CHECK(call_op() == 1);
  CHECK(pd_op_choose(find_op("sum", NULL), &info, &err) == PD_ERR_UNDEFINED);
  add_impl("two", -5, op_two);
  CHECK(call_op() == 2);
  CHECK_STR(chosen(), "two");
}

TEST(a_caller_may_run_what_modules_do_not) {
  define_op();
  pd_op_def def = op_def(PD_KIND_IMPL, "foreign", NULL);
  def.choice.rank = 9;
  pd_impl number = add_op(&def);
  CHECK_STR(chosen(), "foreign");
  CHECK(call_op() == 1);
  set("native,*");
  CHECK_STR(chosen(), "native");
  set("foreign!");
  CHECK_STR(chosen(), "foreign");
  CHECK(call_op() == 1);
  pd_override override = push_override(op_info("sum").flag, "native!");
  CHECK_STR(chosen(), "native");
  CHECK_OK(pd_override_pop(override, &err));
  CHECK_OK(pd_impl_unregister(number, &err));
  CHECK_STR(chosen(), "native");
}

/* ---- Several operations of a name ---- */

TEST(each_signature_has_its_own_choice) {
  pd_op_signature more = {"sum", "float (float)", {PD_CODE_FLOAT, PD_CODE_FLOAT}};
  define_op();
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  any_function slot = NULL;
  def.signature = &more;
  def.slot = &slot;
  add_op(&def);
  add_impl("two", 5, op_two);
  CHECK(call_op() == 2 && slot == (any_function)op_one);
  set("two!");
  CHECK(call_op() == 2 && slot == (any_function)op_one);
  def = op_def(PD_KIND_IMPL, "two", op_three);
  def.signature = &more;
  pd_impl number = add_op(&def);
  CHECK(call_op() == 2 && slot == (any_function)op_three);
  CHECK_OK(pd_impl_unregister(number, &err));
  CHECK(call_op() == 2 && slot == (any_function)op_one);
}

TEST(the_revision_rises_with_each_arrival_and_departure) {
  uint64_t last = *pd_op_revision();
  define_op();
  CHECK(*pd_op_revision() > last);
  last = *pd_op_revision();
  pd_impl two = add_impl("two", 5, op_two);
  CHECK(*pd_op_revision() > last);
  last = *pd_op_revision();
  CHECK_OK(pd_impl_unregister(two, &err));
  CHECK(*pd_op_revision() > last);
}
