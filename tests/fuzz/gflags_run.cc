#include "gflags_run.h"

#include <gflags/gflags.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

using std::string;

DECLARE_bool(help);
DECLARE_bool(helpfull);
DECLARE_bool(helpshort);
DECLARE_bool(helppackage);
DECLARE_bool(helpxml);
DECLARE_bool(version);
DECLARE_string(helpon);
DECLARE_string(helpmatch);

// A variable of any type, and its default.
struct Slot {
  bool b;
  gflags::int32 i32;
  gflags::uint32 u32;
  gflags::int64 i64;
  gflags::uint64 u64;
  double f64;
  string text;
};

struct Flag {
  Slot now, fallback;
  pd_flag *ours;
};

static std::vector<Flag *> flags;  // as the defs of every case

[[noreturn]] static void die(const string &why) {
  printf("%s\n", why.c_str());
  fflush(stdout);
  _exit(1);
}

// ---- Definitions

template <typename T>
static void give(const Def &def, T *now, T *fallback, T value) {
  *now = *fallback = value;
  gflags::FlagRegisterer(strdup(def.name.c_str()), "", "fuzz.cc", now, fallback);
}

static void define_theirs(const Def &def, Flag &flag, const pd_value &value) {
  Slot &now = flag.now, &fallback = flag.fallback;
  switch (def.type) {
    case PD_TYPE_bool:
      return give(def, &now.b, &fallback.b, value.b);
    case PD_TYPE_int32:
      return give(def, &now.i32, &fallback.i32, (gflags::int32)value.i64);
    case PD_TYPE_uint32:
      return give(def, &now.u32, &fallback.u32, (gflags::uint32)value.u64);
    case PD_TYPE_int64:
      return give(def, &now.i64, &fallback.i64, (gflags::int64)value.i64);
    case PD_TYPE_uint64:
      return give(def, &now.u64, &fallback.u64, (gflags::uint64)value.u64);
    case PD_TYPE_double:
      return give(def, &now.f64, &fallback.f64, value.f64);
    default:
      return give(def, &now.text, &fallback.text, string(value.str));
  }
}

static pd_value read_default(const Def &def) {
  pd_value value;
  memset(&value, 0, sizeof value);
  if (def.type == PD_TYPE_string) value.str = strdup(def.fallback.c_str());
  if (def.type == PD_TYPE_bool) value.b = strchr("1tTyY", def.fallback[0]) != nullptr;
  if (def.type == PD_TYPE_double) value.f64 = strtod(def.fallback.c_str(), nullptr);
  if (def.type == PD_TYPE_int32 || def.type == PD_TYPE_int64) {
    value.i64 = strtoll(def.fallback.c_str(), nullptr, 10);
  }
  bool hex = def.fallback.substr(0, 2) == "0x";
  if (def.type == PD_TYPE_uint32 || def.type == PD_TYPE_uint64) {
    value.u64 = strtoull(def.fallback.c_str(), nullptr, hex ? 16 : 10);
  }
  return value;
}

void define(std::vector<Def> &defs, bool (*explained)(const std::vector<Def> &, const Def &)) {
  std::vector<Def> defined;
  for (const Def &def : defs) {
    pd_flag_def ours;
    pd_flag *handle = nullptr;
    pd_error err;
    pd_flag_def_init(&ours, sizeof ours, def.type);
    ours.name = def.name.c_str();
    ours.file = "fuzz.cc";
    ours.default_value = read_default(def);
    bool refused = pd_flag_register(&ours, &handle, &err) != PD_OK;
    if (refused != explained(defined, def)) die("definition: " + def.name + ": " + err.message);
    if (refused) continue;
    flags.push_back(new Flag());
    flags.back()->ours = handle;
    define_theirs(def, *flags.back(), ours.default_value);
    defined.push_back(def);
  }
  defs = defined;
}

// ---- Values

static string of_double(double value) {
  char text[64];
  snprintf(text, sizeof text, "%.17g", value);
  return std::isnan(value) ? "nan" : text;
}

static string value_of_theirs(const Def &def, const Slot &slot) {
  switch (def.type) {
    case PD_TYPE_bool:
      return slot.b ? "true" : "false";
    case PD_TYPE_int32:
      return std::to_string(slot.i32);
    case PD_TYPE_uint32:
      return std::to_string(slot.u32);
    case PD_TYPE_int64:
      return std::to_string(slot.i64);
    case PD_TYPE_uint64:
      return std::to_string(slot.u64);
    case PD_TYPE_double:
      return of_double(slot.f64);
    default:
      return slot.text;
  }
}

static string value_of_ours(const Def &def, const pd_flag *flag) {
  double number = 0;
  const char *string_value = "";
  size_t length = 0;
  if (def.type == PD_TYPE_double) {
    pd_flag_get_double(flag, &number, nullptr);
    return of_double(number);
  }
  if (def.type == PD_TYPE_string) {
    pd_flag_get_string(flag, &string_value, nullptr);
    return string_value;
  }
  char text[64];
  pd_flag_get_text(flag, text, sizeof text, &length, nullptr);
  return text;
}

// ---- Files and variables

// They live in memory, and in the current directory by links.
static void write_files(const Case &of) {
  static std::map<string, std::pair<int, string>> written;
  for (auto &[name, text] : of.files) {
    auto &[file, before] = written[name];
    if (file == 0) {
      file = memfd_create("flags", 0);
      string path = "/proc/self/fd/" + std::to_string(file);
      unlink(name.c_str());
      if (symlink(path.c_str(), name.c_str()) != 0) die("symlink");
    } else if (before == text) {
      continue;
    }
    before = text;
    bool done = ftruncate(file, 0) == 0 && pwrite(file, text.data(), text.size(), 0) >= 0;
    if (!done) die("write");
  }
}

static void set_variables(const Case &of) {
  static std::map<string, string> before;
  if (before == of.variables) return;
  for (auto &[name, text] : before) unsetenv(name.c_str());
  for (auto &[name, text] : of.variables) setenv(name.c_str(), text.c_str(), 1);
  before = of.variables;
}

static void prepare(const Case &of, std::vector<char *> &words) {
  write_files(of);
  set_variables(of);
  static char program[] = PROGRAM;
  words.push_back(program);
  for (const string &word : of.words) words.push_back(const_cast<char *>(word.c_str()));
  words.push_back(nullptr);
}

static void keep_line(int argc, char **argv, size_t first, Outcome &out) {
  for (int i = 1; i < argc; i++) out.line.push_back(argv[i]);
  out.first = first - 1;
}

// ---- gflags

// The library has it for its tests.
namespace google {
extern void (*gflags_exitfunc)(int);
}

struct Exit {};
static void leave(int) { throw Exit(); }

// As gflags chooses among several.
static string help_of_theirs() {
  if (FLAGS_helpshort) return "helpshort";
  if (FLAGS_help) return "help";
  if (FLAGS_helpfull) return "helpfull";
  if (!FLAGS_helpon.empty()) return "helpon " + FLAGS_helpon;
  if (!FLAGS_helpmatch.empty()) return "helpmatch " + FLAGS_helpmatch;
  if (FLAGS_helppackage) return "helppackage";
  if (FLAGS_helpxml) return "helpxml";
  return FLAGS_version ? "version" : "";
}

Outcome run_theirs(const Case &of) {
  Outcome out;
  std::vector<char *> words;
  google::gflags_exitfunc = leave;
  for (Flag *flag : flags) flag->now.f64 = flag->fallback.f64;  // a saver takes -0 for 0
  gflags::FlagSaver saver;
  prepare(of, words);
  int argc = (int)words.size() - 1;
  char **argv = words.data();
  try {
    gflags::uint32 first = gflags::ParseCommandLineNonHelpFlags(&argc, &argv, of.removes);
    out.verdict = Outcome::TAKEN;
    keep_line(argc, argv, first, out);
  } catch (const Exit &) {
    out.verdict = Outcome::REFUSED;
  }
  out.help = help_of_theirs();
  if (!out.help.empty()) out.verdict = Outcome::HELP;
  for (size_t i = 0; i < flags.size(); i++) {
    gflags::CommandLineFlagInfo info;
    gflags::GetCommandLineFlagInfo(of.defs[i].name.c_str(), &info);
    out.given.push_back(!info.is_default);
    out.values.push_back(value_of_theirs(of.defs[i], flags[i]->now));
  }
  return out;
}

bool they_read(const Def &def, const string &text) {
  gflags::FlagSaver saver;
  return !gflags::SetCommandLineOption(def.name.c_str(), text.c_str()).empty();
}

// ---- Ours

static void look_at_ours(const Case &of, Outcome &out) {
  for (size_t i = 0; i < flags.size(); i++) {
    pd_flag_entry entry = {};
    entry.size = sizeof entry;
    pd_flag_get_entry(flags[i]->ours, 0, &entry, nullptr);
    out.given.push_back(entry.origin.source != PD_SOURCE_DEFAULT);
    out.values.push_back(value_of_ours(of.defs[i], flags[i]->ours));
  }
}

static void check_unchanged(const Outcome &out, const Case &of) {
  for (size_t i = 0; i < out.values.size(); i++) {
    string fallback = value_of_theirs(of.defs[i], flags[i]->fallback);
    if (out.given[i] || out.values[i] != fallback) die("an error changed " + of.defs[i].name);
  }
}

Outcome run_ours(const Case &of) {
  static const char *const kinds[] = {"help",      "helpfull",    "helpshort", "helpon",
                                      "helpmatch", "helppackage", "helpxml",   "version"};
  Outcome out;
  std::vector<char *> words;
  prepare(of, words);
  int argc = (int)words.size() - 1, first = 0;
  pd_help help = {};
  help.size = sizeof help;
  pd_parse_options options = {};
  options.size = sizeof options;
  options.arrange = of.removes ? PD_ARRANGE_REMOVE : PD_ARRANGE_REORDER;
  options.keep_startup = true;
  options.errors = pd_error_list_new();
  options.help = &help;
  options.first = &first;
  pd_status status = pd_parse_argv(&argc, words.data(), &options, nullptr);
  out.verdict = status == PD_OK     ? Outcome::TAKEN
                : status == PD_HELP ? Outcome::HELP
                                    : Outcome::REFUSED;
  if (status == PD_HELP) out.help = kinds[help.kind];
  if (status == PD_HELP && *help.pattern) out.help += string(" ") + help.pattern;
  if (status == PD_OK) keep_line(argc, words.data(), (size_t)first, out);
  for (size_t i = 0; i < pd_error_list_count(options.errors); i++) {
    out.errors.push_back(pd_error_list_at(options.errors, i)->message);
  }
  look_at_ours(of, out);
  if (status != PD_OK) check_unchanged(out, of);
  for (const Flag *flag : flags) pd_flag_reset(flag->ours, nullptr);
  pd_error_list_free(options.errors);
  return out;
}
