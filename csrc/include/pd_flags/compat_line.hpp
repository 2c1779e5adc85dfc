/* What the command lines of the headers in compat/ have in common: their own grammars become
 * words that pd_parse_argv reads, so that all of a line holds or nothing of it, and errors
 * name the nearest flag. */
#ifndef PD_FLAGS_COMPAT_LINE_HPP
#define PD_FLAGS_COMPAT_LINE_HPP

#include <pd_flags/assignable.hpp>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

namespace pd {
namespace detail {

/* A line as pd_parse_argv reads it: words[i] stands for argv[i]; what is no flag, or was
 * joined with the word in front of it, is "". */
struct compat_line {
  std::vector<std::string> words;
  std::vector<std::string> errors;
};

PD__LOCAL inline compat_line compat_line_of(int argc, char **argv) {
  compat_line line;
  pd_program program;
  program.size = sizeof program;
  program.argc = argc;
  program.argv = argv;
  program.usage = nullptr;
  program.version = nullptr;
  pd_program_set(&program, nullptr); /* without memory for it nobody can ask for it */
  line.words.assign(static_cast<size_t>(argc), std::string());
  if (argc > 0) line.words[0] = argv[0];
  return line;
}

/* What pd_parse_argv takes for a request, these lines take for a flag. */
PD__LOCAL inline std::string help_refused(const pd_help &help) {
#define PD__HELP_WORD(name, number, text) \
  if (help.kind == PD_HELP_##name) return "--" text ": no such flag";
  PD_HELP_MAP(PD__HELP_WORD)
#undef PD__HELP_WORD
  return "no such flag";
}

/* A module whose definitions were refused has none of its flags: one has a name that is taken
 * already, say, or a default outside its range. The originals end the process for less. */
PD__LOCAL inline void compat_refused(compat_line &line) {
  pd_module *module = nullptr;
  while ((module = pd_module_next(module)) != nullptr) {
    pd_module_info info;
    info.size = sizeof info;
    if (pd_module_get_info(module, &info, nullptr) != PD_OK) continue;
    if (!info.present || info.status == PD_OK) continue;
    pd_error_list *errors = pd_error_list_new();
    pd_module_get_errors(module, errors, nullptr);
    for (size_t i = 0; i < pd_error_list_count(errors); i++) {
      line.errors.push_back(pd_error_list_at(errors, i)->message);
    }
    pd_error_list_free(errors);
  }
}

/* A value that the program has set or assigned has a higher rank than the line, and would hide
 * it. In the libraries that these headers stand for, what comes later holds. */
PD__LOCAL inline void compat_prevail(compat_line &line, const std::string &name) {
  pd_flag *flag = nullptr;
  pd_flag_info info;
  info.size = sizeof info;
  if (pd_flag_find(name.c_str(), &flag, nullptr) != PD_OK) return;
  if (pd_flag_get_info(flag, &info, nullptr) != PD_OK) return;
  if (info.source != PD_SOURCE_RUNTIME) return;
  pd_error err; /* a validator may refuse what was hidden */
  if (pd_flag_drop(flag, PD_SOURCE_RUNTIME, &err) != PD_OK) line.errors.push_back(err.message);
}

/* `word` is --name=value, or a list of names behind --fromenv= or --tryfromenv=. */
PD__LOCAL inline void compat_prevail_all(compat_line &line, const std::string &word) {
  size_t equals = word.find('=');
  if (word.size() < 3 || equals == std::string::npos) return;
  std::string name = word.substr(2, equals - 2);
  if (name != "fromenv" && name != "tryfromenv") return compat_prevail(line, name);
  for (size_t at = equals + 1, comma; at < word.size(); at = comma + 1) {
    comma = std::min(word.find(',', at), word.size());
    name = word.substr(at, comma - at);
    if (std::getenv(("FLAGS_" + name).c_str())) compat_prevail(line, name);
  }
}

/* Whether every word took effect; if not, or with errors already, none did and `errors` tells
 * why. */
PD__LOCAL inline bool compat_line_apply(compat_line &line, bool allow_pending) {
  compat_refused(line);
  if (!line.errors.empty()) return false;
  std::vector<char *> argv;
  for (std::string &word : line.words) argv.push_back(&word[0]);
  argv.push_back(nullptr);
  int argc = static_cast<int>(line.words.size());
  pd_help help = pd_help();
  pd_error err;
  pd_parse_options options = pd_parse_options();
  help.size = sizeof help;
  options.size = sizeof options;
  options.arrange = PD_ARRANGE_LEAVE;
  options.allow_pending = allow_pending;
  options.errors = pd_error_list_new();
  options.help = &help;
  pd_status status = pd_parse_argv(&argc, argv.data(), &options, &err);
  for (size_t i = 0; i < pd_error_list_count(options.errors); i++) {
    line.errors.push_back(pd_error_list_at(options.errors, i)->message);
  }
  pd_error_list_free(options.errors);
  if (status == PD_HELP) line.errors.push_back(help_refused(help));
  if (status != PD_OK && line.errors.empty()) line.errors.push_back(err.message);
  if (!line.errors.empty()) return false;
  for (size_t i = 1; i < line.words.size(); i++) compat_prevail_all(line, line.words[i]);
  return line.errors.empty();
}

/* What the help texts of these libraries show of a flag. */
struct compat_flag {
  std::string name;
  std::string help;
  std::string file;
  std::string category;
  std::string value; /* the default */
  pd_type type;
};

PD__LOCAL inline std::string compat_default(const pd_flag_info &info) {
  const pd_value &value = info.default_value;
  char text[64] = "";
  if (info.sensitive) return "(not shown)";
  switch (info.type) {
    case PD_TYPE_bool:
      return value.b ? "true" : "false";
    case PD_TYPE_string:
      return value.str;
    case PD_TYPE_double:
      std::snprintf(text, sizeof text, "%g", value.f64);
      break;
    case PD_TYPE_int32:
    case PD_TYPE_int64:
      return as_number(value.i64).text;
    default:
      return as_number(value.u64).text;
  }
  return text;
}

/* The flags of the process that aren't hidden. */
PD__LOCAL inline std::vector<compat_flag> compat_flags() {
  std::vector<compat_flag> all;
  pd_flag *flag = nullptr;
  while ((flag = pd_flag_next(flag)) != nullptr) {
    pd_flag_info info;
    info.size = sizeof info;
    if (pd_flag_get_info(flag, &info, nullptr) != PD_OK || info.hidden) continue;
    compat_flag found = {info.name, info.help, info.file, info.category, compat_default(info),
                         info.type};
    all.push_back(found);
  }
  return all;
}

}  // namespace detail
}  // namespace pd

#endif /* PD_FLAGS_COMPAT_LINE_HPP */
