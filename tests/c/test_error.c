#include "check.h"

TEST(every_status_has_a_name_and_a_text) {
  CHECK_STR(pd_status_name(PD_OK), "PD_OK");
  CHECK_STR(pd_status_text(PD_OK), "success");
  CHECK_STR(pd_status_name(PD_ERR_RANGE), "PD_ERR_RANGE");
  CHECK_STR(pd_status_text(PD_ERR_RANGE), "value out of range");
  CHECK_STR(pd_status_name(PD_HELP), "PD_HELP");
}

TEST(unknown_numbers_are_called_unknown) {
  CHECK_STR(pd_status_name((pd_status)999), "unknown");
  CHECK_STR(pd_status_text((pd_status)-1), "unknown");
  CHECK_STR(pd_type_name((pd_type)0), "unknown");
  CHECK_STR(pd_source_name((pd_source)99), "unknown");
  CHECK(pd_source_rank((pd_source)99) == 0);
}

#define CHECK_TYPE(name, number, ctype, member) CHECK_STR(pd_type_name(PD_TYPE_##name), #name);
#define CHECK_SOURCE(name, number, rank, text)                                                     \
  CHECK_STR(pd_source_name(PD_SOURCE_##name), text);                                               \
  CHECK(pd_source_rank(PD_SOURCE_##name) == rank);
TEST(types_have_names_and_sources_have_names_and_ranks) {
  PD_TYPE_MAP(CHECK_TYPE)
  PD_SOURCE_MAP(CHECK_SOURCE)
}

TEST(sources_are_ranked_with_room_between_them) {
  static const pd_source order[] = {PD_SOURCE_DEFAULT, PD_SOURCE_FILE,  PD_SOURCE_ENVIRONMENT,
                                    PD_SOURCE_ARGV,    PD_SOURCE_FLEET, PD_SOURCE_RUNTIME,
                                    PD_SOURCE_OVERRIDE};
  for (size_t i = 1; i < sizeof order / sizeof *order; i++) {
    CHECK(pd_source_rank(order[i]) >= pd_source_rank(order[i - 1]) + 100);
  }
  CHECK(pd_source_rank(PD_SOURCE_LIVE) == pd_source_rank(PD_SOURCE_RUNTIME));
}

TEST(the_library_has_the_version_of_the_header) { CHECK_STR(pd_version(), PD_VERSION); }

TEST(an_error_list_is_empty_at_first_and_null_is_an_empty_list) {
  pd_error_list *list = pd_error_list_new();
  CHECK(list);
  CHECK(pd_error_list_count(list) == 0);
  CHECK(!pd_error_list_at(list, 0));
  CHECK(pd_error_list_count(NULL) == 0);
  CHECK(!pd_error_list_at(NULL, 0));
  pd_error_list_free(list);
  pd_error_list_free(NULL);
}

TEST(an_error_list_keeps_all_errors_in_order) {
  pd_flag *flag = define_flag(PD_TYPE_bool, "yes");
  pd_assignment items[40];
  char texts[40][8];
  for (int i = 0; i < 40; i++) {
    snprintf(texts[i], sizeof texts[i], "bad%d", i);
    items[i] = (pd_assignment){.flag = flag, .text = texts[i]};
  }
  pd_error_list *list = pd_error_list_new();
  CHECK_STATUS(pd_batch_set(items, 40, NULL, list, &err), PD_ERR_VALUE,
               "yes=bad0: expected " PD__BOOL_EXPECTED);
  CHECK(pd_error_list_count(list) == 40);
  CHECK_STR(pd_error_list_at(list, 39)->message, "yes=bad39: expected " PD__BOOL_EXPECTED);
  CHECK(pd_error_list_at(list, 39)->status == PD_ERR_VALUE);
  CHECK(!pd_error_list_at(list, 40));
  pd_error_list_free(list);
}

TEST(an_error_struct_may_be_null) {
  pd_flag *flag = define_flag(PD_TYPE_bool, "yes");
  CHECK(pd_flag_set_from_string(flag, "maybe", NULL) == PD_ERR_VALUE);
  CHECK(pd_flag_find("nothing", &flag, NULL) == PD_ERR_UNDEFINED);
}

/* Set a flag of type bool to `text`, and compare the message. */
static void check_shown(const char *text, const char *shown) {
  static pd_flag *flag;
  char message[256];
  if (!flag) flag = define_flag(PD_TYPE_bool, "b");
  snprintf(message, sizeof message, "b=%s: expected " PD__BOOL_EXPECTED, shown);
  CHECK_STATUS(pd_flag_set_from_string(flag, text, &err), PD_ERR_VALUE, message);
}

TEST(a_message_is_one_line_of_valid_utf_8_whatever_the_input) {
  check_shown("", "");
  check_shown("a\nb\tc\x7f", "a\\x0ab\\x09c\\x7f");
  check_shown("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80",
              "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  check_shown("\xff\x80", "\\xff\\x80");
  check_shown("\xc3", "\\xc3");
  check_shown("\xc0\x80", "\\xc0\\x80");                   /* overlong */
  check_shown("\xe0\x80\x80", "\\xe0\\x80\\x80");          /* overlong */
  check_shown("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* a surrogate */
  check_shown("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* beyond Unicode */
  check_shown("\xc2\x9b", "\\xc2\\x9b");                   /* a terminal's control character */
}

TEST(a_long_value_is_cut_at_a_character) {
  char text[1000], shown[128];
  for (size_t i = 0; i < sizeof text - 2; i += 2) memcpy(text + i, "\xc3\xbc", 3);
  memcpy(shown, text, 88);
  strcpy(shown + 88, "...");
  check_shown(text, shown);
}

static char warning[2000];

static void keep_warning(const char *message, pd_warning kind, void *context) {
  (void)kind, (void)context;
  strcpy(warning, message);
}

static bool refuse_at_length(const pd_flag_entry *const *entries, void *context, char *why,
                             size_t size) {
  (void)entries;
  snprintf(why, size, "%s", (const char *)context);
  return false;
}

/* "\xc3\xbc" again and again, after one byte if `odd`. */
static const char *umlauts(size_t count, bool odd) {
  static char text[4096];
  strcpy(text, odd ? "a" : "");
  for (size_t i = 0; i < count; i++) strcat(text, "\xc3\xbc");
  return text;
}

TEST(a_long_message_is_cut_at_a_character_and_says_so) {
  for (size_t odd = 0; odd < 2; odd++) {
    pd_flag_def def = definition(PD_TYPE_bool, odd ? "odd" : "even");
    char why[1000];
    def.validate = refuse_at_length;
    def.context = strcpy(why, umlauts(250, odd));
    pd_flag *flag = register_flag(&def);
    pd_assignment item = {.flag = flag, .text = "yes"};
    pd_origin origin = {PD_SOURCE_FILE, 7, umlauts(400, odd), 0};
    CHECK(pd_batch_set(&item, 1, &origin, NULL, &err) == PD_ERR_REFUSED);
    CHECK(!strchr(err.message, '?') && !strncmp(err.message, "...\xc3\xbc", 5));
    CHECK(strstr(err.message,
                 odd ? "\xc3\xbc:7: --odd=true: a\xc3\xbc" : "\xc3\xbc:7: --even=true: \xc3"));
    CHECK_OK(pd_warning_handle(keep_warning, NULL, &err));
    CHECK_OK(pd_warning_report(umlauts(1000, odd), &err));
    CHECK(strlen(warning) > 1000 && !strchr(warning, '?'));
    CHECK_STR(warning + strlen(warning) - 5, "\xc3\xbc...");
  }
}

TEST(a_long_path_of_a_definition_is_cut_at_a_character) {
  for (size_t odd = 0; odd < 2; odd++) {
    pd_flag_def def = definition(PD_TYPE_bool, "b");
    char file[300];
    snprintf(file, sizeof file, "%s%s", umlauts(120, true), odd ? "/" : "");
    def.file = file;
    def.module = "m";
    CHECK(pd_flag_register(&def, NULL, &err) == (odd ? PD_ERR_CONFLICT : PD_OK));
    def.type = PD_TYPE_int32;
    def.max.i64 = 1;
    CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_CONFLICT);
    CHECK(!strchr(err.message, '?'));
  }
}
