/* c10's names on the registry of paddle_flags; c10/util/Flags.h includes it. */
#ifndef PD_COMPAT_C10_NATIVE_H
#define PD_COMPAT_C10_NATIVE_H

#include <pd_flags/compat_line.hpp>
#include <pd_flags/type_tag.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#if defined(_WIN32)
#define PD__C10_EXPORT __declspec(dllexport)
#else
#define PD__C10_EXPORT __attribute__((visibility("default")))
#endif

/* ---- Definitions ---- */

#define C10_DEFINE_typed_flag_(tag, name, value, help)                        \
  namespace c10 {                                                             \
  PD__ASSIGNABLE_##tag(FLAGS_##name, #name, PD__C10_EXPORT,                   \
                       PD__ASSIGNABLE_SYMBOL(tag, #name, "c10"), value, help) \
  }                                                                           \
  using ::c10::FLAGS_##name;
#define C10_DECLARE_typed_flag_(tag, name)                                    \
  namespace c10 {                                                             \
  PD__ASSIGNABLE_DECLARE(tag, FLAGS_##name, ,                                 \
                         PD__ASSIGNABLE_SYMBOL(tag, #name, "c10"));           \
  }                                                                           \
  using ::c10::FLAGS_##name;

/* `type` is bool, int, a sized integer, double or std::string. */
#define C10_DEFINE_typed_var(type, name, value, help) \
  PD__TAGGED(C10_DEFINE_, type)(name, value, help)
#define C10_DECLARE_typed_var(type, name) PD__TAGGED(C10_DECLARE_, type)(name)

namespace c10 {
/* c10's own functions, linked to the same module, are others. */
inline namespace of_paddle_flags {

/* ---- The program, for the whole process ---- */

PD__LOCAL inline pd_program program_now_() {
  pd_program program = pd::detail::sized<pd_program>();
  pd_program_get(&program, nullptr); /* its fields are NULL if this fails */
  return program;
}

PD__LOCAL inline const char *UsageMessage() {
  const char *usage = program_now_().usage;
  return usage ? usage : "(Usage message not set.)";
}

/* Only the first call counts. */
PD__LOCAL inline void SetUsageMessage(const std::string &text) {
  pd_program program = pd::detail::sized<pd_program>();
  program.usage = text.c_str();
  if (!program_now_().usage) pd_program_set(&program, nullptr);
}

PD__LOCAL inline bool CommandLineFlagsHasBeenParsed() { return program_now_().argv != nullptr; }

/* ---- The registry as c10 shows it ---- */

/* The result of one attempt to set a flag. */
class PD__LOCAL C10FlagParser {
 public:
  explicit C10FlagParser(bool success = false) : success_(success) {}
  bool success() { return success_; }

 private:
  bool success_;
};

/* C10FlagsRegistry()->Has(…) and so on: the flags of the process, whichever module defines them.
 * C10_DEFINE adds flags to it, not a call. */
class PD__LOCAL FlagsRegistry_ {
 public:
  bool Has(const std::string &name) const {
    pd_flag *flag = nullptr;
    return pd_flag_find(name.c_str(), &flag, nullptr) == PD_OK;
  }

  /* Sets the flag; NULL if there is none. */
  std::unique_ptr<C10FlagParser> Create(const std::string &name, const std::string &text) const {
    if (!Has(name)) return std::unique_ptr<C10FlagParser>();
    pd_error err;
    bool success = pd_flag_set_by_name(name.c_str(), text.c_str(), &err) == PD_OK;
    if (!success) std::cerr << "C10 flag error: " << err.message << '\n';
    return std::unique_ptr<C10FlagParser>(new C10FlagParser(success));
  }

  std::vector<std::string> Keys() const {
    std::vector<std::string> keys;
    for (const pd::detail::compat_flag &flag : pd::detail::compat_flags()) {
      keys.push_back(flag.name);
    }
    return keys;
  }

  std::unordered_map<std::string, std::string> HelpMessage() const {
    std::unordered_map<std::string, std::string> all;
    for (const pd::detail::compat_flag &flag : pd::detail::compat_flags()) {
      all[flag.name] = help_of(flag);
    }
    return all;
  }

  static std::string help_of(const pd::detail::compat_flag &flag) {
    std::string value = flag.type == PD_TYPE_string ? '"' + flag.value + '"' : flag.value;
    return std::string("(") + pd_type_name(flag.type) + ", default " + value + ") " + flag.help;
  }
};

PD__LOCAL inline FlagsRegistry_ *C10FlagsRegistry() {
  static FlagsRegistry_ registry; /* has no data */
  return &registry;
}

/* ---- The command line ---- */

PD__LOCAL inline void print_help_() {
  std::cout << UsageMessage() << "\nArguments: \n";
  for (const pd::detail::compat_flag &flag : pd::detail::compat_flags()) {
    std::cout << "    " << flag.name << ": " << FlagsRegistry_::help_of(flag) << '\n';
  }
}

/* Reads --name=value, or --name and the value as the next token, also for a bool. Returns the
 * tokens that are no flags. */
PD__LOCAL inline std::vector<char *> read_line_(int argc, char **argv,
                                                pd::detail::compat_line &line) {
  std::vector<char *> rest;
  for (int i = 1; i < argc; i++) {
    size_t at = static_cast<size_t>(i);
    if (std::strncmp(argv[i], "--", 2) != 0) {
      rest.push_back(argv[i]);
    } else if (std::strchr(argv[i], '=')) {
      line.tokens[at] = argv[i];
    } else if (argv[i][2] != '\0' && i + 1 < argc) {
      line.tokens[at] = std::string(argv[i]) + '=' + argv[i + 1];
      i++;
    } else {
      line.errors.push_back(std::string(argv[i]) +
                            ": expected =value, or a value as the next argument");
    }
  }
  return rest;
}

/* Sets flags and leaves the other tokens in argv. On an error, all errors go to stderr, and neither
 * a flag nor argv has changed. If a token contains "--help", prints help and exits with 0. */
PD__LOCAL inline bool ParseCommandLineFlags(int *pargc, char ***pargv) {
  if (*pargc == 0) return true;
  char **argv = *pargv;
  for (int i = 1; i < *pargc; i++) {
    if (!std::strstr(argv[i], "--help")) continue;
    print_help_();
    std::exit(0);
  }
  pd::detail::compat_line line = pd::detail::compat_line_of(*pargc, argv);
  std::vector<char *> rest = read_line_(*pargc, argv, line);
  if (!pd::detail::compat_line_apply(line, false)) {
    for (const std::string &error : line.errors) std::cerr << "C10 flag error: " << error << '\n';
    return false;
  }
  *pargc = 1;
  for (char *token : rest) argv[(*pargc)++] = token;
  return true;
}

}  // namespace of_paddle_flags
}  // namespace c10

#endif /* PD_COMPAT_C10_NATIVE_H */
