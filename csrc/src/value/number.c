#include "number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../platform/platform.h"

/* strcasecmp follows the locale: in Turkish, I is no capital i. */
static bool same_word(const char *text, const char *lower) {
  for (; *text; text++, lower++) {
    char c = *text >= 'A' && *text <= 'Z' ? (char)(*text + 'a' - 'A') : *text;
    if (c != *lower) return false;
  }
  return !*lower;
}

pd_status pd__read_bool(const char *text, bool *out) {
  static const char words[][6] = {"0", "1", "f", "t", "n", "y", "no", "yes", "false", "true"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!same_word(text, words[i])) continue;
    *out = i % 2;
    return PD_OK;
  }
  return PD_ERR_VALUE;
}

/* Read digits of any base up to 16. */
static pd_status read_digits(const char *text, unsigned base, uint64_t *out) {
  bool overflow = false;
  if (!*text) return PD_ERR_VALUE;
  for (*out = 0; *text; text++) {
    unsigned digit = 16;
    if (*text >= '0' && *text <= '9') digit = (unsigned)(*text - '0');
    if (*text >= 'a' && *text <= 'f') digit = (unsigned)(*text - 'a') + 10;
    if (*text >= 'A' && *text <= 'F') digit = (unsigned)(*text - 'A') + 10;
    if (digit >= base) return PD_ERR_VALUE;
    overflow |= __builtin_mul_overflow(*out, base, out);
    overflow |= __builtin_add_overflow(*out, digit, out);
  }
  return overflow ? PD_ERR_RANGE : PD_OK;
}

pd_status pd__read_magnitude(const char *text, bool *negative, uint64_t *out) {
  *negative = *text == '-';
  if (*text == '+' || *text == '-') text++;
  if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) return read_digits(text + 2, 16, out);
  return read_digits(text, 10, out);
}

/* Tell a number (or inf, nan) from all else that strtod would take a part of,
 * such as " 1" and "1x"; *nonzero tells whether the number isn't 0. */
static bool is_double(const char *text, bool *nonzero) {
  text += *text == '+' || *text == '-';
  *nonzero = false;
  if (same_word(text, "inf") || same_word(text, "infinity") || same_word(text, "nan")) return true;
  bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const char *digits = hex ? "0123456789abcdefABCDEF" : "0123456789";
  if (hex) text += 2;
  size_t whole = strspn(text, digits), point = text[whole] == '.';
  size_t fraction = point ? strspn(text + whole + 1, digits) : 0;
  if (whole + fraction == 0) return false;
  *nonzero = strspn(text, "0.") < whole + point + fraction;
  text += whole + point + fraction;
  if (!*text) return true;
  if (!strchr(hex ? "pP" : "eE", *text)) return false;
  text++;
  text += *text == '+' || *text == '-';
  return *text && !text[strspn(text, "0123456789")];
}

pd_status pd__read_double(const char *text, double *out) {
  bool nonzero;
  if (!is_double(text, &nonzero)) return PD_ERR_VALUE;
  *out = pd__platform_strtod(text);
  bool overflow = nonzero && isinf(*out);
  bool underflow = nonzero && *out == 0;
  return overflow || underflow ? PD_ERR_RANGE : PD_OK;
}

/* The shortest of 15 to 17 digits that reads back equal. The C library writes
 * the decimal point of the locale, which may be several bytes: put '.' there. */
void pd__print_double(double value, char out[PD__NUMBER_SIZE]) {
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
