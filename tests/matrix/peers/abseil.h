/* abseil's flags, as plugin.cc, common.cc and host.cc use a flag library. */
#ifndef PEER_LIBRARY_H
#define PEER_LIBRARY_H

#include <absl/flags/flag.h>
#include <absl/flags/parse.h>
#include <absl/flags/reflection.h>

#include <cstdlib>
#include <string>
#include <vector>

#define DEFINE_NUMBER(name, value, help) ABSL_FLAG(int, name, value, help)
#define DEFINE_TEXT(name, value, help) ABSL_FLAG(std::string, name, value, help)
#define DECLARE_NUMBER(name) ABSL_DECLARE_FLAG(int, name)
#define GET(name) absl::GetFlag(FLAGS_##name)

/* Names that nobody has defined yet are passed over. */
static inline void peer_parse(int argc, char **argv) {
  static char undefok[] = "--undefok=a_level,b_level,a_mode,b_mode,common_n";
  std::vector<char *> words(argv, argv + argc);
  words.insert(words.begin() + 1, undefok);
  words.push_back(nullptr);
  absl::ParseCommandLine(static_cast<int>(words.size()) - 1, words.data());
}

/* A program may parse once only. */
static inline void peer_again() {}

static inline bool peer_set(const char *name, const char *text) {
  absl::CommandLineFlag *flag = absl::FindCommandLineFlag(name);
  std::string error;
  return flag && flag->ParseFrom(text, &error);
}

/* By its text: the type's identity differs between copies. */
static inline int peer_number(const char *name) {
  absl::CommandLineFlag *flag = absl::FindCommandLineFlag(name);
  return flag ? std::atoi(flag->CurrentValue().c_str()) : -1;
}

#endif
