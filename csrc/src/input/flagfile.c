#include "flagfile.h"

#include <stdio.h>
#include <string.h>

#include "../base/glob.h"
#include "../platform/platform.h"
#include "../report/report.h"

/* A file while it is read. */
typedef struct pd__file {
  pd__words *words;
  const struct pd__file *outer; /* that includes it; or NULL */
  const char *path;
  uint32_t line;
  bool relevant; /* the flags that follow are for this program */
  bool patterns; /* the last line that said something held patterns */
} file;

/* Show the first `length` bytes of the line: what is behind them may be a secret. */
static void fail(file *run, const char *line, size_t length, const char *why) {
  char shown[PD__QUOTE_SIZE], quoted[PD__QUOTE_SIZE], place[PD__PLACE_SIZE];
  pd_origin origin = {PD_SOURCE_ARGV, run->line, run->path, 0};
  size_t room = sizeof shown - 1;
  snprintf(shown, sizeof shown, "%.*s", (int)(length < room ? length : room), line);
  pd__given_fail(&run->words->given, PD_ERR_FILE, "%s%s%s%s", pd__place_of(&origin, place),
                 pd__quote(quoted, shown), length > 0 ? ": " : "", why);
}

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

static const char blanks[] = " \t\r\v\f";

static void read_flag(file *run, char *line) {
  pd__item item = pd__item_split(line);
  item.origin = (pd_origin){PD_SOURCE_ARGV, run->line, run->path, 0};
  if (!pd__words_count(run->words, &item)) return;
  const char *complaint = NULL;
  size_t first = strcspn(item.name, blanks);
  if (first < item.length) {
    item.length = first;
    complaint = "a value stands behind =, as in --name=value";
  } else if (item.text && !strncmp(item.text, "$'", 2)) {
    complaint = unquote(line + (item.text - line));
  }
  if (complaint) {
    fail(run, line, (size_t)(item.name + item.length - line), complaint);
    return;
  }
  pd__words_take(run->words, &item, line);
}

static bool is_program(const file *run, const char *pattern, size_t length) {
  const char *program = run->words->program;
  return program && (pd__glob_match(pattern, length, program) ||
                     pd__glob_match(pattern, length, pd__base_name(program)));
}

/* A line that was meant as something else would silence all that follows. Gives whether
 * it was, and says so. */
static bool is_mistaken(file *run, const char *line) {
  const char *end = strchr(line, ']');
  size_t comment = *line == ';' ? 1 : !strncmp(line, "//", 2) ? 2 : 0;
  if (comment) {
    fail(run, line, comment, "expected # before a comment");
    return true;
  }
  if (*line == '[' && end && !end[1]) {
    fail(run, line, strlen(line), "sections begin with names of programs, without brackets");
    return true;
  }
  for (const char *c = line; *c; c++) {
    bool control = (unsigned char)*c < ' ' && !strchr(blanks, *c);
    if (*c != '=' && !control) continue;
    const char *why = control ? "isn't text" : "expected --name=value, or names of programs";
    fail(run, line, (size_t)(c - line), why);
    return true;
  }
  return false;
}

static bool is_flag(file *run, const char *word, size_t length) {
  pd__item item = {.dashes = "--", .name = word, .length = length};
  char why[PD_NAME_MAX + 64];
  if (length > PD_NAME_MAX || !pd__words_know(&item)) return false;
  snprintf(why, sizeof why, "expected --%.*s, or names of programs", (int)length, word);
  fail(run, word, length, why);
  return true;
}

/* Lines of patterns that follow one another are one list. */
static void read_patterns(file *run, const char *line) {
  bool relevant = run->patterns && run->relevant;
  if (is_mistaken(run, line)) return;
  while (*line) {
    size_t length = strcspn(line, blanks);
    bool matches = is_program(run, line, length);
    if (!matches && is_flag(run, line, length)) return;
    relevant |= matches;
    line += length;
    line += strspn(line, blanks);
  }
  run->patterns = true;
  run->relevant = relevant;
}

/* Gives what follows the line. */
static char *read_line(file *run, char *line) {
  char *end = line + strcspn(line, "\n");
  char *following = *end ? end + 1 : end;
  run->line++;
  line += strspn(line, blanks);
  while (end > line && strchr(blanks, end[-1])) end--;
  *end = '\0';
  if (*line == '-') {
    run->patterns = false;
    if (run->relevant) read_flag(run, line);
  } else if (*line && *line != '#') {
    read_patterns(run, line);
  }
  return following;
}

static void read_text(file *run, char *text, size_t length) {
  size_t whole = strlen(text);
  if (whole < length) {
    for (const char *at = text; at && at <= text + whole; run->line++) {
      at = memchr(at, '\n', (size_t)(text + whole - at));
      if (at) at++;
    }
    fail(run, "", 0, "holds a NUL byte, expected text");
    return;
  }
  if (!strncmp(text, "\xef\xbb\xbf", 3)) text += 3;
  while (*text && !run->words->closed) text = read_line(run, text);
}

static void fail_file(pd__words *words, const char *path, const pd__item *by, pd_status status,
                      const char *why) {
  char shown[PD__SOURCE_SIZE], quoted[PD__QUOTE_SIZE];
  const char *prefix = by->name ? pd__item_shown(by, shown) : "";
  pd__given_fail(&words->given, status, "%s%s%s%s%s", prefix, by->name ? "=" : "",
                 pd__quote(quoted, path), *path ? ": " : "", why);
}

static bool is_being_read(const pd__words *words, const char *path) {
  const file *at = words->file;
  while (at && strcmp(at->path, path) != 0) at = at->outer;
  return at != NULL;
}

void pd__flagfile_read(pd__words *words, const char *path, const pd__item *by) {
  char why[PD__READ_SIZE], *text;
  size_t length;
  if (is_being_read(words, path)) {
    fail_file(words, path, by, PD_ERR_DEPTH, "includes itself");
    return;
  }
  if (words->files == PD__FILES_MOST) {
    words->closed = true;
    fail_file(words, path, by, PD_ERR_DEPTH, "1000 files are read already");
    return;
  }
  words->files++;
  pd_status status = pd__platform_read(path, PD__BYTES_MOST - words->bytes, &text, &length, why);
  if (status == PD_ERR_MEMORY) words->given.out_of_memory = true;
  if (status == PD_ERR_FILE) fail_file(words, path, by, status, why);
  if (status != PD_OK) return;
  words->bytes += length;
  file run = {.words = words, .outer = words->file, .path = path, .relevant = true};
  words->file = &run;
  if (pd__words_own(words, text)) read_text(&run, text, length);
  words->file = run.outer;
}
