#include "check.h"

static const char *string_of(const pd_flag *flag) {
  const char *text;
  CHECK_OK(pd_flag_get_string(flag, &text, &err));
  return text;
}

TEST(a_string_stays_valid_and_unchanged_after_the_flag_has_changed) {
  pd_flag *flag = define_flag(PD_TYPE_string, "s");
  CHECK_OK(pd_flag_set_string(flag, "first", &err));
  const char *first = string_of(flag);
  for (int i = 0; i < 5000; i++) {
    char text[32];
    snprintf(text, sizeof text, "value %d", i);
    CHECK_OK(pd_flag_set_string(flag, text, &err));
  }
  CHECK_STR(first, "first");
  CHECK_STR(string_of(flag), "value 4999");
}

TEST(equal_strings_share_storage) {
  pd_flag *a = define_flag(PD_TYPE_string, "a"), *b = define_flag(PD_TYPE_string, "b");
  char text[] = "shared";
  CHECK_OK(pd_flag_set_string(a, text, &err));
  CHECK_OK(pd_flag_set_from_string(b, "shared", &err));
  CHECK(string_of(a) == string_of(b));
  const char *before = string_of(a);
  CHECK_OK(pd_flag_set_string(a, "other", &err));
  CHECK_OK(pd_flag_set_string(a, text, &err));
  CHECK(string_of(a) == before);
}

TEST(text_is_copied_when_it_is_set) {
  pd_flag *flag = define_flag(PD_TYPE_string, "s");
  char text[] = "mine";
  CHECK_OK(pd_flag_set_string(flag, text, &err));
  text[0] = 'X';
  CHECK_STR(string_of(flag), "mine");
}

TEST(all_text_of_a_definition_is_copied) {
  char name[] = "copied", help[] = "help", file[] = "file.c", category[] = "category";
  char aliases[] = "other", choices[] = "a|b", module[] = "module", value[] = "a";
  pd_flag *flag = DEFINE(PD_TYPE_string, name, def.help = help, def.file = file,
                         def.category = category, def.aliases = aliases, def.choices = choices,
                         def.module = module, def.default_value.str = value);
  char *const texts[] = {name, help, file, category, aliases, choices, module, value};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) memset(texts[i], '#', strlen(texts[i]));
  pd_flag_info info = flag_info(flag);
  CHECK_STR(info.name, "copied");
  CHECK_STR(info.help, "help");
  CHECK_STR(info.file, "file.c");
  CHECK_STR(info.category, "category");
  CHECK_STR(info.aliases, "other");
  CHECK_STR(info.choices, "a|b");
  CHECK_STR(info.module, "module");
  CHECK_STR(info.default_value.str, "a");
  CHECK_STR(string_of(flag), "a");
}
