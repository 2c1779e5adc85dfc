/* Value to text. */
#include <string.h>

#include "value.h"

const char *pd__value_text(pd_type type, pd_value value, char buffer[PD__NUMBER_SIZE]) {
  return pd__type_of(type)->text(value, buffer);
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
