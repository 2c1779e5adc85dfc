#include <math.h>

#include "check.h"

static pd_flag_def at_line(pd_type type, const char *name, uint32_t line) {
  pd_flag_def def = definition(type, name);
  def.file = "src/alpha.c";
  def.line = line;
  def.module = "libalpha.so";
  return def;
}

static void refuse(const pd_flag_def *def, pd_status status, const char *message) {
  pd_flag *const none = (pd_flag *)(uintptr_t)1;
  pd_flag *flag = none;
  CHECK_STATUS(pd_flag_register(def, &flag, &err), status, message);
  CHECK(flag == none);
}

TEST(an_initialised_definition_has_the_whole_range_and_an_empty_default) {
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_int32);
  CHECK(def.size == sizeof def && def.type == PD_TYPE_int32 && def.kind == PD_KIND_DEFINE);
  CHECK(def.min.i64 == INT32_MIN && def.max.i64 == INT32_MAX && def.default_value.i64 == 0);
  pd_flag_def_init(&def, sizeof def, PD_TYPE_uint64);
  CHECK(def.min.u64 == 0 && def.max.u64 == UINT64_MAX);
  pd_flag_def_init(&def, sizeof def, PD_TYPE_double);
  CHECK(def.min.f64 == -INFINITY && def.max.f64 == INFINITY);
  pd_flag_def_init(&def, sizeof def, PD_TYPE_string);
  CHECK_STR(def.default_value.str, "");
}

TEST(a_definition_of_a_later_version_is_read_as_far_as_it_is_known) {
  struct {
    pd_flag_def known;
    uint64_t more;
  } later;
  pd_flag_def_init(&later.known, sizeof later, PD_TYPE_int32);
  CHECK(later.known.size == sizeof later && later.more == 0);
  later.known.name = "later";
  later.more = 7;
  CHECK_STR(text_of(register_flag(&later.known)), "0");
}

TEST(a_definition_of_the_first_version_lacks_the_attributes_that_came_later) {
  pd_flag_def def = definition(PD_TYPE_string, "earlier");
  def.unit = def.retired = "behind the end";
  def.required = true;
  def.size = (uint32_t)offsetof(pd_flag_def, validate);
  CHECK(sizeof(void *) != 8 || def.size == 104);
  pd_flag_info info = flag_info(register_flag(&def));
  CHECK_STR(info.unit, "");
  CHECK_STR(info.retired, "");
  CHECK(!info.required);
}

TEST(a_definition_that_is_too_small_is_refused) {
  pd_flag_def def = definition(PD_TYPE_int32, "small");
  char message[64];
  size_t least = offsetof(pd_flag_def, validate); /* the first version had no more */
  snprintf(message, sizeof message, "a definition has 8 bytes, expected %zu or more", least);
  def.size = 8;
  refuse(&def, PD_ERR_ABI, message);
}

TEST(a_definition_that_ends_inside_a_pointer_is_refused) {
  pd_flag_def def = definition(PD_TYPE_int32, "odd");
  def.size = (uint32_t)offsetof(pd_flag_def, validate) + 3;
  refuse(&def, PD_ERR_ABI, "a definition has 107 bytes, expected a multiple of 8");
}

TEST(every_attribute_comes_back_in_the_info) {
  static int32_t cell = 3;
  pd_flag_def def = at_line(PD_TYPE_int32, "level", 12);
  def.cell = &cell;
  def.help = "How much";
  def.category = "Tuning";
  def.aliases = "lvl|old-level";
  def.choices = "1|2|3";
  def.hidden = def.startup_only = true;
  def.default_value.i64 = 3;
  def.min.i64 = 1;
  def.max.i64 = 9;
  pd_flag *flag = register_flag(&def);
  pd_flag_info info = flag_info(flag);
  CHECK(info.type == PD_TYPE_int32 && info.source == PD_SOURCE_DEFAULT && info.line == 12);
  CHECK(info.hidden && !info.read_only && info.startup_only && !info.frozen);
  CHECK_STR(info.name, "level");
  CHECK_STR(info.help, "How much");
  CHECK_STR(info.file, "src/alpha.c");
  CHECK_STR(info.category, "Tuning");
  CHECK_STR(info.aliases, "lvl|old-level");
  CHECK_STR(info.choices, "1|2|3");
  CHECK_STR(info.module, "libalpha.so");
  CHECK(!info.owner && info.cells == 1);
  CHECK(info.default_value.i64 == 3 && info.min.i64 == 1 && info.max.i64 == 9);
}

TEST(every_attribute_of_a_list_and_of_a_unit_comes_back_in_the_info) {
  pd_flag *keys = DEFINE(PD_TYPE_string, "keys", def.list = PD_TYPE_double,
                         def.sensitive = def.experimental = def.required = def.runtime = true,
                         def.per_process = true, def.deprecated = "use locks");
  pd_flag_info info = flag_info(keys);
  CHECK(info.list == PD_TYPE_double && info.sensitive && info.experimental && info.required);
  CHECK(info.runtime && !info.unsafe && info.per_process);
  CHECK_STR(info.deprecated, "use locks");
  CHECK(*pd_flag_get_state(keys) == (PD_TYPE_string | PD_TYPE_double << 4));
  pd_flag *wait = DEFINE(PD_TYPE_int64, "wait", def.unit = "seconds", def.unsafe = true,
                         def.retired = "never read", def.old_names = "pause|delay");
  info = flag_info(wait);
  CHECK(!info.list && !info.sensitive && !info.experimental && !info.required);
  CHECK(!info.runtime && info.unsafe && !info.per_process);
  CHECK_STR(info.unit, "seconds");
  CHECK_STR(info.retired, "never read");
  CHECK_STR(info.old_names, "pause|delay");
  CHECK(*pd_flag_get_state(wait) == PD_TYPE_int64);
}

TEST(what_a_definition_leaves_out_is_empty_text_in_the_info) {
  pd_flag_info info = flag_info(define_flag(PD_TYPE_bool, "bare"));
  CHECK_STR(info.help, "");
  CHECK_STR(info.file, "");
  CHECK_STR(info.category, "");
  CHECK_STR(info.aliases, "");
  CHECK_STR(info.choices, "");
  CHECK_STR(info.module, "");
  CHECK_STR(info.unit, "");
  CHECK_STR(info.deprecated, "");
  CHECK_STR(info.retired, "");
  CHECK_STR(info.old_names, "");
}

TEST(a_cell_tells_the_module_that_it_is_in) {
  static bool cell;
  CHECK(strstr(flag_info(DEFINE(PD_TYPE_bool, "here", def.cell = &cell)).module, "/program"));
}

TEST(the_same_definition_again_is_the_same_flag_with_one_more_cell) {
  static int32_t first, second;
  pd_flag_def def = at_line(PD_TYPE_int32, "shared", 5);
  def.cell = &first;
  pd_flag *flag = register_flag(&def);
  CHECK_OK(pd_flag_set_int32(flag, 7, &err));
  def.cell = &second;
  def.file = "/elsewhere/alpha.c"; /* the same name, another directory */
  def.line = 6;
  CHECK(register_flag(&def) == flag);
  CHECK(first == 7 && second == 7);
  CHECK_OK(pd_flag_set_int32(flag, 8, &err));
  CHECK(first == 8 && second == 8);
}

TEST(a_cell_that_is_registered_again_counts_once) {
  static int32_t cell;
  pd_flag_def def = at_line(PD_TYPE_int32, "again", 5);
  def.cell = &cell;
  for (int i = 0; i < 3; i++) register_flag(&def);
  CHECK(flag_info(register_flag(&def)).cells == 1);
}

TEST(a_new_cell_has_the_value_at_once) {
  static const char *cell = "?";
  DEFINE(PD_TYPE_string, "s", def.default_value.str = "default", def.cell = &cell);
  CHECK_STR(cell, "default");
}

TEST(another_definition_of_the_name_is_a_conflict_that_names_both_places) {
  pd_flag_def def = at_line(PD_TYPE_int32, "port", 3), other = def;
  register_flag(&def);
  other.file = "src/beta.c";
  other.line = 9;
  other.module = "libbeta.so";
  refuse(&other, PD_ERR_CONFLICT,
         "'port' is already defined, int32 at src/alpha.c:3 in libalpha.so; refused: int32 at "
         "src/beta.c:9 in libbeta.so");
  other = definition(PD_TYPE_bool, "port");
  refuse(&other, PD_ERR_CONFLICT,
         "'port' is already defined, int32 at src/alpha.c:3 in libalpha.so; refused: bool");
}

TEST(definitions_that_differ_in_any_part_of_their_meaning_conflict) {
  pd_flag_def def = at_line(PD_TYPE_int32, "n", 3);
  def.help = "help";
  def.choices = "0|1";
  def.aliases = "m";
  register_flag(&def);
  pd_flag_def others[7];
  for (int i = 0; i < 7; i++) others[i] = def;
  others[0].type = PD_TYPE_int64;
  others[1].default_value.i64 = 1;
  others[2].help = "another help";
  others[3].min.i64 = 0;
  others[4].choices = "0|1|2";
  others[5].aliases = "k";
  others[6].name = "N-";
  others[6].aliases = "m";
  for (int i = 0; i < 7; i++) CHECK(pd_flag_register(&others[i], NULL, NULL) == PD_ERR_CONFLICT);
  register_flag(&def);
}

TEST(a_refused_definition_leaves_its_cell_and_the_flag_alone) {
  static int32_t cell = 42;
  pd_flag_def def = at_line(PD_TYPE_int32, "port", 3), other = definition(PD_TYPE_int32, "port");
  pd_flag *flag = register_flag(&def);
  other.cell = &cell;
  CHECK(pd_flag_register(&other, NULL, NULL) == PD_ERR_CONFLICT);
  CHECK_OK(pd_flag_set_int32(flag, 8080, &err));
  CHECK(cell == 42);
}

TEST(an_alias_finds_and_sets_the_flag) {
  pd_flag_def def = definition(PD_TYPE_int32, "level");
  def.aliases = "lvl|old-level";
  pd_flag *flag = register_flag(&def);
  CHECK(find_flag("lvl") == flag);
  CHECK(find_flag("old_level") == flag);
  register_flag(&def);
}

TEST(an_alias_that_is_taken_is_a_conflict_and_takes_nothing) {
  pd_flag_def def = at_line(PD_TYPE_int32, "level", 3), other = at_line(PD_TYPE_bool, "other", 7);
  pd_flag *found;
  def.aliases = "lvl";
  register_flag(&def);
  other.aliases = "free|lvl";
  refuse(&other, PD_ERR_CONFLICT,
         "'lvl' is already an alias of 'level', int32 at src/alpha.c:3 in libalpha.so; refused: as "
         "an alias of 'other', bool at src/alpha.c:7 in libalpha.so");
  CHECK(pd_flag_find("free", &found, NULL) == PD_ERR_UNDEFINED);
  CHECK(pd_flag_find("other", &found, NULL) == PD_ERR_UNDEFINED);
  other.aliases = "level";
  refuse(&other, PD_ERR_CONFLICT,
         "'level' is already defined, int32 at src/alpha.c:3 in libalpha.so; refused: as an alias "
         "of 'other', bool at src/alpha.c:7 in libalpha.so");
  other = at_line(PD_TYPE_bool, "lvl", 8);
  refuse(&other, PD_ERR_CONFLICT,
         "'lvl' is already an alias of 'level', int32 at src/alpha.c:3 in libalpha.so; refused: "
         "bool at src/alpha.c:8 in libalpha.so");
  other = at_line(PD_TYPE_bool, "self", 9);
  other.aliases = "self";
  refuse(&other, PD_ERR_CONFLICT,
         "'self' is named twice in one definition: bool at src/alpha.c:9 in libalpha.so");
}

/* What differs between two definitions at the same place. */
static void differs(const pd_flag_def *other, const char *what) {
  char message[512];
  snprintf(message, sizeof message,
           "'n' is already defined, int32 at src/alpha.c:3 in libalpha.so; refused: int32 at "
           "src/alpha.c:3 in libalpha.so%s",
           what);
  refuse(other, PD_ERR_CONFLICT, message);
}

TEST(a_conflict_of_definitions_in_one_place_tells_how_they_differ) {
  pd_flag_def def = at_line(PD_TYPE_int32, "n", 3);
  def.default_value.i64 = 5;
  def.help = "How many";
  register_flag(&def);
  pd_flag_def other = def;
  other.default_value.i64 = 6;
  differs(&other, ": default 6, not 5");
  other.help = "How much";
  differs(&other, ": default 6, not 5; help 'How much', not 'How many'");
  other = def;
  other.min.i64 = 0;
  other.max.i64 = 9;
  differs(&other, ": range [0, 9], not [-2147483648, 2147483647]");
  other = def;
  other.choices = "5|6";
  differs(&other, ": choices '5|6', not none");
  other = def;
  other.aliases = "m";
  differs(&other, ": aliases 'm', not none");
  other = def;
  other.name = "n";
  other.file = "src/beta.c";
  refuse(&other, PD_ERR_CONFLICT,
         "'n' is already defined, int32 at src/alpha.c:3 in libalpha.so; refused: int32 at "
         "src/beta.c:3 in libalpha.so");
}

/* Every mark: the second definition has it, and the first one lacks it. */
#define DIFFERS_IN_MARK(name_, words, about)                                                       \
  if (strcmp(#name_, "multi") && strcmp(#name_, "merge")) { /* which are for lists */              \
    other = def;                                                                                   \
    other.name_ = true;                                                                            \
    differs(&other, ": " words);                                                                   \
  }

#define DIFFERS_IN_TEXT(name_, words, kind, about)                                                 \
  if (strcmp(#name_, "choices") && strcmp(#name_, "unit")) {                                       \
    other = def;                                                                                   \
    other.name_ = "m";                                                                             \
    differs(&other, ": " words " 'm', not none");                                                  \
  }

TEST(a_second_definition_that_differs_in_any_attribute_is_refused_and_names_it) {
  pd_flag_def def = at_line(PD_TYPE_int32, "n", 3), other;
  register_flag(&def);
  PD_MARK_MAP(DIFFERS_IN_MARK)
  PD_TEXT_MAP(DIFFERS_IN_TEXT)
  other = def;
  other.unit = "bytes";
  differs(&other, ": unit 'bytes', not none");
  def = at_line(PD_TYPE_int32, "m", 3);
  def.hidden = true;
  register_flag(&def);
  def.hidden = false;
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, ": not hidden"));
}

TEST(two_spellings_of_a_name_in_one_place_conflict_and_show_both) {
  pd_flag_def def = at_line(PD_TYPE_bool, "dry-run", 3);
  register_flag(&def);
  def.name = "dry_run";
  refuse(&def, PD_ERR_CONFLICT,
         "'dry-run' is already defined, bool at src/alpha.c:3 in libalpha.so; refused: bool at "
         "src/alpha.c:3 in libalpha.so: name 'dry_run', not 'dry-run'");
}

TEST(many_long_differences_are_cut) {
  char text[2000];
  memset(text, 'x', sizeof text - 1);
  text[sizeof text - 1] = '\0';
  pd_flag_def def = at_line(PD_TYPE_string, "n", 3), other = def;
  register_flag(&def);
  other.default_value.str = other.choices = other.help = text;
  CHECK(pd_flag_register(&other, NULL, &err) == PD_ERR_CONFLICT);
  CHECK(strlen(err.message) < sizeof err.message - 1);
}

TEST(help_is_no_name_of_a_flag) {
  pd_flag_def def = at_line(PD_TYPE_int32, "help", 3);
  refuse(&def, PD_ERR_CONFLICT,
         "src/alpha.c:3: definition of 'help': --help lists the flags, expected another name");
  def.name = "n";
  def.aliases = "help";
  refuse(&def, PD_ERR_CONFLICT,
         "src/alpha.c:3: definition of 'n': alias 'help': --help lists the flags, expected another "
         "name");
  define_flag(PD_TYPE_bool, "beta.help");
}

TEST(a_flag_and_the_negation_of_a_bool_conflict_whichever_comes_first) {
  pd_flag_def def = at_line(PD_TYPE_bool, "b", 3);
  register_flag(&def);
  def = at_line(PD_TYPE_int32, "nob", 7);
  refuse(&def, PD_ERR_CONFLICT,
         "--nob would be the flag 'nob' and turn the flag 'b' off; already defined: bool at "
         "src/alpha.c:3 in libalpha.so; refused: int32 at src/alpha.c:7 in libalpha.so");
  def.name = "no-b";
  CHECK(pd_flag_register(&def, NULL, NULL) == PD_ERR_CONFLICT);
  define_flag(PD_TYPE_int32, "nor");
  def = at_line(PD_TYPE_bool, "r", 9);
  refuse(&def, PD_ERR_CONFLICT,
         "--nor would be the flag 'nor' and turn the flag 'r' off; already defined: int32; "
         "refused: bool at src/alpha.c:9 in libalpha.so");
  def.name = "fine";
  def.aliases = "r";
  CHECK(pd_flag_register(&def, NULL, NULL) == PD_ERR_CONFLICT);
  define_flag(PD_TYPE_int32, "r"); /* only a bool has a negation */
  define_flag(PD_TYPE_bool, "no");
  define_flag(PD_TYPE_bool, "fine");
}

TEST(empty_lists_of_aliases_and_choices_are_none) {
  CHECK_OK(pd_flag_set_string(DEFINE(PD_TYPE_string, "free", def.aliases = def.choices = ""),
                              "anything", &err));
}

TEST(an_empty_range_is_refused) {
  pd_flag_def def = at_line(PD_TYPE_int32, "n", 3);
  def.min.i64 = 5;
  def.max.i64 = 4;
  refuse(&def, PD_ERR_RANGE,
         "src/alpha.c:3: definition of 'n': the range is empty: min is above max");
}

TEST(a_bound_must_fit_the_type_and_be_a_number) {
  pd_flag_def def = definition(PD_TYPE_int32, "n");
  def.max.i64 = INT64_MAX;
  refuse(&def, PD_ERR_RANGE, "definition of 'n': a bound of the range does not fit int32");
  def = definition(PD_TYPE_double, "n");
  def.min.f64 = NAN;
  refuse(&def, PD_ERR_RANGE, "definition of 'n': a bound of the range is NaN");
}

TEST(a_default_must_be_a_value_of_the_flag) {
  pd_flag_def def = definition(PD_TYPE_uint32, "n");
  def.min.u64 = 1;
  def.max.u64 = 9;
  refuse(&def, PD_ERR_RANGE, "definition of 'n': default 0: expected an integer in [1, 9]");
  def = definition(PD_TYPE_string, "s");
  def.choices = "fast|best";
  refuse(&def, PD_ERR_CHOICE, "definition of 's': default '': expected one of fast, best");
  def.choices = NULL;
  def.default_value.str = NULL;
  refuse(&def, PD_ERR_VALUE, "definition of 's': the default is NULL, expected text");
  def = definition(PD_TYPE_double, "d");
  def.max.f64 = 1;
  def.default_value.f64 = NAN;
  refuse(&def, PD_ERR_RANGE, "definition of 'd': default nan: expected a number <= 1");
}

TEST(choices_with_a_wrong_separator_are_told) {
  pd_flag_def def = definition(PD_TYPE_string, "s");
  def.choices = "fast,best";
  def.default_value.str = "fast";
  refuse(
      &def, PD_ERR_CHOICE,
      "definition of 's': default 'fast': expected one of fast,best; choices are separated by |, "
      "as in a|b");
  def.default_value.str = "fast,best"; /* the one choice */
  register_flag(&def);
  def = definition(PD_TYPE_int32, "n");
  def.choices = "0; 8";
  refuse(
      &def, PD_ERR_CHOICE,
      "definition of 'n': choice '0; 8': expected a value of type int32; choices are separated by "
      "|, as in a|b");
}

TEST(choices_of_numbers_are_compared_as_numbers) {
  pd_flag *flag = DEFINE(PD_TYPE_int32, "bits", def.choices = "0|8|0x10");
  CHECK_OK(pd_flag_set_int32(flag, 16, &err));
  CHECK_OK(pd_flag_set_from_string(flag, "008", &err));
  CHECK_STATUS(pd_flag_set_int32(flag, 9, &err), PD_ERR_CHOICE,
               "bits=9: expected one of 0, 8, 0x10");
  DEFINE(PD_TYPE_double, "ratio", def.choices = "0.50|1", def.default_value.f64 = 0.5);
}

TEST(a_choice_must_be_a_value_of_the_type) {
  pd_flag_def def = definition(PD_TYPE_int32, "bits");
  def.choices = "0|many";
  refuse(&def, PD_ERR_CHOICE,
         "definition of 'bits': choice 'many': expected a value of type int32");
}

TEST(unknown_types_and_kinds_are_refused) {
  pd_flag_def def = definition((pd_type)99, "odd");
  refuse(&def, PD_ERR_TYPE, "definition of 'odd': its type is 99, expected a pd_type");
  def = definition(PD_TYPE_bool, "odd");
  def.kind = 9;
  refuse(&def, PD_ERR_ABI, "definition of 'odd': its kind is 9, expected a pd_kind");
  def.kind = PD_KIND_IMPORT;
  refuse(&def, PD_ERR_ARGUMENT, "definition of 'odd': its kind isn't PD_KIND_DEFINE");
}

TEST(a_message_stays_one_line_whatever_the_definition_holds) {
  pd_flag_def def = definition(PD_TYPE_string, "s");
  def.choices = "a\nb|c";
  def.file = "dir\n/file.c";
  refuse(&def, PD_ERR_CHOICE, "dir?/file.c: definition of 's': default '': expected one of a?b, c");
}

TEST(a_long_list_of_choices_is_cut_in_messages) {
  char choices[2000] = "";
  for (int i = 0; i < 200; i++) sprintf(choices + strlen(choices), "choice%d|", i);
  pd_flag_def def = definition(PD_TYPE_string, "s");
  def.choices = choices; /* the last one is empty: the default */
  pd_flag *flag = register_flag(&def);
  CHECK(pd_flag_set_string(flag, "choice", &err) == PD_ERR_CHOICE);
  CHECK(strstr(err.message, "s=choice: expected one of choice0, choice1, "));
  CHECK(strlen(err.message) < 300 && strstr(err.message, ", ..."));
  CHECK_OK(pd_flag_set_string(flag, "choice199", &err));
}
