/* Reports about all flags: help, XML and flagfiles. A report is made from a snapshot of the flags,
 * without the lock, and is complete before its first byte is handed out. This layer may use base,
 * platform, value and registry.
 *
 * A pd__rows is the snapshot, a pd__out a growing text, and a pd__page wraps text at a limited
 * width. */
#ifndef PD__REPORT_H
#define PD__REPORT_H

#include "../registry/registry.h"

/* ---- Text that grows (output.c). Start with the arena alone, which fails when memory is out:
 * then the text isn't whole. ---- */

typedef struct pd__out {
  pd__arena *arena;
  char *text; /* ends with a NUL; NULL as long as there is none */
  size_t length;
  size_t capacity;
} pd__out;

void pd__out_add(pd__out *out, const char *text, size_t length);
void pd__out_text(pd__out *out, const char *text);
PD__PRINTF(2, 3) void pd__out_format(pd__out *out, const char *format, ...);

/* Write `byte` as "\xHH". */
void pd__out_hex(pd__out *out, char byte);

/* Write `byte` as an escape if it is a line break, a tab, a backslash or `quote`; otherwise write
 * nothing and return false. */
bool pd__out_escape(pd__out *out, char byte, char quote);

/* Empty the text, and keep its memory. */
void pd__out_clear(pd__out *out);

/* Pass the text to the writer, unless memory was out. */
pd_status pd__out_finish(const pd__out *out, pd__operation *operation, pd_writer write,
                         void *context, pd_error *err);

/* ---- The flags (rows.c, choose.c). Start with zeros. ---- */

/* One flag as it was when the report began. All texts are stored for good. */
typedef struct pd__row {
  pd_flag_info info;
  pd_flag_entry entry; /* the current value */
  size_t index;        /* in the order of definition */
  size_t module;       /* the least index of its module, and */
  size_t group;        /* of its category there, plus 1; 0 goes first */
} pd__row;

typedef struct pd__rows {
  pd__row *items;
  size_t count;
} pd__rows;

/* Collect all defined flags; false: memory is out. */
bool pd__rows_collect(pd__rows *rows, pd__arena *arena);

/* Sort by module and category: the program's module first, flags without a category before others,
 * and otherwise in the order of definition. */
void pd__rows_group(pd__rows *rows, const char *program);

/* Returns whether the row at `index` is the first of its module and category. */
bool pd__rows_begins_group(const pd__rows *rows, size_t index);

/* Write the heading of the group of `row`: "libalpha.so, Memory". */
void pd__row_heading(const pd__row *row, pd__out *out);

/* Write a value of the flag for people: "64MiB", or <redacted> (values.c). */
void pd__row_value(const pd__row *row, pd_value value, pd__out *out);

/* Write a bound of the flag's range. */
void pd__row_bound(const pd__row *row, pd_value value, pd__out *out);

/* Keep the flags that the help of `kind` lists. */
void pd__rows_choose(pd__rows *rows, pd_help_kind kind, const char *pattern, const char *program);

/* The last part of a path; both kinds of slash separate. */
const char *pd__base_name(const char *path);

/* ---- Lines of a limited width (page.c) ---- */

typedef enum pd__style {
  PD__PLAIN,
  PD__HEADING,
  PD__NAME,   /* what is typed as it stands */
  PD__HOLDER, /* what stands for a value */
  PD__FAINT,
  PD__CHANGED,
  PD__WARNING
} pd__style;

typedef struct pd__page {
  pd__out *out;
  size_t width;  /* columns */
  size_t indent; /* of the lines that wrapping begins */
  size_t column; /* that are written on this line */
  size_t owed;   /* blanks that come before the next character, so that no line ends with one */
  bool color;
  bool apart; /* a word stands before: the next one needs a blank */
  pd__style style;
} pd__page;

/* Words separated by blanks; line breaks of the text, and blanks in a line, stay. A line that is
 * wrapped keeps its indentation: behind "1. " or "  term  " it goes on below the text. NULL, of
 * text that memory was out for, is no words. */
void pd__page_words(pd__page *page, pd__style style, const char *text);

/* Write text without breaking it at blanks, after a blank. */
void pd__page_word(pd__page *page, pd__style style, const char *text, size_t length);

/* Returns whether the text fits on a line of its own. */
bool pd__page_fits(const pd__page *page, const char *text, size_t length);

/* Append text without a blank. */
void pd__page_glue(pd__page *page, pd__style style, const char *text, size_t length);

void pd__page_newline(pd__page *page);

/* Move to `column` if the line has not reached it. */
void pd__page_go(pd__page *page, size_t column);

/* ---- The reports ---- */

void pd__help_write(const pd__rows *rows, const pd_report_options *options, pd__out *out);
void pd__xml_write(pd__rows *rows, const pd_report_options *options, pd__out *out);
void pd__flagfile_write(pd__rows *rows, bool all, pd__out *out);

#endif /* PD__REPORT_H */
