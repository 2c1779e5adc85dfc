#include "glob.h"

/* A position in a pattern, and the pattern's end. */
typedef struct cursor {
  const char *at;
  const char *end;
} cursor;

/* Returns the byte at the cursor and moves past it; \x is x. */
static char read_pattern_byte(cursor *pattern) {
  if (*pattern->at == '\\' && pattern->at + 1 < pattern->end) pattern->at++;
  return *pattern->at++;
}

/* The cursor is after a `[`. Returns true if the class contains `c`, and moves past the class.
 * *whole is false if the class has no end; then the `[` stands for itself. */
static bool match_class(cursor *pattern, char c, bool *whole) {
  cursor class = *pattern;
  bool negated = class.at < class.end && (*class.at == '!' || *class.at == '^');
  bool found = false, first = true;
  if (negated) class.at++;
  *whole = false;
  while (class.at < class.end && (first || *class.at != ']')) {
    unsigned char low = (unsigned char)read_pattern_byte(&class), high = low;
    if (class.at + 1 < class.end && class.at[0] == '-' && class.at[1] != ']') {
      class.at++;
      high = (unsigned char)read_pattern_byte(&class);
    }
    found |= low <= (unsigned char)c && (unsigned char)c <= high;
    first = false;
  }
  if (class.at >= class.end) return false;
  *whole = true;
  pattern->at = class.at + 1;
  return found != negated;
}

/* Matches one byte of the text against something other than a star. */
static bool match_byte(cursor *pattern, char c) {
  if (pattern->at >= pattern->end) return false;
  if (*pattern->at == '?') {
    pattern->at++;
    return c != '/';
  }
  if (*pattern->at == '[') {
    bool whole;
    cursor behind = {pattern->at + 1, pattern->end};
    bool found = match_class(&behind, c, &whole);
    if (whole) *pattern = behind;
    if (whole) return found && c != '/';
  }
  return read_pattern_byte(pattern) == c;
}

/* A star matches as little as possible, and more if the rest does not match. Only the last star has
 * to try again: a longer match of an earlier one cannot help. No star matches a slash. */
bool pd__glob_is_match(const char *pattern, size_t length, const char *text) {
  cursor at = {pattern, pattern + length}, star = {NULL, NULL};
  const char *retry = text;
  while (*text || at.at < at.end) {
    if (at.at < at.end && *at.at == '*') {
      at.at++;
      star = at;
      retry = text;
    } else if (*text && match_byte(&at, *text)) {
      text++;
    } else if (star.at && *retry && *retry != '/') {
      at = star;
      text = ++retry;
    } else {
      return false;
    }
  }
  return true;
}
