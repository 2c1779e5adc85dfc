/* Text to value. */
#include "number.h"
#include "unit.h"

/* Most numbers are a few digits. */
static inline bool read_few_digits(const char *text, uint64_t *out) {
  const char *at = text;
  uint64_t sum = 0;
  for (unsigned digit; (digit = (unsigned)(*at - '0')) <= 9; at++) sum = 10 * sum + digit;
  *out = sum;
  return !*at && at > text && at - text <= 9;
}

static pd_status read_integer(const pd__type *type, const char *text, pd_value *out) {
  bool negative;
  uint64_t magnitude;
  if (read_few_digits(text, &out->u64) && out->u64 <= type->max.u64) return PD_OK;
  pd_status status = pd__read_magnitude(text, &negative, &magnitude);
  if (status != PD_OK) return status;
  out->u64 = negative ? 0 - magnitude : magnitude;
  return magnitude <= (negative ? 0 - type->min.u64 : type->max.u64) ? PD_OK : PD_ERR_RANGE;
}

pd_status pd__value_parse(pd_type type, const char *text, pd_value *out) {
  const pd__type *row = pd__type_of(type);
  if (pd__type_is_integer(row)) return read_integer(row, text, out);
  if (row->kind == PD__TYPE_TRUTH) return pd__read_bool(text, &out->b);
  if (row->kind == PD__TYPE_FLOATING) return pd__read_double(text, &out->f64);
  out->str = text;
  return row->kind == PD__TYPE_TEXT ? PD_OK : PD_ERR_TYPE;
}

/* A plain number means the same with a unit as without. */
pd_status pd__value_read(const pd_flag_def *def, const char *text, pd_value *out) {
  char number[PD__UNIT_SIZE];
  pd_status status = pd__value_parse((pd_type)def->type, text, out);
  if (status != PD_ERR_VALUE || !def->unit) return status;
  if (!pd__unit_expand(def->unit, text, number)) return PD_ERR_VALUE;
  return pd__value_parse((pd_type)def->type, number, out);
}

/* ---- Literals of files ---- */

/* What a literal says: text in quotes or bare, by itself or as the items of a list. */
typedef struct form {
  bool list;
  bool bare;
} form;

static form form_of(uint32_t literal) {
  bool list = literal % 16 == PD_TYPE_string;
  bool bare = list ? literal >= 16 && literal / 16 != PD_TYPE_string : literal != 0;
  return (form){list, bare};
}

bool pd__literal_known(uint32_t literal) {
  bool items = literal >= 16 && form_of(literal).list;
  return literal == 0 || pd__type_known(items ? literal / 16 : literal);
}

/* A number that was meant as text has lost its own form: 1.10 has become 1.1. */
const char *pd__literal_complaint(const pd_flag_def *def, uint32_t literal) {
  form is = form_of(literal);
  if (is.list && !def->list) return "expected one value, not a list";
  if (!is.bare || !pd__type_is_text(def->type)) return NULL;
  if (def->list && !pd__type_is_text(def->list)) return NULL;
  return is.list ? "expected items of text; write them in quotes"
                 : "expected text; write it in quotes";
}
