/* Writing JSON: text, objects and arrays, the values of flags. */
#include "json.h"

#include <math.h>
#include <pd_flags/items.h>
#include <string.h>

#include "../base/utf8.h"

/* ---- Text ---- */

static void write_utf16_unit(pd__out *out, uint32_t unit) {
  static const char digits[] = "0123456789abcdef";
  char text[] = "\\u0000";
  for (size_t i = 0; i < 4; i++) text[5 - i] = digits[unit >> (4 * i) & 0xf];
  pd__out_add(out, text, 6);
}

static void write_escaped(pd__out *out, uint32_t code) {
  static const char bytes[] = "\"\\\b\f\n\r\t", letters[] = "\"\\bfnrt";
  const char *named = code < 0x80 ? strchr(bytes, (int)code) : NULL;
  if (named) {
    pd__out_add(out, (char[]){'\\', letters[named - bytes]}, 2);
  } else if (code < 0x10000) {
    write_utf16_unit(out, code);
  } else {
    write_utf16_unit(out, 0xd800 + ((code - 0x10000) >> 10));
    write_utf16_unit(out, 0xdc00 + (code & 0x3ff));
  }
}

static bool is_plain_byte(char byte) {
  return byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
}

void pd__json_write_span(pd__out *out, const char *text, const char *end) {
  pd__out_add_text(out, "\"");
  while (text < end) {
    const char *start = text;
    while (text < end && is_plain_byte(*text)) text++;
    pd__out_add(out, start, (size_t)(text - start));
    if (text == end) break;
    uint32_t code;
    size_t length = pd__utf8_decode(text, &code);
    write_escaped(out, length ? code : 0xdc00 + code);
    text += length ? length : 1;
  }
  pd__out_add_text(out, "\"");
}

void pd__json_write_text(pd__out *out, const char *text) {
  pd__json_write_span(out, text, text + strlen(text));
}

/* ---- Tables and lists ---- */

static void begin_json_line(pd__json *to) {
  static const char blanks[] = "                "; /* deeper than anything here */
  pd__out_add_text(to->out, "\n");
  pd__out_add(to->out, blanks, 2 * to->depth);
}

void pd__json_begin_item(pd__json *to) {
  if (to->started) pd__out_add_text(to->out, ",");
  to->started = true;
  begin_json_line(to);
}

void pd__json_begin_member(pd__json *to, const char *key) {
  pd__json_begin_item(to);
  pd__out_add_text(to->out, "\"");
  pd__out_add_text(to->out, key);
  pd__out_add_text(to->out, "\": ");
}

void pd__json_open_bracket(pd__json *to, const char *sign) {
  pd__out_add_text(to->out, sign);
  to->depth++;
  to->started = false;
}

void pd__json_close_bracket(pd__json *to, const char *sign) {
  to->depth--;
  if (to->started) begin_json_line(to);
  pd__out_add_text(to->out, sign);
  to->started = true;
}

/* ---- Values ---- */

/* JSON has no numbers for infinities and NaN: they are text. A double is written so that a reader
 * doesn't take it for an integer. */
static void write_double(pd__out *out, double value, const char *text) {
  if (!isfinite(value)) {
    pd__json_write_text(out, text);
    return;
  }
  pd__out_add_text(out, text);
  if (!text[strcspn(text, ".e")]) pd__out_add_text(out, ".0");
}

static void write_scalar(pd__out *out, pd_type type, pd_value value) {
  char buffer[PD__NUMBER_SIZE];
  const char *text = pd__value_get_text(type, value, buffer);
  if (type == PD_TYPE_string) {
    pd__json_write_text(out, text);
  } else if (type == PD_TYPE_double) {
    write_double(out, value.f64, text);
  } else {
    pd__out_add_text(out, text);
  }
}

/* Returns the item at *cursor, valid until the next one; NULL if memory is out. */
static const char *read_list_item(pd__json *to, const char **cursor) {
  const char *next = *cursor;
  size_t length = 0;
  if (!pd__item_read(&next, to->item, to->size, &length)) next = NULL; /* was checked when set */
  if (length >= to->size) {
    size_t size = 2 * length + 64;
    char *item = pd__arena_realloc(to->out->arena, NULL, 0, size);
    if (!item) return NULL;
    to->item = item;
    to->size = size;
    next = *cursor;
    pd__item_read(&next, item, size, &length);
  }
  *cursor = next;
  return to->item;
}

static void write_list(pd__json *to, pd_type type, const char *list) {
  const char *item;
  pd__json_open_bracket(to, "[");
  for (const char *cursor = pd__list_begin(list); cursor && (item = read_list_item(to, &cursor));) {
    pd_value value = {.str = item};
    pd__json_begin_item(to);
    pd__value_parse(type, item, &value);
    write_scalar(to->out, type, value);
  }
  pd__json_close_bracket(to, "]");
}

void pd__json_write_value(pd__json *to, const pd_flag_info *info, pd_value value) {
  if (info->sensitive) {
    pd__json_write_text(to->out, PD__REDACTED);
  } else if (info->list) {
    write_list(to, (pd_type)info->list, value.str);
  } else {
    write_scalar(to->out, info->type, value);
  }
}

/* ---- Members ---- */

void pd__json_add_text(pd__json *to, const char *key, const char *text) {
  pd__json_begin_member(to, key);
  pd__json_write_text(to->out, text);
}

void pd__json_add_nullable(pd__json *to, const char *key, const char *text) {
  pd__json_begin_member(to, key);
  if (text) {
    pd__json_write_text(to->out, text);
  } else {
    pd__out_add_text(to->out, "null");
  }
}

void pd__json_add_null_if_empty(pd__json *to, const char *key, const char *text) {
  pd__json_add_nullable(to, key, text && *text ? text : NULL);
}

void pd__json_add_bool(pd__json *to, const char *key, bool value) {
  pd__json_begin_member(to, key);
  pd__out_add_text(to->out, value ? "true" : "false");
}

bool pd__json_is_narrower_bound(const pd_flag_info *info, pd_value bound, pd_value natural) {
  if (info->type == PD_TYPE_double) return isfinite(bound.f64);
  bool any = pd__type_has_range(pd__type_of(info->type));
  return any && !pd__value_is_equal(info->type, bound, natural);
}

void pd__json_add_names(pd__json *to, const char *key, const char *names) {
  pd__json_begin_member(to, key);
  pd__json_open_bracket(to, "[");
  for (const char *cursor = pd__list_begin(names); cursor;) {
    const char *name = cursor;
    size_t length = pd__list_advance_to_choice(&cursor);
    pd__json_begin_item(to);
    pd__json_write_span(to->out, name, name + length);
  }
  pd__json_close_bracket(to, "]");
}

const char *pd__json_format_location(pd__json *to, const pd_origin *origin) {
  pd__out *place = &to->location;
  pd__out_clear(place);
  if (origin->place && *origin->place) {
    pd__out_add_text(place, origin->place);
    const char *separator = pd__origin_line_separator(origin);
    if (origin->line) pd__out_add_format(place, "%s%u", separator, (unsigned)origin->line);
    if (origin->column) pd__out_add_format(place, ":%u", (unsigned)origin->column);
  } else if (origin->source == PD_SOURCE_ARGV) {
    pd__out_add_format(place, "argv[%u]", (unsigned)origin->line);
  }
  return place->text ? place->text : "";
}

void pd__json_write_entry_value(pd__json *to, const pd_flag_info *info,
                                const pd_flag_entry *entry) {
  if (info->optional && entry->origin.source == PD_SOURCE_DEFAULT) {
    pd__out_add_text(to->out, "null");
  } else {
    pd__json_write_value(to, info, entry->value);
  }
}
