/* Reports about all flags: help, XML, JSON and flagfiles. A report is made from a snapshot of the
 * flags, without the lock, and is complete before its first byte is passed to the writer. This
 * layer may use base, platform, value and registry.
 *
 * A pd__rows is the snapshot, a pd__out a growing text, and a pd__page wraps text at a limited
 * width. */
#ifndef PD__REPORT_H
#define PD__REPORT_H

#include "../registry/registry.h"

/* ---- Growing text (output.c). Initialize `arena`, zero the rest. The arena records that memory
 * was out: the text is incomplete then. ---- */

typedef struct pd__out {
  pd__arena *arena;
  char *text; /* ends with a NUL; NULL before the first byte */
  size_t length;
  size_t capacity;
} pd__out;

void pd__out_add(pd__out *out, const char *text, size_t length);
void pd__out_add_text(pd__out *out, const char *text);
PD__PRINTF(2, 3) void pd__out_add_format(pd__out *out, const char *format, ...);

/* Writes `byte` as "\xHH". */
void pd__out_add_hex_escape(pd__out *out, char byte);

/* Writes `byte` as an escape and returns true if it is a line break, a tab, a backslash or `quote`;
 * returns false otherwise. */
bool pd__out_try_add_escaped(pd__out *out, char byte, char quote);

/* Empties the text; keeps its memory. */
void pd__out_clear(pd__out *out);

/* Passes the text to the writer. PD_ERR_MEMORY if memory was out. Pins the writer's module while it
 * runs, without the lock. */
pd_status pd__out_send_to_writer(const pd__out *out, pd__operation *operation, pd_writer write,
                                 void *context, pd_error *err);

/* ---- The flags (rows.c, choose.c). Zero-initialize. ---- */

/* One flag at the time of the snapshot. All texts are stored permanently. */
typedef struct pd__row {
  pd_flag_info info;
  pd_flag_entry entry; /* the current value */
  size_t index;        /* in the order of definition */
  size_t module;       /* the least index in its module, behind those that come first */
  size_t group;        /* the least index in its category there, plus 1; 0 for none */
  size_t first_other;  /* index of its next value in the others of pd__rows */
  size_t others;       /* how many */
} pd__row;

typedef struct pd__rows {
  pd__row *items;
  size_t count;
  pd_flag_entry *others; /* older and hidden values, if they were asked for */
  size_t other_count, other_room;
} pd__rows;

/* Collects all defined flags, with all their values if `with_older_values` is true; false if memory
 * runs out. Takes the lock. */
bool pd__rows_collect(pd__rows *rows, bool with_older_values, pd__arena *arena);

/* Sorts by module and category: the modules in the list `first` (or NULL), the program's module,
 * then the others; flags without a category before others, and otherwise in the order of
 * definition. */
void pd__rows_sort_groups(pd__rows *rows, const char *first, const char *program);

/* Removes the flags of the modules in the list `without` (or NULL). */
void pd__rows_remove_modules(pd__rows *rows, const char *without);

/* Returns true if the row at `index` is the first of its module and category. */
bool pd__rows_is_group_start(const pd__rows *rows, size_t index);

/* Writes the heading of the group of `row`: "libalpha.so, Memory". */
void pd__row_write_heading(const pd__row *row, pd__out *out);

/* Writes a value of the flag for people: "64MiB", or <redacted> (values.c). */
void pd__row_write_value(const pd__row *row, pd_value value, pd__out *out);

/* Writes a number, such as a bound of the flag's range. */
void pd__row_write_with_unit(const pd__row *row, pd_value value, pd__out *out);

/* Keeps only the flags that the help of `kind` lists. */
void pd__rows_filter_for_help(pd__rows *rows, pd_help_kind kind, const char *pattern,
                              const char *program);

/* ---- Lines of a limited width (page.c) ---- */

typedef enum pd__style {
  PD__PLAIN,
  PD__HEADING,
  PD__NAME,   /* literal text that users type */
  PD__HOLDER, /* a placeholder for a value */
  PD__FAINT,
  PD__CHANGED,
  PD__WARNING
} pd__style;

typedef struct pd__page {
  pd__out *out;
  size_t width;  /* columns */
  size_t indent; /* of the lines that wrapping starts */
  size_t column; /* already written on this line */
  size_t owed;   /* blanks to write before the next character, so that no line ends with one */
  bool color;
  bool apart; /* something is written before: the next word needs a blank */
  pd__style style;
} pd__page;

/* Writes the text wrapped at blanks; keeps its line breaks, and the blanks within a line. A wrapped
 * line keeps its indentation: after "1. " or " term " it continues below the text. NULL, which is
 * the text of a pd__out when memory runs out, writes nothing. */
void pd__page_add_text(pd__page *page, pd__style style, const char *text);

/* Writes text without breaking it at blanks, after a blank. */
void pd__page_add_word(pd__page *page, pd__style style, const char *text, size_t length);

/* Returns true if the text fits on a line of its own. */
bool pd__page_can_fit_on_new_line(const pd__page *page, const char *text, size_t length);

/* Appends text without a blank. */
void pd__page_append(pd__page *page, pd__style style, const char *text, size_t length);

void pd__page_end_line(pd__page *page);

/* Moves to `column` if the line has not reached it. */
void pd__page_move_to(pd__page *page, size_t column);

/* ---- The reports ---- */

void pd__help_write(const pd__rows *rows, const pd_report_options *options, pd__out *out);
void pd__xml_write(pd__rows *rows, const pd_report_options *options, pd__out *out);
void pd__json_write_report(const pd__rows *rows, const pd_report_options *options, pd__out *out);
void pd__flagfile_write(pd__rows *rows, bool all, pd__out *out);

#endif /* PD__REPORT_H */
