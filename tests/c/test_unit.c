/* Flags with a unit: quantities are read exactly or refused. */
#include <math.h>

#include "check.h"

static pd_flag *flag;

static void start(pd_type type, const char *unit) {
  static int count;
  char name[16];
  snprintf(name, sizeof name, "x%d", ++count);
  flag = DEFINE(type, name, def.unit = unit);
}

static void reads(const char *text, const char *back) {
  pd_status got = pd_flag_set_from_string(flag, text, &err);
  if (got != PD_OK) check_fail(__FILE__, __LINE__, "'%s': %s", text, err.message);
  CHECK_STR(text_of(flag), back);
  CHECK_OK(pd_flag_set_from_string(flag, text_of(flag), &err));
  CHECK_STR(text_of(flag), back);
}

/* `text` is refused, and the value stays. */
static void refuses(const char *text, pd_status status) {
  char before[400];
  snprintf(before, sizeof before, "%s", text_of(flag));
  pd_status got = pd_flag_set_from_string(flag, text, &err);
  if (got != status) check_fail(__FILE__, __LINE__, "'%s' gives %s", text, pd_status_name(got));
  CHECK_STR(text_of(flag), before);
}

TEST(bytes_are_read_with_decimal_and_binary_suffixes) {
  static const char *const cases[][2] = {{"4096", "4096"},
                                         {"0x1000", "4096"},
                                         {"7B", "7"},
                                         {"10kB", "10000"},
                                         {"10KB", "10000"},
                                         {"2MB", "2000000"},
                                         {"3GB", "3000000000"},
                                         {"4TB", "4000000000000"},
                                         {"5PB", "5000000000000000"},
                                         {"6EB", "6000000000000000000"},
                                         {"1KiB", "1024"},
                                         {"64MiB", "67108864"},
                                         {"1GiB", "1073741824"},
                                         {"1TiB", "1099511627776"},
                                         {"1PiB", "1125899906842624"},
                                         {"7EiB", "8070450532247928832"},
                                         {"-1KiB", "-1024"},
                                         {"+1KiB", "1024"},
                                         {"-8EiB", "-9223372036854775808"},
                                         {"0EiB", "0"}};
  start(PD_TYPE_int64, "bytes");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) reads(cases[i][0], cases[i][1]);
}

TEST(a_fraction_is_taken_where_the_number_is_whole) {
  start(PD_TYPE_int64, "bytes");
  reads("1.5GiB", "1610612736");
  reads(".5KiB", "512");
  reads("1.KiB", "1024");
  reads("1.0B", "1");
  reads("1.50000000000000000000000000000000000000000000KiB", "1536");
  reads("0.0009765625KiB", "1");
  reads("0.000000000000000000867361737988403547205962240695953369140625EiB", "1");
  refuses("0.0009765624KiB", PD_ERR_VALUE);
  refuses("0.5B", PD_ERR_VALUE);
  refuses("0.3KiB", PD_ERR_VALUE);
  refuses("1.5", PD_ERR_VALUE);
}

TEST(seconds_are_read_in_all_their_units) {
  start(PD_TYPE_int64, "seconds");
  reads("90", "90");
  reads("90s", "90");
  reads("2m", "120");
  reads("2min", "120");
  reads("3h", "10800");
  reads("1d", "86400");
  reads("2000ms", "2");
  reads("5000000us", "5");
  reads("7000000000ns", "7");
}

TEST(a_compound_goes_from_big_to_small_with_each_unit_once) {
  start(PD_TYPE_int64, "seconds");
  reads("1h30m", "5400");
  reads("2m30s", "150");
  reads("1d2h3min4s", "93784");
  reads("-1m30s", "-90");
  reads("0.5h30m", "3600");
  reads("59.5s500ms", "60");
  reads("59s999ms999us1000ns", "60");
  refuses("30s2m", PD_ERR_VALUE);
  refuses("1m1m", PD_ERR_VALUE);
  refuses("1m1min", PD_ERR_VALUE);
  refuses("1us1\xc2\xb5s", PD_ERR_VALUE);
  refuses("1h-30m", PD_ERR_VALUE);
  refuses("1h30", PD_ERR_VALUE);
  refuses("59.5s499ms", PD_ERR_VALUE);
  start(PD_TYPE_int64, "bytes");
  refuses("1GiB512MiB", PD_ERR_VALUE);
}

TEST(a_double_takes_the_nearest_value) {
  start(PD_TYPE_double, "seconds");
  reads("200ms", "0.2");
  reads("-200ms", "-0.2");
  reads("1us", "1e-06");
  reads("1\xc2\xb5s", "1e-06");
  reads("1\xce\xbcs", "1e-06");
  reads("3ns", "3e-09");
  reads("0.1ns", "1e-10");
  reads("1h0.1ms", "3600.0001");
  reads("-0s", "-0");
  reads("1e3", "1000");
  reads("inf", "inf");
  refuses("1e3s", PD_ERR_VALUE);
  refuses("infs", PD_ERR_VALUE);
  start(PD_TYPE_double, "bytes");
  reads("0.1KiB", "102.4");
  reads("16EiB", "1.8446744073709552e+19");
}

TEST(a_quantity_that_the_type_cannot_hold_is_refused) {
  start(PD_TYPE_int32, "bytes");
  reads("-2GiB", "-2147483648");
  refuses("2GiB", PD_ERR_RANGE);
  start(PD_TYPE_uint32, "bytes");
  refuses("4GiB", PD_ERR_RANGE);
  refuses("-1B", PD_ERR_RANGE);
  start(PD_TYPE_uint64, "bytes");
  reads("15.9999999999999999991326382620115964527940377593040466308593750EiB",
        "18446744073709551615");
  refuses("16EiB", PD_ERR_RANGE);
  refuses("99999999999999999999999999999999999999999999999999EiB", PD_ERR_RANGE);
  start(PD_TYPE_int64, "seconds");
  refuses("106751991167301d", PD_ERR_RANGE);
}

TEST(the_longest_text_is_still_exact) {
  char text[200];
  start(PD_TYPE_int64, "bytes");
  snprintf(text, sizeof text, "%.*s1EiB", 95,
           "00000000000000000000000000000000000000000000000000"
           "00000000000000000000000000000000000000000000000000");
  CHECK(strlen(text) == 99);
  reads(text, "1152921504606846976");
  snprintf(text, sizeof text, "1.%.*sEiB", 94,
           "000000000000000000000000000000000000000000000000"
           "0000000000000000000000000000000000000000000000000");
  CHECK(strlen(text) == 99);
  reads(text, "1152921504606846976");
  memset(text, '9', 96);
  strcpy(text + 96, "EiB");
  refuses(text, PD_ERR_RANGE);
  memset(text, '0', 100);
  strcpy(text + 100, "B");
  refuses(text, PD_ERR_VALUE);
  start(PD_TYPE_double, "seconds");
  memset(text, '0', 97);
  text[1] = '.';
  strcpy(text + 96, "1ns");
  reads(text, "1e-104");
}

TEST(what_only_looks_like_a_quantity_is_refused) {
  static const char *const bad[] = {
      "",     " 1B", "1B ",   "1 B",    "B",    "-B",     "1b",           "1kb",  "1K",     "1k",
      "1M",   "1mb", "1mib",  "1MIB",   "1Mib", "1kiB",   "1.2.3KiB",     ".KiB", "1,5KiB", "--1B",
      "+-1B", "1BB", "1KiBB", "0x1KiB", "1s",   "1_000B", "\xd9\xa3\x42", "1\xff"};
  for (pd_type type = PD_TYPE_int32; type <= PD_TYPE_double; type++) {
    start(type, "bytes");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refuses(bad[i], PD_ERR_VALUE);
  }
  start(PD_TYPE_double, "seconds");
  refuses("1S", PD_ERR_VALUE);
  refuses("1H", PD_ERR_VALUE);
  refuses("1sec", PD_ERR_VALUE);
  refuses("1B", PD_ERR_VALUE);
}

TEST(a_range_and_choices_are_kept_to_in_plain_numbers) {
  pd_flag_def def = definition(PD_TYPE_int64, "size");
  def.unit = "bytes";
  def.max.i64 = 4096;
  def.choices = "1024|4KiB|8192";
  CHECK_STATUS(pd_flag_register(&def, &flag, &err), PD_ERR_CHOICE,
               "definition of 'size': default 0: expected one of 1024, 4KiB, 8192");
  def.default_value.i64 = 1024;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  reads("4KiB", "4096");
  reads("1KiB", "1024");
  refuses("2KiB", PD_ERR_CHOICE);
  refuses("8KiB", PD_ERR_RANGE);
  CHECK_OK(pd_flag_set_int64(flag, 4096, &err));
}

TEST(a_refusal_says_that_a_quantity_is_not_whole) {
  start(PD_TYPE_uint64, "bytes");
  CHECK_STATUS(pd_flag_set_from_string(flag, "15.99EiB", &err), PD_ERR_VALUE,
               "x1=15.99EiB: expected a whole number of bytes; this has a fraction");
  CHECK_STATUS(pd_flag_set_from_string(flag, "-0.5B", &err), PD_ERR_VALUE,
               "x1=-0.5B: expected a whole number of bytes; this has a fraction");
  start(PD_TYPE_int64, "seconds");
  CHECK_STATUS(pd_flag_set_from_string(flag, "1m500ms", &err), PD_ERR_VALUE,
               "x2=1m500ms: expected a whole number of seconds; this has a fraction");
  flag = DEFINE(PD_TYPE_int32, "wait", def.unit = "seconds", def.min.i64 = 1, def.max.i64 = 60,
                def.default_value.i64 = 1);
  CHECK_STATUS(pd_flag_set_from_string(flag, "500ms", &err), PD_ERR_VALUE,
               "wait=500ms: expected a whole number of seconds in [1, 60]; this has a fraction");
}

TEST(a_refusal_says_how_quantities_are_written) {
  start(PD_TYPE_int64, "seconds");
  CHECK_STATUS(pd_flag_set_from_string(flag, "1.5", &err), PD_ERR_VALUE,
               "x1=1.5: expected an integer number of seconds "
               "(as in 1m30s; units: d, h, m, s, ms, us, ns)");
  CHECK_STATUS(pd_flag_set_from_string(flag, "1000000000000000d", &err), PD_ERR_RANGE,
               "x1=1000000000000000d: expected a 64-bit integer number of seconds");
  start(PD_TYPE_double, "seconds");
  CHECK_STATUS(pd_flag_set_from_string(flag, "soon", &err), PD_ERR_VALUE,
               "x2=soon: expected a number of seconds "
               "(as in 1m30s; units: d, h, m, s, ms, us, ns)");
  start(PD_TYPE_uint32, "bytes");
  CHECK_STATUS(pd_flag_set_from_string(flag, "64M", &err), PD_ERR_VALUE,
               "x3=64M: expected an integer number of bytes "
               "(as in 64KiB; units: B, kB, MB, GB, KiB, MiB, GiB, ...)");
  flag = DEFINE(PD_TYPE_int32, "wait", def.unit = "seconds", def.max.i64 = 60);
  CHECK_STATUS(pd_flag_set_from_string(flag, "2m", &err), PD_ERR_RANGE,
               "wait=2m: expected an integer number of seconds <= 60");
  CHECK_STATUS(pd_flag_set_from_string(flag, "500ms", &err), PD_ERR_VALUE,
               "wait=500ms: expected a whole number of seconds <= 60; this has a fraction");
}
