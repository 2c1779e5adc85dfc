/* Values: reading them from text, writing them as text, checking them against a definition, and
 * accessing them in cells. The functions are pure: they keep no state, take no lock and don't
 * depend on the locale. This layer may use base and platform; layers above use this header only.
 *
 * It works with three types: pd_value and pd_flag_def of the public header, and pd__type, which
 * holds everything that differs from one type of flag to another. Code elsewhere doesn't switch on
 * the type; some of it looks at the kind. */
#ifndef PD__VALUE_H
#define PD__VALUE_H

#include <math.h>

#include "../base/arena.h"
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

/* By number. The first row is for unknown numbers: it reads and holds nothing. */
#define PD__TYPE_COUNT_ONE(name, number, ctype, member) +1
#define PD__TYPE_COUNT (1 PD_TYPE_MAP(PD__TYPE_COUNT_ONE))
extern const pd__type pd__types[PD__TYPE_COUNT];

static inline bool pd__type_is_known(unsigned type) { return type > 0 && type < PD__TYPE_COUNT; }

static inline const pd__type *pd__type_of(unsigned type) {
  return &pd__types[pd__type_is_known(type) ? type : 0];
}

static inline bool pd__type_is_text(unsigned type) {
  return pd__type_of(type)->kind == PD__TYPE_TEXT;
}

/* Returns true if definitions of the type have a min and a max: those of numbers do. */
static inline bool pd__type_has_range(const pd__type *type) {
  return type->kind >= PD__TYPE_SIGNED && type->kind <= PD__TYPE_FLOATING;
}

/* NaN equals itself, 0 differs from -0, and NaN is above all numbers. Only numbers have an
 * order. */
bool pd__value_is_equal(pd_type type, pd_value a, pd_value b);
static inline bool pd__value_is_less(pd_type type, pd_value a, pd_value b) {
  pd__type_kind kind = pd__type_of(type)->kind;
  if (kind == PD__TYPE_FLOATING) return isnan(b.f64) ? !isnan(a.f64) : a.f64 < b.f64;
  return kind == PD__TYPE_SIGNED ? a.i64 < b.i64 : a.u64 < b.u64;
}

/* ---- Text to value: read.c, unit.c ---- */

/* Parses text for a flag, according to its type and unit: PD_OK, PD_ERR_VALUE, or PD_ERR_RANGE if
 * the type can't hold the number. A string borrows `text`. */
pd_status pd__value_parse_with_unit(const pd_flag_def *def, const char *text, pd_value *out);

/* The same for a type without a unit. */
pd_status pd__value_parse(pd_type type, const char *text, pd_value *out);

/* "as in 1m30s; units: d, h, ...": how to write a value; NULL if the unit isn't known. */
const char *pd__unit_get_hint(const char *unit);

/* Returns true if pd_config_add accepts the literal. */
bool pd__literal_is_known(uint32_t literal);

/* Returns why a flag rejects text that a file wrote as that literal; NULL if the flag accepts
 * it. */
const char *pd__literal_find_fault(const pd_flag_def *def, uint32_t literal);

/* ---- Value to text: format.c ---- */

/* Returns the text of `value`, which may be in `buffer`. */
const char *pd__value_get_text(pd_type type, pd_value value, char buffer[PD__NUMBER_SIZE]);

/* ---- What a definition allows: check.c ---- */

/* PD_OK, PD_ERR_RANGE or PD_ERR_CHOICE; PD_ERR_VALUE if the text isn't a list or an item doesn't
 * have the list's type. */
pd_status pd__value_check(const pd_flag_def *def, pd_value value);

/* Returns true if two values of a flag are equal. Lists are compared by their items: 1,2 equals
 * 1,0x2. */
bool pd__value_is_equivalent(const pd_flag_def *def, pd_value a, pd_value b);

/* Returns true if the type can hold the value. Not for text. */
bool pd__type_can_hold(pd_type type, pd_value value);

/* Returns true if a choice of `length` bytes is a valid value of the flag, or a valid item of its
 * list. */
bool pd__choice_is_valid(const pd_flag_def *def, const char *choice, size_t length);

/* Returns true if the flag accepts every value of its type, from every source, and calls no code.
 * This is true of most definitions. */
bool pd__def_is_plain(const pd_flag_def *def);

/* "an integer in [1, 9]": what the definition allows, for messages. */
void pd__value_write_expected(const pd_flag_def *def, char *buffer, size_t size);

/* "expected an integer in [1, 9]", "item 2: expected an integer": why the definition rejects
 * `text`. Never includes `text` itself. */
void pd__value_explain_rejected_text(const pd_flag_def *def, const char *text, char *buffer,
                                     size_t size);

/* ---- Cells: cell.c ---- */

/* One atomic access of the width of the type. */
pd_value pd__cell_load(pd_type type, void *cell);
void pd__cell_store(pd_type type, void *cell, pd_value value);

/* Stores the value in two cells; the second may be NULL. */
void pd__cell_store_in_both(pd_type type, void *cell, void *second, pd_value value);

/* The same for the variable of a definition, which must have one. The load returns false if it has
 * no value any more. */
bool pd__variable_load(const pd_flag_def *def, pd_value *value);
void pd__variable_store(const pd_flag_def *def, pd_value value);

/* ---- Lists: list.c ---- */

/* Returns a cursor at the first item of a list such as "fast|best"; NULL if the list is NULL or
 * empty. */
const char *pd__list_begin(const char *list);

/* Returns the length of the item at *cursor and moves *cursor to the next one; NULL after the
 * last. */
size_t pd__list_advance_to_choice(const char **cursor);

/* Joins the texts of two lists, of which `first` has room for `room` bytes, or is no buffer.
 * Returns NULL if memory runs out. */
char *pd__list_join_comma_lists(pd__arena *arena, const char *first, const char *second,
                                size_t *room);

/* Returns true if the flag may be given without a value, and never takes the next token. */
static inline bool pd__def_can_lack_value(const pd_flag_def *def) {
  return def->type == PD_TYPE_bool || def->count;
}

/* Writes `times` more than the value of an integer. Returns false if it is above all integers. */
bool pd__value_write_incremented(const pd_flag_def *def, pd_value value, uint32_t times,
                                 char out[PD__NUMBER_SIZE]);

#endif /* PD__VALUE_H */
