/* c10's flags (PyTorch's c10/util/Flags.h) on the registry of paddle_flags.
 *
 *     C10_DEFINE_int(c10_level, 6, "Compression level");    in the global namespace
 *     c10::FLAGS_c10_level = 7;
 *     C10_DECLARE_int(c10_level);                           in other files
 *     c10::ParseCommandLineFlags(&argc, &argv);
 *
 * Compile with compat/ and the directory of pd_flags.h on the include path.
 * docs/how-to/migrate-from-paddle.md lists what differs from c10. With C10_USE_GFLAGS, the same
 * names are flags of a real gflags, which must come after compat/ on the include path. */
#ifndef PD_COMPAT_C10_UTIL_FLAGS_H
#define PD_COMPAT_C10_UTIL_FLAGS_H

#include <pd_flags/names_push.h>

#ifdef C10_UTIL_FLAGS_H_
#error "PyTorch's own c10/util/Flags.h is included already: put compat/ in front of its directory"
#endif
#define C10_UTIL_FLAGS_H_

#include <cstdint>
#include <string>

/* c10's header includes these; so does this one, if they exist. */
#if defined(__has_include)
#if __has_include(<c10/macros/cmake_macros.h>) && __has_include(<c10/util/Registry.h>)
#include <c10/util/Registry.h>
#endif
#endif

#ifdef C10_USE_GFLAGS
#include <c10/pd_flags/gflags.h>
#else
#include <c10/pd_flags/native.h>
#endif

#define C10_DEFINE_int(name, value, help) C10_DEFINE_typed_flag_(int32, name, value, help)
#define C10_DEFINE_bool(name, value, help) C10_DEFINE_typed_flag_(bool, name, value, help)
#define C10_DEFINE_int32(name, value, help) C10_DEFINE_typed_flag_(int32, name, value, help)
#define C10_DEFINE_uint32(name, value, help) C10_DEFINE_typed_flag_(uint32, name, value, help)
#define C10_DEFINE_int64(name, value, help) C10_DEFINE_typed_flag_(int64, name, value, help)
#define C10_DEFINE_uint64(name, value, help) C10_DEFINE_typed_flag_(uint64, name, value, help)
#define C10_DEFINE_double(name, value, help) C10_DEFINE_typed_flag_(double, name, value, help)
#define C10_DEFINE_string(name, value, help) C10_DEFINE_typed_flag_(string, name, value, help)

#define C10_DECLARE_int(name) C10_DECLARE_typed_flag_(int32, name)
#define C10_DECLARE_bool(name) C10_DECLARE_typed_flag_(bool, name)
#define C10_DECLARE_int32(name) C10_DECLARE_typed_flag_(int32, name)
#define C10_DECLARE_uint32(name) C10_DECLARE_typed_flag_(uint32, name)
#define C10_DECLARE_int64(name) C10_DECLARE_typed_flag_(int64, name)
#define C10_DECLARE_uint64(name) C10_DECLARE_typed_flag_(uint64, name)
#define C10_DECLARE_double(name) C10_DECLARE_typed_flag_(double, name)
#define C10_DECLARE_string(name) C10_DECLARE_typed_flag_(string, name)

/* A flag that libtorch defines, if PyTorch's own headers are there: functions in some of them read
 * such flags. Otherwise a flag of C10_DEFINE_<type>. */
#if defined(TORCH_API) && !defined(C10_USE_GFLAGS)
#define TORCH_DECLARE_typed_var(type, name) TORCH_API extern type FLAGS_##name
#define TORCH_DECLARE_int(name) TORCH_DECLARE_typed_var(int, name)
#define TORCH_DECLARE_bool(name) TORCH_DECLARE_typed_var(bool, name)
#define TORCH_DECLARE_int32(name) TORCH_DECLARE_typed_var(int, name)
#define TORCH_DECLARE_int64(name) TORCH_DECLARE_typed_var(int64_t, name)
#define TORCH_DECLARE_double(name) TORCH_DECLARE_typed_var(double, name)
#define TORCH_DECLARE_string(name) TORCH_DECLARE_typed_var(std::string, name)
#else
#define TORCH_DECLARE_typed_var(type, name) C10_DECLARE_typed_var(type, name)
#define TORCH_DECLARE_int(name) C10_DECLARE_int(name)
#define TORCH_DECLARE_bool(name) C10_DECLARE_bool(name)
#define TORCH_DECLARE_int32(name) C10_DECLARE_int32(name)
#define TORCH_DECLARE_int64(name) C10_DECLARE_int64(name)
#define TORCH_DECLARE_double(name) C10_DECLARE_double(name)
#define TORCH_DECLARE_string(name) C10_DECLARE_string(name)
#endif

#include <pd_flags/names_pop.h>

#endif /* PD_COMPAT_C10_UTIL_FLAGS_H */
