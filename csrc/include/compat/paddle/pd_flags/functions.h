/* paddle::flags::…; paddle/common/flags.h includes it. */
#ifndef PD_COMPAT_PADDLE_FUNCTIONS_H
#define PD_COMPAT_PADDLE_FUNCTIONS_H

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <locale>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace paddle {
namespace flags {
/* Paddle's own functions, linked to the same module, are others. */
inline namespace of_paddle_flags {

namespace pd_detail {

PD__LOCAL inline void tell(const std::string &error) {
  std::cerr << "paddle flags error: " << error << std::endl;
}

/* Reads the whole text as a T. */
template <class T>
PD__LOCAL bool from_text(const std::string &text, T *out) {
  std::istringstream stream(text);
  stream.imbue(std::locale::classic());
  bool negative = !text.empty() && text[0] == '-';
  if (negative && !std::numeric_limits<T>::is_signed) return false;
  stream >> std::noskipws >> *out;
  return stream && stream.peek() == std::istringstream::traits_type::eof();
}
PD__LOCAL inline bool from_text(const std::string &text, std::string *out) {
  *out = text;
  return true;
}
PD__LOCAL inline bool from_text(const std::string &text, bool *out) {
  *out = text == "true" || text == "True" || text == "TRUE" || text == "1";
  return *out || text == "false" || text == "False" || text == "FALSE" || text == "0";
}

PD__LOCAL inline void print_help(std::ostream &out) {
  std::map<std::string, std::map<std::string, compat_flag>> files;
  for (const compat_flag &flag : compat_flags()) files[flag.file][flag.name] = flag;
  for (const auto &file : files) {
    out << "\nFlags defined in " << file.first << ":\n";
    for (const auto &named : file.second) {
      const compat_flag &flag = named.second;
      out << "  --" << flag.name << ": " << type_name(flag) << ", " << flag.help
          << " (default: " << flag.value << ")\n";
    }
  }
  out << std::endl;
}

#ifndef PADDLE_WITH_GFLAGS

PD__LOCAL inline void end_with(const std::vector<std::string> &errors) {
  for (const std::string &error : errors) tell(error);
  std::exit(-1);
}

/* A value that begins with a quote in argv[i]: it extends to the token with the closing quote. */
PD__LOCAL inline bool unquote(int argc, char **argv, int *i, std::string *value) {
  std::string text = value->substr(1);
  while (text.empty() || text[text.size() - 1] != '"') {
    if (*i + 1 >= argc) return false;
    text += std::string(" ") + argv[++*i];
  }
  *value = text.substr(0, text.size() - 1);
  return true;
}

/* Why there is no value after `token`: the flag is not defined, or the value is missing. */
PD__LOCAL inline std::string without_value(const std::string &token, const std::string &name) {
  pd_flag *flag = nullptr;
  pd_error err;
  bool known = name == "flagfile" || name == "fromenv" || name == "tryfromenv" || name == "undefok";
  known = known || undefined_allowed() || pd_flag_find(name.c_str(), &flag, &err) == PD_OK;
  return token + ": " + (known ? "the value is missing" : err.message);
}

/* A token that isn't empty: the flag at argv[*i], with its value in this token or the next. */
PD__LOCAL inline void read_flag(int argc, char **argv, int *i, pd::detail::compat_line *line) {
  std::string token = argv[*i], value;
  size_t at = static_cast<size_t>(*i), begin = token[1] == '-' ? 2 : 1, equals = token.find('=');
  std::string name = token[0] == '-' ? token.substr(begin, equals - begin) : "";
  if (name.empty()) {
    line->errors.push_back("\"" + token + "\": expected --name=value or --name value");
    return;
  }
  if (equals != std::string::npos) {
    value = token.substr(equals + 1);
  } else if (*i + 1 < argc) {
    value = argv[++*i];
  } else {
    line->errors.push_back(without_value(token, name));
  }
  if (!value.empty() && value[0] == '"' && !unquote(argc, argv, i, &value)) {
    line->errors.push_back(token + ": the quote has no end");
  }
  line->tokens[at] = "--" + name + "=" + value;
}

#endif

}  // namespace pd_detail

/* ---- One flag ---- */

/* Returns whether the flag is defined. */
PD__LOCAL inline bool FindFlag(const std::string &name) { return pd_detail::find(name); }

/* Sets the flag and returns whether it worked; otherwise the reason is on stderr. */
PD__LOCAL inline bool SetFlagValue(const std::string &name, const std::string &value) {
  std::string why;
  bool done = pd_detail::set(name, value, nullptr, &why);
  if (!done) pd_detail::tell(why);
  return done;
}

/* Sets the flags that Paddle sets together with `name`, as far as the process has them: those of
 * dump_api_and_gradnode_python_stack_dir. Returns whether there is a flag `name`. */
PD__LOCAL inline bool UpdateLinkedFlags(const std::string &name, const std::string &value) {
#ifdef PADDLE_WITH_GFLAGS
  return pd_detail::no_linked_flags(name, value);
#else
  if (!FindFlag(name)) return SetFlagValue(name, value); /* which says so */
  if (name != "dump_api_and_gradnode_python_stack_dir" || value.empty()) return true;
  const std::string linked[][2] = {
      {"enable_unique_name", "true"},
      {"call_stack_level", "3"},
      {"dump_api_python_stack_path", value + "/api_call_stack"},
      {"dump_grad_node_forward_stack_path", value + "/gradnode_call_stack"},
  };
  for (const std::string(&flag)[2] : linked) {
    if (FindFlag(flag[0])) SetFlagValue(flag[0], flag[1]);
  }
  return true;
#endif
}

/* ---- The environment ---- */

/* Reads the variables FLAGS_<name>. With `error_fatal`, a missing variable, an undefined flag or a
 * bad value ends the process with 255. Without it they are skipped, and a bad value is reported on
 * stderr. */
PD__LOCAL inline void SetFlagsFromEnv(const std::vector<std::string> &flags, bool error_fatal) {
  bool failed = false;
  for (const std::string &name : flags) {
    std::string variable = "FLAGS_" + name, why;
    const char *value = std::getenv(variable.c_str());
    if (!error_fatal && (!value || !pd_detail::find(name))) continue;
    if (value && pd_detail::set(name, value, variable.c_str(), &why)) continue;
    pd_detail::tell(value ? why : "the environment has no " + variable);
    failed = true;
  }
  if (failed && error_fatal) std::exit(-1);
}

/* The value of the environment variable `name`, or the default if it is not set. A value that isn't
 * a T ends the process with 255. */
template <class T>
PD__LOCAL T GetFromEnv(const std::string &name, const T &default_value) {
  const char *text = std::getenv(name.c_str());
  T value = T();
  if (!text) return default_value;
  if (!pd_detail::from_text(text, &value)) {
    pd_detail::tell(name + "=" + text + " in the environment: not a value of the type asked for");
    std::exit(-1);
  }
  return value;
}

#define PD__FROM_ENV(name_, type)                                                      \
  PD__LOCAL inline type name_##FromEnv(const std::string &name, const type &value) {   \
    return GetFromEnv(name, value);                                                    \
  }
PD__FROM_ENV(Bool, bool)
PD__FROM_ENV(Int32, int32_t)
PD__FROM_ENV(Uint32, uint32_t)
PD__FROM_ENV(UInt32, uint32_t)
PD__FROM_ENV(Int64, int64_t)
PD__FROM_ENV(Uint64, uint64_t)
PD__FROM_ENV(UInt64, uint64_t)
PD__FROM_ENV(Double, double)
PD__FROM_ENV(String, std::string)
#undef PD__FROM_ENV

/* ---- Help ---- */

/* Prints all flags of the process, by the files that define them. */
PD__LOCAL inline void PrintAllFlagHelp(bool to_file = false,
                                       const std::string &file_name = "all_flags.txt") {
  if (to_file) {
    std::ofstream file(file_name);
    pd_detail::print_help(file);
    if (!file) pd_detail::tell(file_name + ": can't be written");
  } else {
    pd_detail::print_help(std::cout);
  }
}

/* ---- The command line ---- */

#ifdef PADDLE_WITH_GFLAGS

inline void ParseCommandLineFlags(int *argc, char ***argv) {
  gflags::ParseCommandLineFlags(argc, argv, true);
}

inline void AllowUndefinedFlags() { gflags::AllowCommandLineReparsing(); }

#else

/* From now on, values of undefined flags stay pending. */
PD__LOCAL inline void AllowUndefinedFlags() { pd_detail::undefined_allowed() = true; }

/* Every token is --name=value, -name=value, or such a name followed by its value, also for a bool;
 * "" is ignored. --help and -h print help and exit with 1. An error ends the process with 255: no
 * flag has changed, and all errors are on stderr. argv isn't changed. */
PD__LOCAL inline void ParseCommandLineFlags(int *pargc, char ***pargv) {
  int argc = *pargc;
  char **argv = *pargv;
  pd::detail::compat_line line = pd::detail::compat_line_of(argc, argv);
  for (int i = 1; i < argc; i++) {
    std::string token = argv[i];
    if (token == "--help" || token == "-help" || token == "--h" || token == "-h") {
      PrintAllFlagHelp();
      std::exit(1);
    }
    if (!token.empty()) pd_detail::read_flag(argc, argv, &i, &line);
  }
  if (!pd::detail::compat_line_apply(line, pd_detail::undefined_allowed())) {
    pd_detail::end_with(line.errors);
  }
}

#endif

}  // namespace of_paddle_flags
}  // namespace flags
}  // namespace paddle

#endif /* PD_COMPAT_PADDLE_FUNCTIONS_H */
