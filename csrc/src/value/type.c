/* The table of types. A row holds what differs from type to type; the functions of this layer
 * handle what the types of one kind have in common. */
#include <math.h>
#include <pd_flags/items.h>
#include <string.h>

#include "value.h"

/* Stringize the name right here: bool may be a macro, which a further macro call would expand. */
#define SIGNED(name_, noun_, least, most)                                                          \
  .name = #name_, .noun = noun_, .noun_in_range = "an integer", .kind = PD__TYPE_SIGNED,           \
  .min.i64 = least, .max.i64 = most
#define UNSIGNED(name_, noun_, most)                                                               \
  .name = #name_, .noun = noun_, .noun_in_range = "an integer", .kind = PD__TYPE_UNSIGNED,         \
  .max.u64 = most
#define OTHER(name_, noun_, kind_)                                                                 \
  .name = name_, .noun = noun_, .noun_in_range = noun_, .kind = kind_

const pd__type pd__types[PD__TYPE_COUNT] = {
    [0] = {OTHER("unknown", "a value", PD__TYPE_NONE)},
    [PD_TYPE_bool] = {OTHER("bool", PD__BOOL_EXPECTED, PD__TYPE_TRUTH), .max.b = true},
    [PD_TYPE_int32] = {SIGNED(int32, "a 32-bit integer", INT32_MIN, INT32_MAX)},
    [PD_TYPE_uint32] = {UNSIGNED(uint32, "an unsigned 32-bit integer", UINT32_MAX)},
    [PD_TYPE_int64] = {SIGNED(int64, "a 64-bit integer", INT64_MIN, INT64_MAX)},
    [PD_TYPE_uint64] = {UNSIGNED(uint64, "an unsigned 64-bit integer", UINT64_MAX)},
    [PD_TYPE_double] = {OTHER("double", "a number", PD__TYPE_FLOATING), .min.f64 = -HUGE_VAL,
                        .max.f64 = HUGE_VAL},
    [PD_TYPE_string] = {OTHER("string", "text", PD__TYPE_TEXT)},
};

void pd_flag_def_init(pd_flag_def *def, size_t size, pd_type type) {
  if (!def) return;
  pd_flag_def fresh = {.size = (uint32_t)size, .type = (uint8_t)type};
  fresh.min = pd__type_of(type)->min;
  fresh.max = pd__type_of(type)->max;
  if (type == PD_TYPE_string) fresh.default_value.str = "";
  memset(def, 0, size);
  memcpy(def, &fresh, size < sizeof fresh ? size : sizeof fresh);
}

const char *pd_type_name(pd_type type) { return pd__type_of(type)->name; }

bool pd__value_is_equal(pd_type type, pd_value a, pd_value b) {
  pd__type_kind kind = pd__type_of(type)->kind;
  if (kind == PD__TYPE_TRUTH) return a.b == b.b;
  if (kind == PD__TYPE_TEXT) return a.str == b.str || (a.str && b.str && !strcmp(a.str, b.str));
  return a.u64 == b.u64 || (kind == PD__TYPE_FLOATING && isnan(a.f64) && isnan(b.f64));
}
