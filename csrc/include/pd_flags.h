/* paddle_flags: one registry of run-time flags for a whole process.
 *
 * A plugin needs only this header, and no library on its link line.
 *
 *     #include <pd_flags.h>
 *     PD_DEFINE_int32(alpha_level, 6, "Compression level", .min = 1, .max = 9);
 *     int level(void) { return FLAGS_alpha_level; }
 *
 * pd_flags/define.h holds these macros, and pd_flags/record.h the binary record that they leave in
 * a module. This file declares the functions of the library, for hosts that link against
 * libpd_flags: they list, find, read and set flags, parse a command line and load plugins. A plugin
 * that links against nothing can call them too:
 *
 *     #define PD_HEADER_ONLY
 *     #include <pd_flags.h>
 *
 * in a source file makes each of them an inline function that calls the registry of the process. If
 * the process has no registry, or an older one that lacks the function, it returns
 * PD_ERR_UNSUPPORTED; a function that returns no status returns 0 or does nothing. Functions that
 * need no registry always work: pd_status_name, pd_status_text, pd_type_name, pd_source_name,
 * pd_source_rank, pd_flag_def_init and pd_list_get.
 *
 * These rules hold for every function, unless its comment says otherwise:
 *
 * - You may call it from any thread, and from several threads at once. The rules for threads and
 *   processes below say where else you may call it.
 * - It returns a pd_status. With any status but PD_OK, nothing has changed, and `err`, unless it is
 *   NULL, says what went wrong, where, and what was expected. Results are written through the last
 *   pointers before `err`, and only on success. The exceptions are pd_flag_register,
 *   pd_impl_register and pd_module_load: they may succeed and still reject a pending value of a
 *   flag. They then write their result, return the status of that value, and describe it in `err`.
 *   If they don't write the result, nothing was done.
 * - It never prints, exits, aborts or throws. It returns PD_ERR_ARGUMENT if a required pointer is
 *   NULL.
 * - If it calls a function of yours that throws a C++ exception, the exception passes through to
 *   the caller, and nothing leaks. An exception of a validator rejects the change; after an
 *   exception of a watcher, the change stays. Constructors and destructors of modules must not
 *   throw. This needs a library that was compiled with -fexceptions: docs/reference/platforms.md
 *   says which aren't.
 * - If a callback leaves by longjmp, or stops on a fiber and never continues, the resources of the
 *   call are never released. A callback on a fiber may continue in another thread. Don't do either
 *   in pd_module_load, pd_module_unload, or constructors and destructors: the thread would keep the
 *   loader's lock.
 * - Text is a NUL-terminated sequence of bytes, by convention in UTF-8. Text that you get is
 *   borrowed, never changes (except by pd_flag_wipe, for sensitive flags), and stays valid until
 *   the process ends.
 * - A pd_flag or pd_module handle stays valid until the process ends, even after the module that
 *   defined it has left.
 *
 * Threads and processes:
 *
 * - Any thread may read FLAGS_x at any moment, even in a signal handler, while others set it.
 *   Reading is one load, without a lock or a call, and returns a value that the flag had. Setting a
 *   flag doesn't slow down readers of other flags.
 * - Setting a flag changes its cells one after the other, and a batch publishes its values one by
 *   one: a thread that reads two flags without a lock may see one old and one new value.
 * - Constructors and destructors of modules, validators, watchers, the warning handler and the
 *   writers of reports may call every function. The registry holds no lock while they run. A module
 *   leaves when no thread, including the one that unloads it, is running one of its validators or
 *   watchers.
 * - A signal handler may call pd_flag_get_<type> with NULL for `err`, pd_flag_get_address,
 *   pd_flag_get_state, pd_flag_get_generation, pd_status_name and similar functions: they take no
 *   lock and allocate nothing, nor does PD_SCOPED. It may not call any other function.
 * - In the child of a fork, every flag can be read and set, whatever other threads were doing at
 *   that moment. The validators and watchers of the program, and of modules that pd_module_load
 *   opened by their paths, run too. What needs the loader (loading, unloading, the hooks of modules
 *   that were loaded by dlopen or as dependencies, the first registration from an image that has no
 *   flags, pd_copy_get_info, every call in a process that has no registry yet) is safe there only
 *   if no other thread was loading or unloading a library at that moment, or looking for a registry
 *   that doesn't exist: otherwise, glibc's loader may hang or abort. After vfork, or a fork in a
 *   signal handler, don't call any function.
 *   Handlers of pthread_atfork may call every function. Those that were registered before this
 *   library was loaded run while other threads can't use the registry: they must not wait for a
 *   thread that may be calling it. A dlopen in such a handler may do so.
 * - At exit, atexit handlers and destructors may call every function, while other threads keep
 *   running. The flags of a module stay defined until its last destructor has run. After that,
 *   FLAGS_x keeps its last value, and calls with its handle return PD_ERR_UNDEFINED. */
#ifndef PD_FLAGS_H
#define PD_FLAGS_H

/* build_ffi.py and the tests preprocess this file with PD_CDEF defined to get
 * its bare declarations. */
#ifndef PD_CDEF
#include <pd_flags/names_push.h>

#include <pd_flags/language.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && !defined(_WIN64)
#error "pd_flags.h supports 64-bit Windows only"
#elif defined(PD_HEADER_ONLY)
#define PD_API static inline /* they are in pd_flags/unlinked.h */
#elif defined(PD__BODIES)
#define PD_API /* sources of the library, which exports other symbols for them */
#elif !defined(_WIN32)
#define PD_API __attribute__((visibility("default")))
#elif defined(PD_BUILDING_LIBRARY)
#define PD_API __declspec(dllexport)
#else
#define PD_API /* callers can link against the DLL or a static copy */
#endif
#define PD_ALIGNED __attribute__((aligned(8))) /* as on 64-bit systems: the layout is the same */
#else
#define PD_API
#define PD_ALIGNED
#endif

#define PD_VERSION "0.1.0"

/* The version of the binary contract in docs/reference/abi.md. It increases only when the library
 * can no longer understand modules that were built before. */
#define PD_ABI_VERSION 1

/* The longest flag name, in bytes. */
#define PD_NAME_MAX 255

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------
 * Statuses and errors
 */

/* X(name, number, text). Numbers never change; new statuses go to the end.
 * This list is a macro, like PD_TYPE_MAP: pass it a macro X that turns each row into what you need.
 * PD_STATUS_ENUM makes the constants of the enum. */
#define PD_STATUS_MAP(X)                                                       \
  X(OK, 0, "success")                                                          \
  X(ERR_ARGUMENT, 1, "invalid argument")                                       \
  X(ERR_NAME, 2, "invalid flag name")                                          \
  X(ERR_UNDEFINED, 3, "no such flag")                                          \
  X(ERR_CONFLICT, 4, "name is already defined")                                \
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
  X(ERR_UNSUPPORTED, 16, "the copy that hosts the registry lacks this")        \
  X(ERR_REFUSED, 17, "rejected by a validator")                                 \
  X(ERR_FILE, 18, "file cannot be read")                                       \
  X(ERR_DEPTH, 19, "nested too deeply")

#define PD_STATUS_ENUM(name, number, text) PD_##name = number,
typedef enum pd_status { PD_STATUS_MAP(PD_STATUS_ENUM) } pd_status;

/* What went wrong. You own it, and the function that failed fills it. It needs no initialization
 * and no release. */
typedef struct pd_error {
  pd_status status;
  char message[1020]; /* one line, without a newline at its end */
} pd_error;

/* Static text, never NULL: "unknown" for an unknown number. */
PD_API const char *pd_status_name(pd_status status); /* "PD_ERR_RANGE" */
PD_API const char *pd_status_text(pd_status status); /* "value out of range" */

/* All errors of one operation. You own it, and only one thread may use it at a time.
 * pd_error_list_new returns NULL if memory runs out. The other functions, and every function that
 * takes a list, treat NULL as an empty list. */
typedef struct pd_error_list pd_error_list;
PD_API pd_error_list *pd_error_list_new(void);
PD_API void pd_error_list_free(pd_error_list *list);
PD_API size_t pd_error_list_count(const pd_error_list *list);

/* Borrowed until the list changes or is freed. NULL if `index` is too big. */
PD_API const pd_error *pd_error_list_at(const pd_error_list *list, size_t index);

/* The flag that an error of a batch or configuration is about, or NULL if it isn't about a single
 * flag. */
PD_API struct pd_flag *pd_error_list_get_flag(const pd_error_list *list, size_t index);

/* The version of the library at run time; PD_VERSION is the version of the header. A small build
 * adds its profile, as in "0.1.0+no-input". */
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

/* "int32". Never NULL: "unknown" for an unknown number. */
PD_API const char *pd_type_name(pd_type type);

/* A value of any type; PD_TYPE_MAP says which member a type uses. Every function that takes
 * text copies it. */
typedef union pd_value {
  bool b;
  int64_t i64;
  uint64_t u64;
  double f64;
  const char *str;
} pd_value;

/* X(name, number, rank, text): where a value came from. A value hides the values of a lower or
 * equal rank. Run time and live (values from outside the running process) have the same rank: the
 * later one is in effect. Numbers never change and say nothing about the rank: a new source gets
 * the next number, and a rank between two others. */
#define PD_SOURCE_MAP(X)                                                       \
  X(DEFAULT, 0, 0, "default")                                                  \
  X(FILE, 1, 100, "file")                                                      \
  X(ENVIRONMENT, 2, 200, "environment")                                        \
  X(ARGV, 3, 300, "argv")                                                      \
  X(FLEET, 8, 400, "fleet")                                                    \
  X(RUNTIME, 4, 500, "run time")                                               \
  X(LIVE, 7, 500, "live")                                                      \
  X(OVERRIDE, 5, 600, "override")                                              \
  X(SCOPE, 6, 700, "scope")

#define PD_SOURCE_ENUM(name, number, rank, text) PD_SOURCE_##name = number,
typedef enum pd_source { PD_SOURCE_MAP(PD_SOURCE_ENUM) } pd_source;

/* "environment". Never NULL: "unknown" for an unknown number. */
PD_API const char *pd_source_name(pd_source source);

/* 200 for PD_SOURCE_ENVIRONMENT; 0 for the default and for an unknown number. */
PD_API uint32_t pd_source_rank(pd_source source);

/* Where a value came from. */
typedef struct pd_origin {
  pd_source source;
  uint32_t line;     /* in the file `place`; of argv without a file: the index */
  const char *place; /* path of a file or name of a variable; or NULL */
  uint32_t column;   /* in that line, from 1; 0 if unknown */
} pd_origin;

/* One value of a flag, current, past or proposed. */
typedef struct pd_flag_entry {
  size_t size; /* of this struct, in bytes; set by whoever makes it */
  pd_value value;
  pd_origin origin;
  bool replaced; /* by a later value of the same source */
  pd_type type;  /* of `value` */
  pd_type list;  /* of an item; 0: no list */
  void *context; /* of the definition */
  bool unset;    /* the default of an optional flag, which stands for no value */
  bool sensitive;
  uint64_t override; /* of the source override: its pd_override; else 0 */
} pd_flag_entry;

/* A validator accepts or rejects the values that flags are about to get. entries[i] is the new
 * value of the i-th flag of pd_validator_add, or its current value if that flag does not change. To
 * reject the values, return false and write what was expected to `why`: at most `size` bytes,
 * including the NUL. `why` is initially "".
 * It runs on the thread that sets the flag, without any lock, and may call every function of this
 * header. It may run again for the same change if values have changed in the meantime. The entries
 * are borrowed during the call. */
typedef bool (*pd_validator)(const pd_flag_entry *const *entries, void *context,
                             char *why, size_t size);

/* Receives `length` bytes of a text, which may be only a part of it. They are borrowed during the
 * call. The caller holds no lock. */
typedef void (*pd_writer)(const char *text, size_t length, void *context);

/* Converts a text that a string flag is about to get, from any source, to its canonical form.
 * Returns true, and passes the result to `write` with `out`, unless the text stays as it is. To
 * reject it, returns false and writes what was expected to `why`, as a validator does. Converting a
 * result again must not change it. It is called before the choices of the flag are checked and
 * before its validators, without any lock, on the thread that sets the flag. It may call every
 * function of this header, and may wait for a lock: like a hook after pd_hook_defer, it isn't
 * called in constructors and destructors. The default of a definition isn't converted. */
typedef bool (*pd_converter)(const char *text, void *context, pd_writer write, void *out,
                             char *why, size_t size);

/* How the registry reads and writes a variable that isn't of the C type of the flag, such as a
 * std::string: through functions of the module, called while the registry's lock is held. They must
 * not call anything that may call the registry, and must not throw. `get` and `put` are for
 * strings, `load` and `store` for the other types. `get` and `load` may be NULL if no code assigns
 * to the variable. */
typedef struct pd_cell_access {
  size_t size;                                /* of this struct, in bytes */
  const char *(*get)(void *cell);             /* returns the value, valid until the next call
                                                 for this cell, or NULL if there is none any
                                                 more */
  void (*put)(void *cell, const char *text);  /* set it to `text`, which stays valid */
  bool (*load)(void *cell, pd_value *value);  /* stores the value in *value, or returns false if
                                                 there is none any more */
  void (*store)(void *cell, pd_value value);
} pd_cell_access;

struct pd_flag;

/* A watcher is called after the value of `flag` has changed. Read the value from the flag: another
 * thread may have changed it again. The watcher runs on the thread that set the flag, after all
 * values of that operation are in place, without any lock, and may call every function of this
 * header. */
typedef void (*pd_watcher)(struct pd_flag *flag, void *context);

/* ------------------------------------------------------------------------
 * Definitions
 */

/* What a definition is. */
typedef enum pd_kind {
  PD_KIND_DEFINE = 0,    /* of a flag */
  PD_KIND_IMPORT = 1,    /* a cell for a flag that another module defines */
  PD_KIND_OP = 2,        /* of an operation and its native implementation: pd_op_def */
  PD_KIND_OP_IMPORT = 3, /* a slot for an operation that another module defines */
  PD_KIND_IMPL = 4       /* another implementation of an operation */
} pd_kind;

/* What a definition may say about its flag, besides its type and its values. These lists determine
 * the fields of pd_flag_def and pd_flag_info, what a second definition must repeat, help, and the
 * keywords of Python and other languages. New attributes go to the end of a LATER list; the FIRST
 * ones are complete.
 *
 * X(name, label, what it means): attributes that are true or false. */
#define PD_FIRST_MARKS(X)                                                      \
  X(hidden, "hidden", "left out of listings and help")                         \
  X(read_only, "read-only", "keeps its default")                               \
  X(startup_only, "startup only", "keeps its value once a command line was parsed") \
  X(sensitive, "sensitive", "its values never appear in messages and reports") \
  X(experimental, "experimental", "may change or go")
#define PD_LATER_MARKS(X)                                                      \
  X(required, "required", "a command line without a value for it is an error") \
  X(optional, "optional", "its default stands for no value")                   \
  X(multi, "multi", "a list to which each use on a command line adds")         \
  X(scoped, "scoped", "may have a value of its own in a thread or task")       \
  X(runtime, "runtime", "may be changed in the running process from outside")  \
  X(unsafe, "unsafe", "a change from outside needs a confirmation")            \
  X(per_process, "per process", "each process has its own value, never compared") \
  X(count, "count", "an integer to which each use without a value adds one")   \
  X(merge, "merge", "a list that adds to what files and variables give")
#define PD_MARK_MAP(X) PD_FIRST_MARKS(X) PD_LATER_MARKS(X)

/* X(name, label, TEXT or NAMES, what it means): attributes that are text, or NULL. NAMES are
 * separated by |. */
#define PD_FIRST_TEXTS(X)                                                      \
  X(choices, "choices", NAMES, "the only values allowed, of a list the only items") \
  X(category, "category", TEXT, "heading in listings")                         \
  X(aliases, "aliases", NAMES, "other names")
#define PD_LATER_TEXTS(X)                                                      \
  X(unit, "unit", TEXT, "\"bytes\": reads 64MiB; \"seconds\": reads 200ms")    \
  X(deprecated, "deprecated", TEXT, "why, and what to use instead")            \
  X(retired, "retired", TEXT, "why values are ignored")                        \
  X(old_names, "old names", NAMES, "other names, which warn once")             \
  X(metavar, "metavar", TEXT, "what help shows in place of a value")
#define PD_TEXT_MAP(X) PD_FIRST_TEXTS(X) PD_LATER_TEXTS(X)

#define PD__MARK_FIELD(name, words, about) bool name;
#define PD__MARK_LESS(name, words, about) -1
#define PD__TEXT_FIELD(name, words, kind, about) const char *name;

/* The later marks, and room for more of them: 14 bytes, less 1 for each row, since the list turns
 * into "-1 -1 ...". */
#define PD__LATER_MARK_FIELDS                                                  \
  PD_LATER_MARKS(PD__MARK_FIELD)                                               \
  uint8_t reserved[14 PD_LATER_MARKS(PD__MARK_LESS)];

/* One definition. The PD_DEFINE macros build it at compile time. For pd_flag_register, fill it
 * with pd_flag_def_init and set the fields that you need. `T` is the type of the three values:
 * pd_value in pd_flag_def, and the plain C type in the constants that the macros build; both
 * have the same layout. */
#define PD_FLAG_DEF_FIELDS(T)                                                  \
  uint32_t size; /* of this struct, in bytes */                                \
  uint32_t line; /* of the definition, from 1; 0 if unknown */              \
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
  bool scoped_cell;       /* the cell is a pd_scoped_cell, as a scoped flag's must be */ \
  PD_LATER_TEXTS(PD__TEXT_FIELD)                                               \
  pd_converter convert; /* of a string; or NULL. `context` is its context too */

typedef struct pd_flag_def {
  PD_FLAG_DEF_FIELDS(pd_value)
} pd_flag_def;

typedef struct pd_flag pd_flag;
typedef struct pd_module pd_module;

/* Identifies a validator or watcher that was added. Never 0. */
typedef uint64_t pd_hook;

/* Zero `def`, then set its size, its type, the whole range of the type, and the default 0, false
 * or "". `size` is sizeof(pd_flag_def). pd_flag_register refuses an unknown type later. */
PD_API void pd_flag_def_init(pd_flag_def *def, size_t size, pd_type type);

/* Define a flag at run time. `def` and all its text are copied; only the cell stays yours.
 * Registering the same definition again returns the same flag and adds its cell. Values that the
 * name was given before, for example by the environment, are applied. `out` may be NULL.
 * If *out isn't written, the definition was refused and nothing is defined: PD_ERR_NAME,
 * PD_ERR_CONFLICT, PD_ERR_TYPE, PD_ERR_RANGE, PD_ERR_CHOICE, PD_ERR_VALUE (the default is NULL or
 * not a list), PD_ERR_ARGUMENT (another attribute, or two that exclude each other), PD_ERR_ABI,
 * PD_ERR_MEMORY. PD_ERR_RANGE and PD_ERR_CHOICE also mean that the flag doesn't allow its own
 * default, PD_ERR_TYPE that a module imports the name with another type, and PD_ERR_CONFLICT that
 * the name is taken, that it has a meaning on every command line ("help", "flagfile", "fromenv",
 * "tryfromenv", "undefok"), or that it and another name are a bool `b` and `nob` or `no_b`.
 * If *out is written, the flag is defined, but a pending value was rejected: PD_ERR_VALUE,
 * PD_ERR_RANGE, PD_ERR_CHOICE, PD_ERR_REFUSED (by a validator), PD_ERR_READ_ONLY (the flag is
 * read-only, or retired and was set at run time), PD_ERR_FROZEN, PD_ERR_TYPE (a number or list of a
 * configuration file, for another type), PD_ERR_ARGV (--name without a value), PD_ERR_CONFLICT (one
 * environment variable names two flags, or two variables of the flag differ), PD_ERR_DEPTH,
 * PD_ERR_MEMORY. */
PD_API pd_status pd_flag_register(const pd_flag_def *def, pd_flag **out,
                                  pd_error *err);

/* Undefine a flag of pd_flag_register; all of its cells are yours again. Its name becomes free. Its
 * validators, watchers and groups are removed, including those that it shares with other flags.
 * Values that were given to it (not those of pd_flag_set_default) and open overrides wait for the
 * next definition of the name. The handle stays valid until the process ends, as do texts and
 * addresses that you got from it. Other functions return PD_ERR_UNDEFINED for it until the name is
 * defined again. PD_ERR_CONFLICT: a module's record defines the flag, which stays until the module
 * is unloaded. PD_ERR_UNDEFINED. */
PD_API pd_status pd_flag_unregister(pd_flag *flag, pd_error *err);

/* Like pd_flag_register, but the definition replaces the one that the name has from
 * pd_flag_register, and the flag keeps its handle. No other thread ever finds the flag undefined,
 * except that pd_flag_get_state may be 0 for a moment if the type changes. If the definition is
 * refused, nothing has changed. The same values and overrides stay as after pd_flag_unregister. The
 * new definition and its `validate` check them; those that are rejected are dropped and returned as
 * errors.
 * Validators and watchers stay, except the `count` hooks in `hooks`: these belong to the old
 * definition and are removed in the same step. Hooks that no longer exist are ignored. Watchers
 * that stay are notified if the value is now different. `hooks` may be NULL if `count` is 0.
 * PD_ERR_CONFLICT also means that a module's record defines the flag. */
PD_API pd_status pd_flag_replace(const pd_flag_def *def, const pd_hook *hooks,
                                 size_t count, pd_flag **out, pd_error *err);

/* ------------------------------------------------------------------------
 * Finding
 */

/* Find a flag by name or alias; `-` and `_` are equivalent. PD_ERR_UNDEFINED: the message suggests
 * the nearest known flag. */
PD_API pd_status pd_flag_find(const char *name, pd_flag **out, pd_error *err);

/* Iterate over the flags, in the order in which they were first defined: NULL returns the first
 * flag, and the last flag returns NULL. The flags of a module are in the order of the lines of its
 * source files; a module that is loaded again gets its old place. The iteration includes flags that
 * are defined meanwhile. */
PD_API pd_flag *pd_flag_next(const pd_flag *previous);

/* The name of a flag, even of one that is no longer defined; "" if memory runs out. */
PD_API const char *pd_flag_get_name(const pd_flag *flag);

/* Everything about a flag except its value. A missing text is "". */
typedef struct pd_flag_info {
  size_t size; /* set by the caller: sizeof(pd_flag_info) */
  pd_type type;
  pd_type list;           /* of an item; 0: no list */
  pd_source source;       /* of the current value */
  uint32_t line;          /* 0 if unknown */
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
  void *context;          /* of the definition */
  uint32_t generation;    /* as pd_flag_get_generation says */
  uint32_t validators;    /* how many check it: those of definitions, and those that were added */
} pd_flag_info;

/* PD_ERR_UNDEFINED: the module of the flag has left. */
PD_API pd_status pd_flag_get_info(const pd_flag *flag, pd_flag_info *info,
                                  pd_error *err);

/* The history of the flag: the current value at index 0, the default last. Values are ordered by
 * rank, and within a rank the latest comes first. Of replaced values, at least the last
 * PD_HISTORY_KEPT of each source are kept; of consecutive values from the same place, only the
 * last. PD_ERR_ARGUMENT: `index` is too big. */
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
  bool in_step;       /* has the value of the flag, or no variable */
} pd_cell_info;

/* The definitions and imports of a flag; `index` counts from 0. PD_ERR_ARGUMENT: `index` is too
 * big. */
PD_API pd_status pd_flag_get_cell(const pd_flag *flag, size_t index,
                                  pd_cell_info *info, pd_error *err);

/* ------------------------------------------------------------------------
 * Reading and setting
 */

/* With NULL for `err`, these functions take no lock. With an `err`, they take it to write an error,
 * and to read a flag whose variable a module may assign to (pd_flag_def.assignable). PD_ERR_TYPE:
 * the flag has another type. PD_ERR_UNDEFINED: the module of the flag has left. There is one
 * function for each type. */
#define PD__FLAG_GET(name, number, ctype, member)                              \
  PD_API pd_status pd_flag_get_##name(const pd_flag *flag, ctype *out, pd_error *err);
PD_TYPE_MAP(PD__FLAG_GET)

/* The value as text, which pd_flag_set_from_string reads back as the same value. `buffer` receives
 * up to `size` bytes including the NUL, as from snprintf; `length` (may be NULL) receives the
 * length of the whole text without the NUL. */
PD_API pd_status pd_flag_get_text(const pd_flag *flag, char *buffer, size_t size,
                                  size_t *length, pd_error *err);

/* The same for any value. Takes no lock. PD_ERR_ARGUMENT: there is no such type. */
PD_API pd_status pd_value_get_text(pd_type type, pd_value value, char *buffer, size_t size,
                                   size_t *length, pd_error *err);

/* Parse text as pd_flag_set_from_string does for a flag with this type and unit (NULL: none). A
 * string stays as it is. Takes no lock. PD_ERR_VALUE, PD_ERR_RANGE, PD_ERR_ARGUMENT. */
PD_API pd_status pd_value_parse(pd_type type, const char *unit, const char *text, pd_value *out,
                                pd_error *err);

/* Find out whether the flag has the value `text` (NULL: no value) in the process. For text that the
 * flag can't have, the result is PD_OK and false. PD_ERR_UNDEFINED. */
PD_API pd_status pd_flag_compare_text(pd_flag *flag, const char *text, bool *same, pd_error *err);

/* The address of the registry's own copy of the value, of the C type of the flag (const char *
 * for a string); NULL for NULL. You can read it until the process ends, with one atomic load;
 * never write it. */
PD_API const void *pd_flag_get_address(const pd_flag *flag);

/* The address of a byte that holds the pd_type of the flag while it is defined, and 0 otherwise;
 * NULL for NULL. For a list, 16 times the type of its items is added. If a module may assign to the
 * flag's variable, 128 is added: call a function to get the value. You can read the byte until the
 * process ends. If you keep the address of the value, the byte says whether it still holds that
 * type: the address of a string or a bool never holds another type, but the address of a number
 * may. */
#define PD_STATE_UNSET 8
PD_API const uint8_t *pd_flag_get_state(const pd_flag *flag);

/* The address of the number of the flag's definition, which is never 0 and changes with each change
 * of the definition; NULL for NULL. You can read it until the process ends. If the number is the
 * same before and after you read the value, the value belongs to that definition. */
PD_API const uint32_t *pd_flag_get_generation(const pd_flag *flag);

/* Set the flag at run time. When the call returns, every cell of the flag has the value.
 * PD_ERR_TYPE, PD_ERR_RANGE, PD_ERR_CHOICE, PD_ERR_VALUE (text that is not a list), PD_ERR_REFUSED
 * (by a validator), PD_ERR_READ_ONLY (the flag is read-only or retired), PD_ERR_FROZEN,
 * PD_ERR_DEPTH (validators and watchers set flags in a cycle), PD_ERR_UNDEFINED, PD_ERR_MEMORY. */
#define PD__FLAG_SET(name, number, ctype, member)                              \
  PD_API pd_status pd_flag_set_##name(pd_flag *flag, ctype value, pd_error *err);
PD_TYPE_MAP(PD__FLAG_SET)

/* Set a flag of any type from text. A number must be the whole text and is read exactly: decimal,
 * or 0x for integers; no blanks, no overflow, no rounding to an integer. A bool accepts 1 t true y
 * yes on and 0 f false n no off, in upper or lower case. A flag with a unit also accepts
 * quantities: 64MiB, 1.5GB, 10kB and 1B for bytes; 1h30m, -200ms, 2.5min, 1d, 3us and 4ns for
 * seconds. An integer flag accepts only whole quantities.
 * Errors as of the functions above; PD_ERR_VALUE also means that the text, or an item of it, isn't
 * a value of the type. */
PD_API pd_status pd_flag_set_from_string(pd_flag *flag, const char *text,
                                         pd_error *err);

/* pd_flag_find and pd_flag_set_from_string in one call. */
PD_API pd_status pd_flag_set_by_name(const char *name, const char *text,
                                     pd_error *err);

/* Drop every value but the default. If the flag has an override, the topmost override is set to the
 * default instead, and popping it undoes the reset. */
PD_API pd_status pd_flag_reset(pd_flag *flag, pd_error *err);

/* Give the flag another default, from text, for as long as any module defines it. Values from
 * other sources still hide the default, and pd_flag_reset keeps it. Errors as of
 * pd_flag_set_from_string. */
PD_API pd_status pd_flag_set_default(pd_flag *flag, const char *text, pd_error *err);

/* Drop the value of one source; also PD_OK if the source gave none. PD_ERR_ARGUMENT: `source` is
 * default or override. */
PD_API pd_status pd_flag_drop(pd_flag *flag, pd_source source, pd_error *err);

/* Reset a sensitive flag, and overwrite with zeros every text that it was ever given. The text of
 * the default, which the flag has afterwards, stays. Overrides no longer have a value for the flag.
 * A reader that still has the address of another text finds it empty. The text of a sensitive flag
 * is stored for this flag only, and refused text is overwritten immediately. PD_ERR_ARGUMENT: the
 * flag isn't sensitive. Errors as of pd_flag_reset. */
PD_API pd_status pd_flag_wipe(pd_flag *flag, pd_error *err);

/* Refuse every later change of the flag with PD_ERR_FROZEN until it is unfrozen, even if its module
 * is unloaded and loaded again in between. */
PD_API pd_status pd_flag_freeze(pd_flag *flag, pd_error *err);
PD_API pd_status pd_flag_unfreeze(pd_flag *flag, pd_error *err);

/* One assignment of a batch: `text` or, if that is NULL, `value`, whose type must be that of the
 * flag. */
typedef struct pd_assignment {
  pd_flag *flag;
  const char *text;
  pd_type type;
  pd_value value;
} pd_assignment;

/* Make all `count` assignments, in order, or none: all of them are checked before the first takes
 * effect. `origin` NULL means run time. Every error is added to `errors` (may be NULL). The first
 * one is also written to `err`, and its status is returned. A value of lower rank than the current
 * value is kept but hidden. With the source default, the values become defaults, as of
 * pd_flag_set_default. */
PD_API pd_status pd_batch_set(const pd_assignment *items, size_t count,
                              const pd_origin *origin, pd_error_list *errors,
                              pd_error *err);

/* An override: values on top of all others until it is popped. Overrides may be popped in any order
 * and on any thread. While a flag has an override, setting it at run time changes its topmost
 * override, so that popping the override restores what was there before. Live values stay below
 * overrides. */
typedef uint64_t pd_override;

/* As pd_batch_set. `origin` gives the place; its source is always override. */
PD_API pd_status pd_override_push(const pd_assignment *items, size_t count,
                               const pd_origin *origin, pd_error_list *errors,
                               pd_override *out, pd_error *err);

/* PD_ERR_ARGUMENT: there is no such override, or it was already popped. You can pop an override of
 * a frozen flag. */
PD_API pd_status pd_override_pop(pd_override override, pd_error *err);

/* ------------------------------------------------------------------------
 * Batches for clients outside of the process, and the journal of changes
 */

/* One change of pd_batch_apply. The changes of one flag follow each other. */
typedef struct pd_batch_change {
  pd_flag *flag;
  const char *text;     /* the new value; NULL: drop one, as `override` says */
  uint32_t literal;     /* how a client wrote `text`, as in pd_config_add */
  pd_override override; /* without `text`: drop what this override gives the flag; 0: drop the value
                           of the source of the batch */
} pd_batch_change;

/* What a change of a batch is about to do. Texts are NULL where there is no value. */
typedef struct pd_batch_effect {
  size_t size;          /* of this struct, in bytes; set by whoever makes it */
  const char *old_text;
  const char *new_text; /* the new value, or what is left after all changes of its flag */
  bool hidden;          /* an override hides the new value */
} pd_batch_effect;

/* Called once when everything in a batch has been accepted and nothing has taken effect. effects[i]
 * is about the i-th change; the effects and their texts are borrowed during the call. Return false
 * to abandon the batch: nothing changes. The registry is locked: don't call any function of this
 * header, and don't wait for another thread. */
typedef bool (*pd_batch_decider)(const pd_batch_effect *effects, size_t count, void *context);

/* A flag as it was at a revision of the journal. */
typedef struct pd_flag_revision {
  const pd_flag *flag;
  uint64_t revision;
} pd_flag_revision;

typedef struct pd_batch_options {
  size_t size;                       /* sizeof(pd_batch_options) */
  const pd_origin *origin;           /* NULL: run time */
  bool dry_run;                      /* check, call validators and `decide`, but change nothing */
  pd_override *override;             /* make the values a new override, which gets its number here.
                                        What the program sets meanwhile waits below. Or NULL */
  const pd_flag_revision *unchanged; /* flags that must not have changed since; or NULL */
  size_t unchanged_count;
  uint64_t mark;                     /* of the events in the journal, as pd_journal_event says */
  pd_batch_decider decide;           /* or NULL */
  void *context;                     /* of `decide` */
  pd_error_list *errors;             /* receives every error; or NULL */
} pd_batch_options;

/* Make all changes, or none. An override that has no value left is popped. Validators are called,
 * unless the batch only drops values of overrides. Errors as of pd_batch_set; PD_ERR_CONFLICT: a
 * flag in `unchanged` has changed; PD_ERR_REFUSED also if `decide` returned false. `options` may be
 * NULL. */
PD_API pd_status pd_batch_apply(const pd_batch_change *changes, size_t count,
                                const pd_batch_options *options, pd_error *err);

/* From now on, calls on this thread don't run watchers, warning handlers or `release` functions:
 * these wait until another thread sets a flag, or for pd_callbacks_run. Validators and converters
 * run anyway. For threads that must not wait for a runtime such as Python. */
PD_API void pd_callbacks_postpone(bool postpone);

/* Returns true if callbacks are waiting. Takes no lock. */
PD_API bool pd_callbacks_are_waiting(void);

/* Run the waiting callbacks on this thread. */
PD_API void pd_callbacks_run(void);

/* The journal keeps the last PD_JOURNAL_KEPT changes of flags, whoever makes them: of values, of
 * their sources, of definitions, and of whether a flag is frozen. It is initially off, and then
 * costs each assignment one test of a variable. Each change has a number, the revision, counted
 * from 1. */
#define PD_JOURNAL_KEPT 8192

/* Start the journal if it isn't running. */
PD_API pd_status pd_journal_start(pd_error *err);

/* The revision of the latest change, including what modules have assigned to their variables; 0
 * while the journal is off. It takes no lock unless a module may assign to variables or definitions
 * have changed. */
PD_API uint64_t pd_journal_get_revision(void);

/* The revision of the flag's latest change; 0 if there is none, or if the journal is off. */
PD_API uint64_t pd_flag_get_revision(const pd_flag *flag);

/* 16 hexadecimal digits, different in each process and in each forked child; "" while the journal
 * is off. Valid until the process ends, but changes in a forked child. */
PD_API const char *pd_journal_get_epoch(void);

/* X(name, number, text): what happened. */
#define PD_EVENT_MAP(X)                                                        \
  X(VALUE, 0, "value")     /* the value has changed, or its source */          \
  X(DEFINED, 1, "defined")                                                     \
  X(REMOVED, 2, "removed")                                                     \
  X(FROZEN, 3, "frozen")   /* or unfrozen */

#define PD_EVENT_ENUM(name, number, text) PD_EVENT_##name = number,
typedef enum pd_event { PD_EVENT_MAP(PD_EVENT_ENUM) } pd_event;

typedef struct pd_journal_event {
  size_t size;       /* set by the caller: sizeof(pd_journal_event) */
  uint64_t revision;
  int64_t at;        /* milliseconds since 1970 */
  uint64_t mark;     /* of the pd_batch_options; 0: another change */
  pd_flag *flag;
  pd_event kind;
  pd_type old_type;  /* 0: there was no value */
  pd_type new_type;  /* 0: there is none */
  pd_value old_value;
  pd_value new_value;
  pd_origin origin;  /* of the new value */
  bool defined;      /* the flag is, since then */
  bool sensitive;    /* the flag was or is */
} pd_journal_event;

/* The first event after a revision. PD_ERR_UNDEFINED: there is none yet. PD_ERR_ARGUMENT: the event
 * is no longer kept, or the revision doesn't exist yet. */
PD_API pd_status pd_journal_get(uint64_t since, pd_journal_event *event, pd_error *err);

/* ------------------------------------------------------------------------
 * Scopes: values of one thread or task
 *
 * A flag that PD_DEFINE_SCOPED_<type> defines can have its own value in one thread, until the scope
 * that gives it ends. Such a value hides all others in its thread, even those of overrides. Every
 * function that sets a flag sets the value of the process, which the scope doesn't affect: if a
 * scope hides that value from the thread that sets it, there is a warning, PD_WARNING_HIDDEN.
 * PD_SCOPED, pd_flag_get_<type>, pd_flag_get_text, and the source from pd_flag_get_info are those
 * of the calling thread; pd_flag_get_entry begins with the values of its scopes. Flagfiles, reports
 * and pd_flag_get_address have the values of the process.
 *
 * A thread's open scopes are its context. Other threads, such as those of a pool or of OpenMP, get
 * it by pd_scope_capture and pd_scope_attach.
 *
 *     pd_scope_context *context;                       on one thread:
 *     pd_scope_capture(&context, &err);
 *
 *     pd_scope attached;                               on another:
 *     pd_scope_attach(context, &attached, &err);
 *     work();
 *     pd_scope_detach(attached, &err);
 *
 *     pd_scope_release(context);                       once nobody will attach it any more
 *
 * The scopes of a thread end with it. A forked child has those of the thread that forked. If the
 * module of a flag leaves, the values in scopes wait, and are restored with the flag if its new
 * definition allows them. Watchers aren't called.
 */

/* Identifies a scope, or an attached context. Never 0. */
typedef uint64_t pd_scope;

/* The scopes of a thread at one moment; NULL: none. A context doesn't change, and keeps its values
 * when the scopes in it end. */
typedef struct pd_scope_context pd_scope_context;

/* Give flags values in the calling thread until the scope is popped, all or none. The values are
 * checked as by pd_batch_set, also by validators. `origin` gives the place; its source is always
 * scope. Errors as of pd_batch_set; PD_ERR_TYPE: a flag isn't scoped; the message says how to
 * declare it. */
PD_API pd_status pd_scope_push(const pd_assignment *items, size_t count, const pd_origin *origin,
                               pd_error_list *errors, pd_scope *out, pd_error *err);

/* End a scope: in the calling thread if it is open there, otherwise in the thread where it is open.
 * Scopes may end in any order. Captured contexts keep its values. PD_ERR_ARGUMENT: it isn't open in
 * any thread. PD_ERR_MEMORY: the scope stays open; this can happen only if it isn't the latest one
 * of its thread. */
PD_API pd_status pd_scope_pop(pd_scope scope, pd_error *err);

/* Capture the context of the calling thread. You own the context: release it when nobody will
 * attach it any more. Threads that have attached it keep what they need. */
PD_API pd_status pd_scope_capture(pd_scope_context **out, pd_error *err);
PD_API void pd_scope_release(pd_scope_context *context);

/* pd_scope_attach replaces the context of the calling thread by a captured one (NULL: no scopes);
 * pd_scope_detach restores the earlier one, and ends scopes that were opened in between. Call it on
 * the thread that attached. PD_ERR_ARGUMENT: the thread hasn't attached that context, or has
 * already detached it. */
PD_API pd_status pd_scope_attach(pd_scope_context *context, pd_scope *out, pd_error *err);
PD_API pd_status pd_scope_detach(pd_scope attached, pd_error *err);

/* For runtimes that switch tasks on a thread: make `context` (NULL: no scopes) the context of the
 * calling thread, and get the one that it had. You give up your reference to `context`, and own the
 * other one. */
PD_API pd_status pd_scope_switch(pd_scope_context *context, pd_scope_context **out, pd_error *err);

/* ------------------------------------------------------------------------
 * Validators and watchers
 */

/* Call `function` before any of `count` flags changes, whichever source sets it, and also for
 * batches and overrides, but not when an override is popped. pd_parse_argv calls all validators.
 * The validator is for the types that the flags have now: while a flag is undefined or has another
 * type, the function isn't called. `release` (may be NULL) is called with `context` once no more
 * calls can come. When the module that holds `function` leaves, its hooks are removed, and a
 * `release` that it holds isn't called. `out` may be NULL. If the function waits for a lock, mark
 * it with pd_hook_defer. The current values of the flags aren't checked, except those of a fleet:
 * see pd_config_count_dropped. PD_ERR_ARGUMENT: no flags. PD_ERR_UNDEFINED, PD_ERR_MEMORY. */
PD_API pd_status pd_validator_add(pd_flag *const *flags, size_t count,
                                  pd_validator function, void *context,
                                  void (*release)(void *context), pd_hook *out,
                                  pd_error *err);

/* X(name, number, text): a rule for several flags. A flag is given if its value comes from any
 * source but the default; for AT_MOST_ONE and EXACTLY_ONE, a bool that is false isn't given. */
#define PD_GROUP_MAP(X)                                                        \
  X(AT_MOST_ONE, 0, "at most one of %s can be given")                          \
  X(AT_LEAST_ONE, 1, "at least one of %s must be given")                       \
  X(EXACTLY_ONE, 2, "exactly one of %s must be given")                         \
  X(ALL, 3, "%s must be given")                                                \
  X(ALL_OR_NONE, 4, "%s must be given together, or none of them")

#define PD_GROUP_ENUM(name, number, text) PD_GROUP_##name = number,
typedef enum pd_group { PD_GROUP_MAP(PD_GROUP_ENUM) } pd_group;

/* Add a validator that checks such a rule. `out` may be NULL. */
PD_API pd_status pd_group_add(pd_group group, pd_flag *const *flags, size_t count,
                              pd_hook *out, pd_error *err);

/* Call `function` after each change of the value of `flag` (NULL: of any flag). `release` and `out`
 * as in pd_validator_add. If a watcher changes a flag, watchers are called again; PD_ERR_DEPTH ends
 * an endless cycle. */
PD_API pd_status pd_watcher_add(pd_flag *flag, pd_watcher function, void *context,
                                void (*release)(void *context), pd_hook *out,
                                pd_error *err);

/* No new call begins after this. Calls in progress on other threads continue, and `context` is
 * released after the last one. PD_ERR_ARGUMENT: the hook was already removed. */
PD_API pd_status pd_hook_remove(pd_hook hook, pd_error *err);

/* Call all validators with the current values, as pd_parse_argv does at its end. Use it for flags
 * that were defined later. PD_ERR_REFUSED also means that a required flag isn't given. */
PD_API pd_status pd_flags_validate(pd_error_list *errors, pd_error *err);

/* ------------------------------------------------------------------------
 * Deferred hooks: those that may wait for a lock, such as Python's
 *
 * A constructor or destructor of a module runs while its thread has the loader's lock. A hook that
 * waits there for another lock hangs forever if the thread that has that lock loads a module.
 *
 * The library knows of these constructors and destructors: those of everything that pd_module_load
 * loads and of everything that the library itself closes. For any other module, it knows the
 * moments in which the module joins, defines flags late, and leaves. It doesn't know what else
 * happens in a constructor or destructor that a dlopen or dlclose by other code runs: if a flag is
 * set there, its hooks are called immediately, even deferred ones.
 */

/* From now on, the hook isn't called in constructors and destructors that the library knows of, and
 * its context isn't released there. A watcher is notified later. A value from the environment, or a
 * pending value whose flag is being defined, stays pending until the validator can be called. Any
 * other change that the validator must check fails there with PD_ERR_REFUSED. Before it returns,
 * pd_module_load does the work that was deferred while it ran, and reports the errors;
 * pd_deferred_run does so for everything else.
 * Until this call, the hook is like any other: a module that another thread loads between
 * pd_validator_add or pd_watcher_add and this call may still call it in its constructors. The
 * functions of a definition (`validate` and `watch`) can't be deferred.
 * PD_ERR_ARGUMENT: the hook was already removed. */
PD_API pd_status pd_hook_defer(pd_hook hook, pd_error *err);

/* Do the deferred work: notify the watchers and apply the values; `errors` and `err` receive the
 * errors of values that are rejected. A pd_module_load that is still running does its own deferred
 * work. In constructors and destructors that the library knows of, this does nothing. */
PD_API pd_status pd_deferred_run(pd_error_list *errors, pd_error *err);

/* Called when something waits for pd_deferred_run. */
typedef void (*pd_deferred_handler)(void *context);

/* Call `handler` when something has been deferred until pd_deferred_run. It is called in
 * constructors and destructors, on any thread, so it must not wait for another thread. It replaces
 * an earlier handler; NULL removes the handler. */
PD_API pd_status pd_deferred_handle(pd_deferred_handler handler, void *context,
                                    pd_error *err);

/* ------------------------------------------------------------------------
 * Warnings: once for each deprecated or retired name that is used; and others
 */

/* X(name, number, text): what a warning is about. */
#define PD_WARNING_MAP(X)                                                      \
  X(GENERAL, 0, "by pd_warning_report")                                        \
  X(DEPRECATED, 1, "a flag, or a name of one, that will go or is gone was used") \
  X(REFUSED, 2, "a module was refused, and no pd_module_load returns that")    \
  X(HIDDEN, 3, "a thread set a flag to which a scope of its own gives a value") \
  X(DROPPED, 4, "values of the fleet don't suit, and were dropped")            \
  X(UNKNOWN, 5, "a variable with the prefix of flags names none")              \
  X(ARGUMENT, 6, "an argument looks like the value of the flag before it")

#define PD_WARNING_ENUM(name, number, text) PD_WARNING_##name = number,
typedef enum pd_warning { PD_WARNING_MAP(PD_WARNING_ENUM) } pd_warning;

/* How many warnings are kept while there is no handler: the latest ones. */
#define PD_WARNINGS_KEPT 256

typedef void (*pd_warning_handler)(const char *message, pd_warning kind,
                                   void *context);

/* Send warnings to `handler` from now on. Those that no handler has received yet are sent
 * immediately, after one that says how many earlier ones were dropped. The handler runs on the
 * thread that used the name, without any lock, perhaps in a constructor: if it waited for a lock
 * there, it could hang, so store the message and return. It replaces an earlier one. With NULL,
 * warnings are kept again. */
PD_API pd_status pd_warning_handle(pd_warning_handler handler, void *context,
                                   pd_error *err);

/* Send a warning of your own, in the same way as the warnings of the registry. The message is
 * copied. PD_ERR_ARGUMENT: it is NULL. PD_ERR_DEPTH: a handler reports warnings of its own without
 * end. */
PD_API pd_status pd_warning_report(const char *message, pd_error *err);

/* ------------------------------------------------------------------------
 * Pending values: given for names that are not defined yet
 */

/* Set a flag from text, or keep the value pending until a module defines the name. The value is
 * then applied after values of lower rank and earlier values. A value that doesn't fit is an error
 * of that definition, unless it comes from the fleet: see pd_config_count_dropped. `origin` NULL
 * means run time. */
PD_API pd_status pd_pending_set(const char *name, const char *text,
                                const pd_origin *origin, pd_error *err);

typedef struct pd_pending_info {
  size_t size;      /* set by the caller: sizeof(pd_pending_info) */
  const char *name; /* as written */
  const char *text; /* NULL: none, as in --name and --noname */
  pd_origin origin;
  bool sensitive;   /* the flag was, before pd_flag_unregister; false if it is not known */
} pd_pending_info;

/* The pending values, and those that have been waiting since pd_flag_unregister; `index` counts
 * from 0. PD_ERR_ARGUMENT: `index` is too big. */
PD_API pd_status pd_pending_get(size_t index, pd_pending_info *info, pd_error *err);

/* PD_ERR_UNDEFINED: values wait for names that aren't defined. PD_ERR_REFUSED: an implementation
 * that a flag impl.<name> requires with ! is loaded and can't run. Each is an error in `errors`
 * (may be NULL) that suggests the nearest known name, or says why. */
PD_API pd_status pd_pending_check(pd_error_list *errors, pd_error *err);

/* ------------------------------------------------------------------------
 * Snapshots, so that a test leaves no trace
 */

/* The state of all flags, with sources and histories: values, defaults set by pd_flag_set_default,
 * values of overrides, and whether they are frozen. Also the pending values, whether startup is
 * over, the environment prefix, and which warnings about deprecated names were sent. Owned by the
 * caller; pd_snapshot_free accepts NULL. */
typedef struct pd_snapshot pd_snapshot;
PD_API pd_status pd_snapshot_take(pd_snapshot **out, pd_error *err);
PD_API void pd_snapshot_free(pd_snapshot *snapshot);

/* Restore that state in one step, as often as you like. Watchers are notified; validators aren't
 * called, because they have accepted these values before. Hooks, definitions and loaded modules
 * stay. An override that began later loses its values, but you can still pop it; a popped override
 * stays popped. A flag that was defined later gets the value that it would get if it were defined
 * now. If another definition has replaced that of a flag, the flag gets only the values that the
 * new definition allows. Values that pd_flag_wipe has overwritten are empty. PD_ERR_MEMORY: nothing
 * has changed. */
PD_API pd_status pd_snapshot_restore(const pd_snapshot *snapshot, pd_error *err);

/* Iterate over the flags whose value or source differs from the snapshot, or over the flags that
 * were defined later. Use both like pd_flag_next. */
PD_API pd_flag *pd_snapshot_next_change(const pd_snapshot *snapshot, const pd_flag *previous);
PD_API pd_flag *pd_snapshot_next_definition(const pd_snapshot *snapshot,
                                            const pd_flag *previous);

/* ------------------------------------------------------------------------
 * Configuration: the values of files or of the fleet, collected first and applied together
 */

/* All values from one source: PD_SOURCE_FILE for files, or PD_SOURCE_FLEET for values that all
 * processes of a job share. Another source is PD_ERR_ARGUMENT. Owned by the caller, and used by one
 * thread at a time; pd_config_free accepts NULL. */
typedef struct pd_config pd_config;
PD_API pd_status pd_config_new(pd_source source, pd_config **out, pd_error *err);
PD_API void pd_config_free(pd_config *config);

/* Add a value; all text is copied. `literal` says how it is written in the file:
 *
 *     0                   text, which every flag accepts
 *     a number or bool    its pd_type; a string flag refuses it, since `version = 1.10` means
 *                         text and would become 1.1
 *     PD_LITERAL_DATE     a date or time, which only a flag with a converter accepts, as it does
 *                         all text and numbers
 *     PD_TYPE_string      a list, which only a list flag accepts; plus 16 times the type of a
 *                         number or bool in it, which a list of strings refuses
 *
 * Add PD_LITERAL_REWRITTEN if the file writes a number differently from `text`, such as 1_000 or
 * 0o10: a flag with a converter of text refuses it too.
 *
 * `origin` gives the place; its source is always that of the configuration. For the fleet, the
 * place is its address, and the line is the revision. */
#define PD_LITERAL_DATE 8
#define PD_LITERAL_REWRITTEN 128
PD_API pd_status pd_config_add(pd_config *config, const char *name,
                                 const char *text, uint32_t literal,
                                 const pd_origin *origin, pd_error *err);

/* Add an error of a file, which is then reported in order with the others. A configuration with an
 * error is refused as a whole. */
PD_API pd_status pd_config_fail(pd_config *config, const pd_error *error,
                                  pd_error *err);

/* Set how --fromenv and --tryfromenv read variables in flagfiles that are added later: see the
 * fields of these names in pd_parse_options. Before this call, and if `env_prefix` is NULL, the
 * prefix is FLAGS_. It is copied. */
PD_API pd_status pd_config_set_environment(pd_config *config, const char *env_prefix,
                                             bool env_ignore_empty, bool env_files,
                                             pd_error *err);

/* Add the values of a flagfile; pd_parse_argv describes the grammar. `program` selects sections of
 * the file; with NULL, only what applies to every program is read. */
PD_API pd_status pd_config_add_flagfile(pd_config *config, const char *path,
                                          const char *program, pd_error_list *errors,
                                          pd_error *err);

/* Replace all values of the source by these, all or none: a flag that had a value from this source
 * and isn't in the configuration loses it. Values of higher rank stay in effect. Values for names
 * that aren't defined stay pending if `allow_pending` is true, and are errors otherwise; values for
 * flags whose module has left stay pending anyway. For a frozen flag, any value other than its
 * current one is an error, and so it is for a startup-only flag once startup is over. */
PD_API pd_status pd_config_apply(const pd_config *config, bool allow_pending,
                                   pd_error_list *errors, pd_error *err);

/* Check everything that pd_config_apply would check now, and change nothing: names, types, ranges,
 * frozen flags, and validators, which are called. A value that stays pending is checked only when
 * its flag is defined; if it comes from the fleet and doesn't fit, it is dropped then. What passes
 * now can fail a moment later, if other values or flags have changed. */
PD_API pd_status pd_config_check(const pd_config *config, bool allow_pending,
                                   pd_error_list *errors, pd_error *err);

/* How many values of PD_SOURCE_FLEET have been dropped, instead of causing an error, since the
 * process began. It is 0 for other sources, and with an older host. Another process set these
 * values, and must not prevent this one from starting. Values are dropped
 *
 *     when a flag is defined whose type, range, choices or validators refuse a value that was
 *     pending, or that the flag kept from an earlier definition;
 *     when a validator that is added rejects the values in effect: immediately if the values of all
 *     its flags come from the fleet or startup is over, otherwise with the next item;
 *     in pd_parse_argv, pd_flags_validate and pd_environment_enable, and before startup is over in
 *     pd_config_apply for files: if validators reject the values that flags would have, but accept
 *     them without values of the fleet.
 *
 * All values of the same revision (place and line of pd_origin) are dropped together, even from
 * flags of other modules, and each refused one causes a warning, PD_WARNING_DROPPED. A pending
 * value of that revision is dropped, and counted, when its flag is defined. Only a frozen flag, and
 * after startup a startup-only flag, keeps its value. A revision stays refused until the next
 * pd_config_apply for the fleet, which returns errors. If more than 100 revisions are refused, all
 * values of the fleet are. */
PD_API uint64_t pd_config_count_dropped(pd_source source);

/* ------------------------------------------------------------------------
 * Command line and environment
 */

/* X(name, number, text): what a command line can ask for instead of running the program. */
#define PD_HELP_MAP(X)                                                         \
  X(ALL, 0, "help")            /* all but hidden flags */                      \
  X(FULL, 1, "helpfull")       /* also hidden flags */                         \
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
  PD_ARRANGE_REMOVE = 0, /* the arguments: all tokens that were no flags or values */
  PD_ARRANGE_LEAVE = 1,  /* the command line as it was */
  PD_ARRANGE_REORDER = 2 /* as gflags: flags, their values, --, then arguments */
} pd_arrange;

/* From now on, the environment variable <prefix><name> sets the flag <name>: immediately if the
 * flag is defined, otherwise when it is defined. `-` and `.` in a name are `_` in the variable.
 * Unless the prefix is empty, the name may also be in upper case, such as APP_WORKERS for
 * APP_workers; only ASCII letters are converted. PD_ERR_CONFLICT: both are set and differ, or two
 * flags share the variable, in either spelling. If neither is set, the variables of the flag's old
 * names set it, with the warning about the old name. Other variables with the prefix are ignored;
 * but if one is a single edit away from the variable of a flag, or differs only in case, there is a
 * warning, PD_WARNING_UNKNOWN.
 * All or none, as in pd_batch_set. If a flag is defined later and the value of its variable doesn't
 * fit, the flag keeps its default, and its definition reports the error. `prefix` is copied; NULL
 * turns this off. A setuid or setgid process ignores the environment. For empty variables, files,
 * and many flags in one variable, use the options of pd_parse_argv. */
PD_API pd_status pd_environment_enable(const char *prefix, pd_error_list *errors,
                                       pd_error *err);

/* The library reads the environment in pd_environment_enable and pd_parse_argv and, once it is
 * enabled, for every definition: in pd_flag_register, in pd_module_load and when a module is
 * loaded. As with getenv, no other thread may change the environment meanwhile.
 *
 * If you can keep others from changing it only until such a call begins, as with Python's GIL, hold
 * the environment: until the release, calls on this thread read a copy of the environment as it is
 * now. Without `always`, no copy is made until the environment is enabled for the first time,
 * because definitions don't read it before. Holds nest, and the outermost one has the copy. If
 * memory runs out, the environment itself is read. */
PD_API void pd_environment_hold(bool always);
PD_API void pd_environment_release(void);

/* What a command line says, before it is parsed; see `look` in pd_parse_options. */
typedef struct pd_parse_look {
  size_t size;          /* set by the caller: sizeof(pd_parse_look) */
  int argument;         /* set by the caller: which argument to find, from 0 */
  const pd_flag *flag;  /* set by the caller: the flag whose value to find; or NULL */
  int index;            /* of that argument in argv; argc if there are fewer arguments */
  const char *text;     /* the value that the line, its flagfiles, or the environment below them
                           give the flag; of a list all values of the same source, joined by
                           commas; NULL: none, or one that a value of higher rank hides */
  pd_origin origin;     /* of the last of them */
} pd_parse_look;

typedef struct pd_parse_options {
  size_t size;           /* sizeof(pd_parse_options) */
  uint8_t arrange;       /* pd_arrange */
  bool stop_at_argument; /* read no flags after the first argument */
  bool keep_startup;     /* startup goes on: another command line will follow */
  bool allow_pending;    /* values of undefined flags stay pending; only
                            --name=value, --name and --noname can */
  const char *env_prefix; /* as pd_environment_enable, before argv; NULL: none */
  pd_error_list *errors; /* receives every error; NULL allowed */
  const pd_config *config; /* values of files, below environment and argv, or of the
                              fleet, above them, as pd_config_apply; NULL: none */
  pd_help *help;         /* with PD_HELP, receives what was asked for; or NULL */
  int *first;            /* receives the index of the first argument, unless the
                            line is left; or NULL */
  bool no_arguments;     /* the program takes none: each is PD_ERR_ARGV */
  bool known_only;       /* undefined flags and -- are arguments, for another parser;
                            not with allow_pending or no_arguments */
  unsigned commands;     /* how many arguments at the beginning are commands:
                            stop_at_argument and no_arguments are about those behind */
  pd_parse_look *look;   /* parse nothing, and fill this: see below; or NULL */
  pd_flag *const *former; /* flags that an earlier command line gave: they lose that value unless
                             this line gives another, or they are frozen; or NULL */
  size_t former_count;
  const char *env_flags; /* a variable that holds flags, as --name=value --name, separated by
                            blanks and quoted as in a shell; of lower precedence than the
                            variables with the prefix; or NULL */
  bool env_ignore_empty; /* a variable that is set, but empty, counts as not set */
  bool env_files;        /* <env_prefix><name>_FILE may name a file with the value, for
                            secrets; the newline at its end isn't part of the value */
  bool warn_unknown_env; /* warn of every variable with the prefix that names no flag */
} pd_parse_options;

/* Read flags from a command line; argv[0] is skipped.
 *
 *     --name=value  --name value  -name …       `-` and `_` are the same in names
 *     --bool  --nobool  --no-bool  --bool=no    a bool never takes the next token
 *     -v -vvv --verbose                         of a flag that counts: adds one, or the letters
 *     --                                        ends the flags
 *     --flagfile=path,…      read flags from files, here
 *     --fromenv=name,…       take the value of a flag from <env_prefix><name> (FLAGS_ without
 *     --tryfromenv=name,…    a prefix), or <env_prefix><NAME>; with --fromenv one must exist
 *     --undefok=name,…       these names, and --no<name>, may be undefined
 *     --help  --version  …   the texts of PD_HELP_MAP, also --help=false and --nohelp
 *
 * A flagfile has one flag on each line, as --name=value, --name or --noname, or one of the special
 * flags above. Empty lines and lines that begin with # are skipped. Any other line consists of
 * fnmatch patterns separated by blanks: the flags below it apply to programs that match one of the
 * patterns, by argv[0] or by what follows its last slash. A pattern that is the name of a known
 * flag is an error, as is a line that looks like one of another file format. Blanks around a line
 * are ignored. A value in $'...' may have \n, \t, \r, \\, \', \xHH and \NNN as in bash. Files may
 * nest 16 deep, with at most 1000 files, 64 MiB and 1000000 values.
 *
 * After success, argv is as `arrange` says. With PD_ARRANGE_REMOVE, it has argv[0], the arguments
 * in order, and a terminating NULL, and *argc counts them. A later value of a flag takes precedence
 * over an earlier one. Startup ends: startup-only flags keep their values and refuse other values.
 * On error, no flag has changed, and argv is as it was. The status is that of the first error:
 * PD_ERR_UNDEFINED, PD_ERR_ARGV, PD_ERR_FILE, PD_ERR_DEPTH, PD_ERR_CONFLICT (as of
 * pd_environment_enable) and those of pd_flag_set_from_string.
 * After 100 errors, one more says how many are left out.
 * PD_HELP, whatever else is wrong: the command line requests help or the version, and no flag has
 * that name; nothing has changed. -h requests help too, unless it is the name of a flag. argv must
 * have room for *argc + 1 pointers, and argv[*argc] must be NULL; the strings are borrowed during
 * the call. `options` may be NULL.
 *
 * With options->look, no flag changes, argv stays as it is, and mistakes in the line aren't errors.
 * Use it for what a program must know before its line can be parsed. A program with commands finds
 * the command, defines its flags, perhaps by loading a plugin, and then parses the whole line once:
 * flags may be on both sides of the command, and required flags, startup-only flags and help need
 * no special handling. The token after an undefined flag isn't taken for its value. */
PD_API pd_status pd_parse_argv(int *argc, char **argv,
                               const pd_parse_options *options, pd_error *err);

/* Returns true if a command line was parsed without `keep_startup`: startup-only flags can no
 * longer change then, and only flags with the attribute `runtime` should be changed from outside.
 * False if the host is older. */
PD_API bool pd_startup_over(void);

/* What the program is, for all modules of the process. */
typedef struct pd_program {
  size_t size;              /* set by the caller: sizeof(pd_program) */
  int argc;                 /* of argv */
  const char *const *argv;  /* the original command line, with a NULL at its end; or NULL */
  const char *usage;        /* as in pd_report_options, or NULL */
  const char *version;      /* likewise */
} pd_program;

/* Store copies of the fields that aren't NULL, replacing earlier ones. A field that is NULL leaves
 * the earlier one unchanged. PD_ERR_MEMORY; PD_ERR_ARGUMENT: argc is negative, or one of that many
 * arguments is NULL. */
PD_API pd_status pd_program_set(const pd_program *program, pd_error *err);

/* The stored fields; NULL or 0 for those that were never set. */
PD_API pd_status pd_program_get(pd_program *program, pd_error *err);

/* ------------------------------------------------------------------------
 * Modules
 */

/* Load the shared library at `path` (the path of a file, which is never searched for) and join its
 * flags. Loading the same file again returns the same module and counts. The constructors of the
 * library run during this call.
 * The library joins as a whole or not at all. If *out isn't written, it didn't join and is closed
 * again: PD_ERR_LOAD (with the reason), PD_ERR_ABI, or the status of the first definition that was
 * refused; `errors` receives all of them. If *out is written, it joined, but pending values of its
 * flags were rejected, as in pd_flag_register. `out` may be NULL. */
PD_API pd_status pd_module_load(const char *path, pd_error_list *errors,
                                pd_module **out, pd_error *err);

/* The same, with `name_space` and a dot in front of the flags that the library itself defines, as
 * in "beta.port". Imports, and the flags of libraries that it depends on, keep their names. NULL or
 * "": no namespace. PD_ERR_NAME: the name of a flag can't begin with `name_space`. PD_ERR_CONFLICT:
 * the library is already loaded, with another namespace. */
PD_API pd_status pd_module_load_as(const char *path, const char *name_space,
                                   pd_error_list *errors, pd_module **out,
                                   pd_error *err);

/* Undo one pd_module_load. When the image leaves the process, its flags are no longer defined;
 * their handles stay valid. PD_ERR_ARGUMENT: pd_module_load did not load it. */
PD_API pd_status pd_module_unload(pd_module *module, pd_error *err);

/* Iterate over the modules that have joined, in order: NULL returns the first module, and the last
 * returns NULL. */
PD_API pd_module *pd_module_next(const pd_module *previous);

typedef struct pd_module_info {
  size_t size;          /* set by the caller: sizeof(pd_module_info) */
  const char *path;     /* of the image */
  bool present;         /* in the process now */
  size_t flags;         /* that it defines */
  pd_status status;     /* PD_OK, or why its definitions were refused */
  const char *name_space; /* "" if there is none */
} pd_module_info;

PD_API pd_status pd_module_get_info(const pd_module *module, pd_module_info *info,
                                    pd_error *err);

/* The flags that the module defines, including those that another module defines identically;
 * `index` counts from 0. PD_ERR_ARGUMENT: `index` is too big. */
PD_API pd_status pd_module_get_flag(const pd_module *module, size_t index,
                                    pd_flag **out, pd_error *err);

/* Append the errors of joining the module to `errors`. */
PD_API pd_status pd_module_get_errors(const pd_module *module,
                                      pd_error_list *errors, pd_error *err);

/* Check that no module in the process was refused when it joined on its own, because it is linked
 * to the program, preloaded, or opened by dlopen. A refused module keeps running with its defaults,
 * and its first refusal causes a warning, PD_WARNING_REFUSED. The status is that of the first
 * refused definition; `errors` (may be NULL) receives all of them. Modules that pd_module_load has
 * loaded aren't included: it has returned their errors. */
PD_API pd_status pd_modules_check(pd_error_list *errors, pd_error *err);

/* ------------------------------------------------------------------------
 * Copies of the library: the first one to be loaded hosts the registry
 */

typedef struct pd_copy_info {
  size_t size;         /* set by the caller: sizeof(pd_copy_info) */
  const char *path;    /* of the image that it is in */
  const char *version; /* as pd_version */
  bool hosting;        /* the registry is here; the other copies forward to it */
} pd_copy_info;

/* The copies in the process; `index` counts from 0. PD_ERR_ARGUMENT: `index` is too big. */
PD_API pd_status pd_copy_get_info(size_t index, pd_copy_info *info, pd_error *err);

/* ------------------------------------------------------------------------
 * Reports
 */

typedef struct pd_report_options {
  size_t size;             /* sizeof(pd_report_options) */
  const pd_help *help;     /* which; NULL: PD_HELP_ALL */
  const char *program;     /* argv[0]; NULL: "program" */
  const char *usage;       /* text above the flags; NULL: one generated line; "": no text,
                              and none of the flags that every command line has */
  const char *version;     /* of the program; NULL: none */
  uint32_t width;          /* columns; 0: 80; less than 40: 40 */
  bool color;              /* with ANSI escapes */
  const char *first;       /* modules, as in pd_flag_info, whose flags come first, with `|` between;
                              NULL: the program's come first */
  const char *without;     /* modules whose flags are left out, likewise; NULL: none */
} pd_report_options;

/* Write what options->help requests: help by modules and categories, XML in the format of gflags,
 * or the version of the program. If `options` is NULL, write help for all flags. The program's own
 * flags are those of source files with the name of the program or, if there are none, those that
 * its image defines. On error, nothing was written. */
PD_API pd_status pd_report_help(const pd_report_options *options, pd_writer write,
                                void *context, pd_error *err);

/* Write a flagfile that restores the current values: those that were given or, with `all`, the
 * defaults too. Sensitive values, values that a flagfile can't set, and pending values are left
 * out, and a comment says so. */
PD_API pd_status pd_report_flagfile(bool all, pd_writer write, void *context,
                                    pd_error *err);

/* Write all properties of each flag, and all values that it was given, as JSON (RFC 8259) in ASCII.
 * Hidden flags are left out unless options->help->kind is PD_HELP_FULL; of the other `options`,
 * only the program and its version are used. Doubles read back equal; infinities and NaN are text,
 * as are the values of sensitive flags, "<redacted>". A byte that isn't valid UTF-8 is written as
 * Python reads it, as \udc80 to \udcff. On error, nothing was written. */
PD_API pd_status pd_report_json(const pd_report_options *options, pd_writer write,
                                void *context, pd_error *err);

/* ------------------------------------------------------------------------
 * Operations: implementations chosen by a flag
 *
 * An operation is a function that several modules implement, and one implementation runs. The flag
 * impl.<name>, a list in order of preference, chooses it: `fast`, `fast!` (only this, and nothing
 * after it), `-slow` (never), `?fast` (if it exists), `*` (the rest by rank, then in the order in
 * which they were registered). If nothing in the list can run, the native implementation runs.
 * Modules define operations by the macros of pd_flags/op.h.
 * A module whose implementation other modules have called stays loaded until the process ends:
 * pd_module_unload removes its implementations and flags, but a plain dlclose removes nothing.
 */

/* The signature of an operation, in static memory of the module. */
typedef struct pd_op_signature {
  const char *name;  /* of the operation */
  const char *text;  /* "double (double, double)", for people */
  uint8_t types[24]; /* codes of pd_flags/op.h: the result, then the parameters, then 0 */
} pd_op_signature;

/* An implementation, as PD_IMPL describes it. */
typedef struct pd_op_choice {
  void (*function)(void);     /* of the operation's type */
  int32_t rank;               /* the highest usable one is chosen unless a flag says otherwise */
  const char *(*usable)(void); /* NULL, or returns NULL or why it can't run here: static text */
} pd_op_choice;

/* What a definition says about its operation. `arrays` says what each parameter of type DLTensor *
 * accepts, in order: "f32[m,n], f32[m,k], f32[k,n]". The types are f16, f32, f64, bf16, i8 to i64,
 * u8 to u64, bool, c64, c128 and any. Equal names mean equal sizes, `_` means any size, and `...`
 * in front means any number of dimensions. Arrays are compact, in row-major order and in CPU memory
 * unless " strided" or " on any device" follows. */
typedef struct pd_op_about {
  const char *help;   /* NULL: no text */
  const char *arrays; /* NULL: not said */
} pd_op_about;

/* The slot of an operation whose choice may differ by thread: find(slot) returns the function that
 * the calling thread runs. Without a host, `find` is NULL, and `function` runs. */
typedef struct pd_scoped_slot {
  void (*function)(void); /* what runs where no scope has chosen */
  void (*(*find)(const struct pd_scoped_slot *slot))(void);
  struct pd_op *op;
} pd_scoped_slot;

/* An operation with its native implementation, an import of an operation, or another
 * implementation. It is in the list of a module's definitions, where `kind` distinguishes it. */
typedef struct pd_op_def {
  uint32_t size; /* of this struct, in bytes */
  uint32_t line; /* of the definition, from 1; 0 if unknown */
  uint8_t type;  /* 0 */
  uint8_t kind;  /* PD_KIND_OP, PD_KIND_OP_IMPORT or PD_KIND_IMPL */
  bool scoped;   /* the slot is a pd_scoped_slot */
  uint8_t reserved[5];
  const char *name; /* of the implementation: "native", "fast" */
  const char *file; /* source file of the definition, or NULL */
  const pd_op_signature *signature;
  void (**slot)(void); /* the module's variable that callers read; NULL: none */
  pd_op_choice choice; /* of an import: what runs while there is no implementation */
  pd_op_about about;   /* the operation */
} pd_op_def;

/* One signature of an operation. The handle stays valid until the process ends. */
typedef struct pd_op pd_op;

/* Iterate over the operations, in no particular order: NULL returns the first, and the last returns
 * NULL. The signatures of a name are adjacent. */
PD_API pd_op *pd_op_next(const pd_op *previous);

/* Find an operation by its name and the codes of its signature; if `types` is NULL, find its first
 * signature. PD_ERR_UNDEFINED; PD_ERR_TYPE: the message lists the signatures that the name has. */
PD_API pd_status pd_op_find(const char *name, const uint8_t *types, pd_op **out,
                            pd_error *err);

/* A missing text is "". */
typedef struct pd_op_info {
  size_t size;          /* set by the caller: sizeof(pd_op_info) */
  const char *name;
  const char *signature; /* "double (double, double)" */
  const uint8_t *types;  /* the codes of the result and the parameters, then 0 */
  const char *help;
  const char *file;      /* of the definition */
  uint32_t line;         /* 0 if unknown */
  pd_module *module;     /* NULL: not defined, or by pd_impl_register */
  size_t impls;          /* implementations, as pd_op_get_impl counts them */
  size_t winner;         /* index of the one that runs; `impls` if none does */
  pd_flag *flag;         /* impl.<name>; NULL if it is not defined */
  const char *arrays;    /* of pd_op_about */
  bool scoped;           /* the choice may differ by thread */
} pd_op_info;

PD_API pd_status pd_op_get_info(const pd_op *operation, pd_op_info *info, pd_error *err);

/* Identifies an implementation that was registered. Never 0. */
typedef uint64_t pd_impl;

typedef struct pd_impl_info {
  size_t size;           /* set by the caller: sizeof(pd_impl_info) */
  const char *name;      /* "native", "fast" */
  const char *file;
  uint32_t line;         /* 0 if unknown */
  int32_t rank;
  pd_module *module;     /* NULL: none is known */
  bool native;           /* brought by the definition of the operation */
  bool chosen;           /* this one runs */
  const char *why;       /* "chosen", or why it was not taken */
  void (*function)(void); /* of the operation's type; NULL: it is foreign */
  pd_impl number;        /* 0 of a module's record */
  size_t index;          /* of pd_op_get_impl */
} pd_impl_info;

/* The implementations of an operation, in the order in which they were registered; `index` counts
 * from 0. PD_ERR_ARGUMENT: `index` is too big. */
PD_API pd_status pd_op_get_impl(const pd_op *operation, size_t index, pd_impl_info *info,
                                pd_error *err);

/* Check again whether each implementation of the operation can run here, and choose again. */
PD_API pd_status pd_op_check_again(pd_op *operation, pd_error *err);

/* The implementation that runs for a caller on this thread that can also call foreign ones.
 * PD_ERR_UNDEFINED: none can run. */
PD_API pd_status pd_op_choose(const pd_op *operation, pd_impl_info *info, pd_error *err);

/* The address of a number that increases whenever an implementation is added, removed or chosen,
 * except by scopes. Read it atomically; it stays valid until the process ends. */
PD_API const uint64_t *pd_op_revision(void);

/* Check `count` arrays (DLTensor of DLPack) against what the definition of the operation says about
 * them. PD_ERR_TYPE: the message says what is wrong with which parameter, counted from 0. */
PD_API pd_status pd_op_check_arrays(const pd_op *operation, const void *const *tensors,
                                    size_t count, pd_error *err);

/* Do at run time what a record of a module does. `def`, its signature and all text are copied; the
 * slot stays yours. Functions that aren't in an image must stay callable until the process ends,
 * and so must `usable`, which another thread may be calling. If the function is NULL, the
 * implementation is foreign: the flag knows it by its name, and modules never call it. An import
 * may be foreign too; its slot then holds NULL while there is no implementation of the operation.
 * PD_ERR_NAME, PD_ERR_ARGUMENT, PD_ERR_CONFLICT, PD_ERR_TYPE, PD_ERR_ABI, PD_ERR_MEMORY. */
PD_API pd_status pd_impl_register(const pd_op_def *def, pd_impl *out, pd_error *err);

/* Undo pd_impl_register. PD_ERR_ARGUMENT: there is no such implementation. */
PD_API pd_status pd_impl_unregister(pd_impl impl, pd_error *err);

/* ------------------------------------------------------------------------
 * Lists
 */

/* Get one item of the text of a list flag. Commas separate items; blanks around an item don't
 * belong to it. An item with a comma, a quote, a line break or blanks at its ends is in double
 * quotes, with its quotes doubled (RFC 4180), and so is a single empty item. "" has no items.
 * `buffer` and `length` as in pd_flag_get_text.
 * PD_ERR_ARGUMENT: `index` is too big. PD_ERR_VALUE: the text isn't a list. */
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
