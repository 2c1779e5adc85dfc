/* Paddle's flags (paddle/common/flags.h) on the registry of paddle_flags.
 *
 *     PHI_DEFINE_EXPORTED_bool(check_nan_inf, false, "Stop at the first NaN or Inf");
 *     if (FLAGS_check_nan_inf) …
 *     COMMON_DECLARE_bool(check_nan_inf);    in other files
 *     paddle::flags::ParseCommandLineFlags(&argc, &argv);
 *
 * Compile with compat/ and the directory of pd_flags.h on the include path.
 * docs/how-to/migrate-from-paddle.md lists what differs from Paddle. With PADDLE_WITH_GFLAGS, the
 * same names are flags of a real gflags, which must come after compat/ on the include path.
 *
 * In a file that includes this one, PD_DEFINE_<type> and PD_DECLARE_<type> have Paddle's meaning,
 * whether pd_flags.h is included before or after it: FLAGS_x is an ordinary variable, and a string
 * is a std::string. The attributes of pd_flags.h may still follow the help text. */
#ifndef PD_COMPAT_PADDLE_COMMON_FLAGS_H
#define PD_COMPAT_PADDLE_COMMON_FLAGS_H

#include <pd_flags/names_push.h>

#if defined(COMMON_DECLARE_VARIABLE) || defined(PHI_DEFINE_VARIABLE)
#error "Paddle's own paddle/common/flags.h is included already: put compat/ in front of it"
#endif

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

/* Paddle's header includes these; so does this one, if they exist. */
#if defined(__has_include)
#if __has_include("paddle/common/macros.h")
#include "paddle/common/macros.h"
#endif
#if __has_include("paddle/utils/test_macros.h")
#include "paddle/utils/test_macros.h"
#endif
#endif

#ifndef PADDLE_WITH_GFLAGS
#include <pd_flags.h>
#endif

#undef AllowUndefinedFlags /* pd_flags.h has it as a trap for Paddle's own header */

/* pd_flags.h uses these names for variables that only the registry writes. */
#undef PD_DEFINE_bool
#undef PD_DEFINE_int32
#undef PD_DEFINE_uint32
#undef PD_DEFINE_int64
#undef PD_DEFINE_uint64
#undef PD_DEFINE_double
#undef PD_DEFINE_string
#undef PD_DECLARE_bool
#undef PD_DECLARE_int32
#undef PD_DECLARE_uint32
#undef PD_DECLARE_int64
#undef PD_DECLARE_uint64
#undef PD_DECLARE_double
#undef PD_DECLARE_string

#ifdef PADDLE_WITH_GFLAGS
#include <paddle/pd_flags/gflags.h>
#else
#include <paddle/pd_flags/native.h>
#endif
#include <paddle/pd_flags/exported.h>
#include <paddle/pd_flags/functions.h>
#include <pd_flags/type_tag.h>

#define PD_DEFINE_bool(name, ...) PD__PADDLE_DEFINE(bool, name, __VA_ARGS__)
#define PD_DEFINE_int32(name, ...) PD__PADDLE_DEFINE(int32, name, __VA_ARGS__)
#define PD_DEFINE_uint32(name, ...) PD__PADDLE_DEFINE(uint32, name, __VA_ARGS__)
#define PD_DEFINE_int64(name, ...) PD__PADDLE_DEFINE(int64, name, __VA_ARGS__)
#define PD_DEFINE_uint64(name, ...) PD__PADDLE_DEFINE(uint64, name, __VA_ARGS__)
#define PD_DEFINE_double(name, ...) PD__PADDLE_DEFINE(double, name, __VA_ARGS__)
#define PD_DEFINE_string(name, ...) PD__PADDLE_DEFINE(string, name, __VA_ARGS__)
#define PD_DECLARE_bool(name) PD__PADDLE_DECLARE(bool, name)
#define PD_DECLARE_int32(name) PD__PADDLE_DECLARE(int32, name)
#define PD_DECLARE_uint32(name) PD__PADDLE_DECLARE(uint32, name)
#define PD_DECLARE_int64(name) PD__PADDLE_DECLARE(int64, name)
#define PD_DECLARE_uint64(name) PD__PADDLE_DECLARE(uint64, name)
#define PD_DECLARE_double(name) PD__PADDLE_DECLARE(double, name)
#define PD_DECLARE_string(name) PD__PADDLE_DECLARE(string, name)

/* By C++ type: bool, a sized integer, double or std::string. */
#define PD_DEFINE_VARIABLE(type, name, value, ...) \
  PD__TAGGED(PD_DEFINE_, type)(name, value, __VA_ARGS__)
#define PD_DECLARE_VARIABLE(type, name) PD__TAGGED(PD_DECLARE_, type)(name)
#define PHI_DEFINE_VARIABLE(type, shorttype, name, value, ...) \
  PD__TAGGED(PD_DEFINE_, type)(name, value, __VA_ARGS__)
#define PHI_DECLARE_VARIABLE(type, shorttype, name) PD__TAGGED(PD_DECLARE_, type)(name)
#define COMMON_DECLARE_VARIABLE(type, name) PD__TAGGED(PD_DECLARE_, type)(name)

#define PHI_DEFINE_bool(name, ...) PD_DEFINE_bool(name, __VA_ARGS__)
#define PHI_DEFINE_int32(name, ...) PD_DEFINE_int32(name, __VA_ARGS__)
#define PHI_DEFINE_uint32(name, ...) PD_DEFINE_uint32(name, __VA_ARGS__)
#define PHI_DEFINE_int64(name, ...) PD_DEFINE_int64(name, __VA_ARGS__)
#define PHI_DEFINE_uint64(name, ...) PD_DEFINE_uint64(name, __VA_ARGS__)
#define PHI_DEFINE_double(name, ...) PD_DEFINE_double(name, __VA_ARGS__)
#define PHI_DEFINE_string(name, ...) PD_DEFINE_string(name, __VA_ARGS__)

#define PHI_DECLARE_bool(name) PD_DECLARE_bool(name)
#define PHI_DECLARE_int32(name) PD_DECLARE_int32(name)
#define PHI_DECLARE_uint32(name) PD_DECLARE_uint32(name)
#define PHI_DECLARE_int64(name) PD_DECLARE_int64(name)
#define PHI_DECLARE_uint64(name) PD_DECLARE_uint64(name)
#define PHI_DECLARE_double(name) PD_DECLARE_double(name)
#define PHI_DECLARE_string(name) PD_DECLARE_string(name)

#define COMMON_DECLARE_bool(name) PD_DECLARE_bool(name)
#define COMMON_DECLARE_int32(name) PD_DECLARE_int32(name)
#define COMMON_DECLARE_uint32(name) PD_DECLARE_uint32(name)
#define COMMON_DECLARE_int64(name) PD_DECLARE_int64(name)
#define COMMON_DECLARE_uint64(name) PD_DECLARE_uint64(name)
#define COMMON_DECLARE_double(name) PD_DECLARE_double(name)
#define COMMON_DECLARE_string(name) PD_DECLARE_string(name)

/* Flags that Python's get_flags and set_flags know. set_flags refuses READONLY ones; others may
 * still set them. Write these in the global namespace. */
#define PHI_DEFINE_EXPORTED_bool(...) PD__EXPORTED(bool, true, __VA_ARGS__)
#define PHI_DEFINE_EXPORTED_int32(...) PD__EXPORTED(int32, true, __VA_ARGS__)
#define PHI_DEFINE_EXPORTED_int64(...) PD__EXPORTED(int64, true, __VA_ARGS__)
#define PHI_DEFINE_EXPORTED_uint64(...) PD__EXPORTED(uint64, true, __VA_ARGS__)
#define PHI_DEFINE_EXPORTED_double(...) PD__EXPORTED(double, true, __VA_ARGS__)
#define PHI_DEFINE_EXPORTED_string(...) PD__EXPORTED(string, true, __VA_ARGS__)

#define PHI_DEFINE_EXPORTED_READONLY_bool(...) PD__EXPORTED(bool, false, __VA_ARGS__)
#define PHI_DEFINE_EXPORTED_READONLY_int32(...) PD__EXPORTED(int32, false, __VA_ARGS__)
#define PHI_DEFINE_EXPORTED_READONLY_int64(...) PD__EXPORTED(int64, false, __VA_ARGS__)
#define PHI_DEFINE_EXPORTED_READONLY_uint64(...) PD__EXPORTED(uint64, false, __VA_ARGS__)
#define PHI_DEFINE_EXPORTED_READONLY_double(...) PD__EXPORTED(double, false, __VA_ARGS__)
#define PHI_DEFINE_EXPORTED_READONLY_string(...) PD__EXPORTED(string, false, __VA_ARGS__)

/* For macros of your own: the name as it is, then true or false, the C++ type, its short name. */
#define __PHI_DEFINE_EXPORTED_FLAG(name, is_writable, cpp_type, type, value, doc) \
  PD__EXPORTED(type, is_writable, name, value, doc)

/* Before declarations: nothing, because one module may read the variables of another. */
#define COMMON_IMPORT_FLAG
#define PHI_EXPORT_FLAG
#define PHI_IMPORT_FLAG

/* Makes the linker take the file that defines the flag from a static library. */
#define PADDLE_FORCE_LINK_FLAG(name)                                     \
  extern int TouchPaddleFlagRegister_##name() PD__TOUCH_SYMBOL(#name);   \
  __attribute__((unused)) static int __paddle_use_flag_##name =          \
      TouchPaddleFlagRegister_##name()

/* What PADDLE_FORCE_LINK_FLAG refers to. The struct is only declared: in a namespace, it isn't the
 * global one of that name, and the assertion says so. */
#define PD__TOUCHED(name)                                                \
  int TouchPaddleFlagRegister_##name() PD__TOUCH_SYMBOL(#name);          \
  int TouchPaddleFlagRegister_##name() { return 0; }                     \
  struct __PaddleRegisterFlag_##name;                                    \
  static_assert(std::is_same<__PaddleRegisterFlag_##name,                \
                             ::__PaddleRegisterFlag_##name>::value,      \
                "FLAGS should define in global namespace")

#include <pd_flags/names_pop.h>

#endif /* PD_COMPAT_PADDLE_COMMON_FLAGS_H */
