/* Paddle's definitions on a real gflags; paddle/common/flags.h includes it. */
#ifndef PD_COMPAT_PADDLE_GFLAGS_H
#define PD_COMPAT_PADDLE_GFLAGS_H

#include <gflags/gflags.h>

#include <string>
#include <vector>

#define PD__TOUCH_SYMBOL(text)
#define PD__PADDLE_DEFINE(tag, name, value, help) DEFINE_##tag(name, value, help)
#define PD__PADDLE_DECLARE(tag, name) DECLARE_##tag(name)

/* gflags can't store it, so each module has its own map. */
#define PD__EXPORTED(tag, writable, name, value, doc)                                        \
  PD_DEFINE_##tag(name, value, doc);                                                         \
  static const bool pd__exported_##name __attribute__((unused)) =                            \
      ::phi::pd_export_flag(#name, &FLAGS_##name, doc, writable);                            \
  PD__TOUCHED(name)

/* ---- What functions.h needs ---- */

#ifndef PD__LOCAL
#define PD__LOCAL
#endif

namespace paddle {
namespace flags {
inline namespace of_paddle_flags {
namespace pd_detail {

/* As in pd_flags/compat_line.hpp. */
struct compat_flag {
  std::string name;
  std::string help;
  std::string file;
  std::string value; /* the default */
  std::string type;
};

inline std::vector<compat_flag> compat_flags() {
  std::vector<gflags::CommandLineFlagInfo> infos;
  std::vector<compat_flag> all;
  gflags::GetAllFlags(&infos);
  for (const gflags::CommandLineFlagInfo &info : infos) {
    all.push_back({info.name, info.description, info.filename, info.default_value, info.type});
  }
  return all;
}

inline const char *type_name(const compat_flag &flag) { return flag.type.c_str(); }

inline bool find(const std::string &name) {
  std::string value;
  return gflags::GetCommandLineOption(name.c_str(), &value);
}

/* Sets the flag and returns whether it worked; otherwise gflags reports why. */
inline bool set(const std::string &name, const std::string &value, const char *variable,
                std::string *why) {
  bool done = !gflags::SetCommandLineOption(name.c_str(), value.c_str()).empty();
  if (!done) *why = name + ": gflags refuses " + (variable ? variable : value.c_str());
  return done;
}

/* As in Paddle. */
inline bool no_linked_flags(const std::string &, const std::string &) { return false; }

}  // namespace pd_detail
}  // namespace of_paddle_flags
}  // namespace flags
}  // namespace paddle

#endif /* PD_COMPAT_PADDLE_GFLAGS_H */
