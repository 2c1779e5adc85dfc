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
 * a command line and load plugins. Plugins that link nothing call them as well:
 *
 *     #define PD_HEADER_ONLY
 *     #include <pd_flags.h>
 *
 * makes each an inline function that goes to the registry which is in the process.
 * As long as there is none, or if it is of an older version that lacks the function,
 * it gives PD_ERR_UNSUPPORTED; what gives no status gives 0 or does nothing.
 *
 * Rules that hold for every function unless its comment says otherwise:
 *
 * - It may be called from any thread, from several at once, and wherever the rules
 *   for threads and processes below say so.
 * - It returns a pd_status. On any status but PD_OK nothing has changed, and
 *   `err`, where not NULL, holds what went wrong, where, and what was expected.
 *   Results come through the last pointers before `err` and are written only
 *   on success. The exception: pd_flag_register and pd_module_load may succeed
 *   and still find that a value which waited for a flag doesn't suit it. They
 *   then write their result, give the status of that value, and `err` tells of
 *   it; a result that is left alone means that nothing was done.
 * - It never prints, exits, aborts or throws. NULL for a required pointer
 *   gives PD_ERR_ARGUMENT.
 * - No C++ exception may leave a function of yours that it calls; on Linux one ends
 *   in std::terminate.
 * - Text is NUL-terminated bytes, UTF-8 by custom. Text that comes back is
 *   borrowed, never changes, and stays valid until the process ends.
 * - A pd_flag or pd_module handle stays valid until the process ends, also
 *   after the module that defined it is gone.
 *
 * Threads and processes:
 *
 * - FLAGS_x may be read by any thread at any moment, in a signal handler too, while
 *   others set it: one load, of a value that the flag had, without lock or call. Who
 *   reads others doesn't feel it.
 * - A set reaches all cells of a flag, one after the other. The values of a batch are
 *   published one by one as well: a thread that reads two flags without a lock may see
 *   one of before and one of after.
 * - Constructors and destructors of modules, validators, watchers, the warning handler
 *   and the writers of reports may call every function. No lock is held meanwhile; a
 *   module leaves when no other thread is in a validator or watcher of it.
 * - A signal handler may call pd_flag_get_<type>, with NULL for `err`,
 *   pd_flag_get_address, pd_flag_get_state, pd_status_name and the like of it: they
 *   take no lock. No other function.
 * - The child of a fork may call every function, whatever other threads did at that
 *   moment. Not so after vfork, nor after a fork in a signal handler.
 * - At exit, atexit handlers and destructors may call every function, also while other
 *   threads go on. The flags of a module are defined until its last destructor has
 *   run; FLAGS_x keeps its last value after that, and a handle gives PD_ERR_UNDEFINED.
 */
#ifndef PD_FLAGS_H
#define PD_FLAGS_H

/* build_ffi.py and the tests preprocess this file with PD_CDEF defined to get
 * its bare declarations. */
#ifndef PD_CDEF
#include <pd_flags/names_push.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && !defined(_WIN64)
#error "pd_flags.h supports 64-bit Windows only"
#elif defined(PD_HEADER_ONLY)
#define PD_API static inline /* they stand in pd_flags/unlinked.h */
#elif !defined(_WIN32)
#define PD_API __attribute__((visibility("default")))
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
  X(ERR_UNSUPPORTED, 16, "the copy that hosts the registry lacks this") \
  X(ERR_REFUSED, 17, "refused by a validator")                                 \
  X(ERR_FILE, 18, "file cannot be read")                                       \
  X(ERR_DEPTH, 19, "nested too deeply")

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

/* The version of the library that runs, as PD_VERSION is that of the header; that of a
 * small build has its profile behind, as in "0.1.0+no-input". */
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

/* X(name, number, rank, text): where a value came from. A value hides those of a
 * lower or equal rank. Numbers never change and say nothing of the rank: a new
 * source gets the next number, and a rank between those of others. */
#define PD_SOURCE_MAP(X)                                                       \
  X(DEFAULT, 0, 0, "default")                                                  \
  X(FILE, 1, 100, "file")                                                      \
  X(ENVIRONMENT, 2, 200, "environment")                                        \
  X(ARGV, 3, 300, "argv")                                                      \
  X(RUNTIME, 4, 500, "run time")                                               \
  X(OVERRIDE, 5, 600, "override")

#define PD_SOURCE_ENUM(name, number, rank, text) PD_SOURCE_##name = number,
typedef enum pd_source { PD_SOURCE_MAP(PD_SOURCE_ENUM) } pd_source;

/* "environment". Never NULL: an unknown number gives "unknown". */
PD_API const char *pd_source_name(pd_source source);

/* 200 for PD_SOURCE_ENVIRONMENT; 0 for the default, and for an unknown number. */
PD_API uint32_t pd_source_rank(pd_source source);

/* Who gave a value. */
typedef struct pd_origin {
  pd_source source;
  uint32_t line;     /* in the file that `place` is; argv without one: the index */
  const char *place; /* path of a file, or name of a variable; or NULL */
  uint32_t column;   /* in that line, from 1; 0 where unknown */
} pd_origin;

/* One value that a flag was given, or is to be given. */
typedef struct pd_flag_entry {
  size_t size; /* of this struct, in bytes; set by whoever makes it */
  pd_value value;
  pd_origin origin;
  bool replaced; /* a later value of the same source came */
} pd_flag_entry;

/* Tells whether flags may have the values that they are about to get:
 * entries[i] is that of the i-th flag that the validator was added for, or its
 * present one if that flag isn't changed. Refusing, it writes what was expected to
 * `why` (`size` bytes with the NUL; "" at first).
 * It is called on the thread of whoever sets, without any lock; it may call every
 * function of this header, and may be called again for one change, if values
 * changed in the meantime. The entries are borrowed during the call. */
typedef bool (*pd_validator)(const pd_flag_entry *const *entries, void *context,
                             char *why, size_t size);

/* How the registry reaches the variable of a string flag that isn't a const char *: by
 * code of its module, which is called with the registry's lock held. It calls nothing
 * that may call the registry, and throws nothing. */
typedef struct pd_cell_access {
  size_t size;                               /* of this struct, in bytes */
  const char *(*get)(void *cell);            /* the value, valid until the next call for
                                                this cell; NULL: nobody assigns to it */
  void (*put)(void *cell, const char *text); /* the value is `text`, which stays valid */
} pd_cell_access;

struct pd_flag;

/* Is told that the value of `flag` has changed: read it there, for another thread
 * may have changed it again. Called on the thread that set, when all values of that
 * operation hold, without any lock; it may call every function of this header. */
typedef void (*pd_watcher)(struct pd_flag *flag, void *context);

/* ------------------------------------------------------------------------
 * Definitions
 */

/* What a pd_flag_def asks for. */
typedef enum pd_kind {
  PD_KIND_DEFINE = 0,
  PD_KIND_IMPORT = 1 /* a cell for a flag that another module defines */
} pd_kind;

/* What a definition may say of its flag, beyond its type and its values. The fields of
 * pd_flag_def and pd_flag_info, what a second definition must say alike, help, and the
 * keywords of Python and other languages are made of these lists. New attributes go to the
 * end of a LATER list; the FIRST ones are complete.
 *
 * X(name, words, what it means): what is true or false. */
#define PD_FIRST_MARKS(X)                                                      \
  X(hidden, "hidden", "left out of listings and help")                         \
  X(read_only, "read-only", "keeps its default")                               \
  X(startup_only, "startup only", "keeps its value once a command line was parsed") \
  X(sensitive, "sensitive", "its values never appear in messages and reports") \
  X(experimental, "experimental", "may change or go")
#define PD_LATER_MARKS(X)                                                      \
  X(required, "required", "a command line without a value for it is an error")
#define PD_MARK_MAP(X) PD_FIRST_MARKS(X) PD_LATER_MARKS(X)

/* X(name, words, TEXT or NAMES, what it means): what is text, or NULL; NAMES have | between
 * them. */
#define PD_FIRST_TEXTS(X)                                                      \
  X(choices, "choices", NAMES, "the only values allowed, of a list the only items") \
  X(category, "category", TEXT, "heading in listings")                         \
  X(aliases, "aliases", NAMES, "other names")
#define PD_LATER_TEXTS(X)                                                      \
  X(unit, "unit", TEXT, "\"bytes\": reads 64MiB; \"seconds\": reads 200ms")    \
  X(deprecated, "deprecated", TEXT, "why, and what to use instead")            \
  X(retired, "retired", TEXT, "why values are ignored")                        \
  X(old_names, "old names", NAMES, "other names, which warn once")
#define PD_TEXT_MAP(X) PD_FIRST_TEXTS(X) PD_LATER_TEXTS(X)

#define PD__MARK_FIELD(name, words, about) bool name;
#define PD__MARK_LESS(name, words, about) -1
#define PD__TEXT_FIELD(name, words, kind, about) const char *name;

/* The later marks, and room for more of them. */
#define PD__LATER_MARK_FIELDS                                                  \
  PD_LATER_MARKS(PD__MARK_FIELD)                                               \
  uint8_t reserved[7 PD_LATER_MARKS(PD__MARK_LESS)];

/* One definition. The PD_DEFINE macros build it at compile time; for
 * pd_flag_register, fill it with pd_flag_def_init and set what you need.
 * `T` is the type of the three values: pd_value in pd_flag_def, and the plain
 * C type in the constants that the macros build, with the same layout. */
#define PD_FLAG_DEF_FIELDS(T)                                                  \
  uint32_t size; /* of this struct, in bytes */                                \
  uint32_t line; /* of the definition, from 1; 0 where unknown */              \
  uint8_t type;  /* pd_type */                                                 \
  uint8_t kind;  /* pd_kind */                                                 \
  PD_FIRST_MARKS(PD__MARK_FIELD)                                               \
  uint8_t list;         /* of a string that is a comma list: pd_type of an item */ \
  const char *name;     /* [A-Za-z_][A-Za-z0-9_.-]*, up to PD_NAME_MAX */      \
  const char *help;     /* NULL: no text */                                    \
  const char *file;     /* source file of the definition, or NULL */           \
  PD_FIRST_TEXTS(PD__TEXT_FIELD)                                               \
  const char *module;   /* NULL: the image that holds the cell */              \
  void *cell;           /* variable of the type that follows the flag, or NULL; \
                           it must live as long as its module */               \
  PD_ALIGNED T default_value;                                                  \
  PD_ALIGNED T min; /* the smallest value allowed; ignored for bool, string */ \
  PD_ALIGNED T max; /* the largest value allowed */                            \
  pd_validator validate;  /* of this flag alone; or NULL */                    \
  pd_watcher watch;       /* or NULL */                                        \
  void *context;          /* of `validate` and `watch` */                      \
  const pd_cell_access *access; /* NULL: the cell is of the C type of the flag */ \
  bool assignable;        /* code of the module assigns to the cell: the next call about \
                             the flag takes the value over, as it is, as set at run time */ \
  PD__LATER_MARK_FIELDS                                                        \
  PD_LATER_TEXTS(PD__TEXT_FIELD)

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
 * default is NULL, or isn't a list), PD_ERR_ARGUMENT (another attribute, or two that
 * don't go together), PD_ERR_ABI, PD_ERR_MEMORY. PD_ERR_TYPE: also where a module
 * imports the name with another type. PD_ERR_CONFLICT: the name is taken, or is
 * one of the words of every command line ("help", "flagfile", "fromenv",
 * "tryfromenv", "undefok"), or goes with another one as a bool `b` with `nob` or
 * `no_b`.
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

/* Everything about a flag but its value. Texts are "" where there are none. */
typedef struct pd_flag_info {
  size_t size; /* set by the caller: sizeof(pd_flag_info) */
  pd_type type;
  pd_type list;           /* of an item; 0: no list */
  pd_source source;       /* of the current value */
  uint32_t line;          /* 0 where unknown */
  const char *name;
  const char *help;
  const char *file;
  const char *module;     /* path of the image, or the name that was given */
  pd_module *owner;       /* NULL for a flag of pd_flag_register */
  pd_value default_value;
  pd_value min;
  pd_value max;
  uint32_t cells;         /* variables that follow this flag */
  bool frozen;            /* by pd_flag_freeze, or startup-only after startup */
  PD_FIRST_MARKS(PD__MARK_FIELD) /* these follow pd_flag_def */
  PD__LATER_MARK_FIELDS
  PD_FIRST_TEXTS(PD__TEXT_FIELD)
  PD_LATER_TEXTS(PD__TEXT_FIELD)
} pd_flag_info;

/* PD_ERR_UNDEFINED: its module is gone. */
PD_API pd_status pd_flag_get_info(const pd_flag *flag, pd_flag_info *info,
                                  pd_error *err);

/* The values that the flag was given, the current one at index 0 and the default
 * last: by rank, the latest of a source first. Of those that were replaced, at
 * least the last PD_HISTORY_KEPT of each source; of those that came from the very
 * same place one after the other, only the last. PD_ERR_ARGUMENT: `index` is too
 * big. */
#define PD_HISTORY_KEPT 15
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

/* Without any lock. PD_ERR_TYPE: the flag has another type. PD_ERR_UNDEFINED: its
 * module is gone. */
#define PD__FLAG_GET(name, number, ctype, member)                              \
  PD_API pd_status pd_flag_get_##name(const pd_flag *flag, ctype *out, pd_error *err);
PD_TYPE_MAP(PD__FLAG_GET)

/* The value as text that pd_flag_set_from_string reads back as the same value.
 * `buffer` receives up to `size` bytes with the NUL, as snprintf does; `length`
 * (NULL allowed) receives the length of the whole text without the NUL. */
PD_API pd_status pd_flag_get_text(const pd_flag *flag, char *buffer, size_t size,
                                  size_t *length, pd_error *err);

/* The address of the registry's own copy of the value, of the flag's C type
 * (const char * for a string); NULL for NULL. It stays readable until the
 * process ends. Read it with one atomic load; never write it. */
PD_API const void *pd_flag_get_address(const pd_flag *flag);

/* The address of a byte that is the flag's pd_type while it is defined, of a list
 * with 16 times that of its items on top, and 0 while it isn't defined; NULL for
 * NULL. 128 is added where a module may assign to its variable: ask a function for the
 * value. It stays readable until the process ends. Who keeps the address of the
 * value sees here whether that still holds it: the address of a string or a bool never
 * holds anything else, that of a number may hold one of another type. */
PD_API const uint8_t *pd_flag_get_state(const pd_flag *flag);

/* Set at run time. Every cell of the flag has the value on return.
 * PD_ERR_TYPE, PD_ERR_RANGE, PD_ERR_CHOICE, PD_ERR_VALUE (text that isn't a list),
 * PD_ERR_READ_ONLY, PD_ERR_FROZEN, PD_ERR_UNDEFINED, PD_ERR_MEMORY. */
#define PD__FLAG_SET(name, number, ctype, member)                              \
  PD_API pd_status pd_flag_set_##name(pd_flag *flag, ctype value, pd_error *err);
PD_TYPE_MAP(PD__FLAG_SET)

/* Set from text, whatever the type. Numbers are read whole and exactly:
 * decimal or 0x for integers, no blanks, no overflow, no rounding to integer;
 * bool reads 1 t true y yes, 0 f false n no in any case. With a unit quantities are
 * read too: 64MiB, 1.5GB, 10kB and 1B of bytes; 1h30m, -200ms, 2.5min, 1d, 3us and
 * 4ns of seconds. They must be integers where the type is one.
 * Also PD_ERR_VALUE: the text is not a value of the type, or an item of it isn't. */
PD_API pd_status pd_flag_set_from_string(pd_flag *flag, const char *text,
                                         pd_error *err);

/* pd_flag_find and pd_flag_set_from_string in one. */
PD_API pd_status pd_flag_set_by_name(const char *name, const char *text,
                                     pd_error *err);

/* Drop every value but the default. With an override on the flag, the topmost
 * override takes the default instead, and popping it undoes the reset. */
PD_API pd_status pd_flag_reset(pd_flag *flag, pd_error *err);

/* Give the flag another default, from text, as long as it is defined by any module: what
 * was given otherwise still hides it. pd_flag_reset leaves it. Errors as of
 * pd_flag_set_from_string. */
PD_API pd_status pd_flag_set_default(pd_flag *flag, const char *text, pd_error *err);

/* Drop the value that one source gave; PD_OK also where it gave none.
 * PD_ERR_ARGUMENT: `source` is default or override. */
PD_API pd_status pd_flag_drop(pd_flag *flag, pd_source source, pd_error *err);

/* Reset a sensitive flag, and overwrite every text that it was given with zeros: also those that
 * readers may still have the address of, who find them empty. Text of a sensitive flag is stored
 * for that flag alone; what was refused is overwritten at once. PD_ERR_ARGUMENT: it isn't
 * sensitive. Errors as of pd_flag_reset. */
PD_API pd_status pd_flag_wipe(pd_flag *flag, pd_error *err);

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

/* An override: values on top of all others, until popped, in any order and on any
 * thread. While a flag has an override, setting it at run time changes its topmost
 * override, so popping the override brings back what was there before. */
typedef uint64_t pd_override;

/* As pd_batch_set; `origin` tells the place, its source is taken as override. */
PD_API pd_status pd_override_push(const pd_assignment *items, size_t count,
                               const pd_origin *origin, pd_error_list *errors,
                               pd_override *out, pd_error *err);

/* PD_ERR_ARGUMENT: there is no such override, or no longer. Frozen flags don't
 * hinder it. */
PD_API pd_status pd_override_pop(pd_override override, pd_error *err);

/* ------------------------------------------------------------------------
 * Validators and watchers
 */

/* A validator or a watcher that was added. Never 0. */
typedef uint64_t pd_hook;

/* Ask `function` before any of `count` flags changes, whoever sets it: on every
 * source, for batches and overrides, but not when an override ends. pd_parse_argv asks all
 * validators. The flags' types are those of now: while one is undefined, or has
 * another type, the function isn't called. `release` (NULL allowed) is called with
 * `context` when no call can come any more. When the module that holds `function`
 * leaves, its hooks are removed. `out` may be NULL.
 * PD_ERR_ARGUMENT: no flags. PD_ERR_UNDEFINED, PD_ERR_MEMORY. */
PD_API pd_status pd_validator_add(pd_flag *const *flags, size_t count,
                                  pd_validator function, void *context,
                                  void (*release)(void *context), pd_hook *out,
                                  pd_error *err);

/* X(name, number, text): what must hold for flags together; one is given when its
 * value is from any source but the default. */
#define PD_GROUP_MAP(X)                                                        \
  X(AT_MOST_ONE, 0, "at most one of %s can be given")                          \
  X(AT_LEAST_ONE, 1, "at least one of %s must be given")                       \
  X(EXACTLY_ONE, 2, "exactly one of %s must be given")                         \
  X(ALL, 3, "%s must be given")                                                \
  X(ALL_OR_NONE, 4, "%s must be given together, or none of them")

#define PD_GROUP_ENUM(name, number, text) PD_GROUP_##name = number,
typedef enum pd_group { PD_GROUP_MAP(PD_GROUP_ENUM) } pd_group;

/* Add a validator of ours. `out` may be NULL. */
PD_API pd_status pd_group_add(pd_group group, pd_flag *const *flags, size_t count,
                              pd_hook *out, pd_error *err);

/* Call `function` after each change of the value of `flag` (NULL: of any flag).
 * `release` and `out` as in pd_validator_add. A change that a watcher makes calls
 * watchers again; PD_ERR_DEPTH ends a circle of them. */
PD_API pd_status pd_watcher_add(pd_flag *flag, pd_watcher function, void *context,
                                void (*release)(void *context), pd_hook *out,
                                pd_error *err);

/* No call begins after this; those that other threads are in go on, and `context`
 * is released after the last. PD_ERR_ARGUMENT: removed already. */
PD_API pd_status pd_hook_remove(pd_hook hook, pd_error *err);

/* Ask all validators about the values of now, as pd_parse_argv does at its end:
 * for flags that came later. Also PD_ERR_REFUSED: a required flag isn't given. */
PD_API pd_status pd_flags_validate(pd_error_list *errors, pd_error *err);

/* ------------------------------------------------------------------------
 * Warnings: deprecated and retired names that were used, each once
 */

typedef void (*pd_warning_handler)(const char *message, void *context);

/* Give warnings to `handler` from now on, and those that nobody has taken yet at
 * once. It is called on the thread that used the name, without any lock, and takes
 * the place of an earlier one; with NULL they are kept again. */
PD_API pd_status pd_warning_handle(pd_warning_handler handler, void *context,
                                   pd_error *err);

/* Give a warning of your own, which is handled as those of the registry are. The
 * message is copied. PD_ERR_ARGUMENT: it is NULL. */
PD_API pd_status pd_warning_report(const char *message, pd_error *err);

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
 * Settings: what files say, collected first and applied together
 */

/* Owned by the caller, used by one thread at a time. pd_config_new gives NULL
 * when memory is out. */
typedef struct pd_config pd_config;
PD_API pd_config *pd_config_new(void);
PD_API void pd_config_free(pd_config *config);

/* Add a value; all text is copied. `literal` tells how the file wrote it: 0 for
 * text, which suits every flag; the type of a number or bool, which a string flag
 * refuses: who writes `version = 1.10` means text and gets 1.1; or PD_TYPE_string
 * for a list, which only a list flag takes, plus 16 times the type of a number or
 * bool in it, which a list of strings refuses.
 * `origin` tells the place; its source is taken as file. */
PD_API pd_status pd_config_add(pd_config *config, const char *name,
                                 const char *text, uint32_t literal,
                                 const pd_origin *origin, pd_error *err);

/* Add an error of a file, to be told among the others in its place: config that
 * have one are refused as a whole. */
PD_API pd_status pd_config_fail(pd_config *config, const pd_error *error,
                                  pd_error *err);

/* Add what a flagfile says; the grammar is told at pd_parse_argv. `program` chooses
 * among the sections of the file; NULL: only what every program reads. */
PD_API pd_status pd_config_add_flagfile(pd_config *config, const char *path,
                                          const char *program, pd_error_list *errors,
                                          pd_error *err);

/* Make the values of source file exactly these, all or nothing: flags that had one
 * and aren't named lose it. Values of higher rank stand. For names that nobody has
 * defined the values wait if `allow_pending`, and are errors otherwise; those for
 * flags whose module has gone wait anyhow. A flag that is frozen may keep the value
 * that it has; another one is an error. */
PD_API pd_status pd_config_apply(const pd_config *config, bool allow_pending,
                                   pd_error_list *errors, pd_error *err);

/* ------------------------------------------------------------------------
 * Command line and environment
 */

/* X(name, number, text): what a command line may ask for instead of a run. */
#define PD_HELP_MAP(X)                                                         \
  X(ALL, 0, "help")            /* all but hidden flags */                      \
  X(FULL, 1, "helpfull")       /* hidden ones too */                           \
  X(SHORT, 2, "helpshort")     /* those of the program itself */               \
  X(ON, 3, "helpon")           /* those of source files <pattern>.* */         \
  X(MATCH, 4, "helpmatch")     /* of source files with <pattern> in the path */ \
  X(PACKAGE, 5, "helppackage") /* of the directory of the program's source */  \
  X(XML, 6, "helpxml")         /* all but hidden flags, as XML */              \
  X(VERSION, 7, "version")     /* the version of the program */

#define PD_HELP_ENUM(name, number, text) PD_HELP_##name = number,
typedef enum pd_help_kind { PD_HELP_MAP(PD_HELP_ENUM) } pd_help_kind;

typedef struct pd_help {
  size_t size; /* set by the caller: sizeof(pd_help) */
  pd_help_kind kind;
  const char *pattern; /* "" where the kind takes none */
} pd_help;

/* What pd_parse_argv leaves in argv. */
typedef enum pd_arrange {
  PD_ARRANGE_REMOVE = 0, /* the arguments: all that was no flag */
  PD_ARRANGE_LEAVE = 1,  /* the line as it was */
  PD_ARRANGE_REORDER = 2 /* as gflags: flags, their values, --, then arguments */
} pd_arrange;

/* From now on <prefix><name> in the environment gives the flag <name> its
 * value: at once for the flags that are defined, and on definition for later
 * ones (`-` and `.` of a name are `_` in the variable); so does <prefix><old name>,
 * with its warning, where that isn't set. All or nothing, as
 * pd_batch_set; a later flag whose variable doesn't suit keeps its default,
 * and its definition reports the error. `prefix` is copied; NULL ends it. A
 * setuid or setgid process takes nothing from the environment. */
PD_API pd_status pd_environment_enable(const char *prefix, pd_error_list *errors,
                                       pd_error *err);

typedef struct pd_parse_options {
  size_t size;           /* sizeof(pd_parse_options) */
  uint8_t arrange;       /* pd_arrange */
  bool stop_at_argument; /* read no flags behind the first word that is none */
  bool keep_startup;     /* startup goes on: another command line will follow */
  bool allow_pending;    /* values for unknown flags wait for their definition;
                            only --name=value, --name and --noname can */
  const char *env_prefix; /* as pd_environment_enable, before argv; NULL: none */
  pd_error_list *errors; /* receives every error; NULL allowed */
  const pd_config *config; /* of files, below environment and argv, as
                                  pd_config_apply; NULL: none */
  pd_help *help;         /* receives what was asked for, with PD_HELP; or NULL */
  int *first;            /* receives the index of the first argument, unless the
                            line is left; or NULL */
} pd_parse_options;

/* Read flags from a command line; argv[0] is skipped.
 *
 *     --name=value  --name value  -name …   `-` and `_` are alike in names
 *     --bool  --nobool  --no-bool  --bool=no    a bool never takes the next word
 *     --                                        ends the flags
 *     --flagfile=path,…      read flags from files, here
 *     --fromenv=name,…       take the value of a flag from <env_prefix><name> (FLAGS_
 *     --tryfromenv=name,…    without a prefix), which must exist, or may
 *     --undefok=name,…       these, and --no<name>, need not be known
 *     --help  --version  …   the words of PD_HELP_MAP, also --help=false and --nohelp
 *
 * A flagfile holds one flag a line, as --name=value, --name or --noname, and the words
 * above; its other lines are empty, or begin with #, or hold patterns as of fnmatch with
 * blanks between: the flags below patterns are for programs that one of them matches,
 * with argv[0] or what is behind its last slash. A pattern that is the name of a known
 * flag is an error, as are lines that look like those of other files. Blanks around a line mean nothing;
 * a value in $'...' has \n, \t, \r, \\, \', \xHH and \NNN as in bash.
 * Files nest up to 16 deep, up to 1000 files with 64 MiB and 1000000 values.
 *
 * After success argv is as `arrange` says: with PD_ARRANGE_REMOVE it keeps argv[0], the
 * arguments in their order, and a NULL at its end; *argc counts them. A later value of
 * a flag wins over an earlier one. Startup ends: startup-only flags are frozen.
 * On error no flag has changed and argv is as it was. The status is that of
 * the first error: PD_ERR_UNDEFINED, PD_ERR_ARGV, PD_ERR_FILE, PD_ERR_DEPTH and those of
 * pd_flag_set_from_string. Behind 100 errors one tells how many more there are.
 * PD_HELP, whatever else is wrong: help or the version was asked for, and no flag has
 * that name; nothing has changed. -h asks for help too, unless a flag has that name
 * and takes it.
 * argv has room for *argc + 1 pointers, and argv[*argc] is NULL; the strings
 * are borrowed during the call. `options` may be NULL. */
PD_API pd_status pd_parse_argv(int *argc, char **argv,
                               const pd_parse_options *options, pd_error *err);

/* What the program is: for all modules of the process. */
typedef struct pd_program {
  size_t size;              /* set by the caller: sizeof(pd_program) */
  int argc;                 /* of argv */
  const char *const *argv;  /* the command line as it was, with a NULL at its end; or NULL */
  const char *usage;        /* as in pd_report_options, or NULL */
  const char *version;      /* likewise */
} pd_program;

/* Keep a copy of those that aren't NULL in place of what was kept before; what is NULL
 * stays. PD_ERR_MEMORY. */
PD_API pd_status pd_program_set(const pd_program *program, pd_error *err);

/* What was kept: NULL, and 0, where nothing was. */
PD_API pd_status pd_program_get(pd_program *program, pd_error *err);

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

/* ------------------------------------------------------------------------
 * Reports
 */

/* Takes `length` bytes of a report, which may be a part of a line; borrowed during
 * the call. Called without any lock. */
typedef void (*pd_writer)(const char *text, size_t length, void *context);

typedef struct pd_report_options {
  size_t size;             /* sizeof(pd_report_options) */
  const pd_help *help;     /* which; NULL: PD_HELP_ALL */
  const char *program;     /* argv[0]; NULL: "program" */
  const char *usage;       /* text above the flags; NULL: one line is made; "": no text,
                              and nothing of what every command line reads */
  const char *version;     /* of the program; NULL: none */
  uint32_t width;          /* columns, 40 or more; 0: 80 */
  bool color;              /* with ANSI escapes */
} pd_report_options;

/* Write help, by modules and categories, or XML as gflags writes it, or the
 * program's version, as options->help asks; NULL for `options` gives help on all.
 * A program's own flags are those of source files that are named as it is, or that
 * its image defines if there are none. On an error nothing was written. */
PD_API pd_status pd_report_help(const pd_report_options *options, pd_writer write,
                                void *context, pd_error *err);

/* Write the values as a flagfile that gives them again: those that somebody gave, or
 * defaults as well. Sensitive ones and those that can't be given are left out, and a
 * comment says so. */
PD_API pd_status pd_report_flagfile(bool all, pd_writer write, void *context,
                                    pd_error *err);

/* ------------------------------------------------------------------------
 * Lists
 */

/* The items of a list flag's text: separated by commas; an item with a comma, a
 * quote, a line break or blanks at its ends, and a lone empty one, stands in double
 * quotes, with its quotes doubled (RFC 4180). "" has no items. `buffer` and `length` as
 * in pd_flag_get_text. PD_ERR_ARGUMENT: `index` is too big. PD_ERR_VALUE: not a
 * list. */
PD_API pd_status pd_list_get(const char *list, size_t index, char *buffer,
                             size_t size, size_t *length, pd_error *err);

#ifdef __cplusplus
}
#endif

#ifndef PD_CDEF
#include <pd_flags/define.h>
#ifdef PD_HEADER_ONLY
#include <pd_flags/unlinked.h>
#endif

#include <pd_flags/names_pop.h>
#endif

#endif /* PD_FLAGS_H */
