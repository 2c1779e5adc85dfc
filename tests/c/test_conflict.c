/* Definitions against the others: what conflicts, and what the messages say. */
#include "joined.h"

static pd_flag_def at_place(pd_type type, const char *name, const char *file, uint32_t line) {
  pd_flag_def def = definition(type, name);
  def.file = file;
  def.line = line;
  return def;
}

static pd_flag_def import_at(pd_type type, const char *name, uint32_t line) {
  pd_flag_def def = at_place(type, name, "a.c", line);
  def.kind = PD_KIND_IMPORT;
  return def;
}

static void refuse(const pd_flag_def *def, const char *message) {
  CHECK_STATUS(pd_flag_register(def, NULL, &err), PD_ERR_CONFLICT, message);
}

/* ---- Places ---- */

TEST(a_conflict_shows_of_each_place_what_is_known) {
  static const struct {
    const char *file;
    uint32_t line;
    const char *module, *shown;
  } places[] = {{NULL, 0, NULL, "bool"},
                {NULL, 3, NULL, "bool"},
                {"b.c", 0, NULL, "bool at b.c"},
                {"b.c", 3, NULL, "bool at b.c:3"},
                {NULL, 0, "libb.so", "bool in libb.so"},
                {"b.c", 3, "libb.so", "bool at b.c:3 in libb.so"}};
  char message[256];
  pd_flag_def def = at_place(PD_TYPE_int32, "n", NULL, 0);
  register_flag(&def);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    def = at_place(PD_TYPE_bool, "n", places[i].file, places[i].line);
    def.module = places[i].module;
    snprintf(message, sizeof message, "'n' is already defined, int32; refused: %s",
             places[i].shown);
    refuse(&def, message);
  }
}

TEST(a_definition_of_a_record_shows_the_file_of_its_module) {
  pd_flag_def def = at_place(PD_TYPE_int32, "n", "a.c", 3);
  CHECK_OK(JOIN(&def));
  def.type = PD_TYPE_int64;
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, "'n' is already defined, int32 at a.c:3 in "));
  CHECK(strstr(err.message, "/program; refused: int64 at a.c:3"));
}

/* ---- How two definitions of one line differ ---- */

static void differ(const pd_flag_def *other, const char *differences) {
  char message[512];
  snprintf(message, sizeof message, "'n' is already defined, %s at a.c:3; refused: %s at a.c:3: %s",
           pd_type_name(other->type), pd_type_name(other->type), differences);
  refuse(other, message);
}

TEST(text_that_is_empty_is_as_none) {
  pd_flag_def def = at_place(PD_TYPE_string, "n", "a.c", 3);
  pd_flag *flag = register_flag(&def);
  def.help = def.category = def.metavar = "";
  CHECK(register_flag(&def) == flag);
  def.help = "more";
  differ(&def, "help 'more', not none");
}

TEST(text_that_the_second_definition_lacks_is_none) {
  pd_flag_def def = at_place(PD_TYPE_string, "n", "a.c", 3);
  def.category = "";
  def.help = "more";
  register_flag(&def);
  def.help = NULL;
  def.category = "Tuning";
  differ(&def, "category 'Tuning', not none; help none, not 'more'");
}

TEST(a_default_is_not_shown_if_one_of_both_is_secret) {
  pd_flag_def def = at_place(PD_TYPE_string, "n", "a.c", 3), other = def;
  def.default_value.str = "one";
  other.default_value.str = "two";
  register_flag(&def);
  differ(&other, "default 'two', not 'one'");
  other.sensitive = true;
  differ(&other, "another default; sensitive");
  def.name = other.name = "m";
  def.sensitive = true;
  other.sensitive = false;
  register_flag(&def);
  CHECK(pd_flag_register(&other, NULL, &err) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, ": another default; not sensitive"));
}

TEST(each_bound_of_a_range_counts) {
  pd_flag_def def = at_place(PD_TYPE_int32, "n", "a.c", 3), other;
  def.min.i64 = 0;
  def.max.i64 = 9;
  register_flag(&def);
  other = def;
  other.min.i64 = -1;
  differ(&other, "range [-1, 9], not [0, 9]");
  other = def;
  other.max.i64 = 8;
  differ(&other, "range [0, 8], not [0, 9]");
  pd_flag_def text = at_place(PD_TYPE_string, "t", "a.c", 3);
  pd_flag *flag = register_flag(&text);
  text.max.i64 = 5; /* strings have none */
  CHECK(register_flag(&text) == flag);
}

TEST(the_type_of_the_items_counts) {
  pd_flag_def def = at_place(PD_TYPE_string, "n", "a.c", 3), other = def;
  def.list = PD_TYPE_int32;
  register_flag(&def);
  differ(&other, "list items none, not int32");
  other.list = PD_TYPE_string;
  differ(&other, "list items string, not int32");
}

TEST(definitions_of_other_lines_of_one_file_may_be_the_same) {
  pd_flag_def def = at_place(PD_TYPE_int32, "n", "one/a.c", 3), other = def;
  pd_flag *flag = register_flag(&def);
  other.file = "two/a.c";
  CHECK(register_flag(&other) == flag);
  other.file = "two/b.c";
  refuse(&other, "'n' is already defined, int32 at one/a.c:3; refused: int32 at two/b.c:3");
  other.default_value.i64 = 5; /* the places say enough */
  refuse(&other, "'n' is already defined, int32 at one/a.c:3; refused: int32 at two/b.c:3");
  other = def;
  other.type = PD_TYPE_int64;
  other.hidden = true;
  refuse(&other, "'n' is already defined, int32 at one/a.c:3; refused: int64 at one/a.c:3");
  other = def;
  other.file = NULL;
  refuse(&other, "'n' is already defined, int32 at one/a.c:3; refused: int32");
}

/* ---- Names ---- */

TEST(a_name_that_one_definition_has_twice_is_told) {
  pd_flag_def def = at_place(PD_TYPE_int32, "n", "a.c", 3);
  def.aliases = "m|m";
  refuse(&def, "'m' is named twice in one definition: as an alias of 'n', int32 at a.c:3");
  def.aliases = "m";
  def.old_names = "M|m";
  refuse(&def, "'m' is named twice in one definition: as an alias of 'n', int32 at a.c:3");
  def.old_names = "n";
  refuse(&def, "'n' is named twice in one definition: int32 at a.c:3");
  CHECK(!is_defined("n") && !is_defined("m"));
}

TEST(two_definitions_of_one_record_conflict) {
  pd_flag_def one = at_place(PD_TYPE_int32, "n", "a.c", 3);
  pd_flag_def two = at_place(PD_TYPE_int64, "n", "a.c", 4);
  CHECK(JOIN(&one, &two) == PD_ERR_CONFLICT);
  CHECK(strstr(join_error(0), "'n' is already defined, int32 at a.c:3 in "));
  CHECK(strstr(join_error(0), "; refused: int64 at a.c:4 in "));
  CHECK(!is_defined("n"));
}

TEST(an_alias_of_another_definition_of_the_record_is_taken) {
  pd_flag_def import = import_at(PD_TYPE_int32, "m", 2);
  pd_flag_def one = at_place(PD_TYPE_int32, "one", "a.c", 3);
  pd_flag_def two = at_place(PD_TYPE_int32, "two", "a.c", 4);
  pd_flag_def last = at_place(PD_TYPE_int32, "m", "a.c", 5);
  static int32_t cell;
  import.cell = &cell;
  two.aliases = "m";
  CHECK(JOIN(&import, &one, &two, &last) == PD_ERR_CONFLICT);
  CHECK(strstr(join_error(0), "'m' is already an alias of 'two', int32 at a.c:4 in "));
  CHECK(strstr(join_error(0), "; refused: int32 at a.c:5 in "));
  last.name = "last";
  last.old_names = "m";
  CHECK(JOIN(&import, &one, &two, &last) == PD_ERR_CONFLICT);
  CHECK(strstr(join_error(0), "'m' is already an alias of 'two', int32 at a.c:4 in "));
  CHECK(strstr(join_error(0), "; refused: as an alias of 'last', int32 at a.c:5 in "));
  CHECK(!is_defined("one") && !is_defined("two") && !is_defined("m"));
}

TEST(all_conflicts_of_a_record_are_reported) {
  pd_flag *taken = define_flag(PD_TYPE_bool, "taken"), *more = define_flag(PD_TYPE_bool, "more");
  pd_flag_def one = at_place(PD_TYPE_int32, "taken", "a.c", 3);
  pd_flag_def two = at_place(PD_TYPE_int32, "free", "a.c", 4);
  pd_flag_def three = at_place(PD_TYPE_int32, "more", "a.c", 5);
  pd_flag_def import = import_at(PD_TYPE_int32, "taken", 6);
  CHECK(JOIN(&one, &two, &three, &import) == PD_ERR_CONFLICT);
  CHECK(pd_error_list_count(join_errors) == 3);
  CHECK(strstr(join_error(0), "'taken' is already defined"));
  CHECK(strstr(join_error(1), "'more' is already defined"));
  CHECK(strstr(join_error(2), "'taken' is bool; refused: import as int32 at a.c:6"));
  CHECK(!is_defined("free"));
  CHECK_OK(pd_flag_unregister(taken, &err));
  CHECK_OK(pd_flag_unregister(more, &err));
  CHECK_OK(JOIN(&one, &two, &three));
  CHECK(is_defined("taken") && is_defined("free") && is_defined("more"));
}

TEST(a_record_may_have_many_definitions) {
  static pd_flag_def defs[60];
  static char names[60][16];
  const pd_flag_def *all[60];
  for (uint32_t i = 0; i < 60; i++) {
    snprintf(names[i], sizeof *names, "flag_%u", i);
    defs[i] = at_place(PD_TYPE_int32, names[i], "a.c", 1 + i);
    defs[i].default_value.i64 = i;
    all[i] = &defs[i];
  }
  CHECK_OK(join_count(all, 60));
  for (int i = 0; i < 60; i++) {
    int32_t value = -1;
    pd_flag *flag = find_flag(names[i]);
    CHECK_OK(pd_flag_get_int32(flag, &value, &err));
    CHECK(value == i);
  }
}

/* ---- Negations ---- */

#define PAIR_OF(shown, negated)                                                                    \
  "--" shown " would be the flag '" shown "' and turn the flag '" negated "' off; already "        \
  "defined: "

TEST(a_bool_conflicts_with_each_form_of_its_negation) {
  static const char *const names[] = {"nox", "no_x", "no-x"};
  static const char *const messages[] = {PAIR_OF("nox", "x") "int32; refused: bool",
                                         PAIR_OF("no_x", "x") "int32; refused: bool"};
  pd_flag_def flag = definition(PD_TYPE_bool, "x");
  for (int i = 0; i < 3; i++) {
    pd_flag *other = define_flag(PD_TYPE_int32, names[i]);
    refuse(&flag, messages[i > 0]);
    CHECK_OK(pd_flag_unregister(other, &err));
  }
  register_flag(&flag);
  static const char *const reversed[] = {PAIR_OF("nox", "x") "bool; refused: int32",
                                         PAIR_OF("no_x", "x") "bool; refused: int32",
                                         PAIR_OF("no-x", "x") "bool; refused: int32"};
  for (int i = 0; i < 3; i++) {
    pd_flag_def other = definition(PD_TYPE_int32, names[i]);
    refuse(&other, reversed[i]);
  }
}

TEST(aliases_are_negations_too) {
  pd_flag_def flag = definition(PD_TYPE_bool, "x"), other = definition(PD_TYPE_int32, "other");
  flag.aliases = "y";
  register_flag(&flag);
  other.aliases = "noy";
  refuse(&other, PAIR_OF("noy", "y") "bool; refused: int32");
  other.aliases = "noz";
  register_flag(&other);
  flag = definition(PD_TYPE_bool, "more");
  flag.old_names = "z";
  refuse(&flag, PAIR_OF("noz", "z") "int32; refused: bool");
}

TEST(a_bool_and_its_negation_in_one_record_conflict_in_either_order) {
  for (int turned = 0; turned < 2; turned++) {
    pd_flag_def flag = at_place(PD_TYPE_bool, "x", "a.c", turned ? 4 : 3);
    pd_flag_def other = at_place(PD_TYPE_int32, "nox", "a.c", turned ? 3 : 4);
    CHECK(JOIN(&flag, &other) == PD_ERR_CONFLICT);
    CHECK(strstr(join_error(0), PAIR_OF("nox", "x")));
    CHECK(strstr(join_error(0), turned ? "; refused: bool at a.c:4" : "; refused: int32 at a.c:4"));
  }
  CHECK(!is_defined("x") && !is_defined("nox"));
}

TEST(only_a_bool_has_a_negation) {
  define_flag(PD_TYPE_int32, "x");
  define_flag(PD_TYPE_int32, "nox");
  define_flag(PD_TYPE_int32, "no_x");
  define_flag(PD_TYPE_bool, "no");
  define_flag(PD_TYPE_bool, "no_");
  define_flag(PD_TYPE_bool, "nest"); /* begins with n, but not with no */
  define_flag(PD_TYPE_int32, "est");
}

TEST(a_bool_whose_name_begins_with_no_has_a_negation_too) {
  pd_flag_def flag = definition(PD_TYPE_bool, "nox");
  define_flag(PD_TYPE_int32, "nonox");
  refuse(&flag, PAIR_OF("nonox", "nox") "int32; refused: bool");
}

TEST(a_name_whose_flag_has_left_is_no_negation) {
  pd_flag_def flag = definition(PD_TYPE_bool, "x");
  flag.aliases = "y";
  CHECK_OK(pd_flag_unregister(register_flag(&flag), &err));
  define_flag(PD_TYPE_int32, "nox");
  define_flag(PD_TYPE_int32, "noy");
  refuse(&flag, PAIR_OF("nox", "x") "int32; refused: bool");
}

TEST(what_is_replaced_is_no_negation) {
  pd_flag_def flag = definition(PD_TYPE_int32, "x");
  flag.aliases = "noy|y";
  register_flag(&flag);
  flag.type = PD_TYPE_bool;
  flag.default_value.b = false;
  flag.aliases = "y"; /* whose negation is the alias that goes */
  CHECK_OK(pd_flag_replace(&flag, NULL, 0, NULL, &err));
}

/* ---- Imports ---- */

TEST(an_import_that_waits_says_which_type_the_flag_has) {
  static int32_t cell = 1, alias_cell = 2;
  pd_flag_def import = import_at(PD_TYPE_int32, "n", 3), other = import_at(PD_TYPE_int32, "m", 4);
  import.cell = &cell;
  other.cell = &alias_cell;
  CHECK_OK(JOIN(&import, &other));
  pd_flag_def def = at_place(PD_TYPE_int64, "n", "b.c", 5);
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_TYPE);
  CHECK(strstr(err.message, "'n' is already imported, as int32 at a.c:3 in "));
  CHECK(strstr(err.message, "; expected int32, refused: int64 at b.c:5"));
  def.name = "free";
  def.aliases = "m";
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_TYPE);
  CHECK(strstr(err.message, "'m' is already imported, as int32 at a.c:4 in "));
  def = at_place(PD_TYPE_int32, "n", "b.c", 5);
  def.aliases = "m";
  def.default_value.i64 = 7;
  register_flag(&def);
  CHECK(cell == 7 && alias_cell == 7);
}

TEST(an_import_in_the_record_of_the_definition_has_its_type) {
  pd_flag_def import = import_at(PD_TYPE_bool, "n", 2);
  pd_flag_def def = at_place(PD_TYPE_int32, "n", "a.c", 3);
  CHECK(JOIN(&import, &def) == PD_ERR_TYPE);
  CHECK(strstr(join_error(0), "'n' is int32 at a.c:3 in "));
  CHECK(strstr(join_error(0), "; refused: import as bool at a.c:2 in "));
  CHECK(!is_defined("n"));
  import.type = PD_TYPE_int32;
  CHECK_OK(JOIN(&import, &def));
}

TEST(a_definition_that_is_replaced_does_not_say_which_type_an_import_has) {
  static int32_t cell = 1;
  pd_flag_def def = definition(PD_TYPE_int32, "n"), import = import_at(PD_TYPE_int32, "n", 3);
  register_flag(&def);
  import.cell = &cell;
  CHECK_OK(JOIN(&import));
  CHECK(cell == 0);
  def = definition(PD_TYPE_int64, "n");
  CHECK(pd_flag_replace(&def, NULL, 0, NULL, &err) == PD_ERR_TYPE);
  CHECK(strstr(err.message, "'n' is already imported, as int32 at a.c:3 in "));
  def = definition(PD_TYPE_int32, "n");
  def.default_value.i64 = 5;
  CHECK_OK(pd_flag_replace(&def, NULL, 0, NULL, &err));
  CHECK(cell == 5);
}

/* ---- What is no negation ---- */

TEST(only_no_and_no_with_a_dash_or_a_line_negate) {
  static const char *const bools[] = {"foo", "bar", "oo"};
  static const char *const others[] = {"nfoo", "gobar", "nabar", "nofo", "nofoooo", "noxoo"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) define_flag(PD_TYPE_int32, others[i]);
  for (size_t i = 0; i < sizeof bools / sizeof *bools; i++) define_flag(PD_TYPE_bool, bools[i]);
  static const char *const later[] = {"noyoo", "naoo", "gooo", "noyfoo", "nfoo_"};
  for (size_t i = 0; i < sizeof later / sizeof *later; i++) define_flag(PD_TYPE_int32, later[i]);
}

TEST(a_name_that_negates_in_two_ways_is_refused_for_either) {
  define_flag(PD_TYPE_bool, "_lower");
  pd_flag_def def = at_place(PD_TYPE_int32, "no_lower", "a.c", 3);
  refuse(&def, "--no_lower would be the flag 'no_lower' and turn the flag '_lower' off; already "
               "defined: bool; refused: int32 at a.c:3");
}

TEST(a_negation_is_refused_also_if_an_import_waits_for_it) {
  pd_flag_def import = import_at(PD_TYPE_int32, "nolower", 4);
  define_flag(PD_TYPE_bool, "lower");
  CHECK_OK(JOIN(&import));
  pd_flag_def def = at_place(PD_TYPE_int32, "nolower", "a.c", 3);
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_CONFLICT);
}

TEST(a_conflict_of_an_alias_shows_no_differences) {
  pd_flag_def def = at_place(PD_TYPE_int32, "n", "a.c", 3);
  register_flag(&def);
  def.name = "m";
  def.aliases = "n";
  def.help = "Another one";
  refuse(&def,
         "'n' is already defined, int32 at a.c:3; refused: as an alias of 'm', int32 at a.c:3");
}

TEST(a_scoped_flag_may_be_imported_without_a_variable) {
  static int32_t cell;
  pd_flag_def def = at_place(PD_TYPE_int32, "n", "a.c", 3),
              import = import_at(PD_TYPE_int64, "n", 4);
  def.scoped = true;
  register_flag(&def);
  import.cell = &cell;
  CHECK(JOIN(&import) == PD_ERR_TYPE);
  CHECK(strstr(join_error(0), "'n' is int32 at a.c:3"));
  CHECK(strstr(join_error(0), "; refused: import as int64 at a.c:4"));
  import = import_at(PD_TYPE_int32, "n", 4);
  CHECK_OK(JOIN(&import));
}
