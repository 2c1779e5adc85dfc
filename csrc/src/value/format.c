/* Value to text. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../platform/platform.h"
#include "value.h"

/* Writes the shortest of 15 to 17 digits that reads back equal. The C library writes the decimal
 * point of the locale, which may be several bytes: it is replaced by '.'. */
static void format_shortest_double(double value, char out[PD__NUMBER_SIZE]) {
  strcpy(out, "nan");
  for (int digits = 15; !isnan(value) && digits <= 17; digits++) {
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

const char *pd__value_get_text(pd_type type, pd_value value, char buffer[PD__NUMBER_SIZE]) {
  pd__type_kind kind = pd__type_of(type)->kind;
  buffer[0] = '\0';
  if (kind == PD__TYPE_TEXT) return value.str;
  if (kind == PD__TYPE_TRUTH) return value.b ? "true" : "false";
  if (kind == PD__TYPE_FLOATING) format_shortest_double(value.f64, buffer);
  if (kind == PD__TYPE_SIGNED) snprintf(buffer, PD__NUMBER_SIZE, "%" PRIi64, value.i64);
  if (kind == PD__TYPE_UNSIGNED) snprintf(buffer, PD__NUMBER_SIZE, "%" PRIu64, value.u64);
  return buffer;
}

bool pd__value_write_incremented(const pd_flag_def *def, pd_value value, uint32_t times,
                                 char out[PD__NUMBER_SIZE]) {
  bool is_signed = pd__type_of(def->type)->kind == PD__TYPE_SIGNED;
  bool over = is_signed ? __builtin_add_overflow(value.i64, times, &value.i64)
                        : __builtin_add_overflow(value.u64, times, &value.u64);
  (void)pd__value_get_text((pd_type)def->type, value, out);
  return !over;
}
