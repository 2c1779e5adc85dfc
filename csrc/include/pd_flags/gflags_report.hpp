/* Prints what gflags prints: help for flags, as text and as XML, and the program's version. */
#ifndef PD_FLAGS_GFLAGS_REPORT_HPP
#define PD_FLAGS_GFLAGS_REPORT_HPP

#include <pd_flags/gflags_flag.hpp>

namespace GFLAGS_NAMESPACE {

/* Ends the program. Tests put another function here, which may return. */
extern GFLAGS_DLL_DECL void (*gflags_exitfunc)(int);
PD__GFLAGS_ONCE void (*gflags_exitfunc)(int) = &exit;

}  // namespace GFLAGS_NAMESPACE

namespace pd {
namespace gflags_detail PD__LOCAL {

/* ---- The program ---- */

PD__LAZY pd_program program() {
  pd_program found = detail::sized<pd_program>();
  pd_program_get(&found, nullptr);
  return found;
}

PD__LAZY const char *program_name() {
  pd_program found = program();
  return found.argv && found.argc > 0 ? found.argv[0] : "UNKNOWN";
}

PD__LAZY const char *program_short_name() {
  const char *name = program_name(), *slash = __builtin_strrchr(name, '/');
#ifdef _WIN32
  const char *other = __builtin_strrchr(slash ? slash : name, '\\');
  slash = other ? other : slash;
#endif
  return slash ? slash + 1 : name;
}

PD__LAZY const char *program_usage() {
  const char *usage = program().usage;
  return usage && *usage ? usage : "Warning: SetUsageMessage() never called";
}

/* ---- All flags ---- */

PD__LAZY int compare_places(const void *a, const void *b) {
  const CommandLineFlagInfo &first = **static_cast<const CommandLineFlagInfo *const *>(a);
  const CommandLineFlagInfo &other = **static_cast<const CommandLineFlagInfo *const *>(b);
  int order = first.filename.compare(other.filename);
  return order != 0 ? order : first.name.compare(other.name);
}

PD__LAZY std::vector<CommandLineFlagInfo> all_flags() {
  std::vector<CommandLineFlagInfo> found;
  checkers<> known;
  for (word &each : words()) found.push_back(describe({nullptr, &each}, known));
  for (pd_flag *flag = nullptr; (flag = pd_flag_next(flag)) != nullptr;) {
    found.push_back(describe({flag, nullptr}, known));
  }
  std::vector<CommandLineFlagInfo *> order;
  for (CommandLineFlagInfo &each : found) order.push_back(&each);
  std::qsort(order.data(), order.size(), sizeof order[0], compare_places<>);
  std::vector<CommandLineFlagInfo> sorted;
  sorted.reserve(found.size());
  for (CommandLineFlagInfo *each : order) sorted.push_back(std::move(*each));
  return sorted;
}

/* Flags that are hidden, or compiled with STRIP_FLAG_HELP, aren't shown. */
PD__LAZY bool is_shown(const CommandLineFlagInfo &flag) {
  handle found = find(flag.name);
  return flag.description != gf::kStrippedFlagHelp && (!found.flag || !info_of(found.flag).hidden);
}

/* ---- One flag as text, in lines of fewer than 80 columns ---- */

static constexpr size_t line_length = 80, indented = 6;

/* `used` counts the columns of the last line. */
PD__LAZY std::string wrap(const std::string &text, size_t *used) {
  std::string made;
  for (size_t at = 0; at < text.size();) {
    size_t room = line_length - *used, left = text.size() - at;
    size_t line = detail::least(text.find('\n', at), text.size()) - at;
    if (at > 0) made += "\n      ";
    if (line == left && left < room) {
      *used += left;
      return made + text.substr(at);
    }
    if (line < left && line < room) {
      made.append(text, at, line);
      at += line + 1;
    } else {
      size_t taken = room - 1;
      while (taken > 0 && !__builtin_strchr(" \t\n\v\f\r", text[at + taken])) taken--;
      if (taken == 0) {
        *used = line_length;
        return made + text.substr(at);
      }
      made.append(text, at, taken);
      *used += taken;
      for (at += taken; at < text.size() && __builtin_strchr(" \t\n\v\f\r", text[at]);) at++;
    }
    if (at < text.size()) *used = indented;
  }
  return made;
}

PD__LAZY void append(const std::string &part, std::string *text, size_t *used) {
  bool fits = *used + 1 + part.size() < line_length;
  *text += fits ? " " : "\n      ";
  *used = (fits ? *used + 1 : indented) + part.size();
  *text += part;
}

PD__LAZY std::string describe_text(const CommandLineFlagInfo &flag) {
  const char *quote = flag.type == "string" ? "\"" : "";
  size_t used = 0;
  std::string text = wrap("    -" + flag.name + " (" + flag.description + ")", &used);
  append("type: " + flag.type, &text, &used);
  append("default: " + (quote + flag.default_value) + quote, &text, &used);
  if (!flag.is_default) append("currently: " + (quote + flag.current_value) + quote, &text, &used);
  return text + "\n";
}

/* ---- Help ---- */

PD__LAZY void print(const std::string &text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

PD__LAZY std::string directory_of(const std::string &file) {
  size_t slash = file.rfind('/');
  return slash == std::string::npos ? "" : file.substr(0, slash);
}

/* A part that begins with a slash also matches at the beginning of the path. */
PD__LAZY bool matches(const std::string &file, const std::vector<std::string> &parts) {
  for (const std::string &part : parts) {
    if (file.find(part) != std::string::npos) return true;
    if (part[0] == '/' && file.compare(0, part.size() - 1, part, 1, std::string::npos) == 0) {
      return true;
    }
  }
  return false;
}

/* Flags of source files whose path contains one of `parts`; all flags if there are none. */
PD__LAZY void show_flags(const char *argv0, const std::vector<std::string> &parts) {
  const char *slash = __builtin_strrchr(argv0, '/');
  std::string text = std::string(slash ? slash + 1 : argv0) + ": " + program_usage() + "\n";
  std::string file;
  bool found = false, apart = false; /* from the directory before it */
  for (const CommandLineFlagInfo &flag : all_flags()) {
    if ((!parts.empty() && !matches(flag.filename, parts)) || !is_shown(flag)) continue;
    if (flag.filename != file) {
      bool other = directory_of(flag.filename) != directory_of(file);
      if (other && apart) text += "\n\n";
      apart = apart || other;
      text += "\n  Flags from " + flag.filename + ":\n";
    }
    file = flag.filename;
    found = true;
    text += describe_text(flag);
  }
  if (!found && !parts.empty()) text += "\n  No modules matched: use -help\n";
  print(text);
}

PD__LAZY std::vector<std::string> program_files() {
  std::string name = std::string("/") + program_short_name();
  return {name + ".", name + "-main.", name + "_main."};
}

/* The flags of all directories that hold a source file of the program. */
PD__LAZY void show_package() {
  std::string last;
  std::vector<std::string> files = program_files();
  for (const CommandLineFlagInfo &flag : all_flags()) {
    std::string package = directory_of(flag.filename) + "/";
    if (!matches(flag.filename, files) || package == last) continue;
    show_flags(program_short_name(), {package});
    if (!last.empty()) {
      std::fprintf(stderr, "Multiple packages contain a file=%s\n", program_short_name());
    }
    last = package;
  }
  if (last.empty()) {
    std::fprintf(stderr, "Unable to find a package for file=%s\n", program_short_name());
  }
}

PD__LAZY std::string in_xml(const char *tag, const std::string &text) {
  std::string made = std::string("<") + tag + ">";
  for (char c : text) {
    made += c == '&' ? std::string("&amp;") : c == '<' ? "&lt;" : std::string(1, c);
  }
  return made + "</" + tag + ">";
}

PD__LAZY void show_xml(const char *argv0) {
  std::string text = "<?xml version=\"1.0\"?>\n<AllFlags>\n" + in_xml("program", argv0) + "\n" +
                     in_xml("usage", program_usage()) + "\n";
  for (const CommandLineFlagInfo &flag : all_flags()) {
    if (!is_shown(flag)) continue;
    text += "<flag>" + in_xml("file", flag.filename) + in_xml("name", flag.name) +
            in_xml("meaning", flag.description) + in_xml("default", flag.default_value) +
            in_xml("current", flag.current_value) + in_xml("type", flag.type) + "</flag>\n";
  }
  print(text + "</AllFlags>\n");
}

/* The linker keeps one copy of an inline function, so the source file with the call says whether it
 * was compiled with NDEBUG: see PD__GFLAGS_BUILD. */
#ifdef NDEBUG
#define PD__GFLAGS_BUILD release_build_
#define PD__GFLAGS_DEBUG false
#else
#define PD__GFLAGS_BUILD debug_build_
#define PD__GFLAGS_DEBUG true
#endif

PD__LAZY bool &is_debug_build() {
  static bool debug = PD__GFLAGS_DEBUG;
  return debug;
}

PD__LAZY void show_version() {
  const char *version = program().version;
  bool known = version && *version;
  std::string text = program_short_name();
  print(text + (known ? std::string(" version ") + version : "") + "\n");
  if (is_debug_build()) print("Debug build (NDEBUG not #defined)\n");
}

/* ---- The flags that ask for help ---- */

PD__LAZY void show_what_was_asked_for() {
  const char *name = program_short_name();
  if (fLB::FLAGS_helpshort) {
    show_flags(name, program_files());
  } else if (fLB::FLAGS_help || fLB::FLAGS_helpfull) {
    show_flags(name, {});
  } else if (!fLS::FLAGS_helpon.empty()) {
    show_flags(name, {"/" + fLS::FLAGS_helpon + "."});
  } else if (!fLS::FLAGS_helpmatch.empty()) {
    show_flags(name, {fLS::FLAGS_helpmatch});
  } else if (fLB::FLAGS_helppackage) {
    show_package();
  } else if (fLB::FLAGS_helpxml) {
    show_xml(name);
  } else if (fLB::FLAGS_version) {
    show_version();
    gf::gflags_exitfunc(0);
    return;
  } else {
    return;
  }
  gf::gflags_exitfunc(1);
}

}  // namespace gflags_detail
}  // namespace pd

#endif /* PD_FLAGS_GFLAGS_REPORT_HPP */
