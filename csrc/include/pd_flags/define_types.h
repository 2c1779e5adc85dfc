/* The macros that users write for a flag, once for each type; define.h and scoped.h say what they
 * do.
 *
 * A macro can't define macros, so tools/lists.py repeats the lines in the comments below for the
 * types of PD_TYPE_MAP. The short names take no parameters: a parameter would be expanded on the
 * way, and a flag may have the name of a macro. */
#ifndef PD_FLAGS_DEFINE_TYPES_H
#define PD_FLAGS_DEFINE_TYPES_H

/* The long names: made by tools/lists.py, for each type:
#define PD_FLAG_DEFINE_<type>(name, ...) \
  PD__FLAG(<type>, <ctype>, <member>, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_<type>(name, value) \
  PD__FLAG(<type>, <ctype>, <member>, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_<type>(name) PD__DECLARE(<ctype>, "<type>", FLAGS_##name, #name)
#define PD_FLAG_DEFINE_SCOPED_<type>(name, ...) \
  PD__SCOPED_FLAG(<type>, <member>, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_SCOPED_<type>(name, value) \
  PD__SCOPED_FLAG(<type>, <member>, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_SCOPED_<type>(name) PD__SCOPED_OTHER(<type>, FLAGS_##name, #name)
*/
#define PD_FLAG_DEFINE_bool(name, ...) \
  PD__FLAG(bool, bool, b, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_bool(name, value) \
  PD__FLAG(bool, bool, b, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_bool(name) PD__DECLARE(bool, "bool", FLAGS_##name, #name)
#define PD_FLAG_DEFINE_SCOPED_bool(name, ...) \
  PD__SCOPED_FLAG(bool, b, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_SCOPED_bool(name, value) \
  PD__SCOPED_FLAG(bool, b, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_SCOPED_bool(name) PD__SCOPED_OTHER(bool, FLAGS_##name, #name)
#define PD_FLAG_DEFINE_int32(name, ...) \
  PD__FLAG(int32, int32_t, i64, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_int32(name, value) \
  PD__FLAG(int32, int32_t, i64, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_int32(name) PD__DECLARE(int32_t, "int32", FLAGS_##name, #name)
#define PD_FLAG_DEFINE_SCOPED_int32(name, ...) \
  PD__SCOPED_FLAG(int32, i64, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_SCOPED_int32(name, value) \
  PD__SCOPED_FLAG(int32, i64, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_SCOPED_int32(name) PD__SCOPED_OTHER(int32, FLAGS_##name, #name)
#define PD_FLAG_DEFINE_uint32(name, ...) \
  PD__FLAG(uint32, uint32_t, u64, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_uint32(name, value) \
  PD__FLAG(uint32, uint32_t, u64, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_uint32(name) PD__DECLARE(uint32_t, "uint32", FLAGS_##name, #name)
#define PD_FLAG_DEFINE_SCOPED_uint32(name, ...) \
  PD__SCOPED_FLAG(uint32, u64, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_SCOPED_uint32(name, value) \
  PD__SCOPED_FLAG(uint32, u64, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_SCOPED_uint32(name) PD__SCOPED_OTHER(uint32, FLAGS_##name, #name)
#define PD_FLAG_DEFINE_int64(name, ...) \
  PD__FLAG(int64, int64_t, i64, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_int64(name, value) \
  PD__FLAG(int64, int64_t, i64, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_int64(name) PD__DECLARE(int64_t, "int64", FLAGS_##name, #name)
#define PD_FLAG_DEFINE_SCOPED_int64(name, ...) \
  PD__SCOPED_FLAG(int64, i64, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_SCOPED_int64(name, value) \
  PD__SCOPED_FLAG(int64, i64, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_SCOPED_int64(name) PD__SCOPED_OTHER(int64, FLAGS_##name, #name)
#define PD_FLAG_DEFINE_uint64(name, ...) \
  PD__FLAG(uint64, uint64_t, u64, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_uint64(name, value) \
  PD__FLAG(uint64, uint64_t, u64, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_uint64(name) PD__DECLARE(uint64_t, "uint64", FLAGS_##name, #name)
#define PD_FLAG_DEFINE_SCOPED_uint64(name, ...) \
  PD__SCOPED_FLAG(uint64, u64, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_SCOPED_uint64(name, value) \
  PD__SCOPED_FLAG(uint64, u64, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_SCOPED_uint64(name) PD__SCOPED_OTHER(uint64, FLAGS_##name, #name)
#define PD_FLAG_DEFINE_double(name, ...) \
  PD__FLAG(double, double, f64, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_double(name, value) \
  PD__FLAG(double, double, f64, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_double(name) PD__DECLARE(double, "double", FLAGS_##name, #name)
#define PD_FLAG_DEFINE_SCOPED_double(name, ...) \
  PD__SCOPED_FLAG(double, f64, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_SCOPED_double(name, value) \
  PD__SCOPED_FLAG(double, f64, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_SCOPED_double(name) PD__SCOPED_OTHER(double, FLAGS_##name, #name)
#define PD_FLAG_DEFINE_string(name, ...) \
  PD__FLAG(string, const char *, str, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_string(name, value) \
  PD__FLAG(string, const char *, str, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_string(name) PD__DECLARE(const char *, "string", FLAGS_##name, #name)
#define PD_FLAG_DEFINE_SCOPED_string(name, ...) \
  PD__SCOPED_FLAG(string, str, PD_KIND_DEFINE, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_SCOPED_string(name, value) \
  PD__SCOPED_FLAG(string, str, PD_KIND_IMPORT, FLAGS_##name, #name, value, NULL)
#define PD_FLAG_DECLARE_SCOPED_string(name) PD__SCOPED_OTHER(string, FLAGS_##name, #name)
/* end of the long names */

#ifndef PD_NO_SHORT_NAMES
/* The short names: made by tools/lists.py, for each type:
#define PD_DEFINE_<type> PD_FLAG_DEFINE_<type>
#define PD_IMPORT_<type> PD_FLAG_IMPORT_<type>
#define PD_DECLARE_<type> PD_FLAG_DECLARE_<type>
#define PD_DEFINE_SCOPED_<type> PD_FLAG_DEFINE_SCOPED_<type>
#define PD_IMPORT_SCOPED_<type> PD_FLAG_IMPORT_SCOPED_<type>
#define PD_DECLARE_SCOPED_<type> PD_FLAG_DECLARE_SCOPED_<type>
*/
#define PD_DEFINE_bool PD_FLAG_DEFINE_bool
#define PD_IMPORT_bool PD_FLAG_IMPORT_bool
#define PD_DECLARE_bool PD_FLAG_DECLARE_bool
#define PD_DEFINE_SCOPED_bool PD_FLAG_DEFINE_SCOPED_bool
#define PD_IMPORT_SCOPED_bool PD_FLAG_IMPORT_SCOPED_bool
#define PD_DECLARE_SCOPED_bool PD_FLAG_DECLARE_SCOPED_bool
#define PD_DEFINE_int32 PD_FLAG_DEFINE_int32
#define PD_IMPORT_int32 PD_FLAG_IMPORT_int32
#define PD_DECLARE_int32 PD_FLAG_DECLARE_int32
#define PD_DEFINE_SCOPED_int32 PD_FLAG_DEFINE_SCOPED_int32
#define PD_IMPORT_SCOPED_int32 PD_FLAG_IMPORT_SCOPED_int32
#define PD_DECLARE_SCOPED_int32 PD_FLAG_DECLARE_SCOPED_int32
#define PD_DEFINE_uint32 PD_FLAG_DEFINE_uint32
#define PD_IMPORT_uint32 PD_FLAG_IMPORT_uint32
#define PD_DECLARE_uint32 PD_FLAG_DECLARE_uint32
#define PD_DEFINE_SCOPED_uint32 PD_FLAG_DEFINE_SCOPED_uint32
#define PD_IMPORT_SCOPED_uint32 PD_FLAG_IMPORT_SCOPED_uint32
#define PD_DECLARE_SCOPED_uint32 PD_FLAG_DECLARE_SCOPED_uint32
#define PD_DEFINE_int64 PD_FLAG_DEFINE_int64
#define PD_IMPORT_int64 PD_FLAG_IMPORT_int64
#define PD_DECLARE_int64 PD_FLAG_DECLARE_int64
#define PD_DEFINE_SCOPED_int64 PD_FLAG_DEFINE_SCOPED_int64
#define PD_IMPORT_SCOPED_int64 PD_FLAG_IMPORT_SCOPED_int64
#define PD_DECLARE_SCOPED_int64 PD_FLAG_DECLARE_SCOPED_int64
#define PD_DEFINE_uint64 PD_FLAG_DEFINE_uint64
#define PD_IMPORT_uint64 PD_FLAG_IMPORT_uint64
#define PD_DECLARE_uint64 PD_FLAG_DECLARE_uint64
#define PD_DEFINE_SCOPED_uint64 PD_FLAG_DEFINE_SCOPED_uint64
#define PD_IMPORT_SCOPED_uint64 PD_FLAG_IMPORT_SCOPED_uint64
#define PD_DECLARE_SCOPED_uint64 PD_FLAG_DECLARE_SCOPED_uint64
#define PD_DEFINE_double PD_FLAG_DEFINE_double
#define PD_IMPORT_double PD_FLAG_IMPORT_double
#define PD_DECLARE_double PD_FLAG_DECLARE_double
#define PD_DEFINE_SCOPED_double PD_FLAG_DEFINE_SCOPED_double
#define PD_IMPORT_SCOPED_double PD_FLAG_IMPORT_SCOPED_double
#define PD_DECLARE_SCOPED_double PD_FLAG_DECLARE_SCOPED_double
#define PD_DEFINE_string PD_FLAG_DEFINE_string
#define PD_IMPORT_string PD_FLAG_IMPORT_string
#define PD_DECLARE_string PD_FLAG_DECLARE_string
#define PD_DEFINE_SCOPED_string PD_FLAG_DEFINE_SCOPED_string
#define PD_IMPORT_SCOPED_string PD_FLAG_IMPORT_SCOPED_string
#define PD_DECLARE_SCOPED_string PD_FLAG_DECLARE_SCOPED_string
/* end of the short names */

/* Types that don't exist, with the names to use instead: otherwise, the compiler would take such a
 * definition for a function. */
#define PD__PRAGMA(text) _Pragma(#text)
#define PD_DEFINE_int(...)                                                                         \
  PD__PRAGMA(GCC error "PD_DEFINE_int: use PD_DEFINE_int32 or PD_DEFINE_int64")
#define PD_IMPORT_int(...)                                                                         \
  PD__PRAGMA(GCC error "PD_IMPORT_int: use PD_IMPORT_int32 or PD_IMPORT_int64")
#define PD_DECLARE_int(...)                                                                        \
  PD__PRAGMA(GCC error "PD_DECLARE_int: use PD_DECLARE_int32 or PD_DECLARE_int64")
#define PD_DEFINE_SCOPED_int(...)                                                                  \
  PD__PRAGMA(GCC error "PD_DEFINE_SCOPED_int: use PD_DEFINE_SCOPED_int32 or _int64")
#define PD_IMPORT_SCOPED_int(...)                                                                  \
  PD__PRAGMA(GCC error "PD_IMPORT_SCOPED_int: use PD_IMPORT_SCOPED_int32 or _int64")
#define PD_DECLARE_SCOPED_int(...)                                                                 \
  PD__PRAGMA(GCC error "PD_DECLARE_SCOPED_int: use PD_DECLARE_SCOPED_int32 or _int64")
#define PD_DEFINE_uint(...)                                                                        \
  PD__PRAGMA(GCC error "PD_DEFINE_uint: use PD_DEFINE_uint32 or PD_DEFINE_uint64")
#define PD_IMPORT_uint(...)                                                                        \
  PD__PRAGMA(GCC error "PD_IMPORT_uint: use PD_IMPORT_uint32 or PD_IMPORT_uint64")
#define PD_DECLARE_uint(...)                                                                       \
  PD__PRAGMA(GCC error "PD_DECLARE_uint: use PD_DECLARE_uint32 or PD_DECLARE_uint64")
#define PD_DEFINE_SCOPED_uint(...)                                                                 \
  PD__PRAGMA(GCC error "PD_DEFINE_SCOPED_uint: use PD_DEFINE_SCOPED_uint32 or _uint64")
#define PD_IMPORT_SCOPED_uint(...)                                                                 \
  PD__PRAGMA(GCC error "PD_IMPORT_SCOPED_uint: use PD_IMPORT_SCOPED_uint32 or _uint64")
#define PD_DECLARE_SCOPED_uint(...)                                                                \
  PD__PRAGMA(GCC error "PD_DECLARE_SCOPED_uint: use PD_DECLARE_SCOPED_uint32 or _uint64")
#define PD_DEFINE_long(...) PD__PRAGMA(GCC error "PD_DEFINE_long: use PD_DEFINE_int64")
#define PD_IMPORT_long(...) PD__PRAGMA(GCC error "PD_IMPORT_long: use PD_IMPORT_int64")
#define PD_DECLARE_long(...) PD__PRAGMA(GCC error "PD_DECLARE_long: use PD_DECLARE_int64")
#define PD_DEFINE_SCOPED_long(...)                                                                 \
  PD__PRAGMA(GCC error "PD_DEFINE_SCOPED_long: use PD_DEFINE_SCOPED_int64")
#define PD_IMPORT_SCOPED_long(...)                                                                 \
  PD__PRAGMA(GCC error "PD_IMPORT_SCOPED_long: use PD_IMPORT_SCOPED_int64")
#define PD_DECLARE_SCOPED_long(...)                                                                \
  PD__PRAGMA(GCC error "PD_DECLARE_SCOPED_long: use PD_DECLARE_SCOPED_int64")
#define PD_DEFINE_float(...) PD__PRAGMA(GCC error "PD_DEFINE_float: use PD_DEFINE_double")
#define PD_IMPORT_float(...) PD__PRAGMA(GCC error "PD_IMPORT_float: use PD_IMPORT_double")
#define PD_DECLARE_float(...) PD__PRAGMA(GCC error "PD_DECLARE_float: use PD_DECLARE_double")
#define PD_DEFINE_SCOPED_float(...)                                                                \
  PD__PRAGMA(GCC error "PD_DEFINE_SCOPED_float: use PD_DEFINE_SCOPED_double")
#define PD_IMPORT_SCOPED_float(...)                                                                \
  PD__PRAGMA(GCC error "PD_IMPORT_SCOPED_float: use PD_IMPORT_SCOPED_double")
#define PD_DECLARE_SCOPED_float(...)                                                               \
  PD__PRAGMA(GCC error "PD_DECLARE_SCOPED_float: use PD_DECLARE_SCOPED_double")
#define PD_DEFINE_str(...) PD__PRAGMA(GCC error "PD_DEFINE_str: use PD_DEFINE_string")
#define PD_IMPORT_str(...) PD__PRAGMA(GCC error "PD_IMPORT_str: use PD_IMPORT_string")
#define PD_DECLARE_str(...) PD__PRAGMA(GCC error "PD_DECLARE_str: use PD_DECLARE_string")
#define PD_DEFINE_SCOPED_str(...)                                                                  \
  PD__PRAGMA(GCC error "PD_DEFINE_SCOPED_str: use PD_DEFINE_SCOPED_string")
#define PD_IMPORT_SCOPED_str(...)                                                                  \
  PD__PRAGMA(GCC error "PD_IMPORT_SCOPED_str: use PD_IMPORT_SCOPED_string")
#define PD_DECLARE_SCOPED_str(...)                                                                 \
  PD__PRAGMA(GCC error "PD_DECLARE_SCOPED_str: use PD_DECLARE_SCOPED_string")
#endif

#endif /* PD_FLAGS_DEFINE_TYPES_H */
