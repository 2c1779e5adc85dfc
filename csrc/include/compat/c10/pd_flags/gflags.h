/* c10's names for flags of gflags, as c10 has them with C10_USE_GFLAGS. */
#ifndef PD_COMPAT_C10_GFLAGS_H
#define PD_COMPAT_C10_GFLAGS_H

#include <gflags/gflags.h>

#define C10_DEFINE_typed_flag_(tag, name, value, help) \
  DEFINE_##tag(name, value, help);                     \
  namespace c10 {                                      \
  using ::FLAGS_##name;                                \
  }
#define C10_DECLARE_typed_flag_(tag, name) \
  DECLARE_##tag(name);                     \
  namespace c10 {                          \
  using ::FLAGS_##name;                    \
  }

namespace c10 {

inline const char *UsageMessage() { return gflags::ProgramUsage(); }

inline void SetUsageMessage(const std::string &text) { gflags::SetUsageMessage(text); }

inline bool ParseCommandLineFlags(int *argc, char ***argv) {
  if (*argc > 0) gflags::ParseCommandLineFlags(argc, argv, true);
  return true;
}

/* gflags doesn't report it. */
inline bool CommandLineFlagsHasBeenParsed() { return true; }

}  // namespace c10

#endif /* PD_COMPAT_C10_GFLAGS_H */
