/* Text to value. */
#include "unit.h"
#include "value.h"

/* Most numbers are a few digits. */
static inline bool read_few_digits(const char *text, uint64_t *out) {
  const char *at = text;
  uint64_t sum = 0;
  for (unsigned digit; (digit = (unsigned)(*at - '0')) <= 9; at++) sum = 10 * sum + digit;
  *out = sum;
  return !*at && at > text && at - text <= 9;
}

pd_status pd__value_parse(pd_type type, const char *text, pd_value *out) {
  const pd__type *row = pd__type_of(type);
  bool small = pd__type_is_integer(row) && read_few_digits(text, &out->u64);
  return small && out->u64 <= row->max.u64 ? PD_OK : row->parse(row, text, out);
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

static bool is_text(unsigned type) { return pd__type_of(type)->kind == PD__TYPE_TEXT; }

/* A number that was meant as text has lost its own form: 1.10 has become 1.1. */
const char *pd__literal_complaint(const pd_flag_def *def, uint32_t literal) {
  form is = form_of(literal);
  if (is.list && !def->list) return "expected one value, not a list";
  if (!is.bare || !is_text(def->type)) return NULL;
  if (def->list && !is_text(def->list)) return NULL;
  return is.list ? "expected items of text; write them in quotes"
                 : "expected text; write it in quotes";
}
