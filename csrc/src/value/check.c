/* What a definition allows: ranges, choices and lists; and how messages describe it. */
#include <pd_flags/items.h>
#include <stdio.h>
#include <string.h>

#include "unit.h"
#include "value.h"

/* No two numbers of one type have the same bits. */
static bool has_same_bits(pd_value a, pd_value b) { return a.u64 == b.u64; }

/* Which bounds differ from those of the type. */
typedef struct bounds {
  bool low, high;
} bounds;

static bounds find_restricting_bounds(const pd_flag_def *def) {
  const pd__type *type = pd__type_of(def->type);
  bool any = pd__type_has_range(type);
  return (bounds){any && !has_same_bits(def->min, type->min),
                  any && !has_same_bits(def->max, type->max)};
}

static bool has_unbounded_range(const pd_flag_def *def) {
  bounds of = find_restricting_bounds(def);
  return !of.low && !of.high;
}

bool pd__def_is_plain(const pd_flag_def *def) {
  uintptr_t texts = (uintptr_t)def->unit | (uintptr_t)def->choices | (uintptr_t)def->deprecated |
                    (uintptr_t)def->retired;
  uintptr_t code = (uintptr_t)def->validate | (uintptr_t)def->watch | (uintptr_t)def->access |
                   (uintptr_t)def->convert;
  bool closed = def->read_only | def->startup_only | def->required | def->multi | def->optional |
                def->count | def->merge;
  return !texts && !code && !closed && !def->list && has_unbounded_range(def);
}

bool pd__type_can_hold(pd_type type, pd_value value) {
  const pd__type *whole = pd__type_of(type);
  if (whole->kind == PD__TYPE_SIGNED) {
    return whole->min.i64 <= value.i64 && value.i64 <= whole->max.i64;
  }
  return whole->kind != PD__TYPE_UNSIGNED || value.u64 <= whole->max.u64;
}

/* NaN counts as above all numbers, so only a range without bounds contains it. */
static bool is_in_range(const pd_flag_def *def, pd_value value) {
  const pd__type *type = pd__type_of(def->type);
  if (type->kind == PD__TYPE_FLOATING && has_unbounded_range(def)) return true;
  return !pd__type_has_range(type) || (!pd__value_is_less(def->type, value, def->min) &&
                                       !pd__value_is_less(def->type, def->max, value));
}

/* Reads a choice of a type other than text; false if it has no value. */
static bool parse_nontext_choice(const pd_flag_def *def, const char *choice, size_t length,
                                 pd_value *out) {
  char text[64];
  if (length >= sizeof text || pd__type_is_text(def->type)) return false;
  memcpy(text, choice, length);
  text[length] = '\0';
  return pd__value_parse_with_unit(def, text, out) == PD_OK;
}

/* Numbers are compared as numbers: 1 and 0x1 are the same choice. */
static bool is_in_choices(const pd_flag_def *def, pd_value value) {
  for (const char *cursor = def->choices; cursor;) {
    const char *choice = cursor;
    size_t length = pd__list_advance_to_choice(&cursor);
    pd_value other;
    if (pd__type_is_text(def->type)) {
      if (strlen(value.str) == length && !memcmp(choice, value.str, length)) return true;
    } else if (parse_nontext_choice(def, choice, length, &other)) {
      if (pd__value_is_equal(def->type, value, other)) return true;
    }
  }
  return false;
}

static pd_status check_single_value(const pd_flag_def *def, pd_value value) {
  if (!is_in_range(def, value)) return PD_ERR_RANGE;
  if (pd__list_begin(def->choices) && !is_in_choices(def, value)) return PD_ERR_CHOICE;
  return PD_OK;
}

/* ---- Lists ---- */

/* Room for an item that is a number or a choice: enough for every double written without an
 * exponent. */
#define ITEM_SIZE 1200

/* A definition for an item of the list, as if it were a flag. */
static pd_flag_def make_item_def(const pd_flag_def *def) {
  return (pd_flag_def){.type = def->list,
                       .choices = def->choices,
                       .min = pd__type_of(def->list)->min,
                       .max = pd__type_of(def->list)->max};
}

static pd_status check_item(const pd_flag_def *item, const char *text, size_t length) {
  pd_value value;
  bool any = pd__type_is_text(item->type) && !pd__list_begin(item->choices);
  if (length >= ITEM_SIZE) return any ? PD_OK : PD_ERR_VALUE;
  pd_status status = pd__value_parse_with_unit(item, text, &value);
  return status == PD_OK ? check_single_value(item, value) : status;
}

/* The first item that is not allowed: its number, counted from 1, and its text. */
typedef struct bad_item {
  size_t number;
  bool unreadable;
  char text[ITEM_SIZE];
} bad_item;

static pd_status check_items(const pd_flag_def *def, const char *list, bad_item *bad) {
  pd_flag_def item = make_item_def(def);
  bad->number = 0;
  bad->unreadable = false;
  bad->text[0] = '\0';
  for (const char *cursor = pd__list_begin(list); cursor;) {
    size_t length = 0;
    bad->number++;
    bool readable = pd__item_read(&cursor, bad->text, sizeof bad->text, &length);
    bad->unreadable = !readable;
    pd_status status = readable ? check_item(&item, bad->text, length) : PD_ERR_VALUE;
    if (status != PD_OK) return status;
  }
  return PD_OK;
}

bool pd__choice_is_valid(const pd_flag_def *def, const char *choice, size_t length) {
  pd_flag_def item = def->list ? make_item_def(def) : *def;
  pd_value value;
  return pd__type_is_text(item.type) || parse_nontext_choice(&item, choice, length, &value);
}

pd_status pd__value_check(const pd_flag_def *def, pd_value value) {
  bad_item bad;
  return def->list ? check_items(def, value.str, &bad) : check_single_value(def, value);
}

static bool is_same_item(const pd_flag_def *item, const char *a, const char *b) {
  pd_value first, second;
  return pd__value_parse_with_unit(item, a, &first) == PD_OK &&
         pd__value_parse_with_unit(item, b, &second) == PD_OK &&
         pd__value_is_equal(item->type, first, second);
}

/* A list with an item of ITEM_SIZE or more only equals the same text. */
static bool has_same_items(const pd_flag_def *def, const char *a, const char *b) {
  pd_flag_def item = make_item_def(def);
  char first[ITEM_SIZE], second[ITEM_SIZE];
  a = pd__list_begin(a);
  b = pd__list_begin(b);
  while (a && b) {
    size_t length, other;
    if (!pd__item_read(&a, first, sizeof first, &length)) return false;
    if (!pd__item_read(&b, second, sizeof second, &other)) return false;
    bool whole = length < sizeof first && other < sizeof second;
    if (!whole || !is_same_item(&item, first, second)) return false;
  }
  return !a && !b;
}

bool pd__value_is_equivalent(const pd_flag_def *def, pd_value a, pd_value b) {
  return pd__value_is_equal((pd_type)def->type, a, b) ||
         (def->list && has_same_items(def, a.str, b.str));
}

/* ---- Messages ---- */

static void append_choices(const char *choices, char *buffer, size_t size) {
  pd__append_format(buffer, size, "one of ");
  for (const char *cursor = choices; cursor;) {
    const char *choice = cursor;
    size_t length = pd__list_advance_to_choice(&cursor);
    if (strlen(buffer) + length + 6 > size) {
      pd__append_format(buffer, size, "...");
      return;
    }
    pd__append_format(buffer, size, "%.*s%s%s", (int)length, choice, length ? "" : "\"\"",
                      cursor ? ", " : "");
  }
}

/* The result of reading a text: a value, no value, a quantity that is not whole, or a number that
 * does not fit the type. */
typedef enum read_result { READ, UNREADABLE, NOT_WHOLE, TOO_LARGE } read_result;

static read_result classify_parse_result(const pd_flag_def *def, const char *text) {
  pd_value ignored;
  char plain[PD__UNIT_SIZE];
  pd_status status = pd__value_parse_with_unit(def, text, &ignored);
  if (status == PD_ERR_RANGE) return TOO_LARGE;
  if (status == PD_OK) return READ;
  bool number = def->unit && pd__unit_convert_to_base(def->unit, text, plain);
  return number && strchr(plain, '.') ? NOT_WHOLE : UNREADABLE;
}

/* " in [1, 9]", " <= 9", or nothing. */
static void append_range(const pd_flag_def *def, bounds of, char *buffer, size_t size) {
  char min[PD__NUMBER_SIZE], max[PD__NUMBER_SIZE];
  const char *low = pd__value_get_text(def->type, def->min, min);
  const char *high = pd__value_get_text(def->type, def->max, max);
  if (of.low && of.high) {
    pd__append_format(buffer, size, " in [%s, %s]", low, high);
  } else if (of.low || of.high) {
    pd__append_format(buffer, size, of.low ? " >= %s" : " <= %s", of.low ? low : high);
  }
}

/* Appends what is expected: "an integer number of seconds in [1, 9]". */
static void append_expected(const pd_flag_def *def, read_result was, char *buffer, size_t size) {
  const pd__type *type = pd__type_of(def->type);
  bool floating = type->kind == PD__TYPE_FLOATING;
  bounds of = find_restricting_bounds(def);
  of.low |= of.high && type->kind == PD__TYPE_UNSIGNED; /* shows 0 as the lower bound */
  if (pd__list_begin(def->choices)) {
    append_choices(def->choices, buffer, size);
    return;
  }
  bool both = of.low && of.high, some = def->unit || of.low || of.high;
  bool short_noun = both || (some && was != TOO_LARGE); /* otherwise the number of bits helps */
  const char *noun = short_noun ? type->noun_in_range : type->noun;
  pd__append_format(buffer, size, "%s", was == NOT_WHOLE ? "a whole" : noun);
  if (def->unit)
    pd__append_format(buffer, size, "%s of %.16s", floating ? "" : " number", def->unit);
  append_range(def, of, buffer, size);
  if (was == TOO_LARGE && floating && !both) {
    pd__append_format(buffer, size, " that a %s can hold", type->name);
  }
  if (!def->unit) return;
  if (was == NOT_WHOLE) pd__append_format(buffer, size, "; this has a fraction");
  if (was == UNREADABLE) pd__append_format(buffer, size, " (%s)", pd__unit_get_hint(def->unit));
}

void pd__value_write_expected(const pd_flag_def *def, char *buffer, size_t size) {
  pd_flag_def item = def->list ? make_item_def(def) : *def;
  snprintf(buffer, size, "%s", def->list ? "a list separated by commas, each item " : "");
  append_expected(&item, UNREADABLE, buffer, size);
}

void pd__value_explain_rejected_text(const pd_flag_def *def, const char *text, char *buffer,
                                     size_t size) {
  bad_item bad = {.unreadable = false};
  pd_flag_def item = def->list ? make_item_def(def) : *def;
  buffer[0] = '\0';
  if (def->list) {
    check_items(def, text, &bad);
    text = bad.text;
    pd__append_format(buffer, size, "item %zu: ", bad.number);
  }
  if (bad.unreadable && pd__type_is_text(item.type)) {
    pd__append_format(buffer, size, "expected " PD__ITEM_EXPECTED);
  } else {
    pd__append_format(buffer, size, "expected ");
    append_expected(&item, classify_parse_result(&item, text), buffer, size);
  }
}
