/* Value to text. */
#include <stdio.h>
#include <string.h>

#include "number.h"

const char *pd__value_text(pd_type type, pd_value value, char buffer[PD__NUMBER_SIZE]) {
  pd__type_kind kind = pd__type_of(type)->kind;
  buffer[0] = '\0';
  if (kind == PD__TYPE_TEXT) return value.str;
  if (kind == PD__TYPE_TRUTH) return value.b ? "true" : "false";
  if (kind == PD__TYPE_FLOATING) pd__print_double(value.f64, buffer);
  if (kind == PD__TYPE_SIGNED) snprintf(buffer, PD__NUMBER_SIZE, "%lld", (long long)value.i64);
  if (kind == PD__TYPE_UNSIGNED) {
    snprintf(buffer, PD__NUMBER_SIZE, "%llu", (unsigned long long)value.u64);
  }
  return buffer;
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
