#include "glob.h"

/* Where matching stands: a pattern's next byte, and its end. */
typedef struct cursor {
  const char *at;
  const char *end;
} cursor;

/* The byte at the cursor, which it moves behind; \x is x. */
static char take(cursor *pattern) {
  if (*pattern->at == '\\' && pattern->at + 1 < pattern->end) pattern->at++;
  return *pattern->at++;
}

/* Behind a `[`: whether the class has `c`; the cursor moves behind it. False in
 * *whole: the class has no end, and the `[` is one like any other byte. */
static bool in_class(cursor *pattern, char c, bool *whole) {
  cursor class = *pattern;
  bool negated = class.at < class.end && (*class.at == '!' || *class.at == '^');
  bool found = false, first = true;
  if (negated) class.at++;
  *whole = false;
  while (class.at < class.end && (first || *class.at != ']')) {
    unsigned char low = (unsigned char)take(&class), high = low;
    if (class.at + 1 < class.end && class.at[0] == '-' && class.at[1] != ']') {
      class.at++;
      high = (unsigned char)take(&class);
    }
    found |= low <= (unsigned char)c && (unsigned char)c <= high;
    first = false;
  }
  if (class.at >= class.end) return false;
  *whole = true;
  pattern->at = class.at + 1;
  return found != negated;
}

/* Match one byte of the text, which isn't a star's. */
static bool match_one(cursor *pattern, char c) {
  if (pattern->at >= pattern->end) return false;
  if (*pattern->at == '?') {
    pattern->at++;
    return c != '/';
  }
  if (*pattern->at == '[') {
    bool whole;
    cursor behind = {pattern->at + 1, pattern->end};
    bool found = in_class(&behind, c, &whole);
    if (whole) *pattern = behind;
    if (whole) return found && c != '/';
  }
  return take(pattern) == c;
}

/* A star takes as little as it can, and more where the rest doesn't fit; only the
 * last one need try again, since what is before it can't fit better. None takes a
 * slash, so each part of a path stands for itself. */
bool pd__glob_match(const char *pattern, size_t length, const char *text) {
  cursor at = {pattern, pattern + length}, star = {NULL, NULL};
  const char *retry = text;
  while (*text || at.at < at.end) {
    if (at.at < at.end && *at.at == '*') {
      at.at++;
      star = at;
      retry = text;
    } else if (*text && match_one(&at, *text)) {
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
