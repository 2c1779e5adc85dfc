/* Values from text. */
#include <math.h>
#include <string.h>

#include "../platform/platform.h"
#include "unit.h"
#include "value.h"

/* strcasecmp follows the locale: in Turkish, I is no capital i. */
static bool same_word(const char *text, const char *lower) {
  for (; *text; text++, lower++) {
    char c = *text >= 'A' && *text <= 'Z' ? (char)(*text + 'a' - 'A') : *text;
    if (c != *lower) return false;
  }
  return !*lower;
}

static pd_status parse_bool(const char *text, bool *out) {
  static const char words[][6] = {"0", "1", "f", "t", "n", "y", "no", "yes", "false", "true"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!same_word(text, words[i])) continue;
    *out = i % 2;
    return PD_OK;
  }
  return PD_ERR_VALUE;
}

/* Read digits of any base up to 16. */
static pd_status parse_digits(const char *text, unsigned base, uint64_t *out) {
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

/* Read [+-]digits or [+-]0xdigits as sign and magnitude. */
static pd_status parse_magnitude(const char *text, bool *negative, uint64_t *out) {
  *negative = *text == '-';
  if (*text == '+' || *text == '-') text++;
  if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) return parse_digits(text + 2, 16, out);
  return parse_digits(text, 10, out);
}

static pd_status parse_signed(pd_type type, const char *text, int64_t *out) {
  bool negative;
  uint64_t magnitude, most = type == PD_TYPE_int32 ? INT32_MAX : INT64_MAX;
  pd_status status = parse_magnitude(text, &negative, &magnitude);
  if (status != PD_OK) return status;
  *out = (int64_t)(negative ? 0 - magnitude : magnitude);
  return magnitude <= most + negative ? PD_OK : PD_ERR_RANGE;
}

static pd_status parse_unsigned(pd_type type, const char *text, uint64_t *out) {
  bool negative;
  uint64_t most = type == PD_TYPE_uint32 ? UINT32_MAX : UINT64_MAX;
  pd_status status = parse_magnitude(text, &negative, out);
  if (status != PD_OK) return status;
  return (negative && *out) || *out > most ? PD_ERR_RANGE : PD_OK;
}

/* Tell a number (or inf, nan) from all else that strtod would take a part of,
 * such as " 1" and "1x"; *nonzero tells whether the number isn't 0. */
static bool is_double(const char *text, bool *nonzero) {
  if (*text == '+' || *text == '-') text++;
  *nonzero = false;
  if (same_word(text, "inf") || same_word(text, "infinity") || same_word(text, "nan")) return true;
  bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const char *digits = hex ? "0123456789abcdefABCDEF" : "0123456789";
  if (hex) text += 2;
  bool point = false, any = false;
  for (; *text; text++) {
    if (*text == '.' && !point) {
      point = true;
    } else if (strchr(digits, *text)) {
      any = true;
      *nonzero |= *text != '0';
    } else {
      break;
    }
  }
  if (!any || !*text) return any;
  if (strchr(hex ? "pP" : "eE", *text) == NULL) return false;
  text++;
  if (*text == '+' || *text == '-') text++;
  return *text && !text[strspn(text, "0123456789")];
}

static pd_status parse_double(const char *text, double *out) {
  bool nonzero;
  if (!is_double(text, &nonzero)) return PD_ERR_VALUE;
  *out = pd__platform_strtod(text);
  bool overflow = nonzero && isinf(*out);
  bool underflow = nonzero && *out == 0;
  return overflow || underflow ? PD_ERR_RANGE : PD_OK;
}

/* Most numbers are a few digits, which fit every type of integer. */
static inline bool parse_few_digits(const char *text, uint64_t *out) {
  const char *at = text;
  uint64_t sum = 0;
  for (unsigned digit; (digit = (unsigned)(*at - '0')) <= 9; at++) sum = 10 * sum + digit;
  *out = sum;
  return !*at && at > text && at - text <= 9;
}

PD__ASIDE pd_status parse_any(pd_type type, const char *text, pd_value *out) {
  switch (type) {
    case PD_TYPE_bool:
      return parse_bool(text, &out->b);
    case PD_TYPE_int32:
    case PD_TYPE_int64:
      return parse_signed(type, text, &out->i64);
    case PD_TYPE_uint32:
    case PD_TYPE_uint64:
      return parse_unsigned(type, text, &out->u64);
    case PD_TYPE_double:
      return parse_double(text, &out->f64);
    case PD_TYPE_string:
      out->str = text;
      return PD_OK;
  }
  return PD_ERR_TYPE;
}

pd_status pd__value_parse(pd_type type, const char *text, pd_value *out) {
  bool integer = type >= PD_TYPE_int32 && type <= PD_TYPE_uint64;
  if (integer && parse_few_digits(text, &out->u64)) return PD_OK;
  return parse_any(type, text, out);
}

/* A plain number means the same with a unit as without. */
pd_status pd__value_read(const pd_flag_def *def, const char *text, pd_value *out) {
  char number[PD__UNIT_SIZE];
  pd_status status = pd__value_parse((pd_type)def->type, text, out);
  if (status != PD_ERR_VALUE || !pd__def_unit(def)) return status;
  if (!pd__unit_expand(def->unit, text, number)) return PD_ERR_VALUE;
  return pd__value_parse((pd_type)def->type, number, out);
}
