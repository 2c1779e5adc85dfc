/* Help in the XML format of gflags: one element for each flag, all texts in elements. */
#include <stdlib.h>
#include <string.h>

#include "../base/utf8.h"
#include "report.h"

/* Returns true if XML 1.0 allows the character. */
static bool is_xml_character(uint32_t code) {
  if (code < 0x20) return code == '\t' || code == '\n' || code == '\r';
  return code != 0xfffe && code != 0xffff;
}

/* Returns the replacement of a character that must be escaped, or NULL. As in gflags, > is escaped
 * only in ]]>. XML readers turn a bare \r into \n. */
static const char *find_entity(const char *at, uint32_t code, const char *text) {
  if (code == '&') return "&amp;";
  if (code == '<') return "&lt;";
  if (code == '\r') return "&#13;";
  if (code == '>') return at - text >= 2 && at[-1] == ']' && at[-2] == ']' ? "&gt;" : NULL;
  return is_xml_character(code) ? NULL : "\xef\xbf\xbd";
}

static void write_xml_text(pd__out *out, const char *text) {
  for (const char *at = text; *at;) {
    uint32_t code;
    size_t length = pd__utf8_decode(at, &code);
    const char *instead = length ? find_entity(at, code, text) : "\xef\xbf\xbd";
    pd__out_add(out, instead ? instead : at, instead ? strlen(instead) : length);
    at += length ? length : 1;
  }
}

static void write_element(pd__out *out, const char *tag, const char *text) {
  pd__out_add_format(out, "<%s>", tag);
  write_xml_text(out, text);
  pd__out_add_format(out, "</%s>", tag);
}

static const char *get_value_text(const pd__row *row, pd_value value,
                                  char buffer[PD__NUMBER_SIZE]) {
  return row->info.sensitive ? PD__REDACTED : pd__value_get_text(row->info.type, value, buffer);
}

static void write_flag_element(pd__out *out, const pd__row *row) {
  char buffer[PD__NUMBER_SIZE];
  pd__out_add_text(out, "<flag>");
  write_element(out, "file", row->info.file);
  write_element(out, "name", row->info.name);
  write_element(out, "meaning", row->info.help);
  write_element(out, "default", get_value_text(row, row->info.default_value, buffer));
  write_element(out, "current", get_value_text(row, row->entry.value, buffer));
  write_element(out, "type", pd_type_name(row->info.type));
  pd__out_add_text(out, "</flag>\n");
}

static int compare_rows_by_file(const void *left, const void *right) {
  const pd__row *a = left, *b = right;
  int order = strcmp(a->info.file, b->info.file);
  return order ? order : strcmp(a->info.name, b->info.name);
}

void pd__xml_write(pd__rows *rows, const pd_report_options *options, pd__out *out) {
  if (rows->count > 0) qsort(rows->items, rows->count, sizeof *rows->items, compare_rows_by_file);
  pd__out_add_text(out, "<?xml version=\"1.0\"?>\n<AllFlags>\n");
  write_element(out, "program", options->program);
  pd__out_add_text(out, "\n");
  write_element(out, "usage", options->usage ? options->usage : "");
  pd__out_add_text(out, "\n");
  for (size_t i = 0; i < rows->count; i++) write_flag_element(out, &rows->items[i]);
  pd__out_add_text(out, "</AllFlags>\n");
}
