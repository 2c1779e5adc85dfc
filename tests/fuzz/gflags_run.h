// A case, done by each of the two libraries.
#pragma once

#include "gflags_case.h"

struct Outcome {
  enum Verdict { TAKEN, REFUSED, HELP } verdict = REFUSED;
  std::string help;                 // which, and its pattern
  std::vector<std::string> values;  // of each flag, in the same words for both libraries
  std::vector<bool> given;          // not the default, for each flag
  std::vector<std::string> line;    // as it was left, without the program's name
  size_t first = 0;                 // argument in it
  std::vector<std::string> errors;  // of ours
};

// Define the flags in both libraries, once in a process. Drops those that ours refuses
// and that `explained` accepts as refused; ends the process at another one.
void define(std::vector<Def> &defs, bool (*explained)(const std::vector<Def> &, const Def &));

// Each starts with all flags at their defaults. Ours also checks that an error changes
// nothing.
Outcome run_theirs(const Case &of);
Outcome run_ours(const Case &of);

// Whether gflags reads the text for the flag.
bool they_read(const Def &def, const std::string &text);
