/* Help for people: a column of names, then each flag's help text with notes in brackets. */
#include <string.h>

#include "report.h"

#define WIDEST_CHOICES 30 /* bytes; longer lists of choices move to a note */
#define WIDEST_LEFT 40
#define WIDEST_TEXT 100 /* columns; longer lines are hard to follow */

typedef struct help_page {
  pd__page page;
  pd__out scratch;
  bool letters; /* some names have one letter: they get a column */
  size_t left;  /* columns before the help text */
} help_page;

static void append_text(help_page *help, pd__style style, const char *text) {
  pd__page_append(&help->page, style, text, strlen(text));
}

/* ---- The left column ---- */

static void add_name(help_page *help, const char *name, size_t length, bool negated) {
  if (help->page.apart) append_text(help, PD__PLAIN, ", ");
  append_text(help, PD__NAME, length > 1 ? "--" : "-");
  if (negated && length > 1) append_text(help, PD__NAME, "[no]");
  pd__page_append(&help->page, PD__NAME, name, length);
}

/* Writes the placeholder of the value: "INT32", "{fast,best}", "BYTES", "INT32,...". */
static void write_placeholder(const pd_flag_info *info, pd__out *out) {
  const char *what = *info->unit ? info->unit : pd_type_name(info->list ? info->list : info->type);
  bool named = *info->metavar != '\0';
  bool choices = !named && *info->choices && strlen(info->choices) <= WIDEST_CHOICES;
  pd__out_clear(out);
  if (named) {
    pd__out_add_text(out, info->metavar);
    return;
  }
  if (choices) pd__out_add_text(out, "{");
  for (const char *at = choices ? info->choices : what; *at; at++) {
    bool lower = !choices && *at >= 'a' && *at <= 'z';
    char shown = lower ? (char)(*at - 'a' + 'A') : *at == '|' ? ',' : *at;
    pd__out_add(out, &shown, 1);
  }
  pd__out_add_format(out, "%s%s", choices ? "}" : "", info->list ? ",..." : "");
}

static bool has_letter_name(const pd_flag_info *info) {
  bool found = strlen(info->name) == 1;
  for (const char *cursor = pd__list_begin(info->aliases); cursor && !found;) {
    found = pd__list_advance_to_choice(&cursor) == 1;
  }
  return found;
}

/* Names of one letter precede the flag's own name. */
static void add_left_column(help_page *help, const pd_flag_info *info) {
  size_t length = strlen(info->name);
  pd__page_move_to(&help->page, 2);
  if (length == 1) add_name(help, info->name, 1, false);
  for (const char *cursor = pd__list_begin(info->aliases); cursor;) {
    const char *alias = cursor;
    if (pd__list_advance_to_choice(&cursor) == 1) add_name(help, alias, 1, false);
  }
  if (length > 1) {
    if (help->letters && !help->page.apart) pd__page_move_to(&help->page, 6);
    add_name(help, info->name, length, info->type == PD_TYPE_bool);
  }
  if (info->type == PD_TYPE_bool || (!info->type && !*info->unit)) return;
  write_placeholder(info, &help->scratch);
  append_text(help, PD__PLAIN, info->count ? "[=" : "=");
  pd__page_append(&help->page, PD__HOLDER, help->scratch.text, help->scratch.length);
  if (info->count) append_text(help, PD__PLAIN, "]");
}

/* ---- Notes ---- */

/* Writes the note in `scratch`, unbroken if a line can hold it. */
static void end_note(help_page *help, pd__style style) {
  pd__out *note = &help->scratch;
  pd__out_add_text(note, "]");
  if (pd__page_can_fit_on_new_line(&help->page, note->text, note->length)) {
    pd__page_add_word(&help->page, style, note->text, note->length);
  } else {
    pd__page_add_text(&help->page, style, note->text);
  }
}

static pd__out *begin_note(help_page *help, const char *text) {
  pd__out_clear(&help->scratch);
  pd__out_add_text(&help->scratch, text);
  return &help->scratch;
}

static void add_attribute_note(help_page *help, pd__style style, const char *text) {
  begin_note(help, text);
  end_note(help, style);
}

/* Lists the choices, or the aliases except those of one letter, which are in the left column. */
static void add_choices_or_aliases(help_page *help, const char *list, bool choices) {
  pd__out *note = begin_note(help, choices ? "[one of: " : "[also: ");
  size_t empty = note->length;
  for (const char *cursor = pd__list_begin(list); cursor;) {
    const char *item = cursor;
    size_t length = pd__list_advance_to_choice(&cursor);
    if (!choices && length == 1) continue;
    if (note->length > empty) pd__out_add_text(note, ", ");
    if (!choices) pd__out_add_text(note, "--");
    pd__out_add(note, length ? item : "\"\"", length ? length : 2);
  }
  if (note->length > empty) end_note(help, PD__FAINT);
}

static void add_range(help_page *help, const pd__row *row) {
  const pd_flag_info *info = &row->info;
  if (!pd__type_has_range(pd__type_of(info->type))) return;
  bool low = !pd__value_is_equal(info->type, info->min, pd__type_of(info->type)->min);
  bool high = !pd__value_is_equal(info->type, info->max, pd__type_of(info->type)->max);
  if (!low && !high) return;
  pd__out *note = begin_note(help, low && high ? "[" : low ? "[at least " : "[at most ");
  if (low) pd__row_write_with_unit(row, info->min, note);
  if (low && high) pd__out_add_text(note, " to ");
  if (high) pd__row_write_with_unit(row, info->max, note);
  end_note(help, PD__FAINT);
}

/* Writes where the value comes from: "from argv[1]", "set at main.py:12", "set live by pid 7". */
static void write_value_origin(const pd_origin *origin, pd__out *out) {
  const char *before = "from ";
  if (origin->source == PD_SOURCE_ENVIRONMENT) before = "from $";
  if (origin->source == PD_SOURCE_RUNTIME) before = "set at ";
  if (origin->source == PD_SOURCE_LIVE) before = "set live by ";
  if (origin->source == PD_SOURCE_OVERRIDE) before = "by an override at ";
  bool place = origin->place && *origin->place;
  if (!place && origin->source == PD_SOURCE_FLEET) before = "from the ";
  if (!place && origin->source == PD_SOURCE_LIVE) {
    pd__out_add_text(out, "set live");
    return;
  }
  pd__out_add_format(out, "%s%s", before, place ? origin->place : pd_source_name(origin->source));
  bool numbered = !place && origin->source == PD_SOURCE_ARGV;
  const char *separator = pd__origin_line_separator(origin);
  if (origin->line && place) pd__out_add_format(out, "%s%u", separator, (unsigned)origin->line);
  if (origin->line && numbered) pd__out_add_format(out, "[%u]", (unsigned)origin->line);
}

static void add_value_notes(help_page *help, const pd__row *row) {
  pd__out *note;
  if (!row->info.required && !row->info.optional) { /* a required flag never has its default */
    note = begin_note(help, "[default: ");
    pd__row_write_value(row, row->info.default_value, note);
    end_note(help, PD__FAINT);
  }
  if (row->entry.origin.source == PD_SOURCE_DEFAULT) return;
  note = begin_note(help, "[now: ");
  pd__row_write_value(row, row->entry.value, note);
  pd__out_add_text(note, " ");
  write_value_origin(&row->entry.origin, note);
  end_note(help, PD__CHANGED);
}

/* Help doesn't show "hidden" and "sensitive", and shows "required" first. */
static bool is_unshown_attribute(const char *words) {
  return !strcmp(words, "hidden") || !strcmp(words, "sensitive") || !strcmp(words, "required") ||
         !strcmp(words, "optional") || !strcmp(words, "multi") || !strcmp(words, "count");
}

#define ADD_MARK(name, words, about)                                                               \
  if (info->name && !is_unshown_attribute(words)) add_attribute_note(help, PD__FAINT, "[" words);

static void add_notes(help_page *help, const pd__row *row) {
  const pd_flag_info *info = &row->info;
  if (info->required) add_attribute_note(help, PD__WARNING, "[required");
  /* Short lists of choices are shown in place of the value. */
  bool long_choices = strlen(info->choices) > WIDEST_CHOICES;
  if (long_choices || *info->metavar) add_choices_or_aliases(help, info->choices, true);
  add_range(help, row);
  add_value_notes(help, row);
  add_choices_or_aliases(help, info->aliases, false);
  PD_MARK_MAP(ADD_MARK)
  if (!*info->deprecated) return;
  pd__out_add_text(begin_note(help, "[deprecated: "), info->deprecated);
  end_note(help, PD__WARNING);
}

/* ---- Built-in flags ---- */

typedef struct built_in {
  char name[12];
  char holder[9];
  bool full; /* only in the full help */
  char text[58];
} built_in;

static const built_in built_ins[] = {
    {"help", "", false, "Show this help and exit."},
    {"helpfull", "", false, "Show all flags, hidden ones too."},
    {"helpshort", "", false, "Show the flags of the program itself."},
    {"helpon", "NAME", true, "Show the flags of source files NAME.*."},
    {"helpmatch", "TEXT", true, "Show the flags of source files with TEXT in their path."},
    {"helppackage", "", true, "Show the flags of the directory of the program's source."},
    {"helpxml", "", true, "Show all flags as XML."},
    {"version", "", false, "Show the version of the program and exit."},
    {"flagfile", "FILE,...", false, "Read flags from files."},
    {"fromenv", "NAME,...", true, "Set flags from variables, which must exist."},
    {"tryfromenv", "NAME,...", true, "Set flags from variables, if they exist."},
    {"undefok", "NAME,...", true, "Allow these flags to be undefined."},
};
#define BUILT_INS (sizeof built_ins / sizeof *built_ins)

static bool is_defined_flag(const char *name) {
  pd__platform_lock();
  bool found = pd__names_find_defined_node(name, strlen(name)) != NULL;
  pd__platform_unlock();
  return found;
}

/* The built-in flags have no type, and so no notes. */
static void collect_built_ins(pd__rows *rows, bool full) {
  for (size_t i = 0; i < BUILT_INS; i++) {
    const built_in *item = &built_ins[i];
    bool letter = i == 0 && !is_defined_flag("h"); /* otherwise -h is that flag */
    if (item->full && !full) continue;
    rows->items[rows->count++].info = (pd_flag_info){.name = item->name,
                                                     .help = item->text,
                                                     .unit = item->holder,
                                                     .aliases = letter ? "h" : "",
                                                     .choices = "",
                                                     .metavar = "",
                                                     .module = "common",
                                                     .category = ""};
  }
}

/* ---- The page ---- */

/* Finds the width of the left column by writing its cells to a scratch page. */
static void measure_left_column(help_page *help, const pd__rows *rows) {
  pd__out drawn = {.arena = help->page.out->arena};
  pd__page page = help->page;
  size_t most = page.width * 9 / 20;
  if (most > WIDEST_LEFT) most = WIDEST_LEFT;
  help->page = (pd__page){.out = &drawn, .width = SIZE_MAX};
  for (size_t i = 0; i < rows->count; i++) {
    add_left_column(help, &rows->items[i].info);
    size_t columns = help->page.column + 2;
    if (columns <= most && columns > help->left) help->left = columns;
    pd__page_end_line(&help->page);
  }
  help->page = page;
}

static void add_flag(help_page *help, const pd__row *row) {
  size_t width = help->page.width;
  help->page.indent = 6;
  add_left_column(help, &row->info);
  help->page.indent = help->left;
  if (help->page.column + 2 > help->left) pd__page_end_line(&help->page);
  pd__page_move_to(&help->page, help->left);
  if (width > help->left + WIDEST_TEXT) help->page.width = help->left + WIDEST_TEXT;
  pd__page_add_text(&help->page, PD__PLAIN, row->info.help);
  if (strchr(row->info.help, '\n')) { /* the notes start on a line of their own */
    pd__page_end_line(&help->page);
    pd__page_move_to(&help->page, help->left);
  }
  if (row->info.type) add_notes(help, row);
  pd__page_end_line(&help->page);
  help->page.width = width;
}

static void add_heading(help_page *help, const pd__row *row) {
  if (help->page.out->length > 0) pd__page_end_line(&help->page);
  help->page.indent = 2;
  pd__row_write_heading(row, begin_note(help, ""));
  pd__page_add_text(&help->page, PD__HEADING, help->scratch.text);
  append_text(help, PD__HEADING, ":");
  pd__page_end_line(&help->page);
}

static void add_flags(help_page *help, const pd__rows *rows) {
  for (size_t i = 0; i < rows->count; i++) {
    if (pd__rows_is_group_start(rows, i)) add_heading(help, &rows->items[i]);
    add_flag(help, &rows->items[i]);
  }
}

static void add_usage(help_page *help, const pd_report_options *options) {
  if (options->usage) {
    pd__out_add_text(help->page.out, options->usage);
    if (*options->usage) pd__page_end_line(&help->page);
    return;
  }
  help->page.indent = 7;
  pd__page_add_text(&help->page, PD__HEADING, "usage:");
  pd__page_add_text(&help->page, PD__NAME, options->program);
  pd__page_add_text(&help->page, PD__HOLDER, "[--flag=value ...] [argument ...]");
  pd__page_end_line(&help->page);
}

/* Writes why there is nothing to show. */
static void add_empty_notice(help_page *help, const pd_help *asked) {
  const char *text = "The program itself defines no flags; --help shows all.";
  if (asked->kind == PD_HELP_ALL || asked->kind == PD_HELP_FULL) text = "There are no flags.";
  if (asked->kind == PD_HELP_ON) text = "No source file '%s.*' defines flags; --help shows all.";
  if (asked->kind == PD_HELP_MATCH) {
    text = "No source file with '%s' in its path defines flags; --help shows all.";
  }
  if (help->page.out->length > 0) pd__page_end_line(&help->page);
  help->page.indent = 0;
  pd__out_add_format(begin_note(help, ""), text, asked->pattern);
  pd__page_add_text(&help->page, PD__PLAIN, help->scratch.text);
  pd__page_end_line(&help->page);
}

void pd__help_write(const pd__rows *rows, const pd_report_options *options, pd__out *out) {
  bool full = options->help->kind == PD_HELP_FULL;
  bool bare = options->usage && !*options->usage;
  help_page help = {.page = {.out = out, .width = options->width, .color = options->color},
                    .scratch = {.arena = out->arena},
                    .left = 8};
  pd__row common[BUILT_INS];
  pd__rows built = {.items = common};
  if (!bare && (full || options->help->kind == PD_HELP_ALL)) collect_built_ins(&built, full);
  for (size_t i = 0; i < rows->count; i++) help.letters |= has_letter_name(&rows->items[i].info);
  measure_left_column(&help, rows);
  measure_left_column(&help, &built);
  add_usage(&help, options);
  if (rows->count == 0) add_empty_notice(&help, options->help);
  add_flags(&help, rows);
  add_flags(&help, &built);
}
