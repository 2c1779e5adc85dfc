/* Flagfiles, read before the lock is taken: their lines, and the files that they include. What a
 * line means is decided later, with the flags at hand. */
#include <stdlib.h>
#include <string.h>

#include "input.h"

/* ---- Values in $'...' ---- */

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* Up to `most` digits; gives the byte, or 0 where there is none. */
static char read_code(const char **in, int base, int most) {
  unsigned code = 0;
  for (; most > 0 && digit_of(**in) < base; most--, (*in)++) {
    code = code * (unsigned)base + (unsigned)digit_of(**in);
  }
  return (char)code;
}

/* What stands behind a backslash; 0: nothing that is known. */
static char read_escape(const char **in) {
  static const char letters[] = "ntr\\'", bytes[] = "\n\t\r\\'";
  const char *letter = **in ? strchr(letters, **in) : NULL;
  if (!letter && **in != 'x') return read_code(in, 8, 3);
  (*in)++;
  return letter ? bytes[letter - letters] : read_code(in, 16, 2);
}

/* Bring $'...' to its meaning, in its place. Gives NULL, or what is wrong. */
static const char *unquote(char *text) {
  const char *in = text + 2;
  char *out = text;
  while (*in && *in != '\'') {
    bool escape = *in == '\\';
    in += escape;
    char byte = escape ? read_escape(&in) : *in++;
    if (!byte) return "behind \\, expected n, t, r, \\, ', xHH or NNN, and no NUL";
    *out++ = byte;
  }
  if (!*in) return "expected a ' at the end of $'";
  if (in[1]) return "expected nothing behind the ' that ends $'";
  *out = '\0';
  return NULL;
}

/* ---- Lines ---- */

static pd__line *add_line(pd__arena *arena, pd__file *file) {
  pd__line *lines = pd__arena_room(arena, file->lines, file->count, &file->capacity, sizeof *lines);
  if (!lines) {
    file->status = PD_ERR_MEMORY;
    return NULL;
  }
  file->lines = lines;
  return &lines[file->count++];
}

static void refuse(pd__line *line, size_t shown, const char *why) {
  line->kind = PD__LINE_WRONG;
  line->shown = (uint32_t)shown;
  line->wrong = why;
}

static void read_flag(pd__line *line) {
  const char *complaint = NULL;
  line->kind = PD__LINE_FLAG;
  pd__token token = pd__token_split(line->text);
  size_t first = strcspn(token.name, PD__BLANKS);
  if (first < token.length) {
    token.length = (uint32_t)first;
    complaint = "a value stands behind =, as in --name=value";
  } else if (token.text && !strncmp(token.text, "$'", 2)) {
    complaint = unquote(line->text + (token.text - line->text));
  }
  if (complaint) refuse(line, (size_t)(token.name + token.length - line->text), complaint);
}

/* A line that was meant as something else would silence all that follows. */
static void read_patterns(pd__line *line) {
  const char *text = line->text, *end = strchr(text, ']'), *wrong = text;
  size_t comment = *text == ';' ? 1 : !strncmp(text, "//", 2) ? 2 : 0;
  while (*wrong && *wrong != '=' && ((unsigned char)*wrong >= ' ' || strchr(PD__BLANKS, *wrong))) {
    wrong++;
  }
  line->kind = PD__LINE_PATTERNS;
  if (comment) {
    refuse(line, comment, "expected # before a comment");
  } else if (*text == '[' && end && !end[1]) {
    refuse(line, strlen(text), "sections begin with names of programs, without brackets");
  } else if (*wrong) {
    const char *why = *wrong == '=' ? "expected --name=value, or names of programs" : "isn't text";
    refuse(line, (size_t)(wrong - text), why);
  }
}

/* Gives what follows the line. */
static char *read_line(pd__arena *arena, pd__file *file, char *text, uint32_t number) {
  char *end = text + strcspn(text, "\n");
  char *following = *end ? end + 1 : end;
  text += strspn(text, PD__BLANKS);
  while (end > text && strchr(PD__BLANKS, end[-1])) end--;
  *end = '\0';
  if (!*text || *text == '#') return following;
  pd__line *line = add_line(arena, file);
  if (!line) return following;
  *line = (pd__line){.number = number, .text = text};
  if (*text == '-') {
    read_flag(line);
  } else {
    read_patterns(line);
  }
  return following;
}

static void read_text(pd__arena *arena, pd__file *file, char *text, size_t length) {
  size_t whole = strlen(text);
  uint32_t number = 1;
  if (whole < length) {
    pd__line *line = add_line(arena, file);
    for (size_t i = 0; i < whole; i++) number += text[i] == '\n';
    if (!line) return;
    *line = (pd__line){.number = number, .text = text + whole};
    refuse(line, 0, "holds a NUL byte, expected text");
    return;
  }
  if (!strncmp(text, "\xef\xbb\xbf", 3)) text += 3;
  for (; *text && file->status == PD_OK; number++) text = read_line(arena, file, text, number);
}

/* ---- Files ---- */

const pd__file *pd__files_find(const pd__files *files, const char *path, size_t length) {
  const pd__file *file = files->first;
  while (file && (strncmp(file->path, path, length) != 0 || file->path[length])) {
    file = file->following;
  }
  return file;
}

static void read_contents(pd__arena *arena, pd__files *files, pd__file *file) {
  char *text;
  size_t length = 0, most = PD__BYTES_MOST - files->bytes;
  file->status = pd__platform_read(file->path, most, &text, &length, file->why);
  if (file->status != PD_OK) return;
  if (!pd__arena_adopt(arena, text, length + 1)) {
    file->status = PD_ERR_MEMORY;
    return;
  }
  file->size = length;
  files->bytes += length;
  read_text(arena, file, text, length);
}

static pd__file *add_file(pd__arena *arena, pd__files *files, const char *path, size_t length) {
  pd__file *file = pd__arena_take(arena, sizeof *file);
  char *own = pd__arena_text(arena, path, length);
  if (!file || !own) {
    files->out_of_memory = true;
    return NULL;
  }
  file->path = own;
  file->following = files->first;
  files->first = file;
  files->count++;
  return file;
}

/* Files that include others nest at most as deep as files are many. */
void pd__files_read(pd__arena *arena, pd__files *files, const char *path, size_t length) {
  if (files->count > PD__FILES_MOST || pd__files_find(files, path, length)) return;
  pd__file *file = add_file(arena, files, path, length);
  if (!file) return;
  read_contents(arena, files, file);
  for (size_t i = 0; i < file->count; i++) {
    const pd__line *line = &file->lines[i];
    if (line->kind != PD__LINE_FLAG) continue;
    pd__token token = pd__token_split(line->text);
    pd__files_read_led(arena, files, &token);
  }
}

static void read_list(pd__arena *arena, pd__files *files, const char *list) {
  while (*list) {
    size_t length = strcspn(list, ",");
    if (length > 0) pd__files_read(arena, files, list, length);
    list += length;
    list += *list == ',';
  }
}

void pd__files_read_led(pd__arena *arena, pd__files *files, const pd__token *token) {
  const char *list = NULL;
  if (pd__token_is_named(token, "flagfile")) {
    list = token->text;
  } else if (pd__token_is_named(token, "fromenv") || pd__token_is_named(token, "tryfromenv")) {
    char variable[PD__VARIABLE_SIZE];
    pd__platform_lock();
    list = pd__environment_text(files->prefix, "flagfile", strlen("flagfile"), variable);
    pd__platform_unlock();
  }
  if (list) read_list(arena, files, list);
}
