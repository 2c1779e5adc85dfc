/* All properties of each flag as JSON (RFC 8259), indented by 2. Only ASCII is written: other
 * characters are escaped, and a byte that isn't UTF-8 is half a surrogate pair, "\udc80" to
 * "\udcff", as Python reads it. */
#include <math.h>
#include <pd_flags/items.h>
#include <string.h>

#include "../base/utf8.h"
#include "report.h"

typedef struct json {
  pd__out *out;
  size_t depth; /* of the tables and lists that are open */
  bool started; /* the innermost of them has an item */
  char *item;   /* room for an item of a list of values */
  size_t size;
  pd__out place; /* scratch */
} json;

/* ---- Text ---- */

static void write_unit(pd__out *out, uint32_t unit) {
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
    write_unit(out, code);
  } else {
    write_unit(out, 0xd800 + ((code - 0x10000) >> 10));
    write_unit(out, 0xdc00 + (code & 0x3ff));
  }
}

static bool is_plain(char byte) {
  return byte >= ' ' && byte <= '~' && byte != '"' && byte != '\\';
}

static void write_span(pd__out *out, const char *text, const char *end) {
  pd__out_text(out, "\"");
  while (text < end) {
    const char *start = text;
    while (text < end && is_plain(*text)) text++;
    pd__out_add(out, start, (size_t)(text - start));
    if (text == end) break;
    uint32_t code;
    size_t length = pd__utf8_length(text, &code);
    write_escaped(out, length ? code : 0xdc00 + code);
    text += length ? length : 1;
  }
  pd__out_text(out, "\"");
}

static void write_text(pd__out *out, const char *text) {
  write_span(out, text, text + strlen(text));
}

/* ---- Tables and lists ---- */

static void begin_line(json *to) {
  static const char blanks[] = "                "; /* deeper than anything here */
  pd__out_text(to->out, "\n");
  pd__out_add(to->out, blanks, 2 * to->depth);
}

static void begin_item(json *to) {
  if (to->started) pd__out_text(to->out, ",");
  to->started = true;
  begin_line(to);
}

static void begin_key(json *to, const char *key) {
  begin_item(to);
  pd__out_text(to->out, "\"");
  pd__out_text(to->out, key);
  pd__out_text(to->out, "\": ");
}

static void open(json *to, const char *sign) {
  pd__out_text(to->out, sign);
  to->depth++;
  to->started = false;
}

static void close(json *to, const char *sign) {
  to->depth--;
  if (to->started) begin_line(to);
  pd__out_text(to->out, sign);
  to->started = true;
}

/* ---- Values ---- */

/* JSON has no numbers for infinities and NaN: they are text. A double is written so that a reader
 * doesn't take it for an integer. */
static void write_double(pd__out *out, double value, const char *text) {
  if (!isfinite(value)) {
    write_text(out, text);
    return;
  }
  pd__out_text(out, text);
  if (!text[strcspn(text, ".e")]) pd__out_text(out, ".0");
}

static void write_scalar(pd__out *out, pd_type type, pd_value value) {
  char buffer[PD__NUMBER_SIZE];
  const char *text = pd__value_text(type, value, buffer);
  if (type == PD_TYPE_string) {
    write_text(out, text);
  } else if (type == PD_TYPE_double) {
    write_double(out, value.f64, text);
  } else {
    pd__out_text(out, text);
  }
}

/* Returns the item at *cursor, valid until the next one; NULL if memory is out. */
static const char *next_item(json *to, const char **cursor) {
  const char *next = *cursor;
  size_t length = 0;
  if (!pd__item_read(&next, to->item, to->size, &length)) next = NULL; /* was checked when set */
  if (length >= to->size) {
    size_t size = 2 * length + 64;
    char *item = pd__arena_grow(to->out->arena, NULL, 0, size);
    if (!item) return NULL;
    to->item = item;
    to->size = size;
    next = *cursor;
    pd__item_read(&next, item, size, &length);
  }
  *cursor = next;
  return to->item;
}

static void write_list(json *to, pd_type type, const char *list) {
  const char *item;
  open(to, "[");
  for (const char *cursor = pd__list_begin(list); cursor && (item = next_item(to, &cursor));) {
    pd_value value = {.str = item};
    begin_item(to);
    pd__value_parse(type, item, &value);
    write_scalar(to->out, type, value);
  }
  close(to, "]");
}

static void write_value(json *to, const pd_flag_info *info, pd_value value) {
  if (info->sensitive) {
    write_text(to->out, PD__REDACTED);
  } else if (info->list) {
    write_list(to, (pd_type)info->list, value.str);
  } else {
    write_scalar(to->out, info->type, value);
  }
}

/* ---- A flag ---- */

static void add_text(json *to, const char *key, const char *text) {
  begin_key(to, key);
  write_text(to->out, text);
}

/* Writes null in place of an empty text. */
static void add_optional(json *to, const char *key, const char *text) {
  begin_key(to, key);
  if (*text) {
    write_text(to->out, text);
  } else {
    pd__out_text(to->out, "null");
  }
}

static void add_bool(json *to, const char *key, bool value) {
  begin_key(to, key);
  pd__out_text(to->out, value ? "true" : "false");
}

/* Writes null if only the type limits the value: `natural` is its bound. */
static void add_bound(json *to, const char *key, const pd_flag_info *info, pd_value bound,
                      pd_value natural) {
  bool any = pd__type_has_range(pd__type_of(info->type));
  bool limited = any && !pd__value_equal(info->type, bound, natural);
  if (info->type == PD_TYPE_double) limited = isfinite(bound.f64);
  begin_key(to, key);
  if (limited || info->sensitive) {
    write_value(to, info, bound);
  } else {
    pd__out_text(to->out, "null");
  }
}

/* Writes null for choices if there are none: then any value is allowed. */
static void add_names(json *to, const char *key, const char *names) {
  begin_key(to, key);
  if (!*names && !strcmp(key, "choices")) {
    pd__out_text(to->out, "null");
    return;
  }
  open(to, "[");
  for (const char *cursor = pd__list_begin(names); cursor;) {
    const char *name = cursor;
    size_t length = pd__list_next(&cursor);
    begin_item(to);
    write_span(to->out, name, name + length);
  }
  close(to, "]");
}

static void add_place(json *to, const pd_origin *origin) {
  pd__out *place = &to->place;
  pd__out_clear(place);
  if (origin->place && *origin->place) {
    pd__out_text(place, origin->place);
    if (origin->line) pd__out_format(place, ":%u", (unsigned)origin->line);
    if (origin->column) pd__out_format(place, ":%u", (unsigned)origin->column);
  } else if (origin->source == PD_SOURCE_ARGV) {
    pd__out_format(place, "argv[%u]", (unsigned)origin->line);
  }
  add_optional(to, "place", place->text ? place->text : "");
}

/* Writes null if an optional flag has no value. */
static void write_given(json *to, const pd_flag_info *info, const pd_flag_entry *entry) {
  if (info->optional && entry->origin.source == PD_SOURCE_DEFAULT) {
    pd__out_text(to->out, "null");
  } else {
    write_value(to, info, entry->value);
  }
}

static void write_entry(json *to, const pd_flag_info *info, const pd_flag_entry *entry) {
  begin_item(to);
  open(to, "{");
  begin_key(to, "value");
  write_given(to, info, entry);
  add_text(to, "source", pd__source_name(entry->origin.source));
  add_place(to, &entry->origin);
  add_bool(to, "replaced", entry->replaced);
  close(to, "}");
}

static void add_history(json *to, const pd__rows *rows, const pd__row *row) {
  begin_key(to, "history");
  open(to, "[");
  write_entry(to, &row->info, &row->entry);
  for (size_t i = 0; i < row->others; i++) {
    write_entry(to, &row->info, &rows->others[row->first_other + i]);
  }
  close(to, "]");
}

static void add_values(json *to, const pd__row *row) {
  const pd_flag_info *info = &row->info;
  const pd__type *type = pd__type_of(info->type);
  begin_key(to, "value");
  write_given(to, info, &row->entry);
  pd_flag_entry base = {.value = info->default_value, .origin = {.source = PD_SOURCE_DEFAULT}};
  begin_key(to, "default");
  write_given(to, info, &base);
  add_text(to, "source", pd__source_name(row->entry.origin.source));
  add_place(to, &row->entry.origin);
  add_bound(to, "min", info, info->min, type->min);
  add_bound(to, "max", info, info->max, type->max);
}

#define ADD_TEXT(name) (strcmp(#name, "category") ? add_optional : add_text)
#define ADD_NAMES(name) add_names
#define ADD_ATTRIBUTE(name, words, kind, about) ADD_##kind(name)(to, #name, info->name);
#define ADD_MARK(name, words, about) add_bool(to, #name, info->name);

static void write_flag(json *to, const pd__rows *rows, const pd__row *row) {
  const pd_flag_info *info = &row->info;
  begin_item(to);
  open(to, "{");
  add_text(to, "name", info->name);
  add_text(to, "type", pd__type_name(info->type));
  add_optional(to, "items", info->list ? pd__type_name((pd_type)info->list) : "");
  add_text(to, "help", info->help);
  add_values(to, row);
  PD_TEXT_MAP(ADD_ATTRIBUTE)
  add_text(to, "module", info->module);
  add_text(to, "file", info->file);
  begin_key(to, "line");
  pd__out_format(to->out, "%u", (unsigned)info->line);
  PD_MARK_MAP(ADD_MARK)
  add_bool(to, "frozen", info->frozen);
  add_history(to, rows, row);
  close(to, "}");
}

void pd__json_write(const pd__rows *rows, const pd_report_options *options, pd__out *out) {
  bool full = options->help->kind == PD_HELP_FULL;
  json to = {.out = out, .place = {.arena = out->arena}};
  open(&to, "{");
  add_text(&to, "program", options->program);
  begin_key(&to, "version");
  if (options->version) {
    write_text(out, options->version);
  } else {
    pd__out_text(out, "null");
  }
  begin_key(&to, "flags");
  open(&to, "[");
  for (size_t i = 0; i < rows->count; i++) {
    const pd__row *row = &rows->items[i];
    if (full || !row->info.hidden) write_flag(&to, rows, row);
  }
  close(&to, "]");
  close(&to, "}");
  pd__out_text(out, "\n");
}
