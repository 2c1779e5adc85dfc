/* Splits flagfiles, with the files that they include, into lines before the lock is taken. What a
 * line means is decided later, when the flags can be looked up. */
#include <string.h>

#include "../base/text.h"
#include "input.h"

/* ---- Values in $'...' ---- */

/* Reads up to `most` digits. Returns the byte with that code; 0 if there are none. */
static char read_byte_code(const char **in, unsigned base, int most) {
  unsigned code = 0;
  for (; most > 0 && pd__read_digit(**in) < base; most--, (*in)++) {
    code = code * base + pd__read_digit(**in);
  }
  return (char)code;
}

/* Reads the characters after a backslash. Returns the byte; 0 if the escape is unknown. */
static char read_escape(const char **in) {
  static const char letters[] = "ntr\\'", bytes[] = "\n\t\r\\'";
  const char *letter = **in ? strchr(letters, **in) : NULL;
  if (!letter && **in != 'x') return read_byte_code(in, 8, 3);
  (*in)++;
  return letter ? bytes[letter - letters] : read_byte_code(in, 16, 2);
}

/* Replaces $'...' by its text, in place. Returns NULL, or what is wrong. */
static const char *unquote_value(char *text) {
  const char *in = text + 2;
  char *out = text;
  while (*in && *in != '\'') {
    bool escape = *in == '\\';
    in += escape;
    char byte = escape ? read_escape(&in) : *in++;
    if (!byte) return "after \\, expected n, t, r, \\, ', xHH or NNN, and no NUL";
    *out++ = byte;
  }
  if (!*in) return "expected a ' at the end of $'";
  if (in[1]) return "expected nothing after the ' that ends $'";
  *out = '\0';
  return NULL;
}

/* ---- Lines ---- */

/* Returns NULL if memory is out. */
static pd__token *add_line(pd__arena *arena, pd__file *file, uint32_t number) {
  pd__token line = {.dashes = "", .origin = {PD_SOURCE_ARGV, number, file->path, 0}};
  return pd__tokens_add(arena, &file->lines, line);
}

void pd__line_reject(pd__arena *arena, pd__token *line, const char *text, size_t length,
                     const char *why) {
  pd_error err;
  char escaped[PD__ESCAPED_SIZE], place[PD__PREFIX_SIZE];
  line->status = PD_ERR_FILE;
  pd__fail(&err, PD_ERR_FILE, "%s%s%s%s", pd__origin_write_message_prefix(&line->origin, place),
           pd__escape_part(escaped, text, length), length > 0 ? ": " : "", why);
  line->text = pd__arena_copy_text(arena, err.message, strlen(err.message));
  if (!line->text) line->text = "";
}

static void read_flag_line(pd__arena *arena, pd__token *line, char *text) {
  const char *complaint = NULL;
  pd_origin origin = line->origin;
  *line = pd__token_split(text);
  line->origin = origin;
  size_t first = strcspn(line->name, PD__BLANKS);
  if (first < line->length) {
    line->length = (uint32_t)first;
    complaint = "expected = before the value, as in --name=value";
  } else if (line->text && !strncmp(line->text, "$'", 2)) {
    complaint = unquote_value(text + (line->text - text));
  }
  size_t shown = (size_t)(line->name + line->length - text);
  if (complaint) pd__line_reject(arena, line, text, shown, complaint);
}

/* A line of another format must not pass for a list of program names: it would silently disable the
 * lines after it. */
static void read_program_patterns(pd__arena *arena, pd__token *line, const char *text) {
  const char *end = strchr(text, ']'), *wrong = text;
  size_t comment = *text == ';' ? 1 : !strncmp(text, "//", 2) ? 2 : 0;
  while (*wrong && *wrong != '=' && ((unsigned char)*wrong >= ' ' || strchr(PD__BLANKS, *wrong))) {
    wrong++;
  }
  line->text = text;
  if (comment) {
    pd__line_reject(arena, line, text, comment, "expected # before a comment");
  } else if (*text == '[' && end && !end[1]) {
    pd__line_reject(arena, line, text, strlen(text),
                    "sections begin with names of programs, without brackets");
  } else if (*wrong) {
    const char *why = *wrong == '=' ? "expected --name=value, or names of programs" : "isn't text";
    pd__line_reject(arena, line, text, (size_t)(wrong - text), why);
  }
}

/* Returns the beginning of the next line. */
static char *read_file_line(pd__arena *arena, pd__file *file, char *text, uint32_t number) {
  char *end = text + strcspn(text, "\n");
  char *following = *end ? end + 1 : end;
  text += strspn(text, PD__BLANKS);
  while (end > text && strchr(PD__BLANKS, end[-1])) end--;
  *end = '\0';
  pd__token *line = *text && *text != '#' ? add_line(arena, file, number) : NULL;
  if (line && *text == '-') {
    read_flag_line(arena, line, text);
  } else if (line) {
    read_program_patterns(arena, line, text);
  }
  return following;
}

static void read_file_lines(pd__arena *arena, pd__file *file, char *text, size_t length) {
  size_t whole = strlen(text);
  uint32_t number = 1;
  if (whole < length) {
    for (size_t i = 0; i < whole; i++) number += text[i] == '\n';
    pd__token *line = add_line(arena, file, number);
    if (line) pd__line_reject(arena, line, "", 0, "holds a NUL byte, expected text");
    return;
  }
  if (!strncmp(text, "\xef\xbb\xbf", 3)) text += 3;
  for (; *text && !arena->failed; number++) text = read_file_line(arena, file, text, number);
}

/* ---- Files ---- */

const pd__file *pd__files_find(const pd__files *files, const char *path, size_t length) {
  const pd__file *file = files->first;
  while (file && (strncmp(file->path, path, length) != 0 || file->path[length])) {
    file = file->following;
  }
  return file;
}

/* The depth of this recursion is bounded by the number of files. */
void pd__files_read(pd__files *files, const char *path, size_t length) {
  char *text;
  size_t read = 0;
  if (files->count > PD__FILES_MOST || pd__files_find(files, path, length)) return;
  pd__file *file = pd__arena_alloc(files->arena, sizeof *file);
  char *own = pd__arena_copy_text(files->arena, path, length);
  if (!file || !own) return;
  *file = (pd__file){.path = own, .following = files->first};
  files->first = file;
  files->count++;
  size_t most = PD__BYTES_MOST - files->bytes;
  file->why = pd__platform_read_file(files->arena, file->path, most, &text, &read);
  if (file->why || files->arena->failed) return;
  file->size = read;
  files->bytes += read;
  read_file_lines(files->arena, file, text, read);
  for (size_t i = 0; i < file->lines.count; i++) {
    const pd__token *line = &file->lines.items[i];
    if (line->status == PD_OK) pd__files_read_named(files, line);
  }
}

void pd__files_read_named(pd__files *files, const pd__token *token) {
  const char *list = NULL;
  if (pd__token_is_named(token, "flagfile")) {
    list = token->text;
  } else if (pd__token_is_named(token, "fromenv") || pd__token_is_named(token, "tryfromenv")) {
    pd__variable variable; /* a conflict is reported when the token is handled */
    pd__platform_lock();
    pd__environment_find_variable(files->rules, "flagfile", strlen("flagfile"), &variable, NULL);
    list = variable.is_path ? NULL : variable.text;
    pd__platform_unlock();
  }
  for (; list && *list; list += *list == ',') {
    size_t length = strcspn(list, ",");
    if (length > 0) pd__files_read(files, list, length);
    list += length;
  }
}
