/* Text to value. */
#include <math.h>
#include <string.h>

#include "../base/text.h"
#include "../platform/platform.h"
#include "unit.h"
#include "value.h"

/* strcasecmp follows the locale: in Turkish, I isn't the capital of i. */
static bool is_same_word(const char *text, const char *lower) {
  for (; *text; text++, lower++) {
    char c = *text >= 'A' && *text <= 'Z' ? (char)(*text + 'a' - 'A') : *text;
    if (c != *lower) return false;
  }
  return !*lower;
}

static pd_status read_bool(const char *text, bool *out) {
  static const char words[][6] = {"0",  "1",   "f",   "t",  "n",     "y",
                                  "no", "yes", "off", "on", "false", "true"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (!is_same_word(text, words[i])) continue;
    *out = i % 2;
    return PD_OK;
  }
  return PD_ERR_VALUE;
}

/* Reads digits of any base up to 16. */
static pd_status read_digits(const char *text, unsigned base, uint64_t *out) {
  bool overflow = false;
  if (!*text) return PD_ERR_VALUE;
  for (*out = 0; *text; text++) {
    unsigned digit = pd__read_digit(*text);
    if (digit >= base) return PD_ERR_VALUE;
    overflow |= __builtin_mul_overflow(*out, base, out);
    overflow |= __builtin_add_overflow(*out, digit, out);
  }
  return overflow ? PD_ERR_RANGE : PD_OK;
}

/* Returns true if all of the text is a number, inf or nan. strtod also accepts " 1" and the
 * beginning of "1x". Sets *nonzero if the number is not 0. */
static bool is_double(const char *text, bool *nonzero) {
  text += *text == '+' || *text == '-';
  *nonzero = false;
  if (is_same_word(text, "inf") || is_same_word(text, "infinity") || is_same_word(text, "nan"))
    return true;
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

static pd_status read_double(const char *text, double *out) {
  bool nonzero;
  if (!is_double(text, &nonzero)) return PD_ERR_VALUE;
  *out = pd__platform_strtod(text);
  bool overflow = nonzero && isinf(*out);
  bool underflow = nonzero && *out == 0;
  return overflow || underflow ? PD_ERR_RANGE : PD_OK;
}

static bool is_integer(const pd__type *type) {
  return type->kind == PD__TYPE_SIGNED || type->kind == PD__TYPE_UNSIGNED;
}

/* Most numbers are a few digits. */
static inline bool read_few_digits(const char *text, uint64_t *out) {
  const char *at = text;
  uint64_t sum = 0;
  for (unsigned digit; (digit = (unsigned)(*at - '0')) <= 9; at++) sum = 10 * sum + digit;
  *out = sum;
  return !*at && at > text && at - text <= 9;
}

static pd_status read_integer(const pd__type *type, const char *text, pd_value *out) {
  bool negative = *text == '-';
  uint64_t magnitude;
  if (*text == '+' || *text == '-') text++;
  bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  pd_status status =
      hex ? read_digits(text + 2, 16, &magnitude) : read_digits(text, 10, &magnitude);
  if (status != PD_OK) return status;
  out->u64 = negative ? 0 - magnitude : magnitude;
  return magnitude <= (negative ? 0 - type->min.u64 : type->max.u64) ? PD_OK : PD_ERR_RANGE;
}

/* Not inlined, since most numbers don't need its registers and its stack. */
static __attribute__((noinline)) pd_status read_any_type(const pd__type *type, const char *text,
                                                         pd_value *out) {
  if (is_integer(type)) return read_integer(type, text, out);
  if (type->kind == PD__TYPE_TRUTH) return read_bool(text, &out->b);
  if (type->kind == PD__TYPE_FLOATING) return read_double(text, &out->f64);
  out->str = text;
  return type->kind == PD__TYPE_TEXT ? PD_OK : PD_ERR_TYPE;
}

pd_status pd__value_parse(pd_type number, const char *text, pd_value *out) {
  const pd__type *type = pd__type_of(number);
  if (is_integer(type) && read_few_digits(text, &out->u64) && out->u64 <= type->max.u64) {
    return PD_OK;
  }
  return read_any_type(type, text, out);
}

/* A plain number means the same with a unit as without one. */
pd_status pd__value_parse_with_unit(const pd_flag_def *def, const char *text, pd_value *out) {
  char number[PD__UNIT_SIZE];
  pd_status status = pd__value_parse((pd_type)def->type, text, out);
  if (status != PD_ERR_VALUE || !def->unit) return status;
  if (!pd__unit_convert_to_base(def->unit, text, number)) return PD_ERR_VALUE;
  return pd__value_parse((pd_type)def->type, number, out);
}

/* ---- Literals in files ---- */

/* True for a list of items; false for one value. */
static bool is_list_literal(uint32_t literal) { return literal % 16 == PD_TYPE_string; }

bool pd__literal_is_known(uint32_t literal) {
  literal &= ~(uint32_t)PD_LITERAL_REWRITTEN;
  bool items = literal >= 16 && is_list_literal(literal);
  bool single = literal == 0 || literal == PD_LITERAL_DATE;
  return single || pd__type_is_known(items ? literal / 16 : literal);
}

/* A bare number where text is expected may have changed when the file was parsed: 1.10 became
 * 1.1. The readers of Python keep the text of numbers for converters, but that of 0o10 is 0x8. */
const char *pd__literal_find_fault(const pd_flag_def *def, uint32_t literal) {
  bool rewritten = literal & PD_LITERAL_REWRITTEN;
  literal &= ~(uint32_t)PD_LITERAL_REWRITTEN;
  bool list = is_list_literal(literal);
  if (literal == PD_LITERAL_DATE && !def->convert) {
    return "a date is not a value of the flag; to give it as text, quote it";
  }
  bool bare = list ? literal >= 16 && literal / 16 != PD_TYPE_string : literal != 0;
  if (list && !def->list) return "expected one value, not a list";
  if (!bare || !pd__type_is_text(def->type)) return NULL;
  bool truth = (list ? literal / 16 : literal) == PD_TYPE_bool;
  if (def->convert && !truth && !rewritten) return NULL;
  if (def->list && !pd__type_is_text(def->list)) return NULL;
  return list ? "expected items of text; write them in quotes"
              : "expected text; write it in quotes";
}
