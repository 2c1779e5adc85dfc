/* ABSL_DECLARE_FLAG(type, name) declares FLAGS_<name> of another file, for flags that the
 * absl/flags/flag.h beside this file defines. It needs nothing else. */
#ifdef PD_WITH_ABSEIL_FLAGS
#include_next <absl/flags/declare.h>
#else
#if defined(ABSL_FLAGS_DECLARE_H_) && !defined(PD_COMPAT_ABSL_DECLARE_H)
#error "Abseil's own absl/flags/declare.h is included already: put compat/ in front of its directory"
#endif
#ifndef ABSL_FLAGS_DECLARE_H_
#define ABSL_FLAGS_DECLARE_H_
#define PD_COMPAT_ABSL_DECLARE_H

#include <pd_flags/language.h>

#if __cplusplus < 201703L
#error "absl/flags/declare.h needs C++17 or newer"
#endif

#include <pd_flags/names_push.h>

namespace pd {
namespace absl_types {
/* A constant, so that it can be read before its constructors have run. */
template <class T>
struct Flag {
  using value_type = T;
  const char *name;
  void *(*own)(); /* its pd::flag; made by the first call */
};
}  // namespace absl_types
}  // namespace pd

namespace absl {
template <class T>
using Flag = ::pd::absl_types::Flag<T>;
}

/* The label gives the flag another symbol than Abseil's, which another library may have. */
#define PD__ABSL_TEXT_OF_(prefix) #prefix
#define PD__ABSL_TEXT_OF(prefix) PD__ABSL_TEXT_OF_(prefix)
#ifdef _WIN32
#define PD__ABSL_SHARED
#else
#define PD__ABSL_SHARED __attribute__((visibility("default")))
#endif
#define ABSL_DECLARE_FLAG(type, name) ABSL_DECLARE_FLAG_INTERNAL(type, name)
#define ABSL_DECLARE_FLAG_INTERNAL(type, name)                                           \
  extern PD__ABSL_SHARED absl::Flag<type> FLAGS_##name                                   \
      __asm__(PD__ABSL_TEXT_OF(__USER_LABEL_PREFIX__) "pd_absl_FLAGS_" #name);           \
  namespace absl /* no flags in namespaces, as in Abseil */ {}                           \
  extern PD__ABSL_SHARED absl::Flag<type> FLAGS_##name

#include <pd_flags/names_pop.h>

#endif /* ABSL_FLAGS_DECLARE_H_ */

#endif /* PD_WITH_ABSEIL_FLAGS */
