/* PD_DEFINE_<type>, PD_DECLARE_<type> and PD_IMPORT_<type>. In a source file that also needs
 * Paddle's own header, define PD_NO_SHORT_NAMES: then only the long names of these macros exist,
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
 * .optional .multi .runtime .unsafe .per_process .count .merge .context
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
 * compiler can't tell which type you want: with auto, in templates, in `std::string s =
 * FLAGS_x.get()`, or beside a narrower type, as in `yes ? 0 : FLAGS_x.get()` with an int64.
 * Assigning to FLAGS_x doesn't compile: use pd_flag_set_*. The text that FLAGS_x of a string points
 * to never changes (except by pd_flag_wipe, for sensitive flags), and stays valid until the process
 * ends. Two texts belong to the module and are unloaded with it: the default before the module
 * joins, and the value of an import whose flag isn't defined. */
#ifndef PD_FLAGS_DEFINE_H
#define PD_FLAGS_DEFINE_H

#include <pd_flags/record.h>

#ifndef PD_NO_SHORT_NAMES
#if defined(PD_COMPAT_PADDLE_GFLAGS_H)
#error "PD_DEFINE_<type> is Paddle's here: include pd_flags.h in front of paddle/common/flags.h"
#elif defined(PD_DEFINE_bool) || defined(PD_DEFINE_VARIABLE) || defined(COMMON_DECLARE_VARIABLE)
#error "PD_DEFINE_<type> is Paddle's here: define PD_NO_SHORT_NAMES, write PD_FLAG_DEFINE_<type>"
#elif defined(__cplusplus) && !defined(PD_COMPAT_PADDLE_COMMON_FLAGS_H)
/* Paddle's own header would redefine the short names with no more than warnings. It declares a
 * function of this name, and nothing else does: there the pragmas are read, and are errors. */
#define AllowUndefinedFlags                                                                       \
  _Pragma("GCC error \"this header redefines PD_DEFINE_<type> of pd_flags.h\"")                   \
  _Pragma("GCC error \"define PD_NO_SHORT_NAMES in front of both; write PD_FLAG_DEFINE_<type>\"") \
  AllowUndefinedFlags
#endif
#endif

/* The text of what x expands to: # alone gives the text of x itself, hence the second step. */
#define PD__STRING_AS_IS(x) #x
#define PD__STRING(x) PD__STRING_AS_IS(x)

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

/* `int x __asm__("name");` declares x with the symbol `name`. So two variables of C can be one in
 * memory, and a symbol can contain text that isn't part of the variable's name. The compiler puts
 * the prefix, "_" on macOS and "" elsewhere, only before names that it makes itself. */
#define PD__SHARED_SYMBOL(text) __asm__(PD__STRING(__USER_LABEL_PREFIX__) text)
/* A symbol that other modules don't see. */
#define PD__SYMBOL(text) PD__SHARED_SYMBOL(text) PD__HIDDEN

/* The cell, which the registry writes, and the view FLAGS_x, which users read, share one symbol.
 * The view is const and atomic, so that the compiler refuses assignments, never keeps the value in
 * a register, and ThreadSanitizer sees an atomic read. The type is a part of the symbol, so that a
 * PD_DECLARE of another type doesn't link. */
#define PD__CELL_SYMBOL(type_name, text) PD__SYMBOL("pd_flag_cell_" type_name "_" text)

/* No two cells share a cache line: setting one flag doesn't slow down readers of others. */
#define PD__OWN_LINE __attribute__((aligned(64)))

/* A flag: its cell, its view, its definition, and a pointer to that in the module's list. `type` is
 * the name of the type, which is only pasted into names and texts, because `bool` alone may be a
 * macro. The same is true of `member`, the member of pd_value, `flag`, which is FLAGS_<name>, and
 * `text`, "<name>": the macros that users write paste them, so that a user's macro called <name>
 * isn't expanded. The definition has a symbol too, so a module can't define one name twice, even
 * with different types. */
#define PD__FLAG(type, ctype, member, kind, flag, text, value, ...)            \
  extern ctype pd__cell_##flag PD__CELL_SYMBOL(#type, text) PD__OWN_LINE;      \
  PD__CELL(ctype, #type, pd__##member, PD__LOW_##type, PD__HIGH_##type,        \
           pd__cell_##flag, text, value);                                      \
  PD__VIEW(ctype, #type, flag, text);                                          \
  PD__DEFINITION(PD_TYPE_##type, false, pd__##member, PD__LOW_##type, PD__HIGH_##type, \
                 kind, flag, text, value, __VA_ARGS__)                         \
  PD__LIST(flag)

/* The address of the variable FLAGS_<name>, as pd_flag_get_cell gives it: const void *. */
#ifdef __cplusplus
#include <pd_flags/define_cpp.h>
#define PD_FLAG_ADDRESS(name) static_cast<const void *>(&pd__cell_FLAGS_##name)
#else
#define PD_FLAG_ADDRESS(name) ((const void *)&FLAGS_##name)

#define PD__DECLARE PD__VIEW
/* __extension__ allows _Atomic before C11 without a warning, and below _Static_assert. */
#define PD__VIEW(ctype, type_name, flag, text)                                 \
  __extension__ extern const _Atomic(ctype) flag PD__CELL_SYMBOL(type_name, text)

/* C silently converts 3.7 to 3 and 5 to true. `| 0` changes nothing, and accepts only integers. A
 * value above 0 is compared as the widest unsigned type; `fits_below` is for the others. If the
 * type makes a comparison always true, -Wtype-limits would warn about it. */
#define PD__FITS_integer(type_name, fits_below, high, text, value)              \
  _Pragma("GCC diagnostic push")                                                \
  _Pragma("GCC diagnostic ignored \"-Wtype-limits\"")                           \
  __extension__ _Static_assert(                                                 \
      ((value) | 0) > 0 ? (uint64_t)(value) <= (uint64_t)(high) : (fits_below), \
      text ": the value doesn't fit " type_name);                               \
  _Pragma("GCC diagnostic pop")
#define PD__FITS_pd__u64(type_name, low, high, text, value)                    \
  PD__FITS_integer(type_name, (value) == 0, high, text, value)
#define PD__FITS_pd__b PD__FITS_pd__u64
#define PD__FITS_pd__i64(type_name, low, high, text, value)                    \
  PD__FITS_integer(type_name, (int64_t)(value) >= low, high, text, value)
/* The compiler itself warns about what isn't a number, or isn't text. */
#define PD__FITS_pd__f64(type_name, low, high, text, value)
#define PD__FITS_pd__str PD__FITS_pd__f64
#define PD__CELL(ctype, type_name, member, low, high, cell, text, value)       \
  PD__FITS_##member(type_name, low, high, text, value) ctype cell = value

/* pd_flag_def with plain values, one struct for each member of pd_value: with the union, users would
 * have to write `.min.i64 = 1`. */
typedef struct pd__b { PD_FLAG_DEF_FIELDS(bool) } pd__b;
typedef struct pd__i64 { PD_FLAG_DEF_FIELDS(int64_t) } pd__i64;
typedef struct pd__u64 { PD_FLAG_DEF_FIELDS(uint64_t) } pd__u64;
typedef struct pd__f64 { PD_FLAG_DEF_FIELDS(double) } pd__f64;
typedef struct pd__str { PD_FLAG_DEF_FIELDS(const char *) } pd__str;

/* `member` is the struct. The help text and the attributes of the user come last, after `.help =`,
 * and override the full range, which isn't given by name: `min` and `max` may be macros of the
 * user. A variable gets its symbol where it is declared, so each definition has a declaration. */
#define PD__DEFINITION(type_, is_scoped, member, low, high, kind_, flag, text, value, ...) \
  extern const member pd__def_##flag                                                       \
      PD__SYMBOL("pd_flag_definition_" text);                                              \
  _Pragma("GCC diagnostic push")                                                           \
  _Pragma("GCC diagnostic ignored \"-Woverride-init\"")                                    \
  const member pd__def_##flag = {                                                          \
      .size = sizeof(pd_flag_def), .line = __LINE__, .type = type_,                        \
      .kind = kind_, .name = text, .file = __FILE__,                                       \
      .cell = &pd__cell_##flag, .default_value = value, /* min: */ low,                    \
      /* max: */ high, .scoped = is_scoped, .scoped_cell = is_scoped,                      \
      .help = __VA_ARGS__};                                                                \
  _Pragma("GCC diagnostic pop")

#endif /* __cplusplus */

/* The whole range of each type. The builtin is HUGE_VAL, infinity, without <math.h>. */
#define PD__LOW_bool false
#define PD__HIGH_bool true
#define PD__LOW_int32 INT32_MIN
#define PD__HIGH_int32 INT32_MAX
#define PD__LOW_uint32 0
#define PD__HIGH_uint32 UINT32_MAX
#define PD__LOW_int64 INT64_MIN
#define PD__HIGH_int64 INT64_MAX
#define PD__LOW_uint64 0
#define PD__HIGH_uint64 UINT64_MAX
#define PD__LOW_double -__builtin_huge_val()
#define PD__HIGH_double __builtin_huge_val()
#define PD__LOW_string NULL
#define PD__HIGH_string NULL

#include <pd_flags/define_types.h>
#include <pd_flags/op.h>
#include <pd_flags/scoped.h>

#endif /* PD_FLAGS_DEFINE_H */
