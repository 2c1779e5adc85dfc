/* The table of the process: names, flags, their cells and values; and the one way in which a
 * value changes. This layer may use base, platform and value. It knows definitions as data
 * (pd_flag_def), and nothing of modules, command lines or files.
 *
 * Four types carry it: a pd_flag has a name and a value; a pd__cell ties a variable of a module
 * to a flag; a pd_module is an image whose code or variables are used; a pd__operation is one
 * call of the library, with everything that it holds.
 *
 * Everything here needs the registry's lock unless it says otherwise. No code of a module runs
 * while the lock is held, but for the access functions of compat strings. */
#ifndef PD__REGISTRY_H
#define PD__REGISTRY_H

#include "../base/arena.h"
#include "../base/error.h"
#include "../platform/platform.h"
#include "../value/value.h"

typedef struct pd__pending pd__pending; /* definition/pending.h */
typedef struct pd__operation pd__operation;

/* A definition or an import that a flag has in a module; the variable is def->cell. */
typedef struct pd__cell {
  const pd_flag_def *def;
  struct pd__cell *next;   /* of the same flag */
  uint32_t flag;           /* whose list it is in: its index + 1; 0: none */
  uint32_t module : 31;    /* the number of the image that it is in; 0: none is known */
  uint32_t registered : 1; /* by pd_flag_register: cell and definition are memory of ours */
} pd__cell;

/* ---- The values that a flag was given (history.c, override.c) ---- */

/* One value that a flag was given and that doesn't hold now. */
typedef struct pd__entry {
  pd_value value; /* text is stored for good; so is that of the place */
  pd_origin origin;
  bool replaced; /* by a later one of the same source, or override */
  struct pd__entry *next;
} pd__entry;

/* What an override did to one flag. */
typedef struct pd__overridden {
  pd_flag *flag; /* NULL: popped, or its values didn't suit a new definition */
  pd_override number;
  pd__entry *values;            /* the newest first: the others are replaced */
  struct pd__overridden *above; /* of the same flag */
  struct pd__overridden *below; /* of the same flag */
} pd__overridden;

/* ---- Flags ---- */

typedef struct pd__hook pd__hook;

/* A place in the list of a flag's hooks, or of the watchers of every flag: then `flag` is NULL. */
typedef struct pd__target {
  pd__hook *hook;
  pd_flag *flag;
  uint8_t type; /* of the flag when the hook was added */
  struct pd__target *previous, *next;
} pd__target;

typedef struct pd__targets {
  pd__target *first, *last;
} pd__targets;

/* Rarely needed fields of a name, allocated on first use. */
typedef struct pd__extra {
  pd_flag *alias_of;          /* an alias: the flag that it is a name of */
  pd__pending *pending;       /* values for the name while it is undefined, in order */
  uint32_t prepared;          /* values that will wait, unless their operation fails */
  pd__targets hooks;          /* validators and watchers that were added */
  pd__overridden *overrides;  /* the topmost first */
  pd_value base;              /* the value below the overrides, while there are some */
  struct pd__secret *secrets; /* texts that a sensitive flag has published */
} pd__extra;

/* The value, in the form of a cell. Who still reads it as it was when a definition of another
 * type comes must find no pointer in a number, nor a number in a bool: each has its place. */
typedef union pd__number {
  int32_t i32;
  int64_t i64;
  double f64;
} pd__number;

/* A name. It is a flag while it is defined, another name of one while it is an alias, and
 * otherwise it is kept by what waits for it: imports, pending values, the values of a former
 * definition. A name that was ever a flag stays for good, since there are handles to it. What the
 * set of a number reads and writes comes first: 64 bytes, a line of the cache or two. Fields of one
 * bit share bytes: whoever reads one has the lock, too. */
struct pd_flag {
  const char *name;     /* as the definition spells it, of whose module the text is; of others
                           as first met, stored for good */
  pd__number number;    /* the value of a number */
  void *variable;       /* of the definition; NULL: none, or only access functions reach it */
  pd__extra *extra;     /* NULL: none of it is needed */
  uint32_t generation;  /* of the definition: another number whenever that changes */
  uint16_t length;      /* of the name */
  uint8_t state;        /* as pd_flag_get_state says; for readers without the lock */
  uint8_t type;         /* of the values; outlives the definition */
  bool truth;           /* the value of a bool */
  uint8_t source;       /* with line, column and place, the origin of the last value that isn't an
                           override's */
  bool assigned : 1;    /* it was given a value: the origin tells of it */
  bool defined : 1;     /* the first cell has its definition */
  bool single : 1;      /* there is one cell, and its variable, if any, is `variable` */
  bool simple : 1;      /* the definition takes every value of the type, from everywhere */
  bool hooked : 1;      /* the definition has a validator or a watcher */
  bool frozen : 1;      /* by pd_flag_freeze; outlives the definition */
  bool assignable : 1;  /* a module may assign to its variable */
  bool warned : 1;      /* of its use */
  bool known : 1;       /* a definition has had this name or alias: there may be handles */
  bool old_name : 1;    /* as an alias: it is deprecated */
  uint32_t line;        /* of the origin */
  uint32_t column;      /* of the origin */
  uint32_t claim;       /* the last operation that dealt with the name */
  const char *place;    /* of the origin */
  const char *text;     /* the value of a string */
  uint32_t index;       /* of the node */
  uint32_t next_listed; /* in the order of pd_flag_next: index + 1; 0: none */
  pd__cell *cells;      /* first that of the definition, if there is one */
  pd__entry *history;   /* hidden and replaced values: by rank, the latest of a source first */
};

/* Of the last value that isn't an override's. */
static inline pd_origin pd__flag_origin(const pd_flag *flag) {
  return (pd_origin){(pd_source)flag->source, flag->line, flag->place, flag->column};
}

static inline const pd_flag_def *pd__flag_def(const pd_flag *flag) {
  return flag->defined ? flag->cells->def : NULL;
}

/* ---- Names (names.c) ---- */

/* No lock. */
bool pd__name_valid(const char *name, size_t length);

/* The node of a name (`-` and `_` alike), or NULL; doesn't follow aliases. */
pd_flag *pd__names_find(const char *name, size_t length);

/* The same, made where it is missing; NULL when memory is out. A new node borrows `name` until
 * it is defined or pd__names_keep is called. */
pd_flag *pd__names_add(const char *name, size_t length);

/* The same in two steps: the first fetches what the second reads, so that it needn't wait for the
 * memory where some other names are dealt with in between. */
typedef struct pd__sought {
  const char *name;
  uint32_t length;
  uint32_t hash;
} pd__sought;
pd__sought pd__names_seek(const char *name, size_t length);
pd_flag *pd__names_add_sought(const pd__sought *wanted);

/* Room for so many more; false when memory is out. */
bool pd__names_reserve(size_t count);

/* Store the text of a node's name for good; false when memory is out, which can't be for a name
 * that is stored already. */
bool pd__names_keep(pd_flag *node, const char *name, size_t length);

/* Forget a node that nothing needs any more: it was never a flag, and nothing waits for it. False:
 * it is needed. */
bool pd__names_release(pd_flag *node);

/* For want of memory for its name: nobody finds the node again. */
void pd__names_lose(pd_flag *node);

/* The node behind `previous`, in any order; NULL gives the first. */
pd_flag *pd__names_next(const pd_flag *previous);
pd_flag *pd__names_at(uint32_t index);

/* Above the indexes of all nodes. */
uint32_t pd__names_count(void);

/* Put a flag at the end of the order of pd_flag_next, unless it is there. */
void pd__names_list(pd_flag *flag);
pd_flag *pd__names_listed(const pd_flag *previous);

/* The rarely needed fields; NULL when memory is out. */
pd__extra *pd__flag_extra(pd_flag *node);

/* A number for flag->claim that no other operation has. */
uint32_t pd__next_claim(void);

/* ---- What a name means (resolve.c) ---- */

typedef struct pd__meaning {
  pd_flag *flag; /* NULL: undefined */
  pd_flag *node; /* the flag, or the alias that it was named by */
  bool negated;  /* it was named as --noname */
} pd__meaning;

/* The flag that an alias is for, else the node itself. */
static inline pd_flag *pd__flag_meant(pd_flag *node) {
  return node->extra && node->extra->alias_of ? node->extra->alias_of : node;
}

/* The node of a name that means a flag: the flag, or an alias of it; NULL: undefined. If the
 * name is deprecated there is a warning. */
pd_flag *pd__resolve(const char *name, size_t length);

/* The same, where --noname may turn a bool off. */
pd__meaning pd__resolve_negated(const char *name, size_t length);

/* Fail because no flag has the name, with the nearest one that does. */
pd_status pd__fail_undefined(const char *name, pd_error *err);

/* ---- Suggestions (suggest.c) ---- */

/* Write the known flag that `name` is nearest to, if one is near, as "; did you mean 'x'?" with
 * `prefix` before the name; otherwise "". A `prefix` that is NULL asks for the name of a flag;
 * with one it may be the negation of one too, or another option of a command line. */
#define PD__SUGGESTION_SIZE (PD_NAME_MAX + 200)
void pd__suggest(const char *name, size_t length, const char *prefix,
                 char out[PD__SUGGESTION_SIZE]);

/* The same of what stands behind one dash and names no flag: -p9 for --port=9, -vq for -v -q. */
void pd__suggest_letters(const char *name, char out[PD__SUGGESTION_SIZE]);

/* Suggest how arguments that stand right behind a flag may be meant as its value: of a list, whose
 * value is `text`, and of a bool, which has none (NULL). */
void pd__suggest_value(const pd_flag *flag, const char *text, char *const *arguments, size_t count,
                       char out[PD__SUGGESTION_SIZE]);

/* Whether the name of one letter is that of a sensitive flag. */
bool pd__letter_is_sensitive(char letter);

/* ---- Modules: images whose code or variables are used (image.c) ---- */

struct pd_module {
  const char *path;     /* as the loader knows it; stored for good */
  uint32_t number : 31; /* from 1 on, for good */
  uintptr_t low, high;
  uint32_t generation; /* another number for each arrival */
  bool present;
  bool stays;             /* it never leaves: the program, or linked so */
  bool has_record;        /* it tells when it leaves */
  uint32_t opened;        /* by pd_module_load, not counting what was undone */
  uint32_t pinned;        /* by operations, while it is open */
  void *handle;           /* of the loader, while it is open or still to be closed */
  uint32_t closing;       /* times that the handle is to be closed when nothing pins it any more */
  uint32_t registrations; /* hooks and definitions of an image without a record: while there are
                             some, `reference` keeps it */
  void *reference;
  const char *name_space;            /* of its definitions; "" for none; stored for good */
  struct pd__membership *membership; /* module/module.h; NULL: it has never joined */
};

static inline bool pd__module_has(const pd_module *module, uintptr_t address) {
  return address >= module->low && address < module->high;
}

/* The image of a cell; NULL: none is known. */
pd_module *pd__cell_module(const pd__cell *cell);

/* The image that an address lies in, if it is known; else NULL. */
pd_module *pd__module_at(const void *address);

/* An image arrives, or is met for the first time; NULL when memory is out. */
pd_module *pd__module_add(const pd__platform_image *image);
pd_module *pd__module_next(const pd_module *previous);

/* It has left, or is about to: nothing of it is registered any more. */
void pd__module_gone(pd_module *module);

/* No lock. The image that `address` lies in; NULL: in none, or memory is out. */
pd_module *pd__module_of(const void *address);

/* The same; what lies there is about to be registered: where the image wouldn't tell when it
 * leaves, it is kept until pd__module_unregister. NULL for 0. */
pd_module *pd__module_register(uintptr_t address);

/* With the lock; the image may leave when the operation ends. */
void pd__module_unregister(pd__operation *operation, pd_module *module);

/* With the lock. Close a handle of pd_module_load, at the end of the operation or later. */
void pd__module_close(pd__operation *operation, pd_module *module);

/* ---- Operations (operation.c) ---- */

typedef struct pd__notice pd__notice; /* notify.c */
typedef struct pd__pin pd__pin;       /* pin.c */
typedef struct pd__held pd__held;     /* hook.c */
typedef struct pd__closing pd__closing;

/* One call of the library. Whatever it allocates lies in its arena; whatever it keeps in the
 * process is listed here. So it ends alike in all ways: on success, on an error, and when a
 * callback doesn't return because its thread is cancelled or an exception passes through. */
struct pd__operation {
  pd__arena arena;
  pd__pin *pins;       /* images that are kept while code of theirs is called */
  pd__held *held;      /* hooks that are kept while they are called */
  pd__notice *notices; /* watchers to notify when the lock is let go */
  pd__notice **notices_end;
  pd__closing *closing; /* handles to close without the lock */
  pd__operation *outer; /* of this thread; while it has pins or holds hooks */
  bool listed;
  bool locked;
  bool deferred; /* it has put something off, for pd_deferred_run */
};

/* Let go of the lock, notify watchers, hand out warnings, release contexts and close what may
 * leave. */
void pd__operation_end(pd__operation *operation);

static inline pd_status pd__operation_return(pd__operation *operation, pd_status status) {
  pd__operation_end(operation);
  return status;
}

static inline void pd__operation_lock(pd__operation *operation) {
  pd__platform_lock();
  operation->locked = true;
}

static inline void pd__operation_unlock(pd__operation *operation) {
  operation->locked = false;
  pd__platform_unlock();
}

/* Let go of all that the operation holds, without calling anybody. All of it lies in the arena. */
void pd__operation_abandon(pd__operation *operation);

static inline void pd__operation_leave(pd__operation *operation) {
  if (operation->locked || operation->arena.blocks) pd__operation_abandon(operation);
}

/* What the next operation to end does for others (kept.c): bits, set with the lock. */
enum { PD__DUE_NOTICES = 1, PD__DUE_WARNINGS = 2, PD__DUE_RELEASES = 4, PD__DUE_ANY = 7 };
extern uint8_t pd__due;
void pd__set_due(uint8_t what, bool is_due);

static inline bool pd__is_due(uint8_t what) {
  return __atomic_load_n(&pd__due, __ATOMIC_ACQUIRE) & what;
}

/* The child of a fork has this thread alone: what others kept there, nobody keeps. */
void pd__operations_in_child(void);

/* A variable of this kind ends in order however its function is left. */
#define PD__OPERATION(name)                                                                        \
  pd__operation name __attribute__((cleanup(pd__operation_leave))) = {.locked = false}

/* One that has the lock at once. */
#define PD__LOCKED_OPERATION(name)                                                                 \
  PD__OPERATION(name);                                                                             \
  pd__operation_lock(&(name))

/* The operation keeps something in the process, until it ends (kept.c). */
void pd__operation_list(pd__operation *operation);
void pd__operation_unlist(pd__operation *operation);

/* The innermost operation of this thread that does. */
pd__operation *pd__operations_listed(void);

/* ---- Pins (pin.c) ---- */

typedef enum pd__pinning {
  PD__PINNED,   /* the image stays while the operation goes on */
  PD__UNPINNED, /* pd__pins_take must be called; then look again */
  PD__LEAVING   /* it can't be kept: nothing of it may be called */
} pd__pinning;

/* Keep an image while code of it is called, or a change that its code must judge is prepared.
 * NULL, for code in no image, is its owner's matter. */
pd__pinning pd__pin_module(pd__operation *operation, pd_module *module);

/* With the lock, which is let go meanwhile: ask the loader for the images that pd__pin_module
 * wanted. */
void pd__pins_take(pd__operation *operation);

/* ---- The value of a flag (flag.c) ---- */

#define PD__STATE_ASSIGNABLE 0x80
#define PD__STATE_PLAIN (0xf | PD__STATE_ASSIGNABLE) /* the type alone: read without the lock */

/* The registry's own copy of the value, while the flag is of that type. No lock. */
void *pd__flag_address(const pd_flag *flag, pd_type type);
pd_value pd__flag_value(const pd_flag *flag);

/* The value below the overrides. */
pd_value pd__flag_base(const pd_flag *flag);

/* The default of the definition, with its text stored; that, unless pd_flag_set_default gave
 * another one. */
pd_value pd__def_default(const pd_flag_def *def);
pd_value pd__flag_default(const pd_flag *flag);

/* Bring the value that holds to the node and all cells. */
void pd__flag_publish(pd_flag *flag);

/* After a change of the flag's cells; of its definition. */
void pd__flag_look_again(pd_flag *flag);
void pd__flag_new_generation(pd_flag *flag);

/* Make the variable unknown to readers without the lock, and wait for the few instructions that
 * one may be in. */
void pd__flag_hide_variable(pd_flag *flag);

/* The child of a fork: nobody else reads. */
void pd__flag_forget_peeking(void);

/* Without the lock: what the module has assigned, of a number; else the last committed value. */
pd_value pd__flag_peek(const pd_flag *flag, pd_type type);

/* Variables that modules may assign to, as many as there have been. */
extern uint32_t pd__assignables;

/* Take over what modules have assigned to their variables of the flag; of all flags. */
void pd__flag_adopt(pd__operation *operation, pd_flag *flag);
void pd__adopt_all(pd__operation *operation);

/* PD_OK, with the current value, or why there is none. */
pd_status pd__flag_check_defined(pd__operation *operation, pd_flag *flag, pd_error *err);

/* ---- History (history.c) ---- */

/* Room for so many more entries, so that giving and dropping values can't fail. */
bool pd__history_reserve(size_t count);

/* Give a flag a value that isn't an override's. The first function does it only where that takes
 * no entry: the flag has none yet, or one from the same place; false: it has another. */
bool pd__history_renew(pd_flag *flag, pd_value value, const pd_origin *origin);
void pd__history_give(pd_flag *flag, pd_value value, const pd_origin *origin);

/* Drop what some sources gave, a bit of PD__SOURCE_BIT each. The caller publishes. */
#define PD__SOURCE_BIT(source) (1u << (source))
void pd__history_drop(pd_flag *flag, uint32_t sources);

/* What `source` gave last, into *out; false: nothing. */
bool pd__history_find(const pd_flag *flag, pd_source source, pd__entry *out);

/* The entry at `index`, as pd_flag_get_entry counts, into *out; false: there is none. */
bool pd__history_at(const pd_flag *flag, size_t index, pd_flag_entry *out);

/* Keep the values that `keeps` keeps, which may change them; the others go. `current` tells it
 * that the value isn't a replaced one; `base` is what pd__flag_base gives, or gave while the flag
 * had another type. */
typedef bool pd__keeps(pd_flag *flag, pd__entry *entry, bool current, void *context);
void pd__history_filter(pd_flag *flag, pd_value base, pd__keeps *keeps, void *context);

/* The same of the values in one list of the flag. */
void pd__entries_filter(pd__entry **list, pd_flag *flag, pd__keeps *keeps, void *context);

/* Entries, for lists of others; the room is reserved. */
pd__entry *pd__entry_take(pd_value value, const pd_origin *origin);
void pd__entry_free(pd__entry *entry);

/* Put `fresh` on top of a list of values of one source; of those that it replaces, a bounded
 * number is kept. One from the same place is taken over. */
void pd__entries_push(pd__entry **list, pd__entry *fresh);

/* ---- Overrides (override.c) ---- */

/* Room for what an override does to at most `count` flags; its number, or 0 when memory is out. */
pd_override pd__override_new(size_t count);

/* Give a flag a value of an override that is being made, or of its topmost one. */
void pd__override_give(pd_flag *flag, pd_override number, pd_value value, const pd_origin *origin);

/* What it does to each of the *count flags that it has values for, or had; NULL: no override has
 * the number. */
pd__overridden *pd__override_find(pd_override number, size_t *count);
void pd__override_forget(pd_override number);

static inline pd__overridden *pd__flag_override(const pd_flag *flag) {
  return flag->extra ? flag->extra->overrides : NULL;
}

/* ---- Where a value came from, for messages (origin.c) ---- */

extern const pd_origin pd__at_run_time;

/* Up to the name: "flags.conf:3: ", "environment: ", or "". Gives `out`. */
#define PD__PLACE_SIZE (PD_NAME_MAX + 32)
const char *pd__place_of(const pd_origin *origin, char out[PD__PLACE_SIZE]);

/* By itself: "flags.conf:3", "$FLAGS_level", "argv[2]", "default". Gives `out`. */
const char *pd__origin_shown(const pd_origin *origin, char out[PD__QUOTE_SIZE]);

/* As the beginning of a message about the value. Gives `out`. */
#define PD__SOURCE_SIZE (3 * PD_NAME_MAX + 64)
const char *pd__source_of(const char *name, const pd_origin *origin, char out[PD__SOURCE_SIZE]);

/* An origin that a host may give: no default, no override. NULL is allowed. */
pd_status pd__origin_check(const pd_origin *origin, pd_error *err);

/* What stands for the values of a sensitive flag wherever people read. */
#define PD__REDACTED "<redacted>"

/* ---- Warnings (warning.c) ---- */

/* Warn, once, of a deprecated name of `flag`; of a deprecated or retired flag. */
void pd__warn_of_name(pd_flag *node, const pd_flag *flag);
void pd__warn_of_flag(pd_flag *flag, const pd_origin *origin);

/* Room for the text of one more; NULL: memory is out, and the warning is lost. */
pd_error *pd__warning_add(pd_warning kind);

/* No lock: hand out warnings. */
void pd__warnings_deliver(pd__operation *operation);

/* ---- What is listed of a flag (inspect.c) ---- */

/* True once a command line has been parsed: startup-only flags are frozen. */
extern bool pd__startup_over;

/* Fill all but the size, for a flag that is defined. False: memory is out. */
bool pd__flag_info(const pd_flag *flag, pd_flag_info *info);

/* The same of pd_flag_get_entry. */
pd_status pd__flag_entry(const pd_flag *flag, size_t index, pd_flag_entry *entry, pd_error *err);

/* Overwrite all texts that a sensitive flag has published. */
void pd__flag_wipe(pd_flag *flag);

#endif /* PD__REGISTRY_H */
