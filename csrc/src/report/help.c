/* Help for people: a column of names, and behind it what each flag is for, with
 * notes in brackets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../registry/registry.h"
#include "report.h"

#define WIDEST_CHOICES 30 /* bytes that choices may take in the place of a value */
#define WIDEST_LEFT 40
#define WIDEST_TEXT 100 /* columns; longer lines are hard to follow */

typedef struct helper {
  pd__page page;
  pd__out scratch;
  bool letters; /* names of one letter are among them: a column is theirs */
  size_t left;  /* columns before the help text */
} helper;

static void glue(helper *help, pd__style style, const char *text) {
  pd__page_glue(&help->page, style, text, strlen(text));
}

static void add_words(helper *help, pd__style style, const char *text) {
  pd__page_words(&help->page, style, text);
}

/* ---- The left side ---- */

static void add_name(helper *help, const char *name, size_t length, bool negated) {
  glue(help, PD__NAME, length > 1 ? "--" : "-");
  if (negated && length > 1) glue(help, PD__NAME, "[no]");
  pd__page_glue(&help->page, PD__NAME, name, length);
}

/* What stands for the value: "INT32", "{fast,best}", "BYTES", "INT32,...". */
static void write_holder(const pd_flag_info *info, pd__out *out) {
  const char *what = *info->unit ? info->unit : pd__type_name(info->list ? info->list : info->type);
  bool choices = *info->choices && strlen(info->choices) <= WIDEST_CHOICES;
  pd__out_clear(out);
  if (choices) pd__out_text(out, "{");
  for (const char *at = choices ? info->choices : what; *at; at++) {
    bool lower = !choices && *at >= 'a' && *at <= 'z';
    char shown = lower ? (char)(*at - 'a' + 'A') : *at == '|' ? ',' : *at;
    pd__out_add(out, &shown, 1);
  }
  pd__out_text(out, choices ? "}" : "");
  pd__out_text(out, info->list ? ",..." : "");
}

/* Call `use` with each name of one letter; gives how many there are. */
static size_t add_letters(helper *help, const pd_flag_info *info, bool write) {
  size_t count = strlen(info->name) == 1;
  if (count && write) add_name(help, info->name, 1, false);
  for (const char *cursor = pd__list_begin(info->aliases); cursor;) {
    const char *alias = cursor;
    if (pd__list_next(&cursor) != 1) continue;
    if (write && count) glue(help, PD__PLAIN, ", ");
    if (write) add_name(help, alias, 1, false);
    count++;
  }
  return count;
}

static void add_head(helper *help, const pd_flag_info *info) {
  pd__page_go(&help->page, 2);
  bool letters = add_letters(help, info, true) > 0;
  size_t length = strlen(info->name);
  if (length > 1) {
    if (letters) glue(help, PD__PLAIN, ", ");
    if (!letters && help->letters) pd__page_go(&help->page, 6);
    add_name(help, info->name, length, info->type == PD_TYPE_bool);
  }
  if (info->type == PD_TYPE_bool) return;
  write_holder(info, &help->scratch);
  glue(help, PD__PLAIN, "=");
  pd__page_glue(&help->page, PD__HOLDER, help->scratch.text, help->scratch.length);
}

/* ---- Notes ---- */

/* Write what scratch holds: in one piece, if a line can hold it. */
static void add_note(helper *help, pd__style style) {
  pd__out *note = &help->scratch;
  pd__out_text(note, "]");
  if (pd__page_fits(&help->page, note->text, note->length)) {
    pd__page_word(&help->page, style, note->text, note->length);
  } else {
    pd__page_words(&help->page, style, note->text);
  }
}

static pd__out *begin_note(helper *help, const char *text) {
  pd__out_clear(&help->scratch);
  pd__out_text(&help->scratch, text);
  return &help->scratch;
}

static void add_mark(helper *help, pd__style style, const char *text) {
  begin_note(help, text);
  add_note(help, style);
}

static void add_choices(helper *help, const char *choices) {
  if (strlen(choices) <= WIDEST_CHOICES) return; /* they stand in the place of the value */
  pd__out *note = begin_note(help, "[one of: ");
  for (const char *cursor = choices; cursor;) {
    const char *choice = cursor;
    size_t length = pd__list_next(&cursor);
    pd__out_add(note, length ? choice : "\"\"", length ? length : 2);
    pd__out_text(note, cursor ? ", " : "");
  }
  add_note(help, PD__FAINT);
}

/* Names of one letter stand before the flag's. */
static void add_aliases(helper *help, const char *aliases) {
  pd__out *note = begin_note(help, "[also: ");
  size_t empty = note->length;
  for (const char *cursor = pd__list_begin(aliases); cursor;) {
    const char *alias = cursor;
    size_t length = pd__list_next(&cursor);
    if (length == 1) continue;
    pd__out_text(note, note->length > empty ? ", --" : "--");
    pd__out_add(note, alias, length);
  }
  if (note->length > empty) add_note(help, PD__FAINT);
}

static void add_range(helper *help, const pd__row *row) {
  const pd_flag_info *info = &row->info;
  if (!pd__type_has_range(pd__type_of(info->type))) return;
  bool low = !pd__value_equal(info->type, info->min, pd__type_min(info->type));
  bool high = !pd__value_equal(info->type, info->max, pd__type_max(info->type));
  if (!low && !high) return;
  pd__out *note = begin_note(help, low && high ? "[" : low ? "[at least " : "[at most ");
  if (low) pd__row_bound(row, info->min, note);
  if (low && high) pd__out_text(note, " to ");
  if (high) pd__row_bound(row, info->max, note);
  add_note(help, PD__FAINT);
}

/* "from argv[1]", "set at main.py:12": where the value comes from. */
static void write_origin(const pd_origin *origin, pd__out *out) {
  const char *before = "from ";
  if (origin->source == PD_SOURCE_ENVIRONMENT) before = "from $";
  if (origin->source == PD_SOURCE_RUNTIME) before = "set at ";
  if (origin->source == PD_SOURCE_OVERRIDE) before = "by an override at ";
  bool place = origin->place && *origin->place, argument = origin->source == PD_SOURCE_ARGV;
  char line[32] = "";
  if (origin->line && (place || argument)) {
    snprintf(line, sizeof line, place ? ":%u" : "[%u]", (unsigned)origin->line);
  }
  pd__out_text(out, before);
  pd__out_text(out, place ? origin->place : pd__source_name(origin->source));
  pd__out_text(out, line);
}

static void add_values(helper *help, const pd__row *row) {
  pd__out *note;
  if (!row->info.required) { /* nobody is ever left with the default */
    note = begin_note(help, "[default: ");
    pd__row_value(row, row->info.default_value, note);
    add_note(help, PD__FAINT);
  }
  if (row->entry.origin.source == PD_SOURCE_DEFAULT) return;
  note = begin_note(help, "[now: ");
  pd__row_value(row, row->entry.value, note);
  pd__out_text(note, " ");
  write_origin(&row->entry.origin, note);
  add_note(help, PD__CHANGED);
}

/* Readers of help need not know who is shown what; what is required stands in front. */
static bool is_quiet_mark(const char *words) {
  return !strcmp(words, "hidden") || !strcmp(words, "sensitive") || !strcmp(words, "required");
}

#define ADD_MARK(name, words, about)                                                               \
  if (info->name && !is_quiet_mark(words)) add_mark(help, PD__FAINT, "[" words);

static void add_notes(helper *help, const pd__row *row) {
  const pd_flag_info *info = &row->info;
  if (info->required) add_mark(help, PD__WARNING, "[required");
  add_choices(help, info->choices);
  add_range(help, row);
  add_values(help, row);
  add_aliases(help, info->aliases);
  PD_MARK_MAP(ADD_MARK)
  if (!*info->deprecated) return;
  pd__out_text(begin_note(help, "[deprecated: "), info->deprecated);
  add_note(help, PD__WARNING);
}

/* ---- What every command line reads ---- */

typedef struct built_in {
  char name[12];
  char holder[9];
  char text[58];
  bool full; /* only in the full help */
} built_in;

static const built_in built_ins[] = {
    {"help", "", "Show this help and end.", false},
    {"helpfull", "", "Show all flags, hidden ones too.", false},
    {"helpshort", "", "Show the flags of the program itself.", false},
    {"helpon", "NAME", "Show the flags of source files NAME.*.", true},
    {"helpmatch", "TEXT", "Show the flags of source files with TEXT in their path.", true},
    {"helppackage", "", "Show the flags of the directory of the program's source.", true},
    {"helpxml", "", "Show all flags as XML.", true},
    {"version", "", "Show the version of the program and end.", false},
    {"flagfile", "FILE,...", "Read flags from files.", false},
    {"fromenv", "NAME,...", "Take flags from the environment, where they must be.", true},
    {"tryfromenv", "NAME,...", "Take flags from the environment, if they are there.", true},
    {"undefok", "NAME,...", "Let it pass if the program has no such flags.", true},
};
#define BUILT_INS (sizeof built_ins / sizeof *built_ins)

static bool is_flag(const char *name) {
  pd__platform_lock();
  bool found = pd__resolve(name, strlen(name)) != NULL;
  pd__platform_unlock();
  return found;
}

static void add_built_in_head(helper *help, const built_in *item) {
  pd__page_go(&help->page, 2);
  bool letter = !strcmp(item->name, "help") && !is_flag("h"); /* else it is that flag's */
  if (letter) glue(help, PD__NAME, "-h");
  if (letter) glue(help, PD__PLAIN, ", ");
  if (!letter && help->letters) pd__page_go(&help->page, 6);
  add_name(help, item->name, strlen(item->name), false);
  if (*item->holder) glue(help, PD__PLAIN, "=");
  glue(help, PD__HOLDER, item->holder);
}

/* ---- The page ---- */

/* Measure a left side that was written to a page of its own. */
static void measure(helper *help, helper *trial) {
  size_t most = help->page.width * 9 / 20;
  size_t columns = trial->page.column + 2;
  if (most > WIDEST_LEFT) most = WIDEST_LEFT;
  if (columns <= most && columns > help->left) help->left = columns;
  pd__out_clear(trial->page.out);
  trial->page.column = trial->page.owed = 0;
  trial->page.apart = false;
}

static void lay_out(helper *help, const pd__rows *rows, bool common, bool full) {
  pd__out drawn = {.length = 0};
  help->letters = false;
  for (size_t i = 0; i < rows->count && !help->letters; i++) {
    help->letters = add_letters(help, &rows->items[i].info, false) > 0;
  }
  helper trial = {.page = {.out = &drawn, .width = SIZE_MAX}, .letters = help->letters};
  help->left = 8;
  for (size_t i = 0; i < rows->count; i++) {
    add_head(&trial, &rows->items[i].info);
    measure(help, &trial);
  }
  for (size_t i = 0; common && i < BUILT_INS; i++) {
    if (built_ins[i].full && !full) continue;
    add_built_in_head(&trial, &built_ins[i]);
    measure(help, &trial);
  }
  free(drawn.text);
  free(trial.scratch.text);
}

/* From the left side to the text. */
static void go_right(helper *help) {
  help->page.indent = help->left;
  if (help->page.column + 2 > help->left) pd__page_newline(&help->page);
  pd__page_go(&help->page, help->left);
}

static void add_heading(helper *help, const char *text) {
  if (help->page.out->length > 0) pd__page_newline(&help->page);
  help->page.indent = 2;
  add_words(help, PD__HEADING, text);
  glue(help, PD__HEADING, ":");
  pd__page_newline(&help->page);
}

static void add_flag(helper *help, const pd__row *row) {
  size_t width = help->page.width;
  help->page.indent = 6;
  add_head(help, &row->info);
  go_right(help);
  if (width > help->left + WIDEST_TEXT) help->page.width = help->left + WIDEST_TEXT;
  add_words(help, PD__PLAIN, row->info.help);
  if (strchr(row->info.help, '\n')) { /* which has lines of its own */
    pd__page_newline(&help->page);
    pd__page_go(&help->page, help->left);
  }
  add_notes(help, row);
  pd__page_newline(&help->page);
  help->page.width = width;
}

static void add_flags(helper *help, const pd__rows *rows) {
  pd__out heading = {.length = 0};
  for (size_t i = 0; i < rows->count; i++) {
    if (pd__rows_begins_group(rows, i)) {
      pd__out_clear(&heading);
      pd__row_heading(&rows->items[i], &heading);
      add_heading(help, heading.text);
    }
    add_flag(help, &rows->items[i]);
  }
  free(heading.text);
}

static void add_built_ins(helper *help, bool full) {
  add_heading(help, "common");
  for (size_t i = 0; i < BUILT_INS; i++) {
    if (built_ins[i].full && !full) continue;
    add_built_in_head(help, &built_ins[i]);
    go_right(help);
    add_words(help, PD__PLAIN, built_ins[i].text);
    pd__page_newline(&help->page);
  }
}

static void add_usage(helper *help, const pd_report_options *options) {
  if (options->usage) {
    pd__out_text(help->page.out, options->usage);
    if (*options->usage) pd__page_newline(&help->page);
    return;
  }
  help->page.indent = 7;
  add_words(help, PD__HEADING, "usage:");
  add_words(help, PD__NAME, options->program);
  add_words(help, PD__HOLDER, "[--flag=value ...] [argument ...]");
  pd__page_newline(&help->page);
}

/* Say why there is nothing to show. */
static void add_nothing(helper *help, const pd_help *asked) {
  bool on = asked->kind == PD_HELP_ON, match = asked->kind == PD_HELP_MATCH;
  bool all = asked->kind == PD_HELP_ALL || asked->kind == PD_HELP_FULL;
  pd__out *text = begin_note(help, all           ? "There are no flags."
                                   : on || match ? "No source file "
                                                 : "The program itself defines no flags");
  if (on || match) {
    pd__out_text(text, on ? "'" : "with '");
    pd__out_text(text, asked->pattern);
    pd__out_text(text, on ? ".*' defines flags" : "' in its path defines flags");
  }
  if (!all) pd__out_text(text, "; --help shows all.");
  if (help->page.out->length > 0) pd__page_newline(&help->page);
  help->page.indent = 0;
  add_words(help, PD__PLAIN, text->text);
  pd__page_newline(&help->page);
}

void pd__help_write(const pd__rows *rows, const pd_report_options *options, pd__out *out) {
  bool full = options->help->kind == PD_HELP_FULL;
  bool bare = options->usage && !*options->usage;
  bool common = !bare && (full || options->help->kind == PD_HELP_ALL);
  helper help = {.page = {.out = out, .width = options->width, .color = options->color}};
  lay_out(&help, rows, common, full);
  add_usage(&help, options);
  if (rows->count == 0) add_nothing(&help, options->help);
  add_flags(&help, rows);
  if (common) add_built_ins(&help, full);
  out->failed |= help.scratch.failed;
  free(help.scratch.text);
}
