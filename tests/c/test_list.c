/* Comma lists: pd_list_get, and flags whose text is one. */
#include "check.h"

static const char *item(const char *list, size_t index) {
  static char text[64];
  size_t length = 99;
  CHECK_OK(pd_list_get(list, index, text, sizeof text, &length, &err));
  CHECK(length == strlen(text));
  return text;
}

static size_t count(const char *list) {
  size_t found = 0;
  while (pd_list_get(list, found, NULL, 0, NULL, &err) == PD_OK) found++;
  CHECK(err.status == PD_ERR_ARGUMENT);
  return found;
}

static pd_flag *list_of(pd_type type, const char *name, const char *choices) {
  return DEFINE(PD_TYPE_string, name, def.list = (uint8_t)type, def.choices = choices);
}

TEST(items_stand_between_commas) {
  CHECK(count("") == 0);
  CHECK(count("a") == 1);
  CHECK(count("a,b c,,d") == 4);
  CHECK(count(",") == 2);
  CHECK_STR(item("a,b c,,d", 0), "a");
  CHECK_STR(item("a,b c,,d", 1), "b c");
  CHECK_STR(item("a,b c,,d", 2), "");
  CHECK_STR(item("a,b c,,d", 3), "d");
}

TEST(an_item_in_quotes_may_have_anything) {
  CHECK(count("\"\"") == 1);
  CHECK_STR(item("\"\"", 0), "");
  CHECK_STR(item("\"a,b\",c", 0), "a,b");
  CHECK_STR(item("\"a,b\",c", 1), "c");
  CHECK_STR(item("\"say \"\"hi\"\"\"", 0), "say \"hi\"");
  CHECK_STR(item("x,\" \r\n\"", 1), " \r\n");
}

TEST(what_is_no_list_is_told_with_its_item) {
  static const char *const bad[] = {"a,b\"", "a,\"b",    "a,\"b\"c", "a,b\nc",
                                    "a,\r",  "a,\"\"\"", "a,b\"\"c", "a, \"b\" c"};
  char text[8] = "before";
  size_t length = 77;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    CHECK_STATUS(pd_list_get(bad[i], 0, text, sizeof text, &length, &err), PD_ERR_VALUE,
                 "item 2: expected text, in double quotes if it has quotes or line breaks");
    CHECK_STR(text, "before");
    CHECK(length == 77);
  }
}

TEST(an_item_that_does_not_fit_is_cut_and_its_length_told) {
  char text[4] = "zzz";
  size_t length = 0;
  CHECK_OK(pd_list_get("a,\"b\"\"cd\",e", 1, text, sizeof text, &length, &err));
  CHECK_STR(text, "b\"c");
  CHECK(length == 4);
  CHECK_OK(pd_list_get("abc", 0, text, 1, NULL, &err));
  CHECK_STR(text, "");
}

TEST(an_index_past_the_end_and_null_are_told) {
  CHECK_STATUS(pd_list_get("a,b", 2, NULL, 0, NULL, &err), PD_ERR_ARGUMENT,
               "index 2 is out of range: the list has 2 items");
  CHECK_STATUS(pd_list_get(NULL, 0, NULL, 0, NULL, &err), PD_ERR_ARGUMENT, "list is NULL");
  CHECK_STATUS(pd_list_get("a", 0, NULL, 5, NULL, &err), PD_ERR_ARGUMENT, "buffer is NULL");
}

TEST(a_list_flag_takes_lists_of_its_type_alone) {
  pd_flag *sizes = list_of(PD_TYPE_int32, "sizes", NULL);
  CHECK_OK(pd_flag_set_from_string(sizes, "1,-2,\"0x10\"", &err));
  CHECK_STR(text_of(sizes), "1,-2,\"0x10\"");
  CHECK_OK(pd_flag_set_string(sizes, "", &err));
  CHECK_STATUS(pd_flag_set_from_string(sizes, "1,x", &err), PD_ERR_VALUE,
               "sizes=1,x: item 2: expected a 32-bit integer");
  CHECK_STATUS(pd_flag_set_from_string(sizes, "1,2147483648", &err), PD_ERR_RANGE,
               "sizes=1,2147483648: item 2: expected a 32-bit integer");
  CHECK_STATUS(pd_flag_set_string(sizes, "1,,2", &err), PD_ERR_VALUE,
               "sizes=1,,2: item 2: expected a 32-bit integer");
  CHECK_STATUS(pd_flag_set_string(sizes, "1,\"2", &err), PD_ERR_VALUE,
               "sizes=1,\"2: item 2: expected a 32-bit integer");
  CHECK_STR(text_of(sizes), "");
  pd_flag *names = list_of(PD_TYPE_string, "names", NULL);
  CHECK_STATUS(
      pd_flag_set_string(names, "a,\"b ", &err), PD_ERR_VALUE,
      "names=a,\"b : item 2: expected text, in double quotes if it has quotes or line breaks");
  CHECK_STATUS(pd_flag_set_string(list_of(PD_TYPE_bool, "checks", NULL), "yes,no,2", &err),
               PD_ERR_VALUE, "checks=yes,no,2: item 3: expected " PD__BOOL_EXPECTED);
}

TEST(choices_are_those_of_each_item) {
  pd_flag *modes = list_of(PD_TYPE_string, "modes", "fast|best");
  pd_flag *rates = list_of(PD_TYPE_double, "rates", "0.5|1");
  CHECK_OK(pd_flag_set_string(modes, "best,fast,\"best\"", &err));
  CHECK_STATUS(pd_flag_set_string(modes, "best,slow", &err), PD_ERR_CHOICE,
               "modes=best,slow: item 2: expected one of fast, best");
  CHECK_OK(pd_flag_set_string(rates, "1.0,5e-1", &err));
  CHECK_STATUS(pd_flag_set_string(rates, "1,2", &err), PD_ERR_CHOICE,
               "rates=1,2: item 2: expected one of 0.5, 1");
}

TEST(a_long_list_and_a_long_item_are_read_whole) {
  enum { SIZE = 1000001 };
  char *text = malloc(SIZE);
  pd_flag *names = list_of(PD_TYPE_string, "names", NULL);
  pd_flag *sizes = list_of(PD_TYPE_int32, "sizes", NULL);
  memset(text, 'x', SIZE - 1);
  text[SIZE - 1] = '\0';
  CHECK_OK(pd_flag_set_string(names, text, &err));
  CHECK(pd_flag_set_string(sizes, text, &err) == PD_ERR_VALUE);
  memset(text, '0', SIZE - 1);
  CHECK(pd_flag_set_string(sizes, text, &err) == PD_ERR_VALUE);
  for (size_t i = 1; i < SIZE - 1; i += 2) text[i] = ',';
  text[SIZE - 2] = '\0';
  CHECK_OK(pd_flag_set_string(sizes, text, &err));
  size_t length;
  CHECK_OK(pd_flag_get_text(sizes, NULL, 0, &length, &err));
  CHECK(length == SIZE - 2);
  free(text);
}

TEST(a_list_that_a_command_line_lacks_says_what_it_is) {
  list_of(PD_TYPE_int32, "sizes", NULL);
  CHECK_STATUS(
      parse_line("--sizes", NULL), PD_ERR_ARGV,
      "--sizes: the value is missing, expected a list separated by commas, each item a 32-bit "
      "integer");
}

TEST(blanks_around_an_item_do_not_belong_to_it) {
  char item[8];
  size_t length;
  static const char *const expected[] = {"a", " b ", "c d", ""};
  for (size_t i = 0; i < 4; i++) {
    CHECK_OK(pd_list_get(" a\t, \" b \" ,\tc d ,  ", i, item, sizeof item, &length, &err));
    CHECK_STR(item, expected[i]);
    CHECK(length == strlen(expected[i]));
  }
  CHECK_OK(pd_list_get("abcdefgh   ", 0, item, sizeof item, &length, &err)); /* cut off */
  CHECK_STR(item, "abcdefg");
  CHECK(length == 8);
  CHECK_OK(pd_flag_set_from_string(list_of(PD_TYPE_int32, "counts", NULL), "1, 2\t,3", &err));
  pd_flag *modes = list_of(PD_TYPE_string, "modes", "a|b");
  CHECK_OK(pd_flag_set_from_string(modes, "a, b", &err));
  CHECK_STATUS(pd_flag_set_from_string(modes, "a,\" b\"", &err), PD_ERR_CHOICE,
               "modes=a,\" b\": item 2: expected one of a, b");
}
