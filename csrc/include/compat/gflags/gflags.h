/* gflags' programming interface on the registry of the process: sources that are compiled with
 * this header instead of gflags' own join it, and need no gflags.
 *
 *     c++ -I<include>/compat -I<include> program.cc -lpd_flags
 *
 * DEFINE_<type>, DECLARE_<type> and validators need no library, so plugins can use them. Every
 * other function calls the library or, with PD_HEADER_ONLY, the registry of the process.
 * docs/how-to/migrate-from-gflags.md says what is the same as in gflags 2.3 and what is better.
 * Names and meanings are gflags'; the code is ours. */
/* Paddle and c10 want a real gflags here, which comes later on the include path; its include guard
 * skips the rest. */
#if defined(PADDLE_WITH_GFLAGS) || defined(C10_USE_GFLAGS)
#pragma GCC system_header /* #include_next is an extension */
#include_next <gflags/gflags.h>
#endif

#if defined(GFLAGS_GFLAGS_H_) && !defined(PD_COMPAT_GFLAGS_H) && \
    !defined(PADDLE_WITH_GFLAGS) && !defined(C10_USE_GFLAGS)
#error "gflags' own gflags/gflags.h is included already: put compat/ in front of its directory"
#endif

#ifndef GFLAGS_GFLAGS_H_
#if defined(DEFINE_VARIABLE) || defined(DEFINE_bool)
#error "a gflags.h of gflags is included already, perhaps of this source tree: include only one"
#endif
#define GFLAGS_GFLAGS_H_
#define PD_COMPAT_GFLAGS_H
/* The guard of gflags before 2.1: if such a header follows this one, it is skipped, as later ones
 * are. */
#ifndef GOOGLE_GFLAGS_H_
#define GOOGLE_GFLAGS_H_
#endif

#include <pd_flags/names_push.h>

#include <gflags/gflags_declare.h>

#include <string>
#include <vector>

#ifndef GFLAGS_DLL_DEFINE_FLAG
#define GFLAGS_DLL_DEFINE_FLAG PD__GFLAGS_SHARED
#endif

namespace GFLAGS_NAMESPACE {

struct CommandLineFlagInfo {
  std::string name;
  std::string type; /* "int32" */
  std::string description;
  std::string current_value; /* as text */
  std::string default_value;
  std::string filename;  /* of the definition */
  bool has_validator_fn; /* of any module */
  bool is_default;       /* it has no other value */
  const void *flag_ptr;  /* &FLAGS_<name> */
};

enum FlagSettingMode {
  SET_FLAGS_VALUE,
  SET_FLAG_IF_DEFAULT, /* unless the flag was set */
  SET_FLAGS_DEFAULT    /* changes the default, which takes effect unless the flag was set */
};

/* The help text of flags that were compiled with STRIP_FLAG_HELP. */
static const char kStrippedFlagHelp[] __attribute__((unused)) =
    "\001\002\003\004 (unknown) \004\003\002\001";

}  // namespace GFLAGS_NAMESPACE

#include <pd_flags/gflags_define.hpp>
#include <pd_flags/gflags_words.hpp>
#include <pd_flags/gflags_flag.hpp>
#include <pd_flags/gflags_report.hpp>
#include <pd_flags/gflags_completions.hpp>
#include <pd_flags/gflags_line.hpp>
#include <pd_flags/gflags_saver.hpp>
#include <pd_flags/gflags_api.hpp>

namespace google {
using namespace ::GFLAGS_NAMESPACE;
}

/* ---- Definitions ---- */

#if defined(STRIP_FLAG_HELP) && STRIP_FLAG_HELP > 0
#define PD__GFLAGS_STRIPPED true
/* The compiler reads `help`, and leaves it out. */
#define MAYBE_STRIPPED_HELP(help) (false ? (help) : ::GFLAGS_NAMESPACE::kStrippedFlagHelp)
#else
#define PD__GFLAGS_STRIPPED false
#define MAYBE_STRIPPED_HELP(help) help
#endif

#define DEFINE_VARIABLE(type, shorttype, name, value, help)                              \
  PD__GFLAGS_VARIABLE_##shorttype(FLAGS_##name, #name, value, help)
/* sizeof finds out, without a call, which IsBoolFlag accepts the value: only the one for bool
 * returns a bool. */
#define DEFINE_bool(name, value, help)                                                      \
  static_assert(sizeof(::fLB::IsBoolFlag(value)) == sizeof(bool),                          \
                #name ": the value is no bool");                                         \
  PD__GFLAGS_VARIABLE_B(FLAGS_##name, #name, value, help)
#define DEFINE_int32(name, value, help) PD__GFLAGS_VARIABLE_I(FLAGS_##name, #name, value, help)
#define DEFINE_uint32(name, value, help) PD__GFLAGS_VARIABLE_U(FLAGS_##name, #name, value, help)
#define DEFINE_int64(name, value, help) PD__GFLAGS_VARIABLE_I64(FLAGS_##name, #name, value, help)
#define DEFINE_uint64(name, value, help) PD__GFLAGS_VARIABLE_U64(FLAGS_##name, #name, value, help)
#define DEFINE_double(name, value, help) PD__GFLAGS_VARIABLE_D(FLAGS_##name, #name, value, help)
#define DEFINE_string(name, value, help) PD__GFLAGS_VARIABLE_S(FLAGS_##name, #name, value, help)

#define DEFINE_validator(name, validator)                                                \
  static const bool name##_validator_registered __attribute__((unused)) =                \
      ::GFLAGS_NAMESPACE::RegisterFlagValidator(&FLAGS_##name, validator)

#include <pd_flags/names_pop.h>

#endif /* GFLAGS_GFLAGS_H_ */
