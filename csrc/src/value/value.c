#include "value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "list.h"
#include "../platform/platform.h"
#include "unit.h"

#define TYPE_NAME(name, number, ctype, member)                                                     \
  case PD_TYPE_##name:                                                                             \
    return #name;
const char *pd_type_name(pd_type type) {
  switch (type) { PD_TYPE_MAP(TYPE_NAME) }
  return "unknown";
}

#define SOURCE_NAME(name, number, text)                                                            \
  case PD_SOURCE_##name:                                                                           \
    return text;
const char *pd_source_name(pd_source source) {
  switch (source) { PD_SOURCE_MAP(SOURCE_NAME) }
  return "unknown";
}

bool pd__type_known(unsigned type) { return type >= PD_TYPE_bool && type <= PD_TYPE_string; }

bool pd__literal_known(uint32_t literal) {
  bool list = literal >= 16 && literal % 16 == PD_TYPE_string;
  return literal == 0 || pd__type_known(list ? literal / 16 : literal);
}

/* A number that was meant as text has lost its own form: 1.10 has become 1.1. */
const char *pd__literal_complaint(const pd_flag_def *def, uint32_t literal) {
  bool list = literal % 16 == PD_TYPE_string;
  bool bare = list ? literal >= 16 && literal / 16 != PD_TYPE_string : literal != 0;
  if (list && !def->list) return "expected one value, not a list";
  if (!bare || def->type != PD_TYPE_string) return NULL;
  if (def->list && def->list != PD_TYPE_string) return NULL;
  return list ? "expected items of text; write them in quotes"
              : "expected text; write it in quotes";
}

/* ---- Formatting ---- */

/* The shortest of 15 to 17 digits that reads back equal. The C library writes
 * the decimal point of the locale, which may be several bytes: put '.' there. */
static void format_double(double value, char out[PD__NUMBER_SIZE]) {
  if (isnan(value)) {
    strcpy(out, "nan");
    return;
  }
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(out, PD__NUMBER_SIZE, "%.*g", digits, value);
    size_t whole = strspn(out, "+-0123456789infe");
    if (out[whole]) {
      size_t point = strcspn(out + whole, "0123456789");
      out[whole] = '.';
      memmove(out + whole + 1, out + whole + point, strlen(out + whole + point) + 1);
    }
    if (pd__platform_strtod(out) == value) return;
  }
}

const char *pd__value_text(pd_type type, pd_value value, char buffer[PD__NUMBER_SIZE]) {
  switch (type) {
    case PD_TYPE_bool:
      return value.b ? "true" : "false";
    case PD_TYPE_int32:
    case PD_TYPE_int64:
      snprintf(buffer, PD__NUMBER_SIZE, "%lld", (long long)value.i64);
      return buffer;
    case PD_TYPE_uint32:
    case PD_TYPE_uint64:
      snprintf(buffer, PD__NUMBER_SIZE, "%llu", (unsigned long long)value.u64);
      return buffer;
    case PD_TYPE_double:
      format_double(value.f64, buffer);
      return buffer;
    case PD_TYPE_string:
      return value.str;
  }
  return "";
}

size_t pd__value_format(pd_type type, pd_value value, char *buffer, size_t size) {
  char number[PD__NUMBER_SIZE];
  const char *text = pd__value_text(type, value, number);
  size_t length = strlen(text);
  if (size > 0) {
    size_t copied = length < size ? length : size - 1;
    memcpy(buffer, text, copied);
    buffer[copied] = '\0';
  }
  return length;
}

/* ---- Checking ---- */

bool pd__value_equal(pd_type type, pd_value a, pd_value b) {
  switch (type) {
    case PD_TYPE_bool:
      return a.b == b.b;
    case PD_TYPE_double: /* NaN equals itself here, and 0 isn't -0 */
      return (isnan(a.f64) && isnan(b.f64)) || a.u64 == b.u64;
    case PD_TYPE_string:
      return a.str == b.str || (a.str && b.str && !strcmp(a.str, b.str));
    default:
      return a.u64 == b.u64;
  }
}

pd_value pd__type_min(pd_type type) {
  pd_value value = {.u64 = 0};
  if (type == PD_TYPE_int32) value.i64 = INT32_MIN;
  if (type == PD_TYPE_int64) value.i64 = INT64_MIN;
  if (type == PD_TYPE_double) value.f64 = -HUGE_VAL;
  return value;
}

pd_value pd__type_max(pd_type type) {
  pd_value value = {.u64 = 0};
  if (type == PD_TYPE_int32) value.i64 = INT32_MAX;
  if (type == PD_TYPE_uint32) value.u64 = UINT32_MAX;
  if (type == PD_TYPE_int64) value.i64 = INT64_MAX;
  if (type == PD_TYPE_uint64) value.u64 = UINT64_MAX;
  if (type == PD_TYPE_double) value.f64 = HUGE_VAL;
  return value;
}

static bool has_whole_range(const pd_flag_def *def) {
  switch ((pd_type)def->type) {
    case PD_TYPE_int32:
      return def->min.i64 == INT32_MIN && def->max.i64 == INT32_MAX;
    case PD_TYPE_uint32:
      return def->min.u64 == 0 && def->max.u64 == UINT32_MAX;
    case PD_TYPE_int64:
      return def->min.i64 == INT64_MIN && def->max.i64 == INT64_MAX;
    case PD_TYPE_uint64:
      return def->min.u64 == 0 && def->max.u64 == UINT64_MAX;
    case PD_TYPE_double:
      return def->min.f64 == -HUGE_VAL && def->max.f64 == HUGE_VAL;
    default:
      return true;
  }
}

bool pd__def_plain(const pd_flag_def *def) {
  uintptr_t texts = (uintptr_t)def->unit | (uintptr_t)def->choices | (uintptr_t)def->deprecated |
                    (uintptr_t)def->retired;
  uintptr_t code = (uintptr_t)def->validate | (uintptr_t)def->watch | (uintptr_t)def->access;
  bool closed = def->read_only | def->startup_only | def->required;
  return !texts && !code && !closed && !def->list && has_whole_range(def);
}

static bool in_range(const pd_flag_def *def, pd_value value) {
  switch (def->type) {
    case PD_TYPE_int32:
    case PD_TYPE_int64:
      return value.i64 >= def->min.i64 && value.i64 <= def->max.i64;
    case PD_TYPE_uint32:
    case PD_TYPE_uint64:
      return value.u64 >= def->min.u64 && value.u64 <= def->max.u64;
    case PD_TYPE_double: /* NaN is in the full range alone */
      if (isnan(value.f64)) return def->min.f64 == -HUGE_VAL && def->max.f64 == HUGE_VAL;
      return value.f64 >= def->min.f64 && value.f64 <= def->max.f64;
    default:
      return true;
  }
}

const char *pd__list_begin(const char *list) { return list && *list ? list : NULL; }

size_t pd__list_next(const char **cursor) {
  size_t length = strcspn(*cursor, "|");
  *cursor = (*cursor)[length] ? *cursor + length + 1 : NULL;
  return length;
}

/* The value of a choice that isn't text; false when it has none. */
static bool read_choice(const pd_flag_def *def, const char *choice, size_t length, pd_value *out) {
  char text[64];
  if (length >= sizeof text || def->type == PD_TYPE_string) return false;
  memcpy(text, choice, length);
  text[length] = '\0';
  return pd__value_read(def, text, out) == PD_OK;
}

/* Numbers are compared as such: 1 and 0x1 are the same choice. */
static bool in_choices(const pd_flag_def *def, pd_value value) {
  for (const char *cursor = def->choices; cursor;) {
    const char *choice = cursor;
    size_t length = pd__list_next(&cursor);
    pd_value other;
    if (def->type == PD_TYPE_string) {
      if (strlen(value.str) == length && !memcmp(choice, value.str, length)) return true;
    } else if (read_choice(def, choice, length, &other)) {
      if (pd__value_equal(def->type, value, other)) return true;
    }
  }
  return false;
}

static pd_status check_one(const pd_flag_def *def, pd_value value) {
  if (!in_range(def, value)) return PD_ERR_RANGE;
  if (pd__list_begin(def->choices) && !in_choices(def, value)) return PD_ERR_CHOICE;
  return PD_OK;
}

/* ---- Lists ---- */

/* Room for an item that is a number or one of some choices: every double that is
 * written without an exponent has it. */
#define ITEM_SIZE 1200

/* An item of a list, as if it were a flag. */
static pd_flag_def item_of(const pd_flag_def *def) {
  return (pd_flag_def){.type = def->list,
                       .choices = def->choices,
                       .min = pd__type_min((pd_type)def->list),
                       .max = pd__type_max((pd_type)def->list)};
}

static pd_status check_item(const pd_flag_def *item, const char *text, size_t length) {
  pd_value value;
  bool any = item->type == PD_TYPE_string && !pd__list_begin(item->choices);
  if (length >= ITEM_SIZE) return any ? PD_OK : PD_ERR_VALUE;
  pd_status status = pd__value_read(item, text, &value);
  return status == PD_OK ? check_one(item, value) : status;
}

/* The first item that doesn't suit: its number from 1, and its text. */
typedef struct bad_item {
  size_t number;
  const char *unreadable; /* where it can't be read; or NULL */
  char text[ITEM_SIZE];
} bad_item;

static pd_status check_items(const pd_flag_def *def, const char *list, bad_item *bad) {
  pd_flag_def item = item_of(def);
  bad->number = 0;
  bad->unreadable = NULL;
  bad->text[0] = '\0';
  for (const char *cursor = pd__items_begin(list); cursor;) {
    size_t length = 0;
    bad->number++;
    bool readable = pd__items_next(&cursor, bad->text, sizeof bad->text, &length);
    if (!readable) bad->unreadable = cursor;
    pd_status status = readable ? check_item(&item, bad->text, length) : PD_ERR_VALUE;
    if (status != PD_OK) return status;
  }
  return PD_OK;
}

bool pd__choice_valid(const pd_flag_def *def, const char *choice, size_t length) {
  pd_flag_def item = pd__def_list(def) ? item_of(def) : *def;
  pd_value value;
  return item.type == PD_TYPE_string || read_choice(&item, choice, length, &value);
}

pd_status pd__value_check(const pd_flag_def *def, pd_value value) {
  bad_item bad;
  return pd__def_list(def) ? check_items(def, value.str, &bad) : check_one(def, value);
}

/* ---- What is expected ---- */

static void expected_choices(const char *choices, char *buffer, size_t size) {
  size_t used = (size_t)snprintf(buffer, size, "one of ");
  for (const char *cursor = choices; cursor;) {
    const char *choice = cursor;
    int length = (int)pd__list_next(&cursor);
    if (used + (size_t)length + 6 > size) {
      snprintf(buffer + used, size - used, "...");
      return;
    }
    const char *quotes = length ? "" : "\"\"";
    used += (size_t)snprintf(buffer + used, size - used, "%.*s%s%s", length, choice, quotes,
                             cursor ? ", " : "");
  }
}

/* What to call a value of the type, with and without a range behind. */
static const char *noun(pd_type type, bool ranged) {
  switch (type) {
    case PD_TYPE_bool:
      return "true or false";
    case PD_TYPE_int32:
      return ranged ? "an integer" : "a 32-bit integer";
    case PD_TYPE_uint32:
      return ranged ? "an integer" : "an unsigned 32-bit integer";
    case PD_TYPE_int64:
      return ranged ? "an integer" : "a 64-bit integer";
    case PD_TYPE_uint64:
      return ranged ? "an integer" : "an unsigned 64-bit integer";
    case PD_TYPE_double:
      return "a number";
    case PD_TYPE_string:
      return "text";
  }
  return "a value";
}

/* Behind the number: " number of seconds". `amount` has room for 32 bytes. */
static const char *of_unit(const pd_flag_def *def, char amount[32]) {
  if (!pd__def_unit(def)) return "";
  snprintf(amount, 32, "%s of %.16s", def->type == PD_TYPE_double ? "" : " number", def->unit);
  return amount;
}

/* `read` is what reading the text gave: the value, or why there is none. */
static void expect(const pd_flag_def *def, pd_status read, char *buffer, size_t size) {
  pd_type type = def->type;
  char min[PD__NUMBER_SIZE], max[PD__NUMBER_SIZE], amount[32];
  bool overflow = read == PD_ERR_RANGE;
  bool numeric = type != PD_TYPE_bool && type != PD_TYPE_string;
  bool low = numeric && !pd__value_equal(type, def->min, pd__type_min(type));
  bool high = numeric && !pd__value_equal(type, def->max, pd__type_max(type));
  low |= high && (type == PD_TYPE_uint32 || type == PD_TYPE_uint64); /* 0 says it best */
  bool plain = pd__def_unit(def) && !overflow; /* the number of bits doesn't help */
  const char *what = noun(type, plain || (low && high) || ((low || high) && !overflow));
  const char *of = of_unit(def, amount);
  bool huge = overflow && type == PD_TYPE_double && !(low && high);
  const char *that = huge ? " that a double can hold" : "";
  size_t used;
  if (pd__list_begin(def->choices)) {
    expected_choices(def->choices, buffer, size);
    return;
  }
  if (low && high) {
    used =
        (size_t)snprintf(buffer, size, "%s%s in [%s, %s]", what, of,
                         pd__value_text(type, def->min, min), pd__value_text(type, def->max, max));
  } else if (low || high) {
    const char *bound = pd__value_text(type, low ? def->min : def->max, min);
    used = (size_t)snprintf(buffer, size, "%s%s %s %s%s", what, of, low ? ">=" : "<=", bound, that);
  } else {
    used = (size_t)snprintf(buffer, size, "%s%s%s", what, of, that);
  }
  if (!pd__def_unit(def) || read != PD_ERR_VALUE || used >= size) return;
  snprintf(buffer + used, size - used, " (%s)", pd__unit_hint(def->unit));
}

void pd__value_expected(const pd_flag_def *def, char *buffer, size_t size) {
  pd_flag_def item = pd__def_list(def) ? item_of(def) : *def;
  int used = pd__def_list(def) ? snprintf(buffer, size, "a list with commas, each item ") : 0;
  expect(&item, PD_ERR_VALUE, buffer + used, size - (size_t)used);
}

static void complain_of_item(const pd_flag_def *def, const char *list, char *buffer, size_t size) {
  bad_item bad;
  pd_flag_def item = item_of(def);
  check_items(def, list, &bad);
  size_t used = (size_t)snprintf(buffer, size, "item %zu: ", bad.number);
  if (bad.unreadable && pd__items_blanks(bad.unreadable)) {
    bool any = def->list == PD_TYPE_string && !pd__list_begin(def->choices);
    const char *way_out = any ? ", or double quotes" : "";
    snprintf(buffer + used, size - used, "expected no blanks around it%s", way_out);
  } else if (bad.unreadable && def->list == PD_TYPE_string) {
    snprintf(buffer + used, size - used, "expected " PD__ITEM_EXPECTED);
  } else {
    pd__value_complaint(&item, bad.text, buffer + used, size - used);
  }
}

void pd__value_complaint(const pd_flag_def *def, const char *text, char *buffer, size_t size) {
  pd_value ignored;
  if (pd__def_list(def)) {
    complain_of_item(def, text, buffer, size);
    return;
  }
  int used = snprintf(buffer, size, "expected ");
  expect(def, pd__value_read(def, text, &ignored), buffer + used, size - (size_t)used);
}

/* ---- Cells ---- */

/* Any object of their size. */
typedef uint8_t __attribute__((may_alias)) byte_bits;
typedef uint32_t __attribute__((may_alias)) word_bits;
typedef uint64_t __attribute__((may_alias)) long_bits;

/* A store of what is there already would only take the line from its readers, and the
 * page from the file that it is shared with. */
#define STORE(bits_of, at, fresh)                                                                  \
  do {                                                                                             \
    if (__atomic_load_n((bits_of *)(at), __ATOMIC_RELAXED) != (bits_of)(fresh))                    \
      __atomic_store_n((bits_of *)(at), (bits_of)(fresh), __ATOMIC_RELEASE);                       \
  } while (0)
#define STORE_BOTH(bits_of)                                                                        \
  do {                                                                                             \
    STORE(bits_of, cell, fresh);                                                                   \
    if (second) STORE(bits_of, second, fresh);                                                     \
  } while (0)

static bool is_word(pd_type type) {
  return type == PD_TYPE_int32 || type == PD_TYPE_uint32 ||
         (type == PD_TYPE_string && sizeof(char *) == 4);
}

void pd__cells_store(pd_type type, void *cell, void *second, pd_value value) {
  uint64_t fresh = type == PD_TYPE_string ? (uintptr_t)value.str : value.u64;
  if (type == PD_TYPE_bool) {
    fresh = value.b;
    STORE_BOTH(byte_bits);
  } else if (is_word(type)) {
    STORE_BOTH(word_bits);
  } else {
    STORE_BOTH(long_bits);
  }
}

void pd__cell_store(pd_type type, void *cell, pd_value value) {
  pd__cells_store(type, cell, NULL, value);
}

#define CELL_LOAD(name, number, ctype, member)                                                     \
  case PD_TYPE_##name: {                                                                           \
    ctype loaded;                                                                                  \
    __atomic_load((ctype *)cell, &loaded, __ATOMIC_ACQUIRE);                                       \
    value.member = loaded;                                                                         \
    return value;                                                                                  \
  }
pd_value pd__cell_load(pd_type type, void *cell) {
  pd_value value = {.u64 = 0};
  switch (type) { PD_TYPE_MAP(CELL_LOAD) }
  return value;
}

void pd__variable_store(const pd_flag_def *def, pd_value value) {
  if (def->access) {
    def->access->put(def->cell, value.str);
  } else {
    pd__cell_store((pd_type)def->type, def->cell, value);
  }
}

pd_value pd__variable_load(const pd_flag_def *def) {
  if (def->access && def->access->get) return (pd_value){.str = def->access->get(def->cell)};
  return pd__cell_load((pd_type)def->type, def->cell);
}
