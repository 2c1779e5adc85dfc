#include <float.h>
#include <locale.h>
#include <math.h>
#include <sys/stat.h>

#include "check.h"

static pd_flag *flag;

static void start(pd_type type) { flag = define_flag(type, "x"); }

static void reads(const char *text, const char *back) {
  CHECK_OK(pd_flag_set_from_string(flag, text, &err));
  CHECK_STR(text_of(flag), back);
}

/* `text` is refused, and the value stays. */
static void refuses(const char *text, pd_status status) {
  char before[4096];
  snprintf(before, sizeof before, "%s", text_of(flag));
  pd_status got = pd_flag_set_from_string(flag, text, &err);
  if (got != status) check_fail(__FILE__, __LINE__, "'%s' gives %s", text, pd_status_name(got));
  CHECK_STR(text_of(flag), before);
}

TEST(a_bool_reads_yes_and_no_in_all_their_forms) {
  static const char *const yes[] = {"1", "t", "T",   "true", "TRUE", "True",
                                    "y", "Y", "yes", "YES",  "on",   "ON"};
  static const char *const no[] = {"0", "f",  "F",  "false", "FALSE", "n",
                                   "N", "no", "No", "off",   "Off"};
  start(PD_TYPE_bool);
  for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) reads(yes[i], "true");
  for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
    reads("yes", "true");
    reads(no[i], "false");
  }
}

TEST(a_bool_reads_nothing_else) {
  static const char *const bad[] = {"",   "2",   "01", " 1",  "1 ",  "true ", "tr", "yess",
                                    "of", "ona", "-1", "oui", "0x1", "1.0",   "+1", "\n1"};
  start(PD_TYPE_bool);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refuses(bad[i], PD_ERR_VALUE);
}

TEST(an_int32_reads_its_whole_range_and_no_more) {
  start(PD_TYPE_int32);
  reads("2147483647", "2147483647");
  reads("-2147483648", "-2147483648");
  refuses("2147483648", PD_ERR_RANGE);
  refuses("-2147483649", PD_ERR_RANGE);
  refuses("99999999999999999999999999", PD_ERR_RANGE);
}

TEST(a_uint32_reads_its_whole_range_and_no_more) {
  start(PD_TYPE_uint32);
  reads("4294967295", "4294967295");
  reads("0", "0");
  reads("-0", "0");
  refuses("4294967296", PD_ERR_RANGE);
  refuses("-1", PD_ERR_RANGE);
}

TEST(an_int64_reads_its_whole_range_and_no_more) {
  start(PD_TYPE_int64);
  reads("9223372036854775807", "9223372036854775807");
  reads("-9223372036854775808", "-9223372036854775808");
  refuses("9223372036854775808", PD_ERR_RANGE);
  refuses("-9223372036854775809", PD_ERR_RANGE);
  refuses("18446744073709551616", PD_ERR_RANGE);
}

TEST(a_uint64_reads_its_whole_range_and_never_wraps) {
  start(PD_TYPE_uint64);
  reads("18446744073709551615", "18446744073709551615");
  refuses("18446744073709551616", PD_ERR_RANGE);
  refuses("-5", PD_ERR_RANGE);
  refuses("\t-5", PD_ERR_VALUE);
  reads("-0", "0");
}

TEST(integers_are_decimal_or_hexadecimal_with_a_sign) {
  start(PD_TYPE_int32);
  reads("010", "10");
  reads("0x10", "16");
  reads("0XfF", "255");
  reads("-0x80000000", "-2147483648");
  reads("+0x10", "16");
  reads("+7", "7");
  reads("-0", "0");
  reads("0000000000000000000000000000001", "1");
}

TEST(integers_are_read_whole_or_not_at_all) {
  static const char *const bad[] = {"",    "-",   "+",   "3.9", "3.0", "1e3",  " 5",    "5 ",
                                    "5\n", "0x",  "0xg", "5x",  "--5", "+-5",  "1,000", "1_000",
                                    "٣",   "0b1", "0o7", "nan", "5 6", "true", "a5",    "0x 5"};
  for (pd_type type = PD_TYPE_int32; type <= PD_TYPE_uint64; type++) {
    char name[] = "i0";
    name[1] = (char)('0' + type);
    flag = define_flag(type, name);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refuses(bad[i], PD_ERR_VALUE);
  }
}

TEST(doubles_are_read_in_every_usual_form) {
  start(PD_TYPE_double);
  reads("1", "1");
  reads("-1.5", "-1.5");
  reads(".5", "0.5");
  reads("5.", "5");
  reads("+2.5e3", "2500");
  reads("1E-3", "0.001");
  reads("0x1.8p1", "3");
  reads("0.1", "0.1");
  reads("-0.0", "-0");
  reads("inf", "inf");
  reads("-Infinity", "-inf");
  reads("nan", "nan");
  reads("-NaN", "nan");
}

TEST(doubles_are_read_whole_or_not_at_all) {
  static const char *const bad[] = {"",     " 1",  "1 ",   "1x",  ".",   "-",     "e5",     "1e",
                                    "1e+",  "1,5", "0x",   "0x.", "0xp", "--1",   "nan(1)", "infi",
                                    "1e5.", "1p3", "1..2", "1 2", "١",   "0x1pz", "\xff"};
  start(PD_TYPE_double);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refuses(bad[i], PD_ERR_VALUE);
}

TEST(a_double_that_overflows_or_vanishes_is_refused) {
  start(PD_TYPE_double);
  refuses("1e309", PD_ERR_RANGE);
  refuses("-1e309", PD_ERR_RANGE);
  refuses("1e-400", PD_ERR_RANGE);
  reads("0e-400", "0");
  reads("4.9406564584124654e-324", "4.94065645841247e-324");
  double value;
  CHECK_OK(pd_flag_get_double(flag, &value, &err));
  CHECK(value == DBL_TRUE_MIN);
  reads("1.7976931348623157e308", "1.7976931348623157e+308");
}

TEST(nan_is_in_no_range) {
  flag = DEFINE(PD_TYPE_double, "ratio", def.min.f64 = 0);
  CHECK_STATUS(pd_flag_set_from_string(flag, "nan", &err), PD_ERR_RANGE,
               "ratio=nan: expected a number >= 0");
  CHECK_STATUS(pd_flag_set_double(flag, NAN, &err), PD_ERR_RANGE,
               "ratio=nan: expected a number >= 0");
  reads("inf", "inf");
}

TEST(text_is_taken_as_it_is) {
  char big[100001];
  memset(big, 'x', sizeof big - 1);
  big[sizeof big - 1] = '\0';
  start(PD_TYPE_string);
  reads("", "");
  reads(" blanks\tand\nlines ", " blanks\tand\nlines ");
  reads("\xff not utf-8", "\xff not utf-8");
  CHECK_OK(pd_flag_set_string(flag, big, &err));
  const char *value;
  CHECK_OK(pd_flag_get_string(flag, &value, &err));
  CHECK_STR(value, big);
}

static void check_round_trip(double value) {
  double back;
  CHECK_OK(pd_flag_set_double(flag, value, &err));
  const char *text = text_of(flag);
  CHECK_OK(pd_flag_set_double(flag, 0, &err));
  CHECK_OK(pd_flag_set_from_string(flag, text, &err));
  CHECK_OK(pd_flag_get_double(flag, &back, &err));
  if (memcmp(&back, &value, sizeof value) != 0) {
    check_fail(__FILE__, __LINE__, "%a comes back as %a through '%s'", value, back, text);
  }
}

static void check_round_trips(void) {
  static const double values[] = {
      0.1,         -0.0,     1.0 / 3,   1e22,   123456.789,          DBL_MAX,           DBL_MIN,
      DBL_EPSILON, INFINITY, -INFINITY, 5e-324, 0.30000000000000004, 9007199254740993.0};
  uint64_t bits = 88172645463325252u; /* Marsaglia's xorshift */
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) check_round_trip(values[i]);
  for (int i = 0; i < 20000; i++) {
    double value;
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    memcpy(&value, &bits, sizeof value);
    if (value == value) check_round_trip(value);
  }
}

TEST(every_double_reads_back_equal) {
  start(PD_TYPE_double);
  check_round_trips();
}

TEST(text_that_does_not_fit_the_buffer_is_cut_and_its_length_told) {
  char buffer[4] = "zzz";
  size_t length = 99;
  start(PD_TYPE_string);
  CHECK_OK(pd_flag_set_string(flag, "hello", &err));
  CHECK_OK(pd_flag_get_text(flag, buffer, sizeof buffer, &length, &err));
  CHECK_STR(buffer, "hel");
  CHECK(length == 5);
  CHECK_OK(pd_flag_get_text(flag, NULL, 0, &length, &err));
  CHECK(length == 5);
  CHECK_OK(pd_flag_get_text(flag, buffer, 1, NULL, &err));
  CHECK_STR(buffer, "");
}

#ifdef __GLIBC__
/* A locale of our own, in glibc's file format, so that the test doesn't depend on
 * what is installed: numbers with `point` as their decimal point. */
static void use_decimal_point(const char *name, const char *point) {
  char path[64];
  uint32_t head[8] = {0x20031115 ^ LC_NUMERIC, 6};
  char body[64] = {0};
  size_t used = 0;
  const char *const texts[] = {point, ".", "", NULL, NULL, "UTF-8"};
  for (size_t i = 0; i < 6; i++) {
    used = (used + 3) & ~(size_t)3;
    head[2 + i] = (uint32_t)(sizeof head + used);
    if (texts[i]) memcpy(body + used, texts[i], strlen(texts[i]));
    used += texts[i] ? strlen(texts[i]) + 1 : 4;
  }
  mkdir(name, 0777);
  snprintf(path, sizeof path, "%s/LC_NUMERIC", name);
  FILE *file = fopen(path, "wb");
  CHECK(file);
  CHECK(fwrite(head, sizeof head, 1, file) == 1 && fwrite(body, used, 1, file) == 1);
  fclose(file);
  setenv("LOCPATH", ".", 1);
  CHECK(setlocale(LC_NUMERIC, name));
  CHECK_STR(localeconv()->decimal_point, point);
}

TEST(a_locale_with_a_decimal_comma_changes_nothing) {
  use_decimal_point("comma", ",");
  start(PD_TYPE_double);
  reads("1.5", "1.5");
  refuses("1,5", PD_ERR_VALUE);
  check_round_trips();
}

TEST(a_locale_with_a_decimal_point_of_several_bytes_changes_nothing) {
  use_decimal_point("arabic", "\xd9\xab");
  start(PD_TYPE_double);
  reads("-1.5e-7", "-1.5e-07");
  check_round_trips();
}
#endif
