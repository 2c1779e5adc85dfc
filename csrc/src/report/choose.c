/* Which flags a help tells of. As in gflags, the name of the source file decides
 * that a definition stands in. */
#include <string.h>

#include "report.h"

static char fold_slash(char c) { return c == '\\' ? '/' : c; }

/* Whether `text` begins with the `length` bytes of `start`; slashes are alike. */
static bool begins(const char *text, const char *start, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (!text[i] || fold_slash(text[i]) != fold_slash(start[i])) return false;
  }
  return true;
}

/* Whether "/<stem>." stands in the path, or "<stem>." at its beginning. Before the dot may come
 * "-main" or "_main" where the file is a program's. */
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

/* The name of the program without what systems and languages put behind it. */
static size_t stem_length(const char *program) {
  const char *dot = strrchr(program, '.');
  bool ends = dot && dot > program && (!strcmp(dot, ".py") || !strcmp(dot, ".exe"));
  return ends ? (size_t)(dot - program) : strlen(program);
}

static bool is_of_program(const pd__row *row, const char *program) {
  return is_file(row->info.file, program, stem_length(program), true);
}

/* No source file is named as the program: what the image itself defines is its own. */
static bool is_of_image(const pd__row *row, const char *program) {
  return !strcmp(pd__base_name(row->info.module), program);
}

static size_t directory_length(const char *file) { return (size_t)(pd__base_name(file) - file); }

/* Whether the file stands in the directory of another, or below it. */
static bool is_beside(const char *file, const char *other) {
  size_t length = directory_length(other);
  return length > 0 ? begins(file, other, length) : directory_length(file) == 0;
}

typedef bool chooser(const pd__row *row, const char *program);

/* The files of the program, of which there are few, once each at most. */
typedef struct found {
  const char *files[16];
  size_t count;
} found;

static chooser *find_program(const pd__rows *rows, const char *program, found *own) {
  chooser *const ways[] = {is_of_program, is_of_image};
  for (size_t way = 0; way < 2; way++) {
    for (size_t i = 0; i < rows->count; i++) {
      const char *file = rows->items[i].info.file;
      if (!ways[way](&rows->items[i], program)) continue;
      bool known = own->count > 0 && is_beside(own->files[own->count - 1], file) &&
                   is_beside(file, own->files[own->count - 1]);
      if (!known && own->count < 16) own->files[own->count++] = file;
    }
    if (own->count > 0) return ways[way];
  }
  return is_of_program;
}

static bool is_wanted(const pd__row *row, pd_help_kind kind, const char *pattern,
                      const char *program, chooser *is_own, const found *own) {
  bool beside = false;
  switch (kind) {
    case PD_HELP_SHORT:
      return is_own(row, program);
    case PD_HELP_ON:
      return is_file(row->info.file, pattern, strlen(pattern), false);
    case PD_HELP_MATCH:
      return strstr(row->info.file, pattern) != NULL;
    case PD_HELP_PACKAGE:
      for (size_t i = 0; i < own->count; i++) beside |= is_beside(row->info.file, own->files[i]);
      return beside;
    default:
      return true;
  }
}

void pd__rows_choose(pd__rows *rows, pd_help_kind kind, const char *pattern, const char *program) {
  found own = {.count = 0};
  chooser *is_own = find_program(rows, program, &own);
  size_t kept = 0;
  for (size_t i = 0; i < rows->count; i++) {
    const pd__row *row = &rows->items[i];
    if (*row->info.retired || (row->info.hidden && kind != PD_HELP_FULL)) continue;
    if (is_wanted(row, kind, pattern, program, is_own, &own)) rows->items[kept++] = *row;
  }
  rows->count = kept;
}
