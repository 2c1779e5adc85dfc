/* DECLARE_<type>(name) declares FLAGS_<name> of another file, as in gflags 2.3, for flags that the
 * gflags/gflags.h beside this file defines. Needs nothing else. */
/* Paddle and c10 want a real gflags here, which comes later on the include path; its include guard
 * skips the rest. */
#if defined(PADDLE_WITH_GFLAGS) || defined(C10_USE_GFLAGS)
#pragma GCC system_header /* #include_next is an extension */
#include_next <gflags/gflags_declare.h>
#endif

#if defined(GFLAGS_DECLARE_H_) && !defined(PD_COMPAT_GFLAGS_DECLARE_H) && \
    !defined(PADDLE_WITH_GFLAGS) && !defined(C10_USE_GFLAGS)
#error "gflags' own gflags_declare.h is included already: put compat/ in front of its directory"
#endif

#ifndef GFLAGS_DECLARE_H_
#define GFLAGS_DECLARE_H_
#define PD_COMPAT_GFLAGS_DECLARE_H

#include <pd_flags/names_push.h>

#include <pd_flags/gflags_word_map.h>
#include <pd_flags/language.h>

#include <stdint.h>

#include <string>

#define GFLAGS_NAMESPACE gflags

#ifndef GFLAGS_IS_A_DLL
#define GFLAGS_IS_A_DLL 0
#endif

/* Flags may be shared between the modules of a program, as in gflags. */
#ifdef _WIN32
#define PD__GFLAGS_SHARED
#else
#define PD__GFLAGS_SHARED __attribute__((visibility("default")))
#endif
#ifndef GFLAGS_DLL_DECL
#define GFLAGS_DLL_DECL PD__GFLAGS_SHARED
#endif
#ifndef GFLAGS_DLL_DECLARE_FLAG
#define GFLAGS_DLL_DECLARE_FLAG PD__GFLAGS_SHARED
#endif

namespace GFLAGS_NAMESPACE {
typedef int32_t int32;
typedef uint32_t uint32;
typedef int64_t int64;
typedef uint64_t uint64;
}  // namespace GFLAGS_NAMESPACE

namespace fLS {
typedef std::string clstring;
}

/* gflags' built-in flags. Their symbols aren't gflags': a real gflags in the process would
 * initialize ours. The label after a declaration gives it a symbol; see PD__SHARED_SYMBOL. */
#define PD__GFLAGS_TEXT_OF_(prefix) #prefix
#define PD__GFLAGS_TEXT_OF(prefix) PD__GFLAGS_TEXT_OF_(prefix)
#define PD__GFLAGS_SCOPE_TEXT fLS
#define PD__GFLAGS_SCOPE_SWITCH fLB
#define PD__GFLAGS_SCOPE_NUMBER fLI
#define PD__GFLAGS_TYPE_TEXT clstring &
#define PD__GFLAGS_TYPE_SWITCH bool
#define PD__GFLAGS_TYPE_NUMBER int32_t
#define PD__GFLAGS_DECLARE(kind, name, ...)                                              \
  namespace PD__GFLAGS_SCOPE_##kind {                                                    \
    extern GFLAGS_DLL_DECL PD__GFLAGS_TYPE_##kind FLAGS_##name                           \
        __asm__(PD__GFLAGS_TEXT_OF(__USER_LABEL_PREFIX__) "pd_gflags_" #name);           \
  }
PD__GFLAGS_WORD_MAP(PD__GFLAGS_DECLARE)

#define DECLARE_VARIABLE(type, shorttype, name)                                          \
  namespace fL##shorttype {                                                              \
    extern GFLAGS_DLL_DECLARE_FLAG type FLAGS_##name;                                    \
  }                                                                                      \
  using fL##shorttype::FLAGS_##name

#define DECLARE_bool(name) DECLARE_VARIABLE(bool, B, name)
#define DECLARE_int32(name) DECLARE_VARIABLE(::GFLAGS_NAMESPACE::int32, I, name)
#define DECLARE_uint32(name) DECLARE_VARIABLE(::GFLAGS_NAMESPACE::uint32, U, name)
#define DECLARE_int64(name) DECLARE_VARIABLE(::GFLAGS_NAMESPACE::int64, I64, name)
#define DECLARE_uint64(name) DECLARE_VARIABLE(::GFLAGS_NAMESPACE::uint64, U64, name)
#define DECLARE_double(name) DECLARE_VARIABLE(double, D, name)
#define DECLARE_string(name) DECLARE_VARIABLE(::fLS::clstring &, S, name)

#include <pd_flags/names_pop.h>

#endif /* GFLAGS_DECLARE_H_ */
