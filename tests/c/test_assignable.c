/* Variables that their module assigns to, and variables of other types. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

static pd_flag *define(pd_flag_def *def) {
  def->file = "assign.c";
  def->assignable = true;
  return register_flag(def);
}

static pd_flag *define_level(int32_t *cell) {
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_int32);
  def.name = "level";
  def.default_value.i64 = *cell;
  def.cell = cell;
  def.min.i64 = 1;
  return define(&def);
}

TEST(the_next_call_sees_what_was_assigned) {
  static int32_t cell = 6;
  int32_t value = 0;
  pd_flag *flag = define_level(&cell);
  cell = 9;
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(value == 9);
  cell = 8;
  CHECK(flag_info(flag).source == PD_SOURCE_RUNTIME);
  char text[8];
  cell = 7;
  CHECK_OK(pd_flag_get_text(flag, text, sizeof text, NULL, &err));
  CHECK_STR(text, "7");
  cell = 6; /* the default, but assigned */
  pd_flag_entry entry = flag_entry(flag, 0);
  CHECK(entry.value.i64 == 6);
  CHECK(entry.origin.source == PD_SOURCE_RUNTIME);
}

TEST(what_is_assigned_is_taken_as_it_is) {
  static int32_t cell = 6;
  int32_t value = 0;
  pd_flag *flag = define_level(&cell);
  cell = -3; /* below its range */
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(value == -3);
  CHECK(pd_flag_set_int32(flag, -4, NULL) == PD_ERR_RANGE);
  CHECK(cell == -3);
}

TEST(a_set_after_an_assignment_wins_and_reset_gives_the_default_back) {
  static int32_t cell = 6;
  pd_flag *flag = define_level(&cell);
  cell = 9;
  CHECK_OK(pd_flag_set_int32(flag, 3, &err));
  CHECK(cell == 3);
  cell = 9;
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK(cell == 6);
}

TEST(all_variables_of_a_flag_follow_an_assignment) {
  static int32_t first = 6, second = 6;
  pd_flag *flag = define_level(&first);
  CHECK(define_level(&second) == flag);
  second = 9;
  CHECK_OK(pd_flag_find("level", &flag, &err));
  int32_t value;
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(first == 9);
}

static int told;
static void count(pd_flag *flag, void *context) {
  (void)flag;
  told += *(int *)context;
}

TEST(watchers_are_told_of_an_assignment_by_the_call_that_finds_it) {
  static int32_t cell = 6;
  static int step = 10;
  int32_t value;
  pd_flag *flag = define_level(&cell);
  CHECK_OK(pd_watcher_add(flag, count, &step, NULL, NULL, &err));
  cell = 9;
  CHECK(told == 0);
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(told == 10);
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(told == 10);
}

static bool above(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)why, (void)size;
  return entries[0]->value.i64 > *(int *)context;
}

TEST(hooks_of_a_definition_get_its_context) {
  static int bound = 5, step = 1;
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_int32);
  def.name = "bounded";
  def.default_value.i64 = 6;
  def.validate = above;
  def.context = &bound;
  pd_flag *flag = register_flag(&def);
  CHECK(pd_flag_set_int32(flag, 5, NULL) == PD_ERR_REFUSED);
  CHECK_OK(pd_flag_set_int32(flag, 7, &err));
  def.name = "watched";
  def.validate = NULL;
  def.watch = count;
  def.context = &step;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  CHECK_OK(pd_flag_set_int32(flag, 7, &err));
  CHECK(told == 1);
}

static bool fits(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  return entries[0]->value.i64 < entries[1]->value.i64;
}

TEST(a_validator_of_several_flags_is_shown_what_was_assigned_to_the_others) {
  static int32_t low = 1, high = 9;
  pd_flag_def def;
  pd_flag *flags[2];
  flags[0] = define_level(&low);
  pd_flag_def_init(&def, sizeof def, PD_TYPE_int32);
  def.name = "high";
  def.default_value.i64 = 9;
  def.cell = &high;
  flags[1] = define(&def);
  CHECK(pd_validator_add(flags, 2, fits, NULL, NULL, NULL, NULL) == PD_OK);
  high = 5;
  CHECK(pd_flag_set_int32(flags[0], 6, NULL) == PD_ERR_REFUSED);
  CHECK(pd_flag_set_int32(flags[0], 4, NULL) == PD_OK);
}

/* ---- A string of another kind ---- */

typedef struct counted {
  size_t length;
  char text[16];
} counted;

static const char *get_counted(void *cell) {
  counted *own = cell;
  own->text[own->length] = '\0';
  return own->text;
}

static void put_counted(void *cell, const char *text) {
  counted *own = cell;
  own->length = strlen(text);
  memcpy(own->text, text, own->length);
}

static pd_flag *define_mode(counted *cell, const pd_cell_access *access) {
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_string);
  def.name = "mode";
  def.default_value.str = "fast";
  def.cell = cell;
  def.access = access;
  return define(&def);
}

TEST(a_string_of_another_kind_follows_its_flag_and_is_followed) {
  static counted cell;
  static const pd_cell_access access = {
      .size = sizeof access, .get = get_counted, .put = put_counted};
  const char *value;
  pd_flag *flag = define_mode(&cell, &access);
  CHECK(cell.length == 4);
  CHECK_OK(pd_flag_set_string(flag, "faster", &err));
  CHECK(cell.length == 6);
  put_counted(&cell, "best");
  CHECK_OK(pd_flag_get_string(flag, &value, &err));
  CHECK_STR(value, "best");
  pd_cell_info info = {.size = sizeof info};
  CHECK_OK(pd_flag_get_cell(flag, 0, &info, &err));
  CHECK(info.in_step);
}

static const char *get_none(void *cell) {
  (void)cell;
  return NULL;
}

TEST(a_variable_that_has_no_value_any_more_leaves_the_flag_its_value) {
  static const pd_cell_access access = {.size = sizeof access, .get = get_none, .put = put_counted};
  static counted cell;
  pd_flag *flag = define_mode(&cell, &access);
  const char *text = NULL;
  CHECK_OK(pd_flag_set_string(flag, "best", &err));
  CHECK_OK(pd_flag_get_string(flag, &text, &err));
  CHECK_STR(text, "best");
}

TEST(an_access_without_put_is_refused) {
  static const pd_cell_access access = {.size = sizeof access, .get = get_counted};
  static counted cell;
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_string);
  def.name = "mode";
  def.cell = &cell;
  def.access = &access;
  CHECK_STATUS(pd_flag_register(&def, NULL, &err), PD_ERR_ARGUMENT,
               "definition of 'mode': its access is not that of string: expected a "
               "size of 24, and put");
}

/* A number that is kept as text, as some libraries keep theirs. */
static char written[32] = "6";

static bool load_written(void *cell, pd_value *value) {
  value->i64 = strtol(cell, NULL, 10);
  return true;
}
static void store_written(void *cell, pd_value value) {
  snprintf(cell, sizeof written, "%lld", (long long)value.i64);
}

static pd_flag_def written_level(const pd_cell_access *access) {
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_int32);
  def.name = "level";
  def.default_value.i64 = 6;
  def.cell = written;
  def.access = access;
  return def;
}

TEST(a_number_of_another_kind_follows_its_flag_and_is_followed) {
  static const pd_cell_access access = {
      .size = sizeof access, .load = load_written, .store = store_written};
  pd_flag_def def = written_level(&access);
  int32_t value;
  def.assignable = true;
  pd_flag *flag = define(&def);
  CHECK_OK(pd_flag_set_int32(flag, 7, &err));
  CHECK_STR(written, "7");
  store_written(written, (pd_value){.i64 = 12});
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(value == 12);
}

TEST(an_access_for_a_number_has_a_function_that_stores_it) {
  static const pd_cell_access for_text = {offsetof(pd_cell_access, load), get_counted, put_counted,
                                          NULL, NULL};
  pd_flag_def def = written_level(&for_text);
  CHECK_STATUS(pd_flag_register(&def, NULL, &err), PD_ERR_ARGUMENT,
               "definition of 'level': its access is not that of int32: expected a "
               "size of 40, and store");
}

/* ---- Defaults that are given later ---- */

TEST(a_given_default_holds_until_a_value_is_given_and_after_reset) {
  static int32_t cell = 6;
  pd_flag *flag = define_level(&cell);
  CHECK_OK(pd_flag_set_default(flag, "4", &err));
  CHECK(cell == 4);
  pd_flag_info info = flag_info(flag);
  CHECK(info.default_value.i64 == 4);
  CHECK(info.source == PD_SOURCE_DEFAULT);
  CHECK_OK(pd_flag_set_int32(flag, 9, &err));
  CHECK_OK(pd_flag_set_default(flag, "5", &err));
  CHECK(cell == 9);
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK(cell == 5);
  CHECK_STATUS(pd_flag_set_default(flag, "0", &err), PD_ERR_RANGE,
               "level=0: expected an integer >= 1");
}

TEST(a_given_default_is_no_value_for_a_required_flag) {
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_int32);
  def.name = "needed";
  def.required = true;
  pd_flag *flag = register_flag(&def);
  CHECK_OK(pd_flag_set_default(flag, "4", &err));
  CHECK(pd_flags_validate(NULL, &err) == PD_ERR_REFUSED);
  CHECK_OK(pd_flag_set_int32(flag, 4, &err));
  CHECK_OK(pd_flags_validate(NULL, &err));
}

/* ---- The program ---- */

TEST(what_the_program_is_stays_until_it_is_told_again) {
  const char *argv[] = {"tool", "--level=9", NULL};
  pd_program told_of = {.size = sizeof told_of, .argc = 2, .argv = argv, .usage = "tool [FILE]"};
  pd_program found = {.size = sizeof found};
  CHECK_OK(pd_program_get(&found, &err));
  CHECK(!found.argv && !found.usage && !found.version);
  CHECK_OK(pd_program_set(&told_of, &err));
  argv[1] = "other";
  told_of = (pd_program){.size = sizeof told_of, .version = "1.2"};
  CHECK_OK(pd_program_set(&told_of, &err));
  CHECK_OK(pd_program_get(&found, &err));
  CHECK(found.argc == 2);
  CHECK_STR(found.argv[1], "--level=9");
  CHECK(found.argv[2] == NULL);
  CHECK_STR(found.usage, "tool [FILE]");
  CHECK_STR(found.version, "1.2");
}

TEST(a_program_that_is_wrong_changes_nothing) {
  const char *argv[] = {"tool", NULL, NULL};
  pd_program wrong = {.size = 3, .argc = 2, .argv = argv, .usage = "tool"};
  pd_program found = {.size = sizeof found};
  CHECK_STATUS(pd_program_set(NULL, &err), PD_ERR_ARGUMENT, "program is NULL");
  CHECK(pd_program_set(&wrong, &err) == PD_ERR_ARGUMENT);
  CHECK(strstr(err.message, "program->size is 3, expected "));
  wrong.size = sizeof wrong;
  CHECK_STATUS(pd_program_set(&wrong, &err), PD_ERR_ARGUMENT,
               "program->argv[1] is NULL, expected text");
  wrong.argc = -1;
  CHECK_STATUS(pd_program_set(&wrong, &err), PD_ERR_ARGUMENT,
               "program->argc is -1, expected 0 or more");
  CHECK_OK(pd_program_get(&found, &err));
  CHECK(!found.argv && !found.usage);
}

/* ---- Which variables are looked at ---- */

TEST(a_variable_that_no_module_may_assign_to_is_not_looked_at) {
  static int32_t own = 6, read = 6;
  pd_flag_def def = definition(PD_TYPE_int32, "level");
  pd_flag *flag = define_level(&own);
  int32_t value;
  def.default_value.i64 = 6;
  def.min.i64 = 1;
  def.file = "assign.c";
  def.cell = &read;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  read = 9;
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(value == 6 && own == 6);
  own = 8;
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(value == 8 && read == 8);
}

static const char *place_of(const pd_flag *flag) {
  static pd_flag_entry entry = {.size = sizeof entry};
  entry = flag_entry(flag, 0);
  CHECK(entry.origin.source == PD_SOURCE_RUNTIME);
  return entry.origin.place;
}

TEST(the_place_of_an_assigned_value_is_the_module_of_its_variable) {
  static int32_t first = 6, second = 6;
  pd_flag_def def = definition(PD_TYPE_int32, "named");
  def.default_value.i64 = 6;
  def.cell = &first;
  def.module = "engine";
  pd_flag *flag = define(&def);
  first = 9;
  CHECK_STR(place_of(flag), "engine");
  flag = define_level(&second);
  second = 9;
  CHECK(strstr(place_of(flag), "program"));
}

TEST(a_text_that_is_being_assigned_is_read_only_with_the_lock) {
  static const char *cell = "old";
  const char *text;
  pd_flag_def def = definition(PD_TYPE_string, "mode");
  def.default_value.str = "old";
  def.cell = &cell;
  pd_flag *flag = define(&def);
  char fresh[] = "new";
  cell = fresh;
  CHECK(pd_flag_get_string(flag, &text, NULL) == PD_OK);
  CHECK_STR(text, "old");
  CHECK_OK(pd_flag_get_string(flag, &text, &err));
  CHECK(text != fresh);
  CHECK_STR(text, "new");
}

TEST(a_value_of_a_lower_source_goes_below_what_was_assigned_before) {
  static int32_t cell = 6;
  pd_origin file = {PD_SOURCE_FILE, 1, "a.conf", 0};
  pd_flag *flag = define_level(&cell);
  cell = 9;
  CHECK_OK(pd_pending_set("level", "3", &file, &err));
  CHECK(cell == 9);
  CHECK_STR(text_of(flag), "9");
  CHECK_OK(pd_flag_drop(flag, PD_SOURCE_RUNTIME, &err));
  CHECK(cell == 3);
}
