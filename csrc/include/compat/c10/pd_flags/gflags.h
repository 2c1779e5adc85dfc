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

#define C10_DEFINE_int(name, value, help) C10_DEFINE_typed_flag_(int32, name, value, help)
#define C10_DEFINE_int32(name, value, help) C10_DEFINE_typed_flag_(int32, name, value, help)
#define C10_DEFINE_int64(name, value, help) C10_DEFINE_typed_flag_(int64, name, value, help)
#define C10_DEFINE_double(name, value, help) C10_DEFINE_typed_flag_(double, name, value, help)
#define C10_DEFINE_bool(name, value, help) C10_DEFINE_typed_flag_(bool, name, value, help)
#define C10_DEFINE_string(name, value, help) C10_DEFINE_typed_flag_(string, name, value, help)

#define C10_DECLARE_int(name) C10_DECLARE_typed_flag_(int32, name)
#define C10_DECLARE_int32(name) C10_DECLARE_typed_flag_(int32, name)
#define C10_DECLARE_int64(name) C10_DECLARE_typed_flag_(int64, name)
#define C10_DECLARE_double(name) C10_DECLARE_typed_flag_(double, name)
#define C10_DECLARE_bool(name) C10_DECLARE_typed_flag_(bool, name)
#define C10_DECLARE_string(name) C10_DECLARE_typed_flag_(string, name)

namespace c10 {

inline const char *UsageMessage() { return gflags::ProgramUsage(); }

inline void SetUsageMessage(const std::string &text) { gflags::SetUsageMessage(text); }

inline bool ParseCommandLineFlags(int *argc, char ***argv) {
  if (*argc > 0) gflags::ParseCommandLineFlags(argc, argv, true);
  return true;
}

/* gflags doesn't tell. */
inline bool CommandLineFlagsHasBeenParsed() { return true; }

}  // namespace c10

#endif /* PD_COMPAT_C10_GFLAGS_H */
