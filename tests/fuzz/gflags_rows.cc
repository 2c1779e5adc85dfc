#include "gflags_rows.h"

#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "gflags_run.h"

using std::string;

#define ROW_TEXT(name, text) text,
const char *const row_texts[ROW_COUNT] = {ROW_MAP(ROW_TEXT)};

static const char blanks[] = " \t\r\v\f";

// ---- Items

enum Place { LINE, IN_FILE, VARIABLE };

struct Item {
  Place place;
  string dashes, name, value;
  bool valued, apart;  // the value is a word of its own
};

static Item split(const string &word, Place place) {
  Item item = {place, word.substr(0, word.substr(0, 2) == "--" ? 2 : 1), "", "", false, false};
  string rest = word.substr(item.dashes.size());
  size_t equals = rest.find('=');
  item.name = rest.substr(0, equals);
  item.valued = equals != string::npos;
  if (item.valued) item.value = rest.substr(equals + 1);
  return item;
}

static string join(const Item &item) {
  return item.dashes + item.name + (item.valued && !item.apart ? "=" + item.value : "");
}

static bool is_one_of(const string &name, std::initializer_list<const char *> list) {
  for (const char *each : list) {
    if (name == each) return true;
  }
  return false;
}

static bool is_lead(const string &name) {
  return is_one_of(name, {"flagfile", "fromenv", "tryfromenv", "undefok"});
}

static bool is_help(const string &name) {
  return is_one_of(name, {"help", "helpfull", "helpshort", "helppackage", "helpxml", "version"});
}

static bool is_help_with_value(const string &name) {
  return is_one_of(name, {"helpon", "helpmatch"});
}

static bool is_flag(const string &word) { return word.size() > 1 && word[0] == '-'; }

static bool starts(const string &text, const char *with) { return text.rfind(with, 0) == 0; }

// It looks like a flag, and not like a number.
static bool begins_with_dash(const string &value) {
  return is_flag(value) && value[1] != '.' && !isdigit((unsigned char)value[1]);
}

static bool takes_value(const Case &of, const string &name) {
  const Def *def = of.find(name);
  return is_lead(name) || is_help_with_value(name) || (def && def->type != PD_TYPE_bool);
}

static bool is_wrong_list(const string &list) {
  for (size_t at = 0; at < list.size();) {
    size_t end = std::min(list.find(',', at), list.size());
    if (end == at || list[at] == '-') return true;
    at = end + 1;
  }
  return false;
}

static std::vector<string> items_of(const string &list) {
  std::vector<string> items;
  for (size_t at = 0; at < list.size();) {
    size_t end = std::min(list.find(',', at), list.size());
    items.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return items;
}

// The words of a line as gflags takes them: `flag` has each flag with its value, `other`
// each other word, and whether it is behind a --.
static void walk(const Case &of, const std::function<void(Item, size_t at)> &flag,
                 const std::function<void(const string &, bool)> &other) {
  bool ended = false;
  for (size_t i = 0; i < of.words.size(); i++) {
    const string &word = of.words[i];
    if (ended || !is_flag(word) || word == "--") {
      other(word, ended);
      ended |= word == "--";
      continue;
    }
    Item item = split(word, LINE);
    size_t at = i;
    if (!item.valued && takes_value(of, item.name) && i + 1 < of.words.size()) {
      item.value = of.words[++i];
      item.valued = item.apart = true;
    }
    flag(item, at);
  }
}

size_t count_behind(const Case &of) {
  size_t count = 0;
  walk(
      of, [](Item, size_t) {}, [&](const string &, bool behind) { count += behind; });
  return count;
}

// ---- Explaining

namespace {
class Explainer {
 public:
  explicit Explainer(const Case &of);
  Pair pair;

 private:
  const Case &of_;
  std::vector<string> excused_;  // by all lists of --undefok that are reached
  std::set<string> reached_;     // files
  std::set<string> seen_;        // names
  size_t lists_ = 0;
  bool help_ = false, wrong_list_ = false;

  void collect(const Item &item);
  void collect_file(const string &name);
  bool is_excused(const string &name) const;
  string all_excused() const;
  void explain_line();
  void explain_file(const string &name, const string &text);
  void explain_variables();
  // False: the item is left out of both. Otherwise it may have been rewritten.
  bool judge(Item &item);
  bool judge_unknown(Item &item);
  bool judge_list(Item &item);
  bool judge_value(const Def &def, Item &item);
  bool judge_quoted(Item &item);
  bool judge_double(const string &text);
  void judge_integer(const Def &def, string &text);
  bool keep_or_drop(string &line);
  bool is_alone(const Item &item) const;
  bool negates_some(const string &name) const;
  bool names_a_flag(const string &line) const;
  bool drop(Row row) {
    pair.rows.insert(row);
    return false;
  }
  void rewrite(Row row, string &text, const string &now) {
    if (text == now) return;
    pair.rows.insert(row);
    text = now;
  }
};
}  // namespace

Explainer::Explainer(const Case &of) : of_(of) {
  pair.ours = pair.theirs = of;
  walk(
      of, [&](const Item &item, size_t) { collect(item); }, [](const string &, bool) {});
  explain_line();
  for (auto &[name, text] : of.files) {
    if (reached_.count(name)) explain_file(name, text);
  }
  explain_variables();
}

Pair explain(const Case &of) { return Explainer(of).pair; }

void Explainer::collect(const Item &item) {
  help_ |= item.name.find("help") != string::npos || is_help(item.name) || item.name == "h" ||
           item.name == "noversion";
  seen_.insert(item.name);
  if (!item.valued || (item.apart && begins_with_dash(item.value))) return;
  std::vector<string> items = items_of(item.value);
  for (const string &each : items) {
    bool names = is_lead(item.name) && item.name != "flagfile";
    if (names && !negates_some(each)) seen_.insert(folded(each));
  }
  if (item.name == "undefok") {
    lists_++;
    wrong_list_ |= is_wrong_list(item.value);
    excused_.insert(excused_.end(), items.begin(), items.end());
  } else if (item.name == "flagfile") {
    for (const string &file : items) collect_file(file);
  } else if (is_lead(item.name) && of_.variables.count("FLAGS_flagfile")) {
    for (const string &name : items) {
      if (name != "flagfile") continue;
      for (const string &file : items_of(of_.variables.at("FLAGS_flagfile"))) collect_file(file);
    }
  }
}

void Explainer::collect_file(const string &name) {
  auto found = of_.files.find(name);
  if (found == of_.files.end() || !reached_.insert(name).second) return;
  const string &text = found->second;
  for (size_t at = starts(text, "\xef\xbb\xbf") ? 3 : 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    size_t first = text.find_first_not_of(blanks, at),
           last = text.find_last_not_of(blanks, end - 1);
    bool flag = first < end && text[first] == '-';
    if (flag) collect(split(text.substr(first, last + 1 - first), IN_FILE));
    at = end + 1;
  }
}

bool Explainer::is_excused(const string &name) const {
  for (const string &each : excused_) {
    string plain = folded(each), asked = folded(name);
    if (asked == plain || asked == "no" + plain || asked == "no_" + plain) return true;
  }
  return false;
}

// A list by which gflags excuses what ours does: the unknown names as they are spelled.
string Explainer::all_excused() const {
  string made = wrong_list_ ? ",," : "";
  for (const string &name : seen_) {
    if (of_.find(name) || negates_some(name) || !is_excused(name)) continue;
    made += (made.empty() ? "" : ",") + name;
  }
  return made;
}

// Whether an item that is left out makes a difference also where it stands alone.
bool Explainer::is_alone(const Item &item) const {
  const Def *def = of_.find(item.name);
  bool dash = item.apart && begins_with_dash(item.value);
  if (is_lead(item.name)) return false;
  bool slip = item.name[0] == '-';  // three dashes
  if (dash || slip) return !def || !item.valued || they_read(*def, item.value);
  return !pair.rows.count(UNDEFOK_NEGATION) && !pair.rows.count(HELP_WRONG_LIST);
}

void Explainer::explain_line() {
  pair.ours.words.clear();
  pair.theirs.words.clear();
  auto flag = [&](Item item, size_t at) {
    Item theirs = item;
    if (!judge(theirs)) {
      std::vector<string> words = {of_.words[at]};
      if (item.apart) words.push_back(item.value);
      if (is_alone(item)) pair.dropped.push_back(words);
      return;
    }
    pair.ours.words.push_back(of_.words[at]);
    pair.theirs.words.push_back(join(theirs));
    if (item.apart) pair.ours.words.push_back(item.value);
    if (item.apart) pair.theirs.words.push_back(theirs.value);
  };
  walk(of_, flag, [&](const string &word, bool) {
    pair.ours.words.push_back(word);
    pair.theirs.words.push_back(word);
  });
  pair.rewritten = pair.ours.words != pair.theirs.words;
}

// ---- Flagfiles

static string trimmed(const string &line) {
  size_t first = line.find_first_not_of(blanks);
  if (first == string::npos) return "";
  return line.substr(first, line.find_last_not_of(blanks) + 1 - first);
}

// Whether a word of a line of patterns, which isn't this program, is a flag.
bool Explainer::names_a_flag(const string &line) const {
  const string name = strrchr(PROGRAM, '/') + 1;
  for (size_t at = 0; (at = line.find_first_not_of(blanks, at)) != string::npos;) {
    string word = line.substr(at, line.find_first_of(blanks, at) - at);
    at += word.size();
    if (word == name) continue;
    if (of_.find(word) || is_lead(word) || is_help(word) || is_help_with_value(word)) return true;
    if (word == "h" || negates_some(word)) return true;
  }
  return false;
}

// Whether the line, which is rewritten, stays.
bool Explainer::keep_or_drop(string &line) {
  if (line.empty() || line[0] == '#') return true;
  if (line[0] == '-') {
    Item item = split(line, IN_FILE);
    if (!judge(item)) return false;
    line = join(item);
    return true;
  }
  if (line.find('=') != string::npos) return drop(FILE_NO_DASHES);
  if (names_a_flag(line)) return drop(FILE_FLAG);
  string spaced = line;
  for (char &c : spaced) {
    if (strchr(blanks, c)) c = ' ';
  }
  rewrite(FILE_TABS, line, spaced);
  return true;
}

void Explainer::explain_file(const string &name, const string &text) {
  bool marked = starts(text, "\xef\xbb\xbf");
  string ours = marked ? text.substr(0, 3) : "", theirs;
  if (marked) pair.rows.insert(FILE_MARK);
  for (size_t at = marked ? 3 : 0; at < text.size();) {
    size_t end = std::min(text.find('\n', at), text.size());
    string line = text.substr(at, end - at), now = line;
    bool returns = line.find('\r') != string::npos;
    now.erase(now.find_last_not_of(blanks) + 1);
    if (now != line && !trimmed(line).empty()) pair.rows.insert(returns ? FILE_ENDS : FILE_BLANKS);
    now = trimmed(line);
    if (keep_or_drop(now)) {
      ours += line + (end < text.size() ? "\n" : "");
      theirs += now + (end < text.size() ? "\n" : "");
    }
    at = end + 1;
  }
  pair.ours.files[name] = ours;
  pair.theirs.files[name] = theirs;
}

void Explainer::explain_variables() {
  for (auto &[variable, text] : of_.variables) {
    const Def *def = of_.find(variable.substr(strlen("FLAGS_")));
    if (is_one_of(text, {"fromenv", "tryfromenv"})) {
      pair.ours.variables[variable] = pair.theirs.variables[variable] = text + "_";
      pair.rows.insert(VARIABLE_CIRCLE);
    } else if (def) {
      Item item = {VARIABLE, "", def->name, text, true, false};
      bool kept = judge_value(*def, item);
      pair.theirs.variables[variable] = kept ? item.value : def->fallback;
      if (!kept) pair.ours.variables[variable] = def->fallback;
    }
  }
}

// ---- Flags

bool Explainer::judge(Item &item) {
  const Def *def = of_.find(item.name);
  bool in_file = item.place == IN_FILE;
  if (item.name.empty() || item.name[0] == '-') {
    if (def) return drop(THREE_DASHES);
    if (in_file) return drop(item.name.empty() && !item.valued ? FILE_DASHES : FILE_UNKNOWN);
    return true;
  }
  if (in_file && item.name.find_first_of(blanks) != string::npos) return drop(FILE_BLANK);
  if (item.apart && begins_with_dash(item.value)) return drop(DASH_VALUE);
  if (!item.valued && in_file && takes_value(of_, item.name)) return drop(FILE_MISSING);
  if (is_lead(item.name)) return judge_list(item);
  bool truth = def && def->type == PD_TYPE_bool;
  if (item.name == "h" && !truth && !item.valued) return drop(HELP_H);
  if (!def && (is_help(item.name) || is_help_with_value(item.name))) return true;
  if (!def) return judge_unknown(item);
  if (!item.valued) return true;
  if (in_file && starts(item.value, "$'") && !judge_quoted(item)) return false;
  return judge_value(*def, item);
}

bool Explainer::judge_unknown(Item &item) {
  bool in_file = item.place == IN_FILE, negation = starts(item.name, "no");
  string bare = negation ? item.name.substr(2) : "";
  const Def *def = negation ? of_.find(bare) : nullptr;
  bool dash = !def && bare.size() > 1 && folded(bare)[0] == '_';
  if (dash) def = of_.find(bare.substr(1));
  if ((def && def->type == PD_TYPE_bool) || (!def && negation && is_help(bare))) {
    if (item.valued && !dash) return drop(NEGATION_VALUE);
    if (item.valued && in_file) return drop(FILE_UNKNOWN);
    if (item.valued) return is_excused(item.name) ? drop(UNDEFOK_NEGATION) : true;
    if (dash) rewrite(DASH_BEHIND_NO, item.name, "no" + def->name);
    return true;
  }
  if (in_file && (def || !is_excused(item.name))) return drop(FILE_UNKNOWN);
  return def && is_excused(item.name) ? drop(UNDEFOK_NEGATION) : true;
}

// As ours reads it; `name` is no flag's.
bool Explainer::negates_some(const string &name) const {
  if (of_.find(name) || !starts(name, "no") || name.size() < 3) return false;
  return of_.find(name.substr(2)) || (folded(name)[2] == '_' && of_.find(name.substr(3)));
}

bool Explainer::judge_list(Item &item) {
  bool wrong = is_wrong_list(item.value), missing = false;
  if (!item.valued) return true;
  if (item.name == "undefok") {
    bool dashes = item.value.find_first_of("-_") != string::npos;
    Row row = lists_ > 1 ? UNDEFOK_SEVERAL : dashes ? DASHES : UNDEFOK_BOTH;
    rewrite(row, item.value, all_excused());
    return true;
  }
  for (const string &each : items_of(item.value)) {
    if (item.name == "flagfile" && each == ".") return drop(FILE_UNREADABLE);
    missing |= item.name == "flagfile" && !of_.files.count(each);
    if (item.name != "flagfile" && is_excused(each) && negates_some(each)) {
      return drop(UNDEFOK_NEGATION);
    }
  }
  if (help_ && (wrong || missing)) return drop(missing ? FILE_UNREADABLE : HELP_WRONG_LIST);
  if (item.name != "flagfile" && !wrong) rewrite(VARIABLE_DASH, item.value, folded(item.value));
  return true;
}

// ---- Values

// What stands in $'...', as bash reads it; false where it is wrong.
static bool unquoted(const string &text, string &out) {
  size_t at = 2;
  for (out.clear(); at < text.size() && text[at] != '\'';) {
    if (text[at] != '\\') {
      out += text[at++];
      continue;
    }
    char c = at + 1 < text.size() ? text[at + 1] : 0;
    size_t digits = c == 'x' ? 2 : 3, from = at + (c == 'x' ? 2 : 1);
    if (strchr("x01234567", c) && c) {
      out += (char)std::stoi(text.substr(from, digits), nullptr, c == 'x' ? 16 : 8);
      at = from + digits;
    } else {
      out += c == 't' ? '\t' : c;
      at += 2;
    }
  }
  return at + 1 == text.size();
}

bool Explainer::judge_quoted(Item &item) {
  string meant;
  if (!unquoted(item.value, meant)) return drop(FILE_QUOTED);
  rewrite(FILE_QUOTED, item.value, meant);
  return true;
}

bool Explainer::judge_value(const Def &def, Item &item) {
  const string &text = item.value;
  if (def.type == PD_TYPE_bool || def.type == PD_TYPE_string || text.empty()) return true;
  if (isspace((unsigned char)text[0])) return they_read(def, text) ? drop(BLANKS_IN_FRONT) : true;
  if (def.type == PD_TYPE_double) return judge_double(text);
  judge_integer(def, item.value);
  return true;
}

bool Explainer::judge_double(const string &text) {
  char *end;
  errno = 0;
  double value = strtod(text.c_str(), &end);
  if (*end) return true;
  if (errno == ERANGE && value != 0 && !std::isinf(value)) return drop(SMALL_DOUBLE);
  return std::isnan(value) && text.find('(') != string::npos ? drop(NAN_LETTERS) : true;
}

// [+-]0x1f, and -0 for the unsigned.
void Explainer::judge_integer(const Def &def, string &text) {
  bool minus = text[0] == '-', has_sign = minus || text[0] == '+';
  string rest = has_sign ? text.substr(1) : text;
  bool hex = starts(rest, "0x") || starts(rest, "0X");
  string digits = hex ? rest.substr(2) : rest;
  const char *known = hex ? "0123456789abcdefABCDEF" : "0123456789";
  if (!has_sign || digits.empty() || digits.find_first_not_of(known) != string::npos) return;
  bool zero = digits.find_first_not_of('0') == string::npos;
  bool is_unsigned = def.type == PD_TYPE_uint32 || def.type == PD_TYPE_uint64;
  errno = 0;
  unsigned long long number = strtoull(digits.c_str(), nullptr, hex ? 16 : 10);
  if (is_unsigned && minus && zero) {
    rewrite(SIGNED_ZERO, text, "0");
  } else if (hex && errno == 0 && !(is_unsigned && minus)) {
    rewrite(SIGNED_HEX, text, (minus ? "-" : "") + std::to_string(number));
  }
}

bool explain_refusal(const std::vector<Def> &others, const Def &def) {
  auto negates = [](const Def &one, const Def &other) {
    bool named = other.name == "no" + one.name || other.name == "no_" + one.name;
    return one.type == PD_TYPE_bool && named;
  };
  for (const Def &other : others) {
    if (negates(def, other) || negates(other, def)) return true;
  }
  return false;
}
