/* A quantity with a fraction that leaves no whole number: the refusal says that it is that. */
#include "check.h"

static void refuses_as_not_whole(pd_type type, const char *unit, const char *text) {
  static int count;
  char name[16];
  snprintf(name, sizeof name, "x%d", ++count);
  pd_flag *flag = DEFINE(type, name, def.unit = unit);
  CHECK(pd_flag_set_from_string(flag, text, &err) == PD_ERR_VALUE);
  char expected[64];
  snprintf(expected, sizeof expected, "whole number of %s", unit);
  if (!strstr(err.message, expected)) {
    check_fail(__FILE__, __LINE__, "'%s': %s\n  expected it to say: %s", text, err.message,
               expected);
  }
}

TEST(bytes_that_arent_whole_are_called_so) {
  refuses_as_not_whole(PD_TYPE_uint64, "bytes", "15.99EiB");
  refuses_as_not_whole(PD_TYPE_int64, "bytes", "0.3KiB");
  refuses_as_not_whole(PD_TYPE_int32, "bytes", "0.5B");
  refuses_as_not_whole(PD_TYPE_uint32, "bytes", "1.00001kB");
}

TEST(seconds_that_arent_whole_are_called_so) {
  refuses_as_not_whole(PD_TYPE_int64, "seconds", "500ms");
  refuses_as_not_whole(PD_TYPE_int32, "seconds", "59.5s499ms");
  refuses_as_not_whole(PD_TYPE_uint32, "seconds", "1.5s");
}

TEST(what_is_no_quantity_at_all_isnt_called_a_fraction) {
  pd_flag *flag = DEFINE(PD_TYPE_int64, "size", def.unit = "bytes");
  CHECK(pd_flag_set_from_string(flag, "15.99EB5", &err) == PD_ERR_VALUE);
  CHECK(!strstr(err.message, "whole"));
}
