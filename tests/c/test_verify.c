/* What is checked of a definition by itself, and what its messages say. */
#include <math.h>

#include "check.h"

static void accept(const pd_flag_def *def) { CHECK_OK(pd_flag_register(def, NULL, &err)); }

static void refuse(const pd_flag_def *def, pd_status status, const char *message) {
  pd_flag *found;
  CHECK_STATUS(pd_flag_register(def, NULL, &err), status, message);
  CHECK(!def->name || pd_flag_find(def->name, &found, NULL) == PD_ERR_UNDEFINED);
}

static void refuse_part(const pd_flag_def *def, pd_status status, const char *part) {
  CHECK(pd_flag_register(def, NULL, &err) == status);
  if (!strstr(err.message, part)) check_fail(__FILE__, __LINE__, "%s", err.message);
}

/* ACCEPT(INT(def.min.i64 = 1, def.max.i64 = 2)): a definition of the type with these fields. */
#define INT(...) PD_TYPE_int32, "n", (__VA_ARGS__)
#define TEXT(...) PD_TYPE_string, "s", (__VA_ARGS__)
#define MADE(type, name_, fields)                                                                  \
  pd_flag_def def = definition(type, name_);                                                       \
  (void)fields
#define ACCEPT_MADE(type, name_, fields)                                                           \
  do {                                                                                             \
    MADE(type, name_, fields);                                                                     \
    accept(&def);                                                                                  \
  } while (0)
#define REFUSE_MADE(how, type, name_, fields, status, message)                                     \
  do {                                                                                             \
    MADE(type, name_, fields);                                                                     \
    how(&def, status, message);                                                                    \
  } while (0)
#define ACCEPT(...) ACCEPT_MADE(__VA_ARGS__)
#define REFUSE(...) REFUSE_MADE(refuse, __VA_ARGS__)
#define REFUSE_PART(...) REFUSE_MADE(refuse_part, __VA_ARGS__)

/* ---- The place ---- */

TEST(a_message_begins_with_what_is_known_of_the_place) {
  REFUSE(INT(def.name = NULL), PD_ERR_NAME, "definition: the name is NULL");
  REFUSE(INT(def.name = NULL, def.line = 3), PD_ERR_NAME, "definition: the name is NULL");
  REFUSE(INT(def.name = NULL, def.file = "a.c"), PD_ERR_NAME, "a.c: definition: the name is NULL");
  REFUSE(INT(def.name = NULL, def.file = "a.c", def.line = 3), PD_ERR_NAME,
         "a.c:3: definition: the name is NULL");
  REFUSE(INT(def.file = "a.c", def.min.i64 = 1), PD_ERR_RANGE,
         "a.c: definition of 'n': default 0: expected an integer >= 1");
}

/* ---- Names ---- */

TEST(a_name_begins_with_a_letter_and_has_no_blanks) {
  static const char expected[] =
      "expected a name of letters, digits, _ . - that begins with a letter or _";
  static const char *const wrong[] = {"", "9", "-n", ".n", "n m", "n="};
  char message[256];
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    snprintf(message, sizeof message, "definition of '%s': %s", wrong[i], expected);
    REFUSE(INT(def.name = wrong[i]), PD_ERR_NAME, message);
    snprintf(message, sizeof message, "definition of 'n': old name '%s': %s", wrong[i], expected);
    if (*wrong[i]) REFUSE(INT(def.old_names = wrong[i]), PD_ERR_NAME, message);
    snprintf(message, sizeof message, "definition of 'n': alias '%s': %s", wrong[i], expected);
    if (*wrong[i]) REFUSE(INT(def.aliases = wrong[i]), PD_ERR_NAME, message);
  }
  ACCEPT(INT(def.name = "_"));
  ACCEPT(INT(def.name = "n.m-9"));
}

TEST(each_name_of_a_list_is_checked) {
  REFUSE_PART(INT(def.aliases = "a|b|9"), PD_ERR_NAME, "alias '9'");
  REFUSE_PART(INT(def.aliases = "a", def.old_names = "b|9"), PD_ERR_NAME, "old name '9'");
}

TEST(a_name_has_at_most_255_bytes) {
  static const char long_name[] = "the name has 256 bytes, expected at most 255";
  char name[PD_NAME_MAX + 2];
  memset(name, 'n', sizeof name);
  name[PD_NAME_MAX] = '\0';
  ACCEPT(INT(def.name = name));
  name[PD_NAME_MAX] = 'n';
  name[PD_NAME_MAX + 1] = '\0';
  REFUSE_PART(INT(def.name = name), PD_ERR_NAME, long_name);
  REFUSE_PART(INT(def.aliases = name), PD_ERR_NAME, long_name);
  CHECK(strstr(err.message, "definition of 'n': alias 'nnn"));
}

TEST(a_name_that_means_something_on_every_command_line_is_taken) {
  static const char *const taken[][2] = {{"help", "lists the flags"},
                                         {"flagfile", "reads flags from files"},
                                         {"fromenv", "reads flags from the environment"},
                                         {"tryfromenv", "reads flags from the environment"},
                                         {"undefok", "lets flags be unknown"}};
  char message[256];
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
    snprintf(message, sizeof message, "definition of '%s': --%s %s, expected another name",
             taken[i][0], taken[i][0], taken[i][1]);
    REFUSE(INT(def.name = taken[i][0]), PD_ERR_CONFLICT, message);
    snprintf(message, sizeof message,
             "definition of 'n': old name '%s': --%s %s, expected another name", taken[i][0],
             taken[i][0], taken[i][1]);
    REFUSE(INT(def.old_names = taken[i][0]), PD_ERR_CONFLICT, message);
  }
  static const char *const free[] = {"hel", "helper", "flagfiles", "from", "undef", "try"};
  for (size_t i = 0; i < sizeof free / sizeof *free; i++) ACCEPT(INT(def.name = free[i]));
}

/* ---- The type and its values ---- */

TEST(a_plain_definition_is_checked_as_any_other) {
  REFUSE(INT(def.default_value.i64 = (int64_t)INT32_MAX + 1), PD_ERR_RANGE,
         "definition of 'n': default 2147483648: expected a 32-bit integer");
  REFUSE(TEXT(def.default_value.str = NULL), PD_ERR_VALUE,
         "definition of 's': the default is NULL, expected text");
  REFUSE(INT(def.kind = PD_KIND_IMPORT), PD_ERR_ARGUMENT,
         "definition of 'n': its kind isn't PD_KIND_DEFINE");
  REFUSE(INT(def.kind = PD_KIND_OP), PD_ERR_ABI,
         "definition of 'n': its kind is 2, expected a pd_kind");
  REFUSE((pd_type)0, "n", (def.default_value.i64 = 0), PD_ERR_TYPE,
         "definition of 'n': its type is 0, expected a pd_type");
}

TEST(a_range_may_be_one_number_and_not_less) {
  ACCEPT(INT(def.min.i64 = def.max.i64 = 0));
  REFUSE(PD_TYPE_uint64, "u", (def.min.u64 = 1, def.max.u64 = 0), PD_ERR_RANGE,
         "definition of 'u': the range is empty: min is above max");
}

TEST(a_bound_below_or_above_the_type_does_not_fit) {
  REFUSE(INT(def.min.i64 = INT64_MIN), PD_ERR_RANGE,
         "definition of 'n': a bound of the range does not fit int32");
  REFUSE(INT(def.max.i64 = (int64_t)INT32_MAX + 1), PD_ERR_RANGE,
         "definition of 'n': a bound of the range does not fit int32");
  ACCEPT(INT(def.min.i64 = INT32_MIN, def.max.i64 = INT32_MAX, def.optional = true));
}

TEST(no_bound_is_NaN) {
  REFUSE(PD_TYPE_double, "d", (def.min.f64 = NAN), PD_ERR_RANGE,
         "definition of 'd': a bound of the range is NaN");
  REFUSE(PD_TYPE_double, "d", (def.max.f64 = NAN), PD_ERR_RANGE,
         "definition of 'd': a bound of the range is NaN");
}

TEST(the_bounds_of_a_type_without_a_range_are_not_read) {
  ACCEPT(PD_TYPE_bool, "b", (def.min.i64 = 9, def.max.i64 = -9));
  ACCEPT(TEXT(def.min.i64 = 9, def.max.i64 = -9, def.read_only = true));
}

TEST(a_default_is_checked_unless_the_flag_begins_without_a_value) {
  REFUSE(INT(def.min.i64 = 1), PD_ERR_RANGE,
         "definition of 'n': default 0: expected an integer >= 1");
  ACCEPT(INT(def.min.i64 = 1, def.optional = true));
  REFUSE(TEXT(def.optional = true, def.default_value.str = NULL), PD_ERR_VALUE,
         "definition of 's': the default is NULL, expected text");
}

TEST(a_default_is_shown_quoted_if_it_is_text_and_not_at_all_if_it_is_secret) {
  REFUSE(TEXT(def.choices = "a|b", def.default_value.str = "c"), PD_ERR_CHOICE,
         "definition of 's': default 'c': expected one of a, b");
  REFUSE(TEXT(def.choices = "a|b", def.default_value.str = "c", def.sensitive = true),
         PD_ERR_CHOICE, "definition of 's': default <redacted>: expected one of a, b");
  REFUSE(INT(def.max.i64 = 3, def.default_value.i64 = 4, def.sensitive = true), PD_ERR_RANGE,
         "definition of 'n': default <redacted>: expected an integer <= 3");
}

TEST(the_choices_of_a_list_are_items) {
  REFUSE(TEXT(def.list = PD_TYPE_int32, def.choices = "1|x"), PD_ERR_CHOICE,
         "definition of 's': choice 'x': expected a value of type int32");
  ACCEPT(TEXT(def.list = PD_TYPE_int32, def.choices = "1|2"));
}

/* ---- Lists, units, access functions ---- */

TEST(a_list_is_text_with_items_of_a_type) {
  REFUSE(TEXT(def.list = 99), PD_ERR_TYPE,
         "definition of 's': its list is 99, expected 0 or the pd_type of an item");
  REFUSE(INT(def.list = PD_TYPE_int32), PD_ERR_TYPE,
         "definition of 'n': a list has the type string, not int32");
}

TEST(a_unit_is_bytes_or_seconds_of_a_number) {
  REFUSE(INT(def.unit = "miles"), PD_ERR_ARGUMENT,
         "definition of 'n': unit 'miles': expected bytes or seconds");
  REFUSE(TEXT(def.unit = "bytes"), PD_ERR_TYPE,
         "definition of 's': unit 'bytes': expected the type of a number, not string");
  ACCEPT(INT(def.unit = "seconds"));
}

static const char *get_text(void *cell) { return *(const char **)cell; }
static void put_text(void *cell, const char *text) { *(const char **)cell = text; }
static void store_value(void *cell, pd_value value) { *(int32_t *)cell = (int32_t)value.i64; }

TEST(access_functions_are_those_of_the_type) {
  static const char *text = "";
  static int32_t number;
  char message[200];
  pd_cell_access access = {.size = sizeof access, .get = get_text, .put = put_text};
  snprintf(message, sizeof message,
           "definition of 'n': its access is not that of int32: expected a size of %zu, and store",
           sizeof access);
  REFUSE(INT(def.cell = &number, def.access = &access), PD_ERR_ARGUMENT, message);
  access = (pd_cell_access){.size = sizeof access - 8, .store = store_value};
  REFUSE(INT(def.cell = &number, def.access = &access), PD_ERR_ARGUMENT, message);
  snprintf(message, sizeof message,
           "definition of 's': its access is not that of string: expected a size of %zu, and put",
           offsetof(pd_cell_access, load));
  access.size = sizeof access;
  REFUSE(TEXT(def.cell = &text, def.access = &access), PD_ERR_ARGUMENT, message);
  access = (pd_cell_access){.size = offsetof(pd_cell_access, load) - 1, .put = put_text};
  REFUSE(TEXT(def.cell = &text, def.access = &access), PD_ERR_ARGUMENT, message);
  access.size++;
  ACCEPT(TEXT(def.cell = &text, def.access = &access));
  access = (pd_cell_access){.size = sizeof access, .store = store_value};
  ACCEPT(INT(def.cell = &number, def.access = &access));
}

TEST(a_scoped_cell_is_the_variable_of_a_scoped_flag_without_access_functions) {
  static int32_t number;
  static pd_scoped_cell scoped;
  static const char only[] = "definition of 'n': scoped_cell is for the variable of a scoped flag, "
                             "without access functions";
  pd_cell_access access = {.size = sizeof access, .store = store_value};
  REFUSE(INT(def.scoped = true, def.cell = &number), PD_ERR_ARGUMENT,
         "definition of 'n': it is scoped, but its variable is that of a flag that isn't: expected "
         "PD_DEFINE_SCOPED_int32");
  REFUSE(INT(def.scoped_cell = true), PD_ERR_ARGUMENT, only);
  REFUSE(INT(def.scoped_cell = true, def.scoped = true), PD_ERR_ARGUMENT, only);
  REFUSE(INT(def.scoped_cell = true, def.cell = &scoped), PD_ERR_ARGUMENT, only);
  REFUSE(INT(def.scoped_cell = true, def.scoped = true, def.cell = &scoped, def.access = &access),
         PD_ERR_ARGUMENT, only);
  REFUSE(INT(def.scoped_cell = true, def.scoped = true, def.cell = &scoped, def.assignable = true),
         PD_ERR_ARGUMENT, only);
  ACCEPT(INT(def.scoped = true));
}

/* ---- Marks ---- */

static bool convert(const char *text, void *context, pd_writer write, void *out, char *why,
                    size_t size) {
  (void)context, (void)why, (void)size;
  write(text, strlen(text), out);
  return true;
}

TEST(marks_that_exclude_each_other_are_refused) {
  REFUSE(INT(def.deprecated = ""), PD_ERR_ARGUMENT,
         "definition of 'n': deprecated: expected the reason, not \"\"");
  REFUSE(INT(def.retired = ""), PD_ERR_ARGUMENT,
         "definition of 'n': retired: expected the reason, not \"\"");
  REFUSE(INT(def.required = true, def.retired = "old"), PD_ERR_ARGUMENT,
         "definition of 'n': it is required and retired: its values would be ignored");
  REFUSE(INT(def.required = true, def.read_only = true), PD_ERR_ARGUMENT,
         "definition of 'n': it is required and read-only: no value would be taken");
  REFUSE(INT(def.runtime = true, def.read_only = true), PD_ERR_ARGUMENT,
         "definition of 'n': it is runtime and read-only: no change from outside would be taken");
  REFUSE(INT(def.runtime = true, def.startup_only = true), PD_ERR_ARGUMENT,
         "definition of 'n': it is runtime and startup only: no change in the running process "
         "would be taken");
  REFUSE(INT(def.runtime = true, def.retired = "old"), PD_ERR_ARGUMENT,
         "definition of 'n': it is runtime and retired: no change from outside would be taken");
  REFUSE(TEXT(def.multi = true), PD_ERR_ARGUMENT, "definition of 's': it is multi, but not a list");
  REFUSE(INT(def.convert = convert), PD_ERR_ARGUMENT,
         "definition of 'n': it has a converter, but is not a string");
}

TEST(marks_that_suit_each_other_are_accepted) {
  ACCEPT(INT(def.name = "a", def.deprecated = "use b"));
  ACCEPT(INT(def.name = "b", def.retired = "old"));
  ACCEPT(INT(def.name = "c", def.required = true));
  ACCEPT(INT(def.name = "d", def.read_only = true));
  ACCEPT(INT(def.name = "e", def.runtime = true));
  ACCEPT(INT(def.name = "f", def.startup_only = true, def.required = true));
  ACCEPT(TEXT(def.multi = true, def.list = PD_TYPE_string, def.convert = convert));
}

/* ---- Names and sizes ---- */

TEST(a_wrong_name_is_refused_whatever_follows_it) {
  pd_flag_def def = definition(PD_TYPE_int32, "9x");
  def.aliases = "good";
  refuse_part(&def, PD_ERR_NAME, "expected a name of letters");
}

TEST(a_wrong_name_of_the_greatest_length_is_not_too_long) {
  char name[PD_NAME_MAX + 2];
  memset(name, '9', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  pd_flag_def def = definition(PD_TYPE_int32, name);
  refuse_part(&def, PD_ERR_NAME, "expected at most 255");
  name[sizeof name - 2] = '\0';
  refuse_part(&def, PD_ERR_NAME, "expected a name of letters");
}

TEST(what_an_older_definition_lacks_is_not_read) {
  pd_flag_def newer = definition(PD_TYPE_int32, "newer"), older;
  newer.unit = "bytes";
  newer.required = true;
  accept(&newer); /* leaves its fields on the stack */
  older = newer;
  older.name = "older";
  older.size = (uint32_t)offsetof(pd_flag_def, validate);
  pd_flag *flag = register_flag(&older);
  pd_flag_info info = flag_info(flag);
  CHECK_STR(info.unit, "");
  CHECK(!info.required);
}
