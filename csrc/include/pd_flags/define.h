/* PD_DEFINE_<type>, PD_DECLARE_<type> and PD_IMPORT_<type>. In a source that also needs Paddle's
 * own header, define PD_NO_SHORT_NAMES: then only the long names of these macros exist,
 * PD_FLAG_DEFINE_<type>, PD_FLAG_DECLARE_<type> and PD_FLAG_IMPORT_<type>.
 *
 *     PD_DEFINE_int32(alpha_level, 6, "Compression level", .min = 1, .max = 9);
 *
 * defines the flag alpha_level for the process and FLAGS_alpha_level for this
 * source file. The value must be a constant that fits the type. A value outside the flag's own
 * range or choices compiles, but the registry refuses the whole module. Attributes follow the help
 * text, as in pd_flag_def; C++ requires this order:
 * .min .max .choices .category .aliases .hidden .read_only .startup_only .sensitive
 * .experimental .list .unit .deprecated .retired .old_names .metavar .validate .watch .required
 * .optional .multi .runtime .unsafe .per_process .context
 *
 *     PD_DECLARE_int32(alpha_level);
 *
 * makes FLAGS_alpha_level readable in another source file of the same module. In C++, write it
 * outside functions.
 *
 *     PD_IMPORT_int32(host_threads, 1);
 *
 * makes FLAGS_host_threads follow the flag host_threads of another module, whenever that module
 * is loaded; until then it reads 1. Write it in one source file of a module, and PD_DECLARE_int32
 * in the others.
 *
 * Reading FLAGS_x is one atomic load, from any thread. In C++, write FLAGS_x.get() where the
 * compiler cannot see which type you want: with auto, in templates, in
 * `std::string s = FLAGS_x.get()`, or beside a narrower type, as in `yes ? 0 : FLAGS_x.get()`
 * of an int64. Assigning to FLAGS_x doesn't compile: use pd_flag_set_*. The text that FLAGS_x
 * of a string points to never changes (except by pd_flag_wipe, for sensitive flags), and stays
 * valid until the process ends. Two texts are the module's own and are unloaded with it: the
 * default before the module joins, and the value of an import whose flag is not defined. */
#ifndef PD_FLAGS_DEFINE_H
#define PD_FLAGS_DEFINE_H

#include <pd_flags/record.h>

#ifndef PD_NO_SHORT_NAMES
#if defined(PD_COMPAT_PADDLE_GFLAGS_H)
#error "PD_DEFINE_<type> is Paddle's here: include pd_flags.h in front of paddle/common/flags.h"
#elif defined(PD_DEFINE_bool) || defined(PD_DEFINE_VARIABLE) || defined(COMMON_DECLARE_VARIABLE)
#error "PD_DEFINE_<type> is Paddle's here: define PD_NO_SHORT_NAMES, write PD_FLAG_DEFINE_<type>"
#elif defined(__cplusplus) && !defined(PD_COMPAT_PADDLE_COMMON_FLAGS_H)
/* Paddle's own header would redefine the short names with no more than warnings. It declares this
 * function, and nothing else has one of that name. */
#define AllowUndefinedFlags \
  _Pragma("GCC error \"this header redefines PD_DEFINE_<type> of pd_flags.h\"") \
  _Pragma("GCC error \"define PD_NO_SHORT_NAMES in front of both; write PD_FLAG_DEFINE_<type>\"") \
  AllowUndefinedFlags
#endif
#endif

#define PD__STRING_(x) #x
#define PD__STRING(x) PD__STRING_(x)

#if defined(_WIN32)
#include <pd_flags/note_pe.h>
#ifndef PD_NO_MODULE_RECORD
#include <pd_flags/join_pe.h>
#endif
#elif defined(__APPLE__)
#include <pd_flags/note_macho.h>
#ifndef PD_NO_MODULE_RECORD
#include <pd_flags/join_macho.h>
#endif
#else
#include <pd_flags/note_elf.h>
#if !defined(PD_NO_MODULE_RECORD) && defined(__ELF__)
#include <pd_flags/join_elf.h>
#endif
#endif

/* Storage and view share one symbol. The view is const and atomic, so that the
 * compiler refuses assignments, never keeps the value in a register, and
 * ThreadSanitizer sees an atomic read. The type is a part of the symbol, so that
 * a PD_DECLARE of another type doesn't link. */
#define PD__SYMBOL(text) PD__SHARED_SYMBOL(text) PD__HIDDEN
/* A symbol that other modules see too. */
#define PD__SHARED_SYMBOL(text) __asm__(PD__STRING(__USER_LABEL_PREFIX__) text)
#define PD__LABEL(tag, text) PD__SYMBOL("pd_flag_cell_" tag "_" text)

/* No two cells share a cache line: setting one flag doesn't slow down readers of others. */
#define PD__OWN_LINE __attribute__((aligned(64)))

/* `flag` is FLAGS_<name>, `text` is "<name>" and `tag` is the name of the type. The
 * public macros paste them, so that a user's macro called <name> isn't expanded. The
 * definition has a symbol too, so a module can't define one name twice, even with
 * different types. */
#define PD__FLAG(tag, ctype, member, low, high, kind, flag, text, value, ...)  \
  extern ctype pd__cell_##flag PD__LABEL(#tag, text) PD__OWN_LINE;             \
  PD__CELL(ctype, #tag, member, low, high, pd__cell_##flag, text, value);      \
  PD__VIEW(ctype, #tag, flag, text);                                           \
  PD__DEFINITION(PD_TYPE_##tag, false, member, low, high, kind, flag, text, value, __VA_ARGS__) \
  PD__LIST(flag)

/* The address of the variable FLAGS_<name>, as pd_flag_get_cell gives it: const void *. */
#ifdef __cplusplus
#include <pd_flags/define_cpp.h>
#define PD_FLAG_ADDRESS(name) static_cast<const void *>(&pd__cell_FLAGS_##name)
#else
#define PD_FLAG_ADDRESS(name) ((const void *)&FLAGS_##name)

#define PD__DECLARE PD__VIEW
#define PD__VIEW(ctype, tag, flag, text)                                       \
  __extension__ extern const _Atomic(ctype) flag PD__LABEL(tag, text)

/* C silently converts 3.7 to 3 and 5 to true. `|` takes only integers; `fits_below` is
 * for a value that isn't above 0. */
#define PD__FITS_integer(tag, fits_below, high, text, value)                   \
  _Pragma("GCC diagnostic push")                                               \
  _Pragma("GCC diagnostic ignored \"-Wtype-limits\"")                          \
  __extension__ _Static_assert(                                                \
      ((value) | 0) > 0 ? (uint64_t)(value) <= (uint64_t)(high) : (fits_below), \
      text ": the value doesn't fit " tag);                                    \
  _Pragma("GCC diagnostic pop")
#define PD__FITS_pd__u64(tag, low, high, text, value)                          \
  PD__FITS_integer(tag, (value) == 0, high, text, value)
#define PD__FITS_pd__b PD__FITS_pd__u64
#define PD__FITS_pd__i64(tag, low, high, text, value)                          \
  PD__FITS_integer(tag, (int64_t)(value) >= low, high, text, value)
#define PD__FITS_pd__f64(tag, low, high, text, value)
#define PD__FITS_pd__str PD__FITS_pd__f64
#define PD__CELL(ctype, tag, member, low, high, cell, text, value)             \
  PD__FITS_##member(tag, low, high, text, value) ctype cell = value

/* pd_flag_def with plain values, one struct for each member of pd_value. */
typedef struct pd__b { PD_FLAG_DEF_FIELDS(bool) } pd__b;
typedef struct pd__i64 { PD_FLAG_DEF_FIELDS(int64_t) } pd__i64;
typedef struct pd__u64 { PD_FLAG_DEF_FIELDS(uint64_t) } pd__u64;
typedef struct pd__f64 { PD_FLAG_DEF_FIELDS(double) } pd__f64;
typedef struct pd__str { PD_FLAG_DEF_FIELDS(const char *) } pd__str;

/* The help text and the attributes come last and override the full range, which isn't
 * given by name: `min` and `max` may be macros of the user. */
#define PD__DEFINITION(type_, mark, member, low, high, kind_, flag, text, value, ...) \
  extern const member pd__def_##flag                                           \
      PD__SYMBOL("pd_flag_definition_" text);                                  \
  _Pragma("GCC diagnostic push")                                               \
  _Pragma("GCC diagnostic ignored \"-Woverride-init\"")                        \
  const member pd__def_##flag = {                                              \
      .size = sizeof(pd_flag_def), .line = __LINE__, .type = type_,            \
      .kind = kind_, .name = text, .file = __FILE__,                           \
      .cell = &pd__cell_##flag, .default_value = value, /* min: */ low,        \
      /* max: */ high, .scoped = mark, .scoped_cell = mark, .help = __VA_ARGS__}; \
  _Pragma("GCC diagnostic pop")

#endif /* __cplusplus */

#define PD__DEFINE(tag, ...) PD__##tag(PD_KIND_DEFINE, __VA_ARGS__)
#define PD__IMPORT(tag, ...) PD__##tag(PD_KIND_IMPORT, __VA_ARGS__, NULL)

/* For each type: its whole range; PD_FLAG_DEFINE_<type>(name, value, help, attributes...),
 * PD_FLAG_IMPORT_<type>(name, value until the flag is defined) and PD_FLAG_DECLARE_<type>(name);
 * and the short names. The short names take no parameters: a parameter would be expanded on the
 * way, and a flag may have the name of a macro. */

#define PD__LOW_bool false
#define PD__HIGH_bool true
#define PD__bool(...) PD__FLAG(bool, bool, pd__b, PD__LOW_bool, PD__HIGH_bool, __VA_ARGS__)
#define PD_FLAG_DEFINE_bool(name, ...) PD__DEFINE(bool, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_bool(name, value) PD__IMPORT(bool, FLAGS_##name, #name, value)
#define PD_FLAG_DECLARE_bool(name) PD__DECLARE(bool, "bool", FLAGS_##name, #name)
#ifndef PD_NO_SHORT_NAMES
#define PD_DEFINE_bool PD_FLAG_DEFINE_bool
#define PD_IMPORT_bool PD_FLAG_IMPORT_bool
#define PD_DECLARE_bool PD_FLAG_DECLARE_bool
#endif

#define PD__LOW_int32 INT32_MIN
#define PD__HIGH_int32 INT32_MAX
#define PD__int32(...) PD__FLAG(int32, int32_t, pd__i64, PD__LOW_int32, PD__HIGH_int32, __VA_ARGS__)
#define PD_FLAG_DEFINE_int32(name, ...) PD__DEFINE(int32, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_int32(name, value) PD__IMPORT(int32, FLAGS_##name, #name, value)
#define PD_FLAG_DECLARE_int32(name) PD__DECLARE(int32_t, "int32", FLAGS_##name, #name)
#ifndef PD_NO_SHORT_NAMES
#define PD_DEFINE_int32 PD_FLAG_DEFINE_int32
#define PD_IMPORT_int32 PD_FLAG_IMPORT_int32
#define PD_DECLARE_int32 PD_FLAG_DECLARE_int32
#endif

#define PD__LOW_uint32 0
#define PD__HIGH_uint32 UINT32_MAX
#define PD__uint32(...) PD__FLAG(uint32, uint32_t, pd__u64, PD__LOW_uint32, PD__HIGH_uint32, __VA_ARGS__)
#define PD_FLAG_DEFINE_uint32(name, ...) PD__DEFINE(uint32, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_uint32(name, value) PD__IMPORT(uint32, FLAGS_##name, #name, value)
#define PD_FLAG_DECLARE_uint32(name) PD__DECLARE(uint32_t, "uint32", FLAGS_##name, #name)
#ifndef PD_NO_SHORT_NAMES
#define PD_DEFINE_uint32 PD_FLAG_DEFINE_uint32
#define PD_IMPORT_uint32 PD_FLAG_IMPORT_uint32
#define PD_DECLARE_uint32 PD_FLAG_DECLARE_uint32
#endif

#define PD__LOW_int64 INT64_MIN
#define PD__HIGH_int64 INT64_MAX
#define PD__int64(...) PD__FLAG(int64, int64_t, pd__i64, PD__LOW_int64, PD__HIGH_int64, __VA_ARGS__)
#define PD_FLAG_DEFINE_int64(name, ...) PD__DEFINE(int64, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_int64(name, value) PD__IMPORT(int64, FLAGS_##name, #name, value)
#define PD_FLAG_DECLARE_int64(name) PD__DECLARE(int64_t, "int64", FLAGS_##name, #name)
#ifndef PD_NO_SHORT_NAMES
#define PD_DEFINE_int64 PD_FLAG_DEFINE_int64
#define PD_IMPORT_int64 PD_FLAG_IMPORT_int64
#define PD_DECLARE_int64 PD_FLAG_DECLARE_int64
#endif

#define PD__LOW_uint64 0
#define PD__HIGH_uint64 UINT64_MAX
#define PD__uint64(...) PD__FLAG(uint64, uint64_t, pd__u64, PD__LOW_uint64, PD__HIGH_uint64, __VA_ARGS__)
#define PD_FLAG_DEFINE_uint64(name, ...) PD__DEFINE(uint64, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_uint64(name, value) PD__IMPORT(uint64, FLAGS_##name, #name, value)
#define PD_FLAG_DECLARE_uint64(name) PD__DECLARE(uint64_t, "uint64", FLAGS_##name, #name)
#ifndef PD_NO_SHORT_NAMES
#define PD_DEFINE_uint64 PD_FLAG_DEFINE_uint64
#define PD_IMPORT_uint64 PD_FLAG_IMPORT_uint64
#define PD_DECLARE_uint64 PD_FLAG_DECLARE_uint64
#endif

#define PD__LOW_double -__builtin_huge_val()
#define PD__HIGH_double __builtin_huge_val()
#define PD__double(...) PD__FLAG(double, double, pd__f64, PD__LOW_double, PD__HIGH_double, __VA_ARGS__)
#define PD_FLAG_DEFINE_double(name, ...) PD__DEFINE(double, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_double(name, value) PD__IMPORT(double, FLAGS_##name, #name, value)
#define PD_FLAG_DECLARE_double(name) PD__DECLARE(double, "double", FLAGS_##name, #name)
#ifndef PD_NO_SHORT_NAMES
#define PD_DEFINE_double PD_FLAG_DEFINE_double
#define PD_IMPORT_double PD_FLAG_IMPORT_double
#define PD_DECLARE_double PD_FLAG_DECLARE_double
#endif

#define PD__LOW_string NULL
#define PD__HIGH_string NULL
#define PD__string(...) PD__FLAG(string, const char *, pd__str, PD__LOW_string, PD__HIGH_string, __VA_ARGS__)
#define PD_FLAG_DEFINE_string(name, ...) PD__DEFINE(string, FLAGS_##name, #name, __VA_ARGS__)
#define PD_FLAG_IMPORT_string(name, value) PD__IMPORT(string, FLAGS_##name, #name, value)
#define PD_FLAG_DECLARE_string(name) PD__DECLARE(const char *, "string", FLAGS_##name, #name)
#ifndef PD_NO_SHORT_NAMES
#define PD_DEFINE_string PD_FLAG_DEFINE_string
#define PD_IMPORT_string PD_FLAG_IMPORT_string
#define PD_DECLARE_string PD_FLAG_DECLARE_string
#endif

#include <pd_flags/op.h>
#include <pd_flags/scoped.h>

#endif /* PD_FLAGS_DEFINE_H */
