/* Values: from text, to text, checked against a definition, in a cell. The functions are
 * pure: they keep no state, take no lock, and don't depend on the locale. The layer uses
 * base and platform alone; all that the layers above need of it stands here.
 *
 * Everything is about three types: pd_value and pd_flag_def of the public header, and
 * pd__type, which holds all that differs from one type of flag to another. Nobody else asks
 * which type it is; some ask for its kind. */
#ifndef PD__VALUE_H
#define PD__VALUE_H

#include <math.h>

#include "../base/error.h"

/* ---- Types: type.c ---- */

typedef enum pd__type_kind {
  PD__TYPE_NONE, /* of unknown types */
  PD__TYPE_TRUTH,
  PD__TYPE_SIGNED,   /* in pd_value's i64 */
  PD__TYPE_UNSIGNED, /* in u64 */
  PD__TYPE_FLOATING, /* in f64 */
  PD__TYPE_TEXT
} pd__type_kind;

/* Room for a number or bool as text. */
#define PD__NUMBER_SIZE 40

/* One type of flags. */
typedef struct pd__type {
  const char *name;          /* "int32" */
  const char *noun;          /* what messages call a value: "a 32-bit integer" */
  const char *noun_in_range; /* the same where its range follows: "an integer" */
  pd__type_kind kind;
  pd_value min, max; /* of text: NULL */
} pd__type;

/* By number; the first is that of unknown numbers, which reads and holds nothing. */
#define PD__TYPE_COUNT_ONE(name, number, ctype, member) +1
#define PD__TYPE_COUNT (1 PD_TYPE_MAP(PD__TYPE_COUNT_ONE))
extern const pd__type pd__types[PD__TYPE_COUNT];

static inline bool pd__type_known(unsigned type) { return type > 0 && type < PD__TYPE_COUNT; }

static inline const pd__type *pd__type_of(unsigned type) {
  return &pd__types[pd__type_known(type) ? type : 0];
}

static inline bool pd__type_is_text(unsigned type) {
  return pd__type_of(type)->kind == PD__TYPE_TEXT;
}

/* Whether definitions have a least and a greatest value: numbers do. */
static inline bool pd__type_has_range(const pd__type *type) {
  return type->kind >= PD__TYPE_SIGNED && type->kind <= PD__TYPE_FLOATING;
}

/* "int32"; "unknown". */
const char *pd__type_name(pd_type type);

/* NaN equals itself, 0 isn't -0, and NaN is above all numbers. Only numbers can be less. */
bool pd__value_equal(pd_type type, pd_value a, pd_value b);
static inline bool pd__value_less(pd_type type, pd_value a, pd_value b) {
  pd__type_kind kind = pd__type_of(type)->kind;
  if (kind == PD__TYPE_FLOATING) return isnan(b.f64) ? !isnan(a.f64) : a.f64 < b.f64;
  return kind == PD__TYPE_SIGNED ? a.i64 < b.i64 : a.u64 < b.u64;
}

/* ---- Sources: source.c ---- */

/* "environment"; "unknown". */
const char *pd__source_name(pd_source source);

/* Values hide those of a lower or equal rank. 0: the default's, and an unknown source's. */
uint32_t pd__source_rank(pd_source source);

/* ---- Text to value: read.c, unit.c ---- */

/* Read text for a flag that is defined so, as its unit says: PD_OK, PD_ERR_VALUE, or
 * PD_ERR_RANGE when the type can't hold the number. A string borrows `text`. */
pd_status pd__value_read(const pd_flag_def *def, const char *text, pd_value *out);

/* The same of a type alone. */
pd_status pd__value_parse(pd_type type, const char *text, pd_value *out);

/* "as in 1m30s; units: d, h, ...": how values are written; NULL: the unit isn't known. */
const char *pd__unit_hint(const char *unit);

/* Whether a literal is one of pd_config_add, and why a flag that is defined so takes
 * no text that a file wrote so; NULL: it does. */
bool pd__literal_known(uint32_t literal);
const char *pd__literal_complaint(const pd_flag_def *def, uint32_t literal);

/* ---- Value to text: format.c ---- */

/* Gives the text of `value`, which may stand in `buffer`. */
const char *pd__value_text(pd_type type, pd_value value, char buffer[PD__NUMBER_SIZE]);

/* ---- What a definition allows: check.c ---- */

/* PD_OK, PD_ERR_RANGE or PD_ERR_CHOICE; PD_ERR_VALUE: text isn't a list, or an item
 * of it isn't of the list's type. */
pd_status pd__value_check(const pd_flag_def *def, pd_value value);

/* Whether the type can hold a value that isn't text. */
bool pd__value_fits(pd_type type, pd_value value);

/* Whether a choice of `length` bytes is a value of the flag, or an item of its list. */
bool pd__choice_valid(const pd_flag_def *def, const char *choice, size_t length);

/* Whether every value of the type will do, from everywhere, and nobody is asked or notified:
 * what most definitions are. */
bool pd__def_plain(const pd_flag_def *def);

/* "an integer in [1, 9]": what the definition allows, for messages. */
void pd__value_expected(const pd_flag_def *def, char *buffer, size_t size);

/* "expected an integer in [1, 9]", "item 2: expected an integer": why `text`, which was
 * refused, doesn't suit the definition. Shows nothing of `text`. */
void pd__value_complaint(const pd_flag_def *def, const char *text, char *buffer, size_t size);

/* ---- Cells: cell.c ---- */

/* One atomic access of the width of the type. */
pd_value pd__cell_load(pd_type type, void *cell);
void pd__cell_store(pd_type type, void *cell, pd_value value);

/* The same of the variable of a definition, which has one. */
pd_value pd__variable_load(const pd_flag_def *def);
void pd__variable_store(const pd_flag_def *def, pd_value value);

/* ---- Lists: list.c ---- */

/* Walk a list such as "fast|best": a cursor at its first item, NULL for a list
 * that is NULL or empty. */
const char *pd__list_begin(const char *list);

/* Give the length of the item at *cursor and move *cursor behind it; *cursor is
 * NULL after the last. */
size_t pd__list_next(const char **cursor);

/* An item of a comma list, as pd_list_get gives it. */
pd_status pd__list_get(const char *list, size_t index, char *buffer, size_t size, size_t *length,
                       pd_error *err);

#endif /* PD__VALUE_H */
