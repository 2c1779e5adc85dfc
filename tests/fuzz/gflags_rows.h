// The known differences from gflags: X(name here, its row in docs/reference/gflags-differences.md).
#pragma once

#include <set>
#include "gflags_case.h"

#define ROW_MAP(X)                                                                                 \
  X(DASH_VALUE, "A value that begins with a dash")                                                 \
  X(NEGATION_VALUE, "A value for `--noflag`")                                                      \
  X(DASHES, "Dashes in names")                                                                     \
  X(DASH_BEHIND_NO, "A dash after `no`")                                                           \
  X(THREE_DASHES, "Three dashes")                                                                  \
  X(ARGUMENTS, "Arguments after `--`")                                                             \
  X(NEGATION_DEFINED, "A flag that is named like a negation")                                      \
  X(BLANKS_IN_FRONT, "Blanks before a number")                                                     \
  X(SIGNED_HEX, "A negative number in hexadecimal")                                                \
  X(SIGNED_ZERO, "Zero with a sign for an unsigned flag")                                          \
  X(SMALL_DOUBLE, "Very small doubles")                                                            \
  X(NAN_LETTERS, "NaN with letters")                                                               \
  X(FILE_UNKNOWN, "An unknown name in a flagfile")                                                 \
  X(FILE_MISSING, "A missing value in a flagfile")                                                 \
  X(FILE_BLANK, "A value after a blank")                                                           \
  X(FILE_DASHES, "Two dashes alone in a flagfile")                                                 \
  X(FILE_NO_DASHES, "A line without dashes")                                                       \
  X(FILE_FLAG, "A program that is named like a flag")                                              \
  X(FILE_BLANKS, "Blanks at the end of a line")                                                    \
  X(FILE_QUOTED, "A value in `$'...'`")                                                            \
  X(FILE_ENDS, "The ends of lines")                                                                \
  X(FILE_MARK, "A byte order mark")                                                                \
  X(FILE_TABS, "Patterns of programs")                                                             \
  X(FILE_UNREADABLE, "A file that can't be read")                                                  \
  X(VARIABLE_DASH, "Names with a dash or a dot")                                                   \
  X(VARIABLE_CIRCLE, "A variable that says `fromenv`")                                             \
  X(UNDEFOK_SEVERAL, "Several lists of `--undefok`")                                               \
  X(UNDEFOK_BOTH, "`--undefok=foo` with `--foo` and `--nofoo`")                                    \
  X(UNDEFOK_NEGATION, "A wrong negation that `--undefok` names")                                   \
  X(HELP_WRONG_LIST, "Help beside a malformed list")                                               \
  X(HELP_H, "`-h`")

enum Row {
#define ROW_ENUM(name, text) name,
  ROW_MAP(ROW_ENUM) ROW_COUNT
};

extern const char *const row_texts[ROW_COUNT];

// A case in which the known differences are none any more: what ours refuses and gflags
// takes, or the other way round, is left out of both, or is written for gflags as that
// which it means here. All else must come out equal.
struct Pair {
  Case ours, theirs;
  std::set<Row> rows;
  bool rewritten = false;                         // a word of gflags' line
  std::vector<std::vector<std::string>> dropped;  // from the line, each alone a difference
};

Pair explain(const Case &of);

// Whether ours refuses the definition beside the others.
bool explain_refusal(const std::vector<Def> &others, const Def &def);

// How many arguments stand behind a -- that ends the flags of the line.
size_t count_behind(const Case &of);
