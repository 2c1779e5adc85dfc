/* Wraps text at a width in terminal columns. */
#include <string.h>

#include "../base/utf8.h"
#include "report.h"

/* ---- Characters ---- */

typedef struct range {
  uint32_t first;
  uint32_t last;
  size_t columns;
} range;

/* Returns the columns that a character takes: none for combining marks, two for wide East Asian
 * characters and emoji. */
static size_t count_code_columns(uint32_t code) {
  static const range ranges[] = {
      {0x300, 0x36f, 0},     {0x483, 0x489, 0},     {0x591, 0x5bd, 0},    {0x610, 0x61a, 0},
      {0x64b, 0x65f, 0},     {0x900, 0x902, 0},     {0xe31, 0xe31, 0},    {0xe34, 0xe3a, 0},
      {0xe47, 0xe4e, 0},     {0x1ab0, 0x1aff, 0},   {0x1dc0, 0x1dff, 0},  {0x200b, 0x200f, 0},
      {0x202a, 0x202e, 0},   {0x2060, 0x2064, 0},   {0x20d0, 0x20ff, 0},  {0xfe00, 0xfe0f, 0},
      {0xfe20, 0xfe2f, 0},   {0xe0100, 0xe01ef, 0}, {0x1100, 0x115f, 2},  {0x2e80, 0x303e, 2},
      {0x3041, 0xa4cf, 2},   {0xa960, 0xa97c, 2},   {0xac00, 0xd7a3, 2},  {0xf900, 0xfaff, 2},
      {0xfe30, 0xfe6f, 2},   {0xff00, 0xff60, 2},   {0xffe0, 0xffe6, 2},  {0x1f300, 0x1f64f, 2},
      {0x1f680, 0x1f6ff, 2}, {0x1f900, 0x1f9ff, 2}, {0x20000, 0x3fffd, 2}};
  for (size_t i = 0; code >= 0x300 && i < sizeof ranges / sizeof *ranges; i++) {
    if (code >= ranges[i].first && code <= ranges[i].last) return ranges[i].columns;
  }
  return 1;
}

typedef struct character {
  size_t length; /* bytes */
  size_t columns;
  bool escaped; /* shown as \xHH: a control character, or invalid UTF-8 */
} character;

static character read_character(const char *text) {
  uint32_t code;
  size_t length = pd__utf8_decode(text, &code);
  bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
  bool turns = (code >= 0x202a && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  if (length > 0 && !control && !turns) return (character){length, count_code_columns(code), false};
  if (length == 0) length = 1;
  return (character){length, 4 * length, true};
}

static size_t count_columns(const char *text, const char *end) {
  size_t columns = 0;
  while (text < end) {
    character next = read_character(text);
    columns += next.columns;
    text += next.length;
  }
  return columns;
}

/* ---- Styles ---- */

static void set_style(pd__page *page, pd__style style) {
  static const char codes[][8] = {"",        "\x1b[1;32m", "\x1b[1;36m", "\x1b[36m",
                                  "\x1b[2m", "\x1b[33m",   "\x1b[31m"};
  if (!page->color || style == page->style) return;
  if (page->style != PD__PLAIN) pd__out_add_text(page->out, "\x1b[0m");
  pd__out_add_text(page->out, codes[style]);
  page->style = style;
}

/* ---- Lines ---- */

void pd__page_end_line(pd__page *page) {
  set_style(page, PD__PLAIN);
  pd__out_add_text(page->out, "\n");
  page->column = 0;
  page->owed = 0;
  page->apart = false;
}

void pd__page_move_to(pd__page *page, size_t column) {
  if (column > page->column) page->owed = column - page->column;
  page->apart = false;
}

static void wrap_line(pd__page *page) {
  pd__page_end_line(page);
  pd__page_move_to(page, page->indent);
}

/* Writes the owed blanks. They are styled only between two words of the same style. */
static void write_owed_blanks(pd__page *page, pd__style style) {
  if (page->owed > 0 && page->style != style) set_style(page, PD__PLAIN);
  for (; page->owed > 0; page->owed--, page->column++) pd__out_add_text(page->out, " ");
  set_style(page, style);
}

void pd__page_append(pd__page *page, pd__style style, const char *text, size_t length) {
  for (const char *end = text + length; text < end;) {
    character next = read_character(text);
    bool fits = page->column + page->owed + next.columns <= page->width;
    if (!fits && page->column > page->indent) wrap_line(page);
    write_owed_blanks(page, style);
    if (!next.escaped) pd__out_add(page->out, text, next.length);
    for (size_t i = 0; next.escaped && i < next.length; i++)
      pd__out_add_hex_escape(page->out, text[i]);
    page->column += next.columns;
    page->apart = true;
    text += next.length;
  }
}

bool pd__page_can_fit_on_new_line(const pd__page *page, const char *text, size_t length) {
  return page->indent + count_columns(text, text + length) <= page->width;
}

void pd__page_add_word(pd__page *page, pd__style style, const char *text, size_t length) {
  if (page->apart && page->owed == 0) page->owed = 1;
  size_t start = page->column + page->owed;
  bool fits = start + count_columns(text, text + length) <= page->width;
  bool fits_below = pd__page_can_fit_on_new_line(page, text, length) || start >= page->width;
  if (!fits && page->apart && fits_below) wrap_line(page);
  pd__page_append(page, style, text, length);
}

/* ---- Lines of a text ---- */

/* Returns the end of the marker that begins an item of a list, such as "1.", "2)" or "-"; NULL if
 * the line is no item. */
static const char *find_list_marker_end(const char *text) {
  const char *end = text + strspn(text, "0123456789");
  bool marked = end > text ? *end == '.' || *end == ')' : *end == '-' || *end == '*' || *end == '+';
  if (!marked || (end[1] != ' ' && end[1] != '\t')) return NULL;
  return end + 1;
}

/* Returns the end of the term that an indented line explains, as in "  a  does this"; NULL if there
 * is none. Two blanks end a term, unless they separate sentences. */
static const char *find_term_end(const char *text) {
  const char *line_end = text + strcspn(text, "\r\n"), *end = text;
  while (end < line_end && strncmp(end, "  ", 2) != 0) end++;
  bool sentence = end == text || strchr(".!?:", end[-1]);
  return !sentence && end < line_end ? end : NULL;
}

/* Returns the indentation of a line when it is wrapped: its leading blanks, plus the marker of its
 * item or the term that it explains. */
static size_t measure_hanging_indent(const char *line) {
  const char *text = line + strspn(line, " \t");
  const char *end = find_list_marker_end(text);
  if (!end && text > line) end = find_term_end(text);
  size_t blanks = (size_t)(text - line), behind = end ? strspn(end, " \t") : 0;
  bool empty = !end || !end[behind] || strchr("\r\n", end[behind]);
  return empty ? blanks : blanks + count_columns(text, end) + behind;
}

/* Sets the indentation for a line of the text; leaves at least half of the width for the text. */
static void set_hanging_indent(pd__page *page, size_t base, const char *line) {
  size_t columns = measure_hanging_indent(line);
  size_t room = page->width > base ? (page->width - base) / 2 : 0;
  if (columns > room) columns = strspn(line, " \t");
  page->indent = columns > room ? base : base + columns;
}

void pd__page_add_text(pd__page *page, pd__style style, const char *text) {
  size_t base = page->indent;
  if (text) set_hanging_indent(page, base, text);
  while (text && *text) {
    size_t length = strcspn(text, " \t\r\n");
    if (length > 0) pd__page_add_word(page, style, text, length);
    text += length;
    for (; *text && strchr(" \t\r\n", *text); text++) {
      if (*text != '\n') {
        page->owed++;
      } else if (text[strspn(text, " \t\r\n")]) {
        page->indent = base;
        wrap_line(page);
        set_hanging_indent(page, base, text + 1);
      }
    }
  }
  page->indent = base;
}
