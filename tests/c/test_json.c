#include <math.h>

#include "written.h"

static const char *json(pd_help_kind kind, const char *version) {
  pd_help help = {.size = sizeof help, .kind = kind};
  pd_report_options options = {.size = sizeof options, .help = &help, .version = version};
  options.program = "/usr/bin/prog";
  length = 0;
  CHECK_OK(pd_report_json(&options, collect, written, &err));
  return written;
}

static pd_flag *add(pd_flag_def def) { return register_flag(&def); }

static pd_flag_def text(const char *name, const char *value) {
  pd_flag_def def = definition(PD_TYPE_string, name);
  def.default_value.str = value;
  return def;
}

#define CHECK_HAS(part) check_has(__LINE__, part)
static void check_has(int line, const char *part) {
  if (!strstr(written, part)) check_fail(__FILE__, line, "lacks %s:\n%s", part, written);
}

TEST(json_without_flags_is_a_table_with_an_empty_list) {
  CHECK_STR(json(PD_HELP_ALL, NULL),
            "{\n  \"program\": \"prog\",\n  \"version\": null,\n  \"flags\": []\n}\n");
  json(PD_HELP_ALL, "1.\"2\"");
  CHECK_HAS("  \"version\": \"1.\\\"2\\\"\",\n");
  length = 0;
  CHECK_OK(pd_report_json(NULL, collect, written, &err));
  CHECK_HAS("\"program\": \"program\"");
}

TEST(json_has_every_property_of_a_flag_and_all_its_values) {
  pd_flag_def def = definition(PD_TYPE_int32, "level");
  def.help = "How hard to try";
  def.min.i64 = 1;
  def.default_value.i64 = 6;
  def.choices = "1|6|9";
  def.aliases = "l";
  def.category = "Speed";
  def.module = "/lib/libx.so";
  def.file = "src/x.c";
  def.line = 3;
  def.experimental = def.runtime = def.unsafe = true;
  pd_flag *flag = add(def);
  CHECK_OK(pd_flag_set_int32(flag, 9, &err));
  CHECK_STR(json(PD_HELP_ALL, NULL), "{\n"
                                     "  \"program\": \"prog\",\n"
                                     "  \"version\": null,\n"
                                     "  \"flags\": [\n"
                                     "    {\n"
                                     "      \"name\": \"level\",\n"
                                     "      \"type\": \"int32\",\n"
                                     "      \"items\": null,\n"
                                     "      \"help\": \"How hard to try\",\n"
                                     "      \"value\": 9,\n"
                                     "      \"default\": 6,\n"
                                     "      \"source\": \"run time\",\n"
                                     "      \"place\": null,\n"
                                     "      \"min\": 1,\n"
                                     "      \"max\": null,\n"
                                     "      \"choices\": [\n"
                                     "        \"1\",\n"
                                     "        \"6\",\n"
                                     "        \"9\"\n"
                                     "      ],\n"
                                     "      \"category\": \"Speed\",\n"
                                     "      \"aliases\": [\n"
                                     "        \"l\"\n"
                                     "      ],\n"
                                     "      \"unit\": null,\n"
                                     "      \"deprecated\": null,\n"
                                     "      \"retired\": null,\n"
                                     "      \"old_names\": [],\n"
                                     "      \"metavar\": null,\n"
                                     "      \"module\": \"/lib/libx.so\",\n"
                                     "      \"file\": \"src/x.c\",\n"
                                     "      \"line\": 3,\n"
                                     "      \"hidden\": false,\n"
                                     "      \"read_only\": false,\n"
                                     "      \"startup_only\": false,\n"
                                     "      \"sensitive\": false,\n"
                                     "      \"experimental\": true,\n"
                                     "      \"required\": false,\n"
                                     "      \"optional\": false,\n"
                                     "      \"multi\": false,\n"
                                     "      \"scoped\": false,\n"
                                     "      \"runtime\": true,\n"
                                     "      \"unsafe\": true,\n"
                                     "      \"per_process\": false,\n"
                                     "      \"count\": false,\n"
                                     "      \"merge\": false,\n"
                                     "      \"frozen\": false,\n"
                                     "      \"history\": [\n"
                                     "        {\n"
                                     "          \"value\": 9,\n"
                                     "          \"source\": \"run time\",\n"
                                     "          \"place\": null,\n"
                                     "          \"replaced\": false\n"
                                     "        },\n"
                                     "        {\n"
                                     "          \"value\": 6,\n"
                                     "          \"source\": \"default\",\n"
                                     "          \"place\": \"src/x.c:3\",\n"
                                     "          \"replaced\": false\n"
                                     "        }\n"
                                     "      ]\n"
                                     "    }\n"
                                     "  ]\n"
                                     "}\n");
}

TEST(json_escapes_what_is_not_printable_ascii) {
  add(text("s", "\"\\\b\f\n\r\t\x01\x7f/\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"));
  add(text("bytes", "a\xff\xc3\xed\xa0\x80z"));
  json(PD_HELP_ALL, NULL);
  CHECK_HAS("\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001\\u007f/\\u00e9\\u20ac\\ud83d\\ude00\"");
  CHECK_HAS("\"a\\udcff\\udcc3\\udced\\udca0\\udc80z\"");
}

TEST(doubles_in_json_read_back_equal_and_are_never_integers) {
  static const struct {
    double value;
    const char *text;
  } cases[] = {{0.1, "0.1"},
               {1.0 / 3, "0.3333333333333333"},
               {100, "100.0"},
               {-0.0, "-0.0"},
               {1e300, "1e+300"},
               {-2.5e-5, "-2.5e-05"},
               {(double)INFINITY, "\"inf\""},
               {-(double)INFINITY, "\"-inf\""},
               {(double)NAN, "\"nan\""}};
  pd_flag *flag = add(definition(PD_TYPE_double, "x"));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char expected[64];
    CHECK_OK(pd_flag_set_double(flag, cases[i].value, &err));
    json(PD_HELP_ALL, NULL);
    snprintf(expected, sizeof expected, "\"value\": %s,\n", cases[i].text);
    CHECK_HAS(expected);
    CHECK_HAS("\"min\": null,\n      \"max\": null,\n");
  }
}

TEST(integers_in_json_have_all_their_digits) {
  pd_flag_def def = definition(PD_TYPE_uint64, "big");
  def.default_value.u64 = UINT64_MAX;
  add(def);
  def = definition(PD_TYPE_int64, "small");
  def.default_value.i64 = INT64_MIN;
  add(def);
  json(PD_HELP_ALL, NULL);
  CHECK_HAS("\"value\": 18446744073709551615,\n");
  CHECK_HAS("\"value\": -9223372036854775808,\n");
}

TEST(lists_in_json_have_items_of_their_type) {
  static const struct {
    pd_type item;
    const char *list, *expected;
  } cases[] = {
      {PD_TYPE_int64, "1,-2,0x10", "[\n        1,\n        -2,\n        16\n      ]"},
      {PD_TYPE_bool, "true,no,1", "[\n        true,\n        false,\n        true\n      ]"},
      {PD_TYPE_double, "1,0.5,inf", "[\n        1.0,\n        0.5,\n        \"inf\"\n      ]"},
      {PD_TYPE_string, "a,\"b,\"\"c\",", "[\n        \"a\",\n        \"b,\\\"c\",\n        \"\"\n"},
      {PD_TYPE_string, "\"\"", "[\n        \"\"\n      ]"},
      {PD_TYPE_string, "", "[]"},
  };
  char name[] = "a", expected[256];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++, name[0]++) {
    pd_flag_def def = text(name, cases[i].list);
    def.list = (uint8_t)cases[i].item;
    add(def);
    json(PD_HELP_ALL, NULL);
    snprintf(expected, sizeof expected, "\"items\": \"%s\"", pd_type_name(cases[i].item));
    CHECK_HAS(expected);
    snprintf(expected, sizeof expected, "\"value\": %s", cases[i].expected);
    CHECK_HAS(expected);
  }
}

TEST(an_item_in_json_may_be_of_any_length) {
  static char list[70000], expected[66000];
  memset(list, 'x', 65000);
  memcpy(list + 65000, ",y,", 4);
  memset(list + 65003, 'z', 300);
  pd_flag_def def = text("list", list);
  def.list = PD_TYPE_string;
  add(def);
  json(PD_HELP_ALL, NULL);
  snprintf(expected, sizeof expected, "\"%.65000s\",\n        \"y\",\n        \"zzz", list);
  CHECK_HAS(expected);
}

TEST(json_withholds_all_values_of_a_sensitive_flag) {
  pd_flag_def def = definition(PD_TYPE_int32, "pin");
  def.sensitive = true;
  def.default_value.i64 = 1234;
  def.max.i64 = 9876;
  CHECK_OK(pd_flag_set_int32(add(def), 4321, &err));
  json(PD_HELP_ALL, NULL);
  CHECK_HAS("\"value\": \"<redacted>\",\n      \"default\": \"<redacted>\",\n");
  CHECK_HAS("\"min\": \"<redacted>\",\n      \"max\": \"<redacted>\",\n");
  CHECK(!strstr(written, "1234") && !strstr(written, "4321") && !strstr(written, "9876"));
}

TEST(hidden_flags_are_in_full_json_alone) {
  pd_flag_def def = definition(PD_TYPE_bool, "secret_door");
  def.hidden = true;
  add(def);
  CHECK(!strstr(json(PD_HELP_ALL, NULL), "secret_door"));
  CHECK(strstr(json(PD_HELP_FULL, NULL), "secret_door"));
}

TEST(json_has_each_value_of_each_source_with_its_place) {
  pd_flag *flag = add(definition(PD_TYPE_int32, "level"));
  pd_value value = {.i64 = 5};
  pd_assignment item = {.flag = flag, .type = PD_TYPE_int32, .value = value};
  pd_origin argv = {PD_SOURCE_ARGV, 2, NULL, 0}, file = {PD_SOURCE_FILE, 7, "a.toml", 9};
  CHECK_OK(pd_batch_set(&item, 1, &file, NULL, &err));
  item.value.i64 = 6;
  CHECK_OK(pd_batch_set(&item, 1, &argv, NULL, &err));
  json(PD_HELP_ALL, NULL);
  CHECK_HAS("\"source\": \"argv\",\n      \"place\": \"argv[2]\",\n");
  CHECK_HAS(
      "\"value\": 5,\n          \"source\": \"file\",\n          \"place\": \"a.toml:7:9\",\n");
  pd_origin fleet = {PD_SOURCE_FLEET, 12, "dir:///a", 0};
  CHECK_OK(pd_batch_set(&item, 1, &fleet, NULL, &err));
  json(PD_HELP_ALL, NULL);
  CHECK_HAS("\"source\": \"fleet\",\n      \"place\": \"dir:///a revision 12\",\n");
}

static void reenter(const char *part, size_t size, void *context) {
  (void)part, (void)size;
  CHECK_OK(pd_flag_set_bool(context, true, &err));
}

TEST(a_writer_of_json_may_call_every_function) {
  CHECK_OK(pd_report_json(NULL, reenter, add(definition(PD_TYPE_bool, "b")), &err));
}

TEST(wrong_options_of_json_are_refused_and_nothing_is_written) {
  pd_report_options options = {.size = 8};
  CHECK_STATUS(pd_report_json(NULL, NULL, NULL, &err), PD_ERR_ARGUMENT, "write is NULL");
  CHECK_STATUS(pd_report_json(&options, collect, NULL, &err), PD_ERR_ARGUMENT,
               "options->size is 8, expected 45 or more");
}
