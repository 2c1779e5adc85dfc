/* Chooses the flags that a help page lists. As in gflags, the source file of the definition
 * decides. */
#include <string.h>

#include "report.h"

static char fold_slash(char c) { return c == '\\' ? '/' : c; }

/* Returns true if `text` begins with the `length` bytes of `start`. Both kinds of slash are
 * equal. */
static bool begins(const char *text, const char *start, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (!text[i] || fold_slash(text[i]) != fold_slash(start[i])) return false;
  }
  return true;
}

/* Returns true if the path contains "/<stem>.", or begins with "<stem>.". With `is_main`, "-main"
 * or "_main" may precede the dot. */
static bool is_file(const char *path, const char *stem, size_t length, bool is_main) {
  for (const char *at = path; *at; at++) {
    bool starts = at == path || fold_slash(at[-1]) == '/';
    if (!starts || !begins(at, stem, length)) continue;
    const char *rest = at + length;
    if (is_main && (begins(rest, "-main", 5) || begins(rest, "_main", 5))) rest += 5;
    if (*rest == '.') return true;
  }
  return false;
}

/* Returns the length of the program's name without .py or .exe. */
static size_t stem_length(const char *program) {
  const char *dot = strrchr(program, '.');
  bool ends = dot && dot > program && (!strcmp(dot, ".py") || !strcmp(dot, ".exe"));
  return ends ? (size_t)(dot - program) : strlen(program);
}

static size_t directory_length(const char *file) { return (size_t)(pd__base_name(file) - file); }

/* Returns true if the file is in the directory of another file, or below it. */
static bool is_beside(const char *file, const char *other) {
  size_t length = directory_length(other);
  return length > 0 ? begins(file, other, length) : directory_length(file) == 0;
}

/* The program and its source files, one for each directory. */
typedef struct own {
  const char *program;
  bool by_image; /* no source file has the program's name: it owns the flags of its image */
  const char *files[16];
  size_t count;
} own;

static bool is_own(const pd__row *row, const own *of) {
  if (of->by_image) return !strcmp(pd__base_name(row->info.module), of->program);
  return is_file(row->info.file, of->program, stem_length(of->program), true);
}

static void find_files(const pd__rows *rows, own *of) {
  for (size_t i = 0; i < rows->count; i++) {
    const char *file = rows->items[i].info.file;
    if (!is_own(&rows->items[i], of)) continue;
    bool known = of->count > 0 && is_beside(of->files[of->count - 1], file) &&
                 is_beside(file, of->files[of->count - 1]);
    if (!known && of->count < 16) of->files[of->count++] = file;
  }
}

static bool is_wanted(const pd__row *row, pd_help_kind kind, const char *pattern, const own *of) {
  const char *file = row->info.file;
  bool beside = false;
  if (kind == PD_HELP_SHORT) return is_own(row, of);
  if (kind == PD_HELP_ON) return is_file(file, pattern, strlen(pattern), false);
  if (kind == PD_HELP_MATCH) return strstr(file, pattern) != NULL;
  if (kind != PD_HELP_PACKAGE) return true;
  for (size_t i = 0; i < of->count; i++) beside |= is_beside(file, of->files[i]);
  return beside;
}

void pd__rows_choose(pd__rows *rows, pd_help_kind kind, const char *pattern, const char *program) {
  own of = {.program = program};
  size_t kept = 0;
  find_files(rows, &of);
  of.by_image = of.count == 0;
  if (of.by_image) find_files(rows, &of);
  for (size_t i = 0; i < rows->count; i++) {
    const pd__row *row = &rows->items[i];
    if (*row->info.retired || (row->info.hidden && kind != PD_HELP_FULL)) continue;
    if (is_wanted(row, kind, pattern, &of)) rows->items[kept++] = *row;
  }
  rows->count = kept;
}
