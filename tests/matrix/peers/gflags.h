/* gflags, as plugin.cc, common.cc and host.cc use a flag library. */
#ifndef PEER_LIBRARY_H
#define PEER_LIBRARY_H

#include <gflags/gflags.h>

#include <cstdlib>
#include <string>

#define DEFINE_NUMBER(name, value, help) DEFINE_int32(name, value, help)
#define DEFINE_TEXT(name, value, help) DEFINE_string(name, value, help)
#define DECLARE_NUMBER(name) DECLARE_int32(name)
#define GET(name) FLAGS_##name

/* Names that nobody has defined yet are passed over, and wait for peer_again(). */
static inline void peer_parse(int argc, char **argv) {
  gflags::AllowCommandLineReparsing();
  gflags::ParseCommandLineFlags(&argc, &argv, false);
}

static inline void peer_again() { gflags::ReparseCommandLineNonHelpFlags(); }

static inline bool peer_set(const char *name, const char *text) {
  return !gflags::SetCommandLineOption(name, text).empty();
}

static inline int peer_number(const char *name) {
  std::string text;
  return gflags::GetCommandLineOption(name, &text) ? std::atoi(text.c_str()) : -1;
}

#endif
