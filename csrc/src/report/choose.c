/* Chooses the flags that a help page lists. As in gflags, the source file of the definition
 * decides. */
#include <string.h>

#include "report.h"

static char normalize_slash(char c) { return c == '\\' ? '/' : c; }

/* Returns true if `text` begins with the `length` bytes of `start`. Both kinds of slash are
 * equal. */
static bool has_path_prefix(const char *text, const char *start, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (!text[i] || normalize_slash(text[i]) != normalize_slash(start[i])) return false;
  }
  return true;
}

/* Returns true if the path contains "/<stem>.", or begins with "<stem>.". With `is_main`, "-main"
 * or "_main" may precede the dot. */
static bool is_file_named(const char *path, const char *stem, size_t length, bool is_main) {
  for (const char *at = path; *at; at++) {
    bool starts = at == path || normalize_slash(at[-1]) == '/';
    if (!starts || !has_path_prefix(at, stem, length)) continue;
    const char *rest = at + length;
    if (is_main && (has_path_prefix(rest, "-main", 5) || has_path_prefix(rest, "_main", 5)))
      rest += 5;
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
static bool is_in_directory(const char *file, const char *other) {
  size_t length = directory_length(other);
  return length > 0 ? has_path_prefix(file, other, length) : directory_length(file) == 0;
}

/* The program and its source files, one for each directory. */
typedef struct program_files {
  const char *program;
  bool by_image; /* no source file has the program's name: it owns the flags of its image */
  const char *files[16];
  size_t count;
} program_files;

static bool is_program_flag(const pd__row *row, const program_files *of) {
  if (of->by_image) return !strcmp(pd__base_name(row->info.module), of->program);
  return is_file_named(row->info.file, of->program, stem_length(of->program), true);
}

static void find_program_files(const pd__rows *rows, program_files *of) {
  for (size_t i = 0; i < rows->count; i++) {
    const char *file = rows->items[i].info.file;
    if (!is_program_flag(&rows->items[i], of)) continue;
    bool known = of->count > 0 && is_in_directory(of->files[of->count - 1], file) &&
                 is_in_directory(file, of->files[of->count - 1]);
    if (!known && of->count < 16) of->files[of->count++] = file;
  }
}

static bool is_listed_in_help(const pd__row *row, pd_help_kind kind, const char *pattern,
                              const program_files *of) {
  const char *file = row->info.file;
  bool beside = false;
  if (kind == PD_HELP_SHORT) return is_program_flag(row, of);
  if (kind == PD_HELP_ON) return is_file_named(file, pattern, strlen(pattern), false);
  if (kind == PD_HELP_MATCH) return strstr(file, pattern) != NULL;
  if (kind != PD_HELP_PACKAGE) return true;
  for (size_t i = 0; i < of->count; i++) beside |= is_in_directory(file, of->files[i]);
  return beside;
}

void pd__rows_filter_for_help(pd__rows *rows, pd_help_kind kind, const char *pattern,
                              const char *program) {
  program_files of = {.program = program};
  size_t kept = 0;
  find_program_files(rows, &of);
  of.by_image = of.count == 0;
  if (of.by_image) find_program_files(rows, &of);
  for (size_t i = 0; i < rows->count; i++) {
    const pd__row *row = &rows->items[i];
    if (*row->info.retired || (row->info.hidden && kind != PD_HELP_FULL)) continue;
    if (is_listed_in_help(row, kind, pattern, &of)) rows->items[kept++] = *row;
  }
  rows->count = kept;
}
