/* paddle_flags: one registry of run-time flags for a whole process.
 *
 * A plugin needs this header and nothing else: no library on its link line.
 *
 *     #include <pd_flags.h>
 *     PD_DEFINE_int32(alpha_level, 6, "Compression level", .min = 1, .max = 9);
 *     int level(void) { return FLAGS_alpha_level; }
 *
 * The macros stand in pd_flags/define.h, the binary record that they leave in
 * a module in pd_flags/record.h. This file holds the functions of the library,
 * for hosts that link libpd_flags: they list, find, read and set flags, parse
 * a command line and load plugins.
 *
 * Rules that hold for every function unless its comment says otherwise:
 *
 * - It may be called from any thread, and from several at once.
 * - It returns a pd_status. On any status but PD_OK nothing has changed, and
 *   `err`, where not NULL, holds what went wrong, where, and what was expected.
 *   Results come through the last pointers before `err` and are written only
 *   on success. The exception: pd_flag_register and pd_module_load may succeed
 *   and still find that a value which waited for a flag doesn't suit it. They
 *   then write their result, give the status of that value, and `err` tells of
 *   it; a result that is left alone means that nothing was done.
 * - It never prints, exits, aborts or throws. NULL for a required pointer
 *   gives PD_ERR_ARGUMENT.
 * - Text is NUL-terminated bytes, UTF-8 by custom. Text that comes back is
 *   borrowed, never changes, and stays valid until the process ends.
 * - A pd_flag or pd_module handle stays valid until the process ends, also
 *   after the module that defined it is gone.
 */
#ifndef PD_FLAGS_H
#define PD_FLAGS_H

/* build_ffi.py and the tests preprocess this file with PD_CDEF defined to get
 * its bare declarations. */
#ifndef PD_CDEF
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if !defined(_WIN32)
#define PD_API __attribute__((visibility("default")))
#elif !defined(_WIN64)
#error "pd_flags.h supports 64-bit Windows only"
#elif defined(PD_BUILDING_LIBRARY)
#define PD_API __declspec(dllexport)
#else
#define PD_API /* what calls it links with the DLL and with a static copy alike */
#endif
#define PD_ALIGNED __attribute__((aligned(8)))
#else
#define PD_API
#define PD_ALIGNED
#endif

#define PD_VERSION "0.1.0"

/* The version of the binary contract in docs/abi.md. It grows only when a
 * module built before can no longer be understood. */
#define PD_ABI_VERSION 1

/* The longest flag name, in bytes. */
#define PD_NAME_MAX 255

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------
 * Statuses and errors
 */

/* X(name, number, text). Numbers never change; new ones go to the end. */
#define PD_STATUS_MAP(X)                                                       \
  X(OK, 0, "success")                                                          \
  X(ERR_ARGUMENT, 1, "invalid argument")                                       \
  X(ERR_NAME, 2, "invalid flag name")                                          \
  X(ERR_UNDEFINED, 3, "no such flag")                                          \
  X(ERR_CONFLICT, 4, "name is defined already")                                \
  X(ERR_TYPE, 5, "wrong type")                                                 \
  X(ERR_VALUE, 6, "not a value of the type")                                   \
  X(ERR_RANGE, 7, "value out of range")                                        \
  X(ERR_CHOICE, 8, "value is not one of the choices")                          \
  X(ERR_READ_ONLY, 9, "flag is read-only")                                     \
  X(ERR_FROZEN, 10, "flag is frozen")                                          \
  X(ERR_ARGV, 11, "malformed command line")                                    \
  X(ERR_LOAD, 12, "module cannot be loaded")                                   \
  X(ERR_ABI, 13, "module was built for another ABI version")                   \
  X(ERR_MEMORY, 14, "out of memory")                                           \
  X(HELP, 15, "help was asked for")                                            \
  X(ERR_UNSUPPORTED, 16, "the copy that hosts the registry is too old for this")

#define PD_STATUS_ENUM(name, number, text) PD_##name = number,
typedef enum pd_status { PD_STATUS_MAP(PD_STATUS_ENUM) } pd_status;

/* What went wrong. Owned by the caller, filled by the function that failed;
 * needs no initialisation and no release. */
typedef struct pd_error {
  pd_status status;
  char message[1020]; /* one line, without a newline at its end */
} pd_error;

/* Static text. Never NULL: an unknown number gives "unknown". */
PD_API const char *pd_status_name(pd_status status); /* "PD_ERR_RANGE" */
PD_API const char *pd_status_text(pd_status status); /* "value out of range" */

/* All errors of one operation. Owned by the caller, used by one thread at a
 * time. pd_error_list_new gives NULL when memory is out; NULL is an empty list
 * to the other functions, and to every function that takes a list. */
typedef struct pd_error_list pd_error_list;
PD_API pd_error_list *pd_error_list_new(void);
PD_API void pd_error_list_free(pd_error_list *list);
PD_API size_t pd_error_list_count(const pd_error_list *list);

/* Borrowed until the list changes or is freed; NULL when `index` is too big. */
PD_API const pd_error *pd_error_list_at(const pd_error_list *list, size_t index);

/* The version of the library that runs, as PD_VERSION is that of the header. */
PD_API const char *pd_version(void);

/* ------------------------------------------------------------------------
 * Types and values
 */

/* X(name, number, C type of the cell, member of pd_value) */
#define PD_TYPE_MAP(X)                                                         \
  X(bool, 1, bool, b)                                                          \
  X(int32, 2, int32_t, i64)                                                    \
  X(uint32, 3, uint32_t, u64)                                                  \
  X(int64, 4, int64_t, i64)                                                    \
  X(uint64, 5, uint64_t, u64)                                                  \
  X(double, 6, double, f64)                                                    \
  X(string, 7, const char *, str)

#define PD_TYPE_ENUM(name, number, ctype, member) PD_TYPE_##name = number,
typedef enum pd_type { PD_TYPE_MAP(PD_TYPE_ENUM) } pd_type;

/* "int32". Never NULL: an unknown number gives "unknown". */
PD_API const char *pd_type_name(pd_type type);

/* A value of any type; PD_TYPE_MAP tells which member a type uses. Text is
 * copied by every function that takes it. */
typedef union pd_value {
  bool b;
  int64_t i64;
  uint64_t u64;
  double f64;
  const char *str;
} pd_value;

/* X(name, number, text): where a value came from, lowest rank first. A value
 * hides those of a lower or equal rank. */
#define PD_SOURCE_MAP(X)                                                       \
  X(DEFAULT, 0, "default")                                                     \
  X(FILE, 1, "file")                                                           \
  X(ENVIRONMENT, 2, "environment")                                             \
  X(ARGV, 3, "argv")                                                           \
  X(RUNTIME, 4, "run time")                                                    \
  X(LAYER, 5, "layer")

#define PD_SOURCE_ENUM(name, number, text) PD_SOURCE_##name = number,
typedef enum pd_source { PD_SOURCE_MAP(PD_SOURCE_ENUM) } pd_source;

/* "environment". Never NULL: an unknown number gives "unknown". */
PD_API const char *pd_source_name(pd_source source);

/* Who gave a value. */
typedef struct pd_origin {
  pd_source source;
  uint32_t line;     /* file: line number; argv: index; otherwise 0 */
  const char *place; /* file: its path; environment: the variable; or NULL */
} pd_origin;

/* ------------------------------------------------------------------------
 * Definitions
 */

/* What a pd_flag_def asks for. */
typedef enum pd_kind {
  PD_KIND_DEFINE = 0,
  PD_KIND_IMPORT = 1 /* a cell for a flag that another module defines */
} pd_kind;

/* One definition. The PD_DEFINE macros build it at compile time; for
 * pd_flag_register, fill it with pd_flag_def_init and set what you need.
 * `T` is the type of the three values: pd_value in pd_flag_def, and the plain
 * C type in the constants that the macros build, with the same layout. */
#define PD_FLAG_DEF_FIELDS(T)                                                  \
  uint32_t size; /* of this struct, in bytes */                                \
  uint32_t line; /* of the definition, from 1; 0 where unknown */              \
  uint8_t type;  /* pd_type */                                                 \
  uint8_t kind;  /* pd_kind */                                                 \
  bool hidden;       /* left out of listings and help */                       \
  bool read_only;    /* keeps its default */                                   \
  bool startup_only; /* keeps its value once a command line was parsed */      \
  uint8_t reserved[3];                                                         \
  const char *name;     /* [A-Za-z_][A-Za-z0-9_.-]*, up to PD_NAME_MAX */      \
  const char *help;     /* NULL: no text */                                    \
  const char *file;     /* source file of the definition, or NULL */           \
  const char *category; /* heading in listings, or NULL */                     \
  const char *aliases;  /* other names, "old_level|lvl", or NULL */            \
  const char *choices;  /* the only values allowed, "fast|best", or NULL */    \
  const char *module;   /* NULL: the image that holds the cell */              \
  void *cell;           /* variable of the type that follows the flag, or NULL; \
                           it must live as long as its module */               \
  PD_ALIGNED T default_value;                                                  \
  PD_ALIGNED T min; /* the smallest value allowed; ignored for bool, string */ \
  PD_ALIGNED T max; /* the largest value allowed */

typedef struct pd_flag_def {
  PD_FLAG_DEF_FIELDS(pd_value)
} pd_flag_def;

typedef struct pd_flag pd_flag;
typedef struct pd_module pd_module;

/* Zero `def`, then set its size, its type, the whole range of the type, and
 * the default 0, false or "". `size` is sizeof(pd_flag_def). An unknown type
 * is refused later, by pd_flag_register. */
PD_API void pd_flag_def_init(pd_flag_def *def, size_t size, pd_type type);

/* Define a flag at run time. `def` and all text in it are copied; only the
 * cell stays the caller's. The same definition again gives the same flag, and
 * adds its cell. Values that were given for the name earlier (environment)
 * are applied.
 * `out` may be NULL.
 * With *out left alone it was refused and nothing is defined: PD_ERR_NAME,
 * PD_ERR_CONFLICT, PD_ERR_TYPE, PD_ERR_RANGE, PD_ERR_CHOICE, PD_ERR_VALUE (the
 * default is NULL), PD_ERR_ABI, PD_ERR_MEMORY. PD_ERR_TYPE: also where a module
 * imports the name with another type. PD_ERR_CONFLICT: the name is taken, or is
 * "help", or goes with another one as a bool `b` with `nob` or `no_b`.
 * With *out set it is defined, but a waiting value was refused and the default
 * stands: PD_ERR_VALUE, PD_ERR_RANGE, PD_ERR_CHOICE, PD_ERR_READ_ONLY,
 * PD_ERR_FROZEN, PD_ERR_ARGV, PD_ERR_MEMORY. */
PD_API pd_status pd_flag_register(const pd_flag_def *def, pd_flag **out,
                                  pd_error *err);

/* ------------------------------------------------------------------------
 * Finding
 */

/* By name or alias; `-` and `_` are alike. PD_ERR_UNDEFINED: the message names
 * the nearest known flag. */
PD_API pd_status pd_flag_find(const char *name, pd_flag **out, pd_error *err);

/* The flags, in the order in which they were first defined: NULL gives the first,
 * the last gives NULL. Those of a module follow the lines of its source files; one
 * whose module is loaded again has its old place. Flags defined meanwhile are met
 * too. */
PD_API pd_flag *pd_flag_next(const pd_flag *previous);

/* Everything about a flag but its value. */
typedef struct pd_flag_info {
  size_t size; /* set by the caller: sizeof(pd_flag_info) */
  pd_type type;
  pd_source source; /* of the current value */
  uint32_t line;
  bool hidden;
  bool read_only;
  bool startup_only;
  bool frozen;            /* by pd_flag_freeze, or startup-only after startup */
  const char *name;
  const char *help;       /* "" where there is none */
  const char *file;       /* "" where unknown */
  const char *category;   /* "" where there is none */
  const char *aliases;    /* as in pd_flag_def, "" where there are none */
  const char *choices;    /* likewise */
  const char *module;     /* path of the image, or the name that was given */
  pd_module *owner;       /* NULL for a flag of pd_flag_register */
  pd_value default_value;
  pd_value min;
  pd_value max;
  uint32_t cells;         /* variables that follow this flag */
} pd_flag_info;

/* PD_ERR_UNDEFINED: its module is gone. */
PD_API pd_status pd_flag_get_info(const pd_flag *flag, pd_flag_info *info,
                                  pd_error *err);

/* One value that the flag was given. */
typedef struct pd_flag_entry {
  size_t size; /* set by the caller: sizeof(pd_flag_entry) */
  pd_value value;
  pd_origin origin;
} pd_flag_entry;

/* The values that the flag holds, one for each source, the current one at
 * index 0 and the default last. PD_ERR_ARGUMENT: `index` is too big. */
PD_API pd_status pd_flag_get_entry(const pd_flag *flag, size_t index,
                                   pd_flag_entry *entry, pd_error *err);

/* One variable that follows the flag. */
typedef struct pd_cell_info {
  size_t size; /* set by the caller: sizeof(pd_cell_info) */
  pd_kind kind;       /* whether its module defines or imports the flag */
  pd_type type;       /* of the variable */
  pd_module *module;  /* NULL for a flag of pd_flag_register */
  const void *address; /* NULL where the definition brought no variable */
  bool in_step;       /* has the flag's value, or no variable */
} pd_cell_info;

/* The definitions and imports of a flag; `index` counts from 0.
 * PD_ERR_ARGUMENT: it is too big. */
PD_API pd_status pd_flag_get_cell(const pd_flag *flag, size_t index,
                                  pd_cell_info *info, pd_error *err);

/* ------------------------------------------------------------------------
 * Reading and setting
 */

/* PD_ERR_TYPE: the flag has another type. PD_ERR_UNDEFINED: its module is
 * gone. */
PD_API pd_status pd_flag_get_bool(const pd_flag *flag, bool *out, pd_error *err);
PD_API pd_status pd_flag_get_int32(const pd_flag *flag, int32_t *out, pd_error *err);
PD_API pd_status pd_flag_get_uint32(const pd_flag *flag, uint32_t *out, pd_error *err);
PD_API pd_status pd_flag_get_int64(const pd_flag *flag, int64_t *out, pd_error *err);
PD_API pd_status pd_flag_get_uint64(const pd_flag *flag, uint64_t *out, pd_error *err);
PD_API pd_status pd_flag_get_double(const pd_flag *flag, double *out, pd_error *err);
PD_API pd_status pd_flag_get_string(const pd_flag *flag, const char **out, pd_error *err);

/* The value as text that pd_flag_set_from_string reads back as the same value.
 * `buffer` receives up to `size` bytes with the NUL, as snprintf does; `length`
 * (NULL allowed) receives the length of the whole text without the NUL. */
PD_API pd_status pd_flag_get_text(const pd_flag *flag, char *buffer, size_t size,
                                  size_t *length, pd_error *err);

/* The address of the registry's own copy of the value, of the flag's C type
 * (const char * for a string); NULL for NULL. It stays readable until the
 * process ends. Read it with one atomic load; never write it. */
PD_API const void *pd_flag_get_address(const pd_flag *flag);

/* The address of a byte that is the flag's pd_type while it is defined, and 0
 * while it isn't; NULL for NULL. It stays readable until the process ends. Who
 * keeps the address of the value sees here whether that still holds it: an
 * address that was given for one type never holds a value of another. */
PD_API const uint8_t *pd_flag_get_state(const pd_flag *flag);

/* Set at run time. Every cell of the flag has the value on return.
 * PD_ERR_TYPE, PD_ERR_RANGE, PD_ERR_CHOICE, PD_ERR_READ_ONLY, PD_ERR_FROZEN,
 * PD_ERR_UNDEFINED, PD_ERR_MEMORY. */
PD_API pd_status pd_flag_set_bool(pd_flag *flag, bool value, pd_error *err);
PD_API pd_status pd_flag_set_int32(pd_flag *flag, int32_t value, pd_error *err);
PD_API pd_status pd_flag_set_uint32(pd_flag *flag, uint32_t value, pd_error *err);
PD_API pd_status pd_flag_set_int64(pd_flag *flag, int64_t value, pd_error *err);
PD_API pd_status pd_flag_set_uint64(pd_flag *flag, uint64_t value, pd_error *err);
PD_API pd_status pd_flag_set_double(pd_flag *flag, double value, pd_error *err);
PD_API pd_status pd_flag_set_string(pd_flag *flag, const char *value, pd_error *err);

/* Set from text, whatever the type. Numbers are read whole and exactly:
 * decimal or 0x for integers, no blanks, no overflow, no rounding to integer;
 * bool reads 1 t true y yes, 0 f false n no in any case.
 * Also PD_ERR_VALUE: the text is not a value of the type. */
PD_API pd_status pd_flag_set_from_string(pd_flag *flag, const char *text,
                                         pd_error *err);

/* Drop every value but the default. With a layer on the flag, the topmost
 * layer takes the default instead, and popping it undoes the reset. */
PD_API pd_status pd_flag_reset(pd_flag *flag, pd_error *err);

/* Drop the value that one source gave; PD_OK also where it gave none.
 * PD_ERR_ARGUMENT: `source` is default or layer. */
PD_API pd_status pd_flag_drop(pd_flag *flag, pd_source source, pd_error *err);

/* Refuse every later change of the flag with PD_ERR_FROZEN, until unfreeze, also
 * when its module is unloaded and loaded again in between. */
PD_API pd_status pd_flag_freeze(pd_flag *flag, pd_error *err);
PD_API pd_status pd_flag_unfreeze(pd_flag *flag, pd_error *err);

/* One assignment of a batch: text where `text` is not NULL, otherwise `value`,
 * whose type must be the flag's. */
typedef struct pd_assignment {
  pd_flag *flag;
  const char *text;
  pd_type type;
  pd_value value;
} pd_assignment;

/* Make all `count` assignments, in order, or none: every one is checked before
 * the first takes effect. `origin` NULL means run time. Each error goes to
 * `errors` (NULL allowed), the first to `err`, and its status is returned.
 * A value of lower rank than the current one is kept but hidden. */
PD_API pd_status pd_batch_set(const pd_assignment *items, size_t count,
                              const pd_origin *origin, pd_error_list *errors,
                              pd_error *err);

/* A layer: values on top of all others, until popped, in any order and on any
 * thread. While a flag has a layer, setting it at run time changes its topmost
 * layer, so popping the layer brings back what was there before. */
typedef uint64_t pd_layer;

/* As pd_batch_set; `origin` tells the place, its source is taken as layer. */
PD_API pd_status pd_layer_push(const pd_assignment *items, size_t count,
                               const pd_origin *origin, pd_error_list *errors,
                               pd_layer *out, pd_error *err);

/* PD_ERR_ARGUMENT: there is no such layer, or no longer. Frozen flags don't
 * hinder it. */
PD_API pd_status pd_layer_pop(pd_layer layer, pd_error *err);

/* ------------------------------------------------------------------------
 * Pending values: given for names that nobody has defined yet
 */

/* Give a flag its value from text, or let the value wait until somebody defines
 * the name: it is applied then, after those of lower rank and those that came
 * before it, and one that doesn't suit is an error of that definition.
 * `origin` NULL means run time. */
PD_API pd_status pd_pending_set(const char *name, const char *text,
                                const pd_origin *origin, pd_error *err);

typedef struct pd_pending_info {
  size_t size;      /* set by the caller: sizeof(pd_pending_info) */
  const char *name; /* as it was given */
  const char *text; /* NULL: none, as in --name and --noname */
  pd_origin origin;
} pd_pending_info;

/* The values that wait; `index` counts from 0. PD_ERR_ARGUMENT: it is too big. */
PD_API pd_status pd_pending_get(size_t index, pd_pending_info *info, pd_error *err);

/* PD_ERR_UNDEFINED: values wait for names that nobody has defined. Each is an
 * error in `errors` (NULL allowed) that names the nearest known flag. */
PD_API pd_status pd_pending_check(pd_error_list *errors, pd_error *err);

/* ------------------------------------------------------------------------
 * Command line and environment
 */

/* From now on <prefix><name> in the environment gives the flag <name> its
 * value: at once for the flags that are defined, and on definition for later
 * ones (`-` and `.` of a name are `_` in the variable). All or nothing, as
 * pd_batch_set; a later flag whose variable doesn't suit keeps its default,
 * and its definition reports the error. `prefix` is copied; NULL ends it. A
 * setuid or setgid process takes nothing from the environment. */
PD_API pd_status pd_environment_enable(const char *prefix, pd_error_list *errors,
                                       pd_error *err);

typedef struct pd_parse_options {
  size_t size;           /* sizeof(pd_parse_options) */
  bool keep_flags;       /* leave argv as it is; by default flags are removed */
  bool stop_at_argument; /* read no flags behind the first word that is none */
  bool keep_startup;     /* startup goes on: another command line will follow */
  bool allow_pending;    /* values for unknown flags wait for their definition;
                            only --name=value, --name and --noname can */
  const char *env_prefix; /* as pd_environment_enable, before argv; NULL: none */
  pd_error_list *errors; /* receives every error; NULL allowed */
} pd_parse_options;

/* Read flags from a command line; argv[0] is skipped.
 *
 *     --name=value  --name value  -name …   `-` and `_` are alike in names
 *     --bool  --nobool  --no-bool  --bool=no    a bool never takes the next word
 *     --                                        ends the flags
 *
 * After success the flags that were read are gone from argv, which keeps
 * argv[0], the other arguments in their order, and a NULL at its end; *argc
 * counts them. A later value of a flag wins over an earlier one. Startup ends:
 * startup-only flags are frozen.
 * On error no flag has changed and argv is as it was. The status is that of
 * the first error: PD_ERR_UNDEFINED, PD_ERR_ARGV and those of
 * pd_flag_set_from_string. PD_HELP: --help was there, or -h (and no flag has
 * that name and took it); nothing has changed.
 * argv has room for *argc + 1 pointers, and argv[*argc] is NULL; the strings
 * are borrowed during the call. `options` may be NULL. */
PD_API pd_status pd_parse_argv(int *argc, char **argv,
                               const pd_parse_options *options, pd_error *err);

/* ------------------------------------------------------------------------
 * Modules
 */

/* Load the shared library at `path` (a file path, never a search) and join its
 * flags. Loading the same file again gives the same module and counts.
 * It joins whole or not at all: PD_ERR_LOAD (with the reason), PD_ERR_ABI, or
 * the status of the first definition that was refused, with all of them in
 * `errors`; *out is left alone and the library is closed again. With *out set
 * it joined, but values that waited for its flags were refused, as in
 * pd_flag_register. `out` may be NULL.
 * Its constructors run in this call. */
PD_API pd_status pd_module_load(const char *path, pd_error_list *errors,
                                pd_module **out, pd_error *err);

/* The same, with the flags that the library itself defines under `name_space`
 * and a dot, as in "beta.port". Imports, and the flags of libraries that it
 * depends on, keep their names. NULL or "": none.
 * PD_ERR_NAME: `name_space` can't begin the name of a flag. PD_ERR_CONFLICT: it
 * is loaded already, in another one. */
PD_API pd_status pd_module_load_as(const char *path, const char *name_space,
                                   pd_error_list *errors, pd_module **out,
                                   pd_error *err);

/* Undo one pd_module_load. When the image leaves the process its flags are no
 * longer defined; their handles stay valid.
 * PD_ERR_ARGUMENT: it isn't loaded by pd_module_load. */
PD_API pd_status pd_module_unload(pd_module *module, pd_error *err);

/* The modules that have joined, in order: NULL gives the first, the last NULL. */
PD_API pd_module *pd_module_next(const pd_module *previous);

typedef struct pd_module_info {
  size_t size;          /* set by the caller: sizeof(pd_module_info) */
  const char *path;     /* of the image */
  bool present;         /* in the process now */
  size_t flags;         /* defined by it */
  pd_status status;     /* PD_OK, or why its definitions were refused */
  const char *name_space; /* "" where there is none */
} pd_module_info;

PD_API pd_status pd_module_get_info(const pd_module *module, pd_module_info *info,
                                    pd_error *err);

/* The flags that the module defines, also those that another module defines
 * alike: `index` counts from 0. PD_ERR_ARGUMENT: `index` is too big. */
PD_API pd_status pd_module_get_flag(const pd_module *module, size_t index,
                                    pd_flag **out, pd_error *err);

/* Copy the errors of joining the module to the end of `errors`. */
PD_API pd_status pd_module_get_errors(const pd_module *module,
                                      pd_error_list *errors, pd_error *err);

/* ------------------------------------------------------------------------
 * Copies of the library: the first to arrive hosts the registry
 */

typedef struct pd_copy_info {
  size_t size;         /* set by the caller: sizeof(pd_copy_info) */
  const char *path;    /* of the image that it is in */
  const char *version; /* as pd_version */
  bool hosting;        /* the registry is here; the other copies forward to it */
} pd_copy_info;

/* The copies in the process; `index` counts from 0. PD_ERR_ARGUMENT: it is too
 * big. */
PD_API pd_status pd_copy_get_info(size_t index, pd_copy_info *info, pd_error *err);

#ifdef __cplusplus
}
#endif

#ifndef PD_CDEF
#include <pd_flags/define.h>
#endif

#endif /* PD_FLAGS_H */
