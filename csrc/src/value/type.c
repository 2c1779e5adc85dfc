/* The table of types. What differs from one to another stands in its row: a new type is a
 * row here, and functions for what no other type does. */
#include "value.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "number.h"

/* ---- From text ---- */

static pd_status parse_nothing(const pd__type *type, const char *text, pd_value *out) {
  (void)type, (void)text, (void)out;
  return PD_ERR_TYPE;
}

static pd_status parse_bool(const pd__type *type, const char *text, pd_value *out) {
  (void)type;
  return pd__read_bool(text, &out->b);
}

static pd_status parse_signed(const pd__type *type, const char *text, pd_value *out) {
  bool negative;
  uint64_t magnitude;
  pd_status status = pd__read_magnitude(text, &negative, &magnitude);
  if (status != PD_OK) return status;
  out->i64 = (int64_t)(negative ? 0 - magnitude : magnitude);
  return magnitude <= (uint64_t)type->max.i64 + negative ? PD_OK : PD_ERR_RANGE;
}

static pd_status parse_unsigned(const pd__type *type, const char *text, pd_value *out) {
  bool negative;
  pd_status status = pd__read_magnitude(text, &negative, &out->u64);
  if (status != PD_OK) return status;
  return (negative && out->u64) || out->u64 > type->max.u64 ? PD_ERR_RANGE : PD_OK;
}

static pd_status parse_double(const pd__type *type, const char *text, pd_value *out) {
  (void)type;
  return pd__read_double(text, &out->f64);
}

static pd_status parse_text(const pd__type *type, const char *text, pd_value *out) {
  (void)type;
  out->str = text;
  return PD_OK;
}

/* ---- To text; NOLINTBEGIN: a row's functions are of one type, whether they write or not ---- */

static const char *no_text(pd_value value, char buffer[PD__NUMBER_SIZE]) {
  (void)value, (void)buffer;
  return "";
}

static const char *text_of_bool(pd_value value, char buffer[PD__NUMBER_SIZE]) {
  (void)buffer;
  return value.b ? "true" : "false";
}

static const char *text_of_signed(pd_value value, char buffer[PD__NUMBER_SIZE]) {
  snprintf(buffer, PD__NUMBER_SIZE, "%lld", (long long)value.i64);
  return buffer;
}

static const char *text_of_unsigned(pd_value value, char buffer[PD__NUMBER_SIZE]) {
  snprintf(buffer, PD__NUMBER_SIZE, "%llu", (unsigned long long)value.u64);
  return buffer;
}

static const char *text_of_double(pd_value value, char buffer[PD__NUMBER_SIZE]) {
  pd__print_double(value.f64, buffer);
  return buffer;
}

static const char *text_of_text(pd_value value, char buffer[PD__NUMBER_SIZE]) {
  (void)buffer;
  return value.str;
}
/* NOLINTEND */

/* ---- Comparing ---- */

static bool equal_bools(pd_value a, pd_value b) { return a.b == b.b; }
static bool equal_bits(pd_value a, pd_value b) { return a.u64 == b.u64; }

static bool equal_doubles(pd_value a, pd_value b) {
  return a.u64 == b.u64 || (isnan(a.f64) && isnan(b.f64));
}

static bool equal_texts(pd_value a, pd_value b) {
  return a.str == b.str || (a.str && b.str && !strcmp(a.str, b.str));
}

static bool less_bool(pd_value a, pd_value b) { return a.b < b.b; }
static bool less_signed(pd_value a, pd_value b) { return a.i64 < b.i64; }
static bool less_unsigned(pd_value a, pd_value b) { return a.u64 < b.u64; }
static bool less_text(pd_value a, pd_value b) { return strcmp(a.str, b.str) < 0; }

static bool less_double(pd_value a, pd_value b) {
  return isnan(b.f64) ? !isnan(a.f64) : a.f64 < b.f64;
}

/* ---- Cells ---- */

static pd_value load_nothing(void *cell) {
  (void)cell;
  return (pd_value){.u64 = 0};
}

static void store_nothing(void *cell, pd_value value) { (void)cell, (void)value; }

/* A cell may be any object of its size. A store of what is there already would only take
 * the line from its readers, and the page from the file that it is shared with. */
#define ACCESS(name, number, ctype, member)                                                        \
  typedef ctype __attribute__((may_alias)) cell_of_##name;                                         \
  static pd_value load_##name(void *cell) {                                                        \
    cell_of_##name found;                                                                          \
    pd_value value = {.u64 = 0};                                                                   \
    __atomic_load((cell_of_##name *)cell, &found, __ATOMIC_ACQUIRE);                               \
    value.member = found;                                                                          \
    return value;                                                                                  \
  }                                                                                                \
  static void store_##name(void *cell, pd_value value) {                                           \
    cell_of_##name fresh = (ctype)value.member, found;                                             \
    __atomic_load((cell_of_##name *)cell, &found, __ATOMIC_RELAXED);                               \
    if (!memcmp(&fresh, &found, sizeof fresh)) return;                                             \
    __atomic_store((cell_of_##name *)cell, &fresh, __ATOMIC_RELEASE);                              \
  }
PD_TYPE_MAP(ACCESS) /* NOLINT: the bits of a double say whether it is another one */

/* ---- The table ---- */

/* `name` must meet ## and # at once, for bool may be a macro. */
#define CELL(name_)                                                                                \
  .name = #name_, .size = sizeof(cell_of_##name_), .load = load_##name_, .store = store_##name_
#define SIGNED                                                                                     \
  .kind = PD__TYPE_SIGNED, .noun_in_range = "an integer", .parse = parse_signed,                   \
  .text = text_of_signed, .equal = equal_bits, .less = less_signed
#define UNSIGNED                                                                                   \
  .kind = PD__TYPE_UNSIGNED, .noun_in_range = "an integer", .parse = parse_unsigned,               \
  .text = text_of_unsigned, .equal = equal_bits, .less = less_unsigned
#define FLOATING                                                                                   \
  .kind = PD__TYPE_FLOATING, .noun_in_range = "a number", .text = text_of_double,                  \
  .equal = equal_doubles, .less = less_double

const pd__type pd__types[PD__TYPE_COUNT] = {
    [0] = {.name = "unknown",
           .noun = "a value",
           .noun_in_range = "a value",
           .parse = parse_nothing,
           .text = no_text,
           .equal = equal_bits,
           .less = less_unsigned,
           .load = load_nothing,
           .store = store_nothing},
    [PD_TYPE_bool] = {CELL(bool), .kind = PD__TYPE_TRUTH, .noun = "true or false",
                      .noun_in_range = "true or false", .max = {.b = true}, .parse = parse_bool,
                      .text = text_of_bool, .equal = equal_bools, .less = less_bool},
    [PD_TYPE_int32] = {CELL(int32), SIGNED, .noun = "a 32-bit integer", .min = {.i64 = INT32_MIN},
                       .max = {.i64 = INT32_MAX}},
    [PD_TYPE_uint32] = {CELL(uint32), UNSIGNED, .noun = "an unsigned 32-bit integer",
                        .max = {.u64 = UINT32_MAX}},
    [PD_TYPE_int64] = {CELL(int64), SIGNED, .noun = "a 64-bit integer", .min = {.i64 = INT64_MIN},
                       .max = {.i64 = INT64_MAX}},
    [PD_TYPE_uint64] = {CELL(uint64), UNSIGNED, .noun = "an unsigned 64-bit integer",
                        .max = {.u64 = UINT64_MAX}},
    [PD_TYPE_double] = {CELL(double), FLOATING, .noun = "a number", .parse = parse_double,
                        .min = {.f64 = -HUGE_VAL}, .max = {.f64 = HUGE_VAL}},
    [PD_TYPE_string] = {CELL(string), .kind = PD__TYPE_TEXT, .noun = "text",
                        .noun_in_range = "text", .parse = parse_text, .text = text_of_text,
                        .equal = equal_texts, .less = less_text},
};

const char *pd__type_name(pd_type type) { return pd__type_of(type)->name; }
pd_value pd__type_min(pd_type type) { return pd__type_of(type)->min; }
pd_value pd__type_max(pd_type type) { return pd__type_of(type)->max; }

bool pd__value_equal(pd_type type, pd_value a, pd_value b) {
  return pd__type_of(type)->equal(a, b);
}
