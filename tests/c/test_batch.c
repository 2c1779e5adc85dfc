#include "check.h"

static pd_flag *a, *b;

static void start(void) {
  a = define_flag(PD_TYPE_int32, "a");
  b = define_flag(PD_TYPE_string, "b");
}

static void check_values(const char *of_a, const char *of_b) {
  CHECK_STR(text_of(a), of_a);
  CHECK_STR(text_of(b), of_b);
}

TEST(a_batch_sets_all_its_flags_from_text_or_typed_values) {
  start();
  pd_assignment items[] = {{.flag = a, .text = "5"},
                           {.flag = b, .type = PD_TYPE_string, .value = {.str = "five"}}};
  CHECK_OK(pd_batch_set(items, 2, NULL, NULL, &err));
  check_values("5", "five");
}

TEST(one_bad_value_keeps_the_whole_batch_out) {
  start();
  pd_assignment items[] = {{.flag = a, .text = "5"},
                           {.flag = b, .text = "five"},
                           {.flag = a, .text = "six"},
                           {.flag = b, .type = PD_TYPE_int32, .value = {.i64 = 1}},
                           {.flag = NULL, .text = "x"}};
  pd_error_list *errors = pd_error_list_new();
  CHECK_STATUS(pd_batch_set(items, 5, NULL, errors, &err), PD_ERR_VALUE,
               "a=six: expected a 32-bit integer");
  check_values("0", "");
  CHECK(pd_error_list_count(errors) == 3);
  CHECK_STR(pd_error_list_at(errors, 1)->message, "b: is string, not int32");
  CHECK_STR(pd_error_list_at(errors, 2)->message, "flag is NULL");
  pd_error_list_free(errors);
}

TEST(a_flag_that_is_set_twice_in_a_batch_has_the_later_value) {
  start();
  pd_assignment items[] = {{.flag = a, .text = "5"}, {.flag = a, .text = "6"}};
  CHECK_OK(pd_batch_set(items, 2, NULL, NULL, &err));
  CHECK_STR(text_of(a), "6");
}

TEST(an_empty_batch_is_fine) {
  CHECK_OK(pd_batch_set(NULL, 0, NULL, NULL, &err));
  CHECK_STATUS(pd_batch_set(NULL, 1, NULL, NULL, &err), PD_ERR_ARGUMENT, "items is NULL");
}

TEST(a_batch_of_defaults_is_below_all_other_values_and_has_its_place) {
  start();
  CHECK_OK(pd_flag_set_int32(a, 7, &err));
  pd_assignment items[] = {{.flag = a, .text = "5"}, {.flag = b, .text = "five"}};
  pd_origin origin = {PD_SOURCE_DEFAULT, 12, "app.c", 0};
  CHECK_OK(pd_batch_set(items, 2, &origin, NULL, &err));
  check_values("7", "five");
  CHECK_OK(pd_flag_reset(a, &err));
  CHECK_OK(pd_flag_reset(b, &err));
  check_values("5", "five");
  pd_flag_entry entry = flag_entry(a, 0);
  CHECK(entry.origin.source == PD_SOURCE_DEFAULT && entry.origin.line == 12);
  CHECK_STR(entry.origin.place, "app.c");
}

TEST(a_batch_cannot_pretend_to_be_a_layer) {
  start();
  pd_assignment item = {.flag = a, .text = "5"};
  pd_origin origin = {PD_SOURCE_OVERRIDE, 0, NULL, 0};
  CHECK_STATUS(pd_batch_set(&item, 1, &origin, NULL, &err), PD_ERR_ARGUMENT,
               "origin->source is 5, expected file, environment, argv, fleet, run time or live");
}

TEST(a_layer_covers_what_was_there_until_it_is_popped) {
  start();
  CHECK_OK(pd_flag_set_int32(a, 1, &err));
  pd_assignment items[] = {{.flag = a, .text = "2"}, {.flag = b, .text = "two"}};
  pd_override override;
  CHECK_OK(pd_override_push(items, 2, NULL, NULL, &override, &err));
  check_values("2", "two");
  CHECK_OK(pd_override_pop(override, &err));
  check_values("1", "");
}

TEST(layers_are_popped_in_any_order) {
  start();
  pd_override one = push_override(a, "1"), two = push_override(a, "2"),
              three = push_override(a, "3");
  CHECK_OK(pd_override_pop(two, &err));
  CHECK_STR(text_of(a), "3");
  CHECK_OK(pd_override_pop(three, &err));
  CHECK_STR(text_of(a), "1");
  CHECK_OK(pd_override_pop(one, &err));
  CHECK_STR(text_of(a), "0");
}

TEST(a_layer_is_popped_once) {
  start();
  pd_override override = push_override(a, "1");
  char message[128];
  snprintf(message, sizeof message, "no override has the number %llu, or it is already popped",
           (unsigned long long) override);
  CHECK_OK(pd_override_pop(override, &err));
  CHECK_STATUS(pd_override_pop(override, &err), PD_ERR_ARGUMENT, message);
  CHECK_STATUS(pd_override_pop(0, &err), PD_ERR_ARGUMENT,
               "no override has the number 0, or it is already popped");
}

TEST(setting_a_flag_under_a_layer_changes_the_layer) {
  start();
  CHECK_OK(pd_flag_set_int32(a, 1, &err));
  pd_override below = push_override(a, "2"), top = push_override(a, "3");
  CHECK_OK(pd_flag_set_int32(a, 4, &err));
  CHECK_STR(text_of(a), "4");
  CHECK_OK(pd_override_pop(top, &err));
  CHECK_STR(text_of(a), "2");
  CHECK_OK(pd_override_pop(below, &err));
  CHECK_STR(text_of(a), "1");
}

TEST(a_lower_source_goes_below_a_layer) {
  start();
  pd_override override = push_override(a, "2");
  pd_assignment item = {.flag = a, .text = "7"};
  pd_origin origin = {PD_SOURCE_FILE, 1, "flags.conf", 0};
  CHECK_OK(pd_batch_set(&item, 1, &origin, NULL, &err));
  CHECK_STR(text_of(a), "2");
  CHECK_OK(pd_override_pop(override, &err));
  CHECK_STR(text_of(a), "7");
}

TEST(a_reset_under_a_layer_is_undone_with_the_layer) {
  start();
  CHECK_OK(pd_flag_set_int32(a, 1, &err));
  pd_override override = push_override(a, "2");
  CHECK_OK(pd_flag_reset(a, &err));
  CHECK_STR(text_of(a), "0");
  CHECK_OK(pd_override_pop(override, &err));
  CHECK_STR(text_of(a), "1");
}

TEST(a_layer_with_a_bad_value_changes_nothing) {
  start();
  pd_assignment items[] = {{.flag = b, .text = "x"}, {.flag = a, .text = "x"}};
  pd_override override = 77;
  CHECK_STATUS(pd_override_push(items, 2, NULL, NULL, &override, &err), PD_ERR_VALUE,
               "a=x: expected a 32-bit integer");
  CHECK(override == 77);
  check_values("0", "");
}

TEST(a_layer_tells_its_place) {
  start();
  pd_assignment item = {.flag = a, .text = "2"};
  pd_origin origin = {PD_SOURCE_RUNTIME, 33, "test.py", 0};
  pd_override override;
  CHECK_OK(pd_override_push(&item, 1, &origin, NULL, &override, &err));
  pd_flag_entry entry = flag_entry(a, 0);
  CHECK(entry.origin.source == PD_SOURCE_OVERRIDE && entry.origin.line == 33);
  CHECK_STR(entry.origin.place, "test.py");
}

TEST(freezing_a_flag_hinders_a_push_but_not_a_pop) {
  start();
  pd_override override = push_override(a, "2");
  CHECK_OK(pd_flag_freeze(a, &err));
  pd_assignment item = {.flag = a, .text = "3"};
  pd_override other;
  CHECK_STATUS(pd_override_push(&item, 1, NULL, NULL, &other, &err), PD_ERR_FROZEN, "a: is frozen");
  CHECK_OK(pd_override_pop(override, &err));
  CHECK_STR(text_of(a), "0");
}

TEST(one_flag_may_stand_twice_in_a_layer) {
  start();
  pd_assignment items[] = {{.flag = a, .text = "1"}, {.flag = a, .text = "2"}};
  pd_override override;
  CHECK_OK(pd_override_push(items, 2, NULL, NULL, &override, &err));
  CHECK_STR(text_of(a), "2");
  CHECK_OK(pd_override_pop(override, &err));
  CHECK_STR(text_of(a), "0");
}

TEST(an_empty_layer_can_be_pushed_and_popped) {
  pd_override override;
  CHECK_OK(pd_override_push(NULL, 0, NULL, NULL, &override, &err));
  CHECK_OK(pd_override_pop(override, &err));
  CHECK_STATUS(pd_override_push(NULL, 1, NULL, NULL, &override, &err), PD_ERR_ARGUMENT,
               "items is NULL");
  CHECK_STATUS(pd_override_push(NULL, 0, NULL, NULL, NULL, &err), PD_ERR_ARGUMENT, "out is NULL");
}

static int asked;
static bool count_question(const pd_flag_entry *const *entries, void *context, char *why,
                           size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  asked++;
  return true;
}

TEST(the_validator_of_a_definition_is_asked_once_about_a_flag_that_stands_twice_in_a_batch) {
  pd_flag *flag = DEFINE(PD_TYPE_int64, "twice", def.validate = count_question);
  pd_assignment items[] = {{.flag = flag, .text = "1"}, {.flag = flag, .text = "2"}};
  asked = 0;
  CHECK_OK(pd_batch_set(items, 2, NULL, NULL, &err));
  CHECK(asked == 1);
  CHECK_STR(text_of(flag), "2");
}
