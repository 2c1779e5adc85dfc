// What both libraries are given: flags, a command line, and the files and variables that
// it may lead to. All of it follows from a seed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#define PD_NO_MODULE_RECORD
#include <pd_flags.h>

#define PROGRAM "bin/diff"

struct Def {
  pd_type type;
  std::string name, fallback;
};

struct Case {
  std::vector<Def> defs;
  std::vector<std::string> words;  // without the program's name
  std::map<std::string, std::string> files, variables;
  bool removes = true;  // flags from the line

  const Def *find(std::string name) const;  // `-` and `_` are alike
};

std::string folded(std::string name);
std::string shown(const std::string &text);
void print(const Case &of);

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  size_t below(size_t end) { return next() % end; }
  bool chance(size_t percent) { return below(100) < percent; }
  template <typename List>
  auto of(const List &list) {
    return list[below(sizeof list / sizeof *list)];
  }

 private:
  uint64_t state_;
};

std::vector<Def> make_defs(uint64_t seed);
Case make_case(const std::vector<Def> &defs, uint64_t seed);
