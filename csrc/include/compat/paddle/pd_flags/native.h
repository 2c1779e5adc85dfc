/* Paddle's definitions on the registry of paddle_flags; paddle/common/flags.h includes it. */
#ifndef PD_COMPAT_PADDLE_NATIVE_H
#define PD_COMPAT_PADDLE_NATIVE_H

#include <pd_flags/compat_line.hpp>

#include <cstdlib>
#include <iostream>

#if defined(_WIN32)
#define PD__PADDLE_EXPORT __declspec(dllexport)
#else
#define PD__PADDLE_EXPORT __attribute__((visibility("default")))
#endif

#define PD__PADDLE_SYMBOL(tag, text) PD__ASSIGNABLE_SYMBOL(tag, text, "Paddle")
#define PD__TOUCH_SYMBOL(text) \
  PD__SHARED_SYMBOL("TouchPaddleFlagRegister_" text PD__INCLUDE_OWN_HEADER("Paddle"))
#define PD__PADDLE_DEFINE(tag, name, ...)                                      \
  namespace paddle_flags {                                                     \
  PD__ASSIGNABLE_##tag(FLAGS_##name, #name, PD__PADDLE_EXPORT,                 \
                       PD__PADDLE_SYMBOL(tag, #name), __VA_ARGS__)             \
  }                                                                            \
  using paddle_flags::FLAGS_##name
#define PD__PADDLE_DECLARE(tag, name)                                          \
  namespace paddle_flags {                                                     \
  PD__ASSIGNABLE_DECLARE(tag, FLAGS_##name, , PD__PADDLE_SYMBOL(tag, #name));  \
  }                                                                            \
  using paddle_flags::FLAGS_##name

/* The category marks exported flags, for Python and for every module. */
#define PD__EXPORTED_true "exported"
#define PD__EXPORTED_false "exported, read-only"
#define PD__EXPORTED(tag, writable, name, value, doc)                          \
  PD_DEFINE_##tag(name, value, doc, .category = PD__EXPORTED_##writable);      \
  PD__TOUCHED(name)

/* ---- What functions.h needs ---- */

namespace paddle {
namespace flags {
inline namespace of_paddle_flags {
namespace pd_detail {

using pd::detail::compat_flag;
using pd::detail::compat_flags;

PD__LOCAL inline const char *type_name(const compat_flag &flag) { return pd_type_name(flag.type); }

PD__LOCAL inline bool find(const std::string &name) {
  pd_flag *flag = nullptr;
  return pd_flag_find(name.c_str(), &flag, nullptr) == PD_OK;
}

/* Sets the flag and returns whether it worked; otherwise `why` says why not. `variable` is the
 * environment variable that held the value, or NULL. As in Paddle, such a value replaces the
 * command line's. */
PD__LOCAL inline bool set(const std::string &name, const std::string &value, const char *variable,
                          std::string *why) {
  pd_flag *flag = nullptr;
  pd_error err;
  pd_origin origin = {PD_SOURCE_RUNTIME, 0, variable, 0};
  pd_assignment item = pd_assignment();
  item.text = value.c_str();
  bool done = pd_flag_find(name.c_str(), &flag, &err) == PD_OK;
  item.flag = flag;
  done = done && pd_batch_set(&item, 1, &origin, nullptr, &err) == PD_OK;
  if (!done) *why = err.message;
  return done;
}

PD__LOCAL inline bool &undefined_allowed() {
  static bool allowed = false;
  return allowed;
}

}  // namespace pd_detail

/* Defines a flag at run time with your variable, which must stay valid until the process ends. The
 * macros don't need it. A definition that is refused ends the process with 255. */
class PD__LOCAL FlagRegisterer {
 public:
  template <typename T>
  FlagRegisterer(std::string name, std::string description, std::string file,
                 const T *default_value, T *value) {
    pd_flag *flag = nullptr;
    pd_error err;
    pd_status status = pd::detail::define_variable(name.c_str(), description.c_str(), file.c_str(),
                                                   value, *default_value, &flag, &err);
    if (status != PD_OK) std::cerr << "paddle flags error: " << err.message << std::endl;
    if (!flag) std::exit(-1);
  }
};

}  // namespace of_paddle_flags
}  // namespace flags
}  // namespace paddle

#endif /* PD_COMPAT_PADDLE_NATIVE_H */
