/* Writes the current values as a flagfile that restores them. */
#include <string.h>

#include "../base/utf8.h"
#include "report.h"

/* Returns the length of the character; 0 for a control character and for invalid UTF-8. */
static size_t get_plain_character_length(const char *text) {
  uint32_t code;
  size_t length = pd__utf8_decode(text, &code);
  return code < 0x20 || code == 0x7f ? 0 : length;
}

/* Returns true if the unquoted text would be read back as another value. */
static bool can_be_misread(const char *text) {
  size_t length = strlen(text);
  if (length == 0) return false;
  if (!strncmp(text, "$'", 2) || strchr(" \t", *text) || strchr(" \t", text[length - 1]))
    return true;
  while (get_plain_character_length(text) > 0) text += get_plain_character_length(text);
  return *text;
}

/* Writes the text as $'...', as bash does. */
static void write_quoted(pd__out *out, const char *text) {
  pd__out_add_text(out, "$'");
  while (*text) {
    size_t length = get_plain_character_length(text);
    if (length > 0 && !strchr("\\'", *text)) {
      pd__out_add(out, text, length);
    } else if (!pd__out_try_add_escaped(out, *text, '\'')) {
      pd__out_add_hex_escape(out, *text);
    }
    text += length ? length : 1;
  }
  pd__out_add_text(out, "'");
}

/* Returns why the value is left out; NULL if it is not. */
static const char *find_reason_to_leave_out(const pd_flag_info *info) {
  if (*info->retired) return "retired";
  if (info->sensitive) return "sensitive";
  return info->read_only ? "read-only" : NULL;
}

static void write_flag_line(const pd__row *row, pd__out *out) {
  char buffer[PD__NUMBER_SIZE];
  const char *why = find_reason_to_leave_out(&row->info);
  if (why) {
    pd__out_add_format(out, "# --%s: left out, %s\n", row->info.name, why);
    return;
  }
  const char *text = pd__value_get_text(row->info.type, row->entry.value, buffer);
  pd__out_add_format(out, "--%s=", row->info.name);
  (can_be_misread(text) ? write_quoted : pd__out_add_text)(out, text);
  pd__out_add_text(out, "\n");
}

/* A comment must stay on one line, whatever the names of the module and the category contain. */
static void write_group_comment(const pd__row *row, pd__out *out) {
  pd__out_add_text(out, out->length ? "\n# " : "# ");
  size_t start = out->length;
  pd__row_write_heading(row, out);
  for (size_t i = start; i < out->length; i++) {
    if ((unsigned char)out->text[i] < 0x20) out->text[i] = ' ';
  }
  pd__out_add_text(out, "\n");
}

/* The names of pending values are what somebody wrote. */
static void write_comments_on_pending(pd__out *out) {
  char escaped[PD__ESCAPED_SIZE];
  pd_pending_info info = {.size = sizeof info};
  for (size_t i = 0; pd_pending_get(i, &info, NULL) == PD_OK; i++) {
    if (i == 0) pd__out_add_text(out, out->length ? "\n# pending\n" : "# pending\n");
    pd__out_add_format(out, "# --%s: left out, not defined\n", pd__escape_text(escaped, info.name));
  }
}

void pd__flagfile_write(pd__rows *rows, bool all, pd__out *out) {
  size_t kept = 0;
  for (size_t i = 0; i < rows->count; i++) {
    bool given = rows->items[i].entry.origin.source != PD_SOURCE_DEFAULT;
    bool unset = rows->items[i].info.optional && !given;
    if ((all && !unset) || given) rows->items[kept++] = rows->items[i];
  }
  rows->count = kept;
  for (size_t i = 0; i < kept; i++) {
    if (pd__rows_is_group_start(rows, i)) write_group_comment(&rows->items[i], out);
    write_flag_line(&rows->items[i], out);
  }
  write_comments_on_pending(out);
}
