#include "gflags_case.h"

#include <algorithm>
#include <cstdio>

using std::string;

std::string folded(string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

const Def *Case::find(string name) const {
  for (const Def &def : defs) {
    if (def.name == folded(name)) return &def;
  }
  return nullptr;
}

string shown(const string &text) {
  string out = "'";
  char escape[8];
  for (unsigned char c : text) {
    snprintf(escape, sizeof escape, c < ' ' || c > '~' || c == '\\' ? "\\x%02x" : "%c", c);
    out += escape;
  }
  return out + "'";
}

void print(const Case &of) {
  printf("  flags:");
  for (const Def &def : of.defs) {
    printf(" %s %s=%s", pd_type_name(def.type), def.name.c_str(), shown(def.fallback).c_str());
  }
  printf("\n  line:");
  for (const string &word : of.words) printf(" %s", shown(word).c_str());
  printf("%s\n", of.removes ? "" : "  (reordered)");
  for (auto &[name, text] : of.files) printf("  file %s: %s\n", name.c_str(), shown(text).c_str());
  for (auto &[name, text] : of.variables) printf("  %s=%s\n", name.c_str(), shown(text).c_str());
}

uint64_t Random::next() {  // splitmix64
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

// ---- Values

static const char *const edges[] = {"",
                                    " ",
                                    "0",
                                    "-0",
                                    "+0",
                                    "-1",
                                    "+7",
                                    "007",
                                    "08",
                                    "0x",
                                    "0x10",
                                    "-0x10",
                                    "+0x10",
                                    "0X1f",
                                    "0x-5",
                                    " 5",
                                    "\t-5",
                                    " -5",
                                    "5 ",
                                    "- 5",
                                    "5x",
                                    "3.9",
                                    "1e3",
                                    "1_000",
                                    "1,000",
                                    ".5",
                                    "5.",
                                    ".",
                                    "-.5",
                                    "1e",
                                    "1e400",
                                    "-1e400",
                                    "1e-310",
                                    "1e-400",
                                    "0x1p3",
                                    "0x.8",
                                    "0x.p1",
                                    "inf",
                                    "-INF",
                                    "Infinity",
                                    "nan",
                                    "NaN",
                                    "-nan",
                                    "nan(1)",
                                    "infinit",
                                    "true",
                                    "TRUE",
                                    "t",
                                    "Yes",
                                    "y",
                                    "no",
                                    "oN",
                                    "false",
                                    "2147483647",
                                    "2147483648",
                                    "--x",
                                    "-2147483648",
                                    "-2147483649",
                                    "4294967295",
                                    "4294967296",
                                    "--",
                                    "9223372036854775807",
                                    "9223372036854775808",
                                    "-9223372036854775808",
                                    "-",
                                    "-9223372036854775809",
                                    "18446744073709551615",
                                    "18446744073709551616",
                                    "a b",
                                    "\xc3\xa9",
                                    "a=b",
                                    "\n",
                                    "0x8000000000000000",
                                    "0x80000000",
                                    "00x10",
                                    "+-5",
                                    "0b1",
                                    "1e-5",
                                    "\v1",
                                    "fromenv",
                                    "-0x0",
                                    "-00",
                                    "0.1",
                                    "1e22"};

static string good_value(Random &random, pd_type type) {
  static const char *const bools[] = {"true", "false", "1", "0", "yes", "n", "T", "F"};
  static const char *const texts[] = {"", "x", "a b", "fast", "1", "x=y", "/tmp", "$x", "true"};
  uint64_t number = random.next() >> random.below(64);
  bool minus = random.chance(40);
  char text[64];
  switch (type) {
    case PD_TYPE_bool:
      return random.of(bools);
    case PD_TYPE_string:
      return random.of(texts);
    case PD_TYPE_double:
      snprintf(text, sizeof text, "%s%.*g", minus ? "-" : "", (int)random.below(18),
               (double)number / 1000);
      return text;
    case PD_TYPE_int32:
      return (minus ? "-" : "") + std::to_string(number & INT32_MAX);
    case PD_TYPE_uint32:
      return std::to_string(number & UINT32_MAX);
    case PD_TYPE_int64:
      return (minus ? "-" : "") + std::to_string(number & INT64_MAX);
    default:
      snprintf(text, sizeof text, minus ? "0x%llx" : "%llu", (unsigned long long)number);
      return text;
  }
}

static string value(Random &random, pd_type type) {
  if (random.chance(78)) return good_value(random, type);
  string text = random.of(edges);
  static const char more[] = "0123456789abcdefxX+-. \teEpPn_,";
  if (random.chance(20)) text.insert(random.below(text.size() + 1), 1, random.of(more));
  return text.c_str();  // the table's NUL ends it
}

// ---- Names

static const char *const names[] = {"b",      "x",       "i",     "n",     "dry_run", "notify",
                                    "no",     "verbose", "nob",   "level", "v5",      "h",
                                    "not_me", "no_x",    "a_b_c", "s",     "path",    "o",
                                    "helper", "noisy",   "_u",    "undef", "A"};
static const char *const unknown[] = {"foo", "foo-bar",   "foo_bar", "nofoo", "no-foo", "zz",
                                      "5",   "nofoo-bar", "B",       "boo",   "nozz",   "no-zz"};

std::vector<Def> make_defs(uint64_t seed) {
  Random random(seed);
  Case made;
  size_t count = 1 + random.below(12);
  for (size_t i = 0; i < count; i++) {
    Def def = {(pd_type)(1 + random.below(7)), random.of(names), ""};
    if (random.chance(25)) def.type = PD_TYPE_bool;
    def.fallback = good_value(random, def.type);
    if (!made.find(def.name)) made.defs.push_back(def);
  }
  return made.defs;
}

// A name with some of its dashes and underscores changed.
static string spelled(Random &random, string name) {
  for (size_t i = 0; i < name.size(); i++) {
    if (name[i] == '_' && random.chance(30)) name[i] = '-';
  }
  return name;
}

static string some_name(Random &random, const Case &of) {
  if (random.chance(10)) return random.of(unknown);
  return spelled(random, of.defs[random.below(of.defs.size())].name);
}

// Names for --undefok, or of variables; only a line reads files by them, or gflags might
// never end.
static string list(Random &random, const Case &of, bool excuses, bool line) {
  string made;
  for (size_t left = 1 + random.below(3); left > 0; left--) {
    if (!made.empty()) made += ',';
    if (random.chance(2)) made += random.chance(50) ? "-" : ",";
    if (line && !excuses && random.chance(5)) {
      made += "flagfile";
      continue;
    }
    made += excuses && random.chance(85) ? random.of(unknown) : some_name(random, of);
  }
  return random.chance(3) ? made + "," : random.chance(2) ? "" : made;
}

static string files(Random &random, char after) {
  string made;
  while (after < 'c' && made.size() < 3 && random.chance(made.empty() ? 100 : 20)) {
    if (!made.empty()) made += ',';
    made += (char)(after + 1 + random.below('c' - after));
  }
  if (random.chance(3)) made = random.chance(50) ? "." : "missing";
  return made;
}

// ---- Lines

static string negated(Random &random, const string &name) {
  return random.chance(80) ? "no" + name : random.chance(50) ? "no-" + name : "no_" + name;
}

// A flag with its value, in one word or in two.
static void add_flag(Random &random, Case &into, std::vector<string> &words, bool line) {
  const Def &def = into.defs[random.below(into.defs.size())];
  string word = random.chance(60) || !line ? "--" : "-", name = spelled(random, def.name);
  bool truth = def.type == PD_TYPE_bool;
  if (random.chance(1)) word += "-";
  if (random.chance(truth ? 30 : 2)) {
    word += negated(random, name);
    if (random.chance(4)) word += "=" + value(random, PD_TYPE_bool);
    words.push_back(word);
    return;
  }
  word += name;
  bool bare = truth && random.chance(60), next = !bare && random.chance(line ? 35 : 2);
  if (!bare && !next) word += "=" + value(random, def.type);
  words.push_back(word);
  if (next && line) words.push_back(value(random, def.type));
}

static void add_special(Random &random, Case &into, std::vector<string> &words, bool line,
                        char after) {
  static const char *const help[] = {"--help",     "-help",         "--nohelp",   "--help=false",
                                     "--helpfull", "--helpshort",   "--helpon=x", "--helpmatch=y",
                                     "--version",  "--noversion",   "-h",         "--help=maybe",
                                     "--helpxml",  "--helppackage", "--helpon=",  "--nohelp=1"};
  string value;
  switch (random.below(10)) {
    case 0:
    case 1:
    case 2:
      value = files(random, after);
      if (value.empty()) return;
      words.push_back("--flagfile=" + value);
      break;
    case 3:
    case 4:
      words.push_back("--fromenv=" + list(random, into, false, line));
      break;
    case 5:
      words.push_back("--tryfromenv=" + list(random, into, false, line));
      break;
    case 6:
    case 7:
      words.push_back("--undefok=" + list(random, into, true, line));
      break;
    case 8:
      words.push_back((random.chance(50) ? "--" : "-") + string(random.of(unknown)));
      if (random.chance(30)) words.back() += "=" + ::value(random, PD_TYPE_string);
      break;
    default:
      if (random.chance(25)) words.push_back(random.of(help));
  }
  size_t equals = words.empty() ? string::npos : words.back().find('=');
  if (!line || equals == string::npos || !random.chance(20)) return;
  value = words.back().substr(equals + 1);  // in a word of its own
  words.back().resize(equals);
  words.push_back(value);
}

static string make_file(Random &random, Case &into, char name) {
  static const char *const patterns[] = {"diff",       "d*",      "other", "other diff",
                                         "bin/diff",   "x\tdiff", "?if?",  "*/diff",
                                         "[a-d]iff x", "b=c",     "*"};
  static const char *const odd[] = {"# --b", "", "   ", "--", "-", "--=5", "--i 5", "---b"};
  static const char *const quoted[] = {"$'a\\tb'", "$'\\x41\\102'", "$'it\\'s '", "$'a", "$'1'"};
  static const char *const ends[] = {"\n", "\n", "\n", "\n", "\n", " \n", "\t\n", "\r\n", "\n\n"};
  string text = random.chance(2) ? "\xef\xbb\xbf" : "";
  bool sections = false;
  for (size_t left = random.below(5); left > 0; left--) {
    std::vector<string> lines;
    size_t kind = random.below(100);
    if (kind < 70) {
      add_flag(random, into, lines, false);
      if (random.chance(4)) lines.back() = "--s=" + string(random.of(quoted));
    } else if (kind < 82 && !sections) {
      add_special(random, into, lines, false, name);
    } else if (kind < 94) {
      lines.push_back(random.of(patterns));
      sections = true;
    } else {
      lines.push_back(random.of(odd));
    }
    if (!lines.empty() && lines[0].find_first_of("\n\r\v") != string::npos) continue;
    for (const string &line : lines)
      text += (random.chance(5) ? "  " : "") + line + random.of(ends);
  }
  if (!text.empty() && text.back() == '\n' && random.chance(20)) text.pop_back();
  return text;
}

Case make_case(const std::vector<Def> &defs, uint64_t seed) {
  static const char *const arguments[] = {"a", "b", "file.txt", "", "-", "5", "x=y", "true", "c"};
  static const char *const numbers[] = {"-5", "-.5", "--5", "-0"};
  Random random(seed);
  Case made;
  made.defs = defs;
  made.removes = random.chance(50);
  for (char name = 'a'; name <= 'c'; name++) {
    made.files[string(1, name)] = make_file(random, made, name);
  }
  for (size_t left = random.below(4); left > 0; left--) {
    const Def &def = defs[random.below(defs.size())];
    string text = value(random, def.type), name = def.name;
    if (random.chance(5)) name = "no" + name;
    made.variables["FLAGS_" + name] = text;
  }
  if (random.chance(10)) made.variables["FLAGS_flagfile"] = random.chance(50) ? "b" : "c,";
  for (size_t left = random.below(8); left > 0; left--) {
    size_t kind = random.below(100);
    if (kind < 62) {
      add_flag(random, made, made.words, true);
    } else if (kind < 82) {
      made.words.push_back(random.of(arguments));
    } else if (kind < 84) {
      made.words.push_back(random.of(numbers));
    } else if (kind < 88) {
      made.words.push_back("--");
    } else {
      add_special(random, made, made.words, true, 'a' - 1);
    }
  }
  return made;
}
