/* Values: from text, to text, checked against a definition, in a cell. Nothing
 * here keeps state or depends on the locale. */
#ifndef PD__VALUE_H
#define PD__VALUE_H

#include "../base/error.h"
#include "../base/profile.h"

/* The list and the unit that a definition asks for. */
static inline unsigned pd__def_list(const pd_flag_def *def) {
  return PD__LACKS_READINGS ? 0 : def->list;
}
static inline const char *pd__def_unit(const pd_flag_def *def) {
  return PD__LACKS_READINGS ? NULL : def->unit;
}

/* Room for a number or bool as text. */
#define PD__NUMBER_SIZE 40

bool pd__type_known(unsigned type);

/* Whether a literal is one of pd_config_add, and why a flag that is defined so takes
 * no text that a file wrote so; NULL: it does. */
bool pd__literal_known(uint32_t literal);
const char *pd__literal_complaint(const pd_flag_def *def, uint32_t literal);

/* Read text for a flag that is defined so, as its unit says: PD_OK, PD_ERR_VALUE, or
 * PD_ERR_RANGE when the type can't hold the number. A string borrows `text`. */
pd_status pd__value_read(const pd_flag_def *def, const char *text, pd_value *out);

/* The same of a type alone. */
pd_status pd__value_parse(pd_type type, const char *text, pd_value *out);

/* As snprintf: write up to `size` bytes with the NUL, give the whole length. */
size_t pd__value_format(pd_type type, pd_value value, char *buffer, size_t size);

/* Gives the text of `value`, which may stand in `buffer`. */
const char *pd__value_text(pd_type type, pd_value value, char buffer[PD__NUMBER_SIZE]);

bool pd__value_equal(pd_type type, pd_value a, pd_value b);

/* Whether a choice of `length` bytes is a value of the flag, or an item of its list. */
bool pd__choice_valid(const pd_flag_def *def, const char *choice, size_t length);

/* PD_OK, PD_ERR_RANGE or PD_ERR_CHOICE; PD_ERR_VALUE: text isn't a list, or an item
 * of it isn't of the list's type. */
pd_status pd__value_check(const pd_flag_def *def, pd_value value);

/* Whether every value of the type will do, from everywhere, and nobody is asked or told:
 * what most definitions are. */
bool pd__def_plain(const pd_flag_def *def);

/* The full range of a type, for the types that have one. */
pd_value pd__type_min(pd_type type);
pd_value pd__type_max(pd_type type);

/* "an integer in [1, 9]": what the definition allows, for messages. */
void pd__value_expected(const pd_flag_def *def, char *buffer, size_t size);

/* "expected an integer in [1, 9]", "item 2: expected an integer": why `text`, which was
 * refused, doesn't suit the definition. Shows nothing of `text`. */
void pd__value_complaint(const pd_flag_def *def, const char *text, char *buffer, size_t size);

/* One atomic access of the width of the type. */
void pd__cell_store(pd_type type, void *cell, pd_value value);
void pd__cells_store(pd_type type, void *cell, void *second, pd_value value); /* if not NULL */
pd_value pd__cell_load(pd_type type, void *cell);

/* The same of the variable of a definition, which has one. */
void pd__variable_store(const pd_flag_def *def, pd_value value);
pd_value pd__variable_load(const pd_flag_def *def);

/* Walk a list such as "fast|best": a cursor at its first item, NULL for a list
 * that is NULL or empty. */
const char *pd__list_begin(const char *list);

/* Give the length of the item at *cursor and move *cursor behind it; *cursor is
 * NULL after the last. */
size_t pd__list_next(const char **cursor);

#endif /* PD__VALUE_H */
