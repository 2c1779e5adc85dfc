/* The one table of the process: names, flags, their cells and the values that
 * they were given.
 *
 * Everything here needs the lock of platform.h, unless it says otherwise, and
 * nothing here calls foreign code while it is held. */
#ifndef PD__REGISTRY_H
#define PD__REGISTRY_H

#include "../api.h"
#include "../base/error.h"
#include "../platform/platform.h"
#include "../value/value.h"

/* A definition or import that a flag has in a module; the variable is def->cell. */
typedef struct pd__cell {
  const pd_flag_def *def;
  struct pd__cell *next; /* of the same flag */
  uint32_t flag;         /* whose list it is in: its index + 1; 0: none */
  uint32_t module;       /* its number; 0: pd_flag_register */
} pd__cell;

/* One value that a flag was given. */
#define PD__OVERRIDE_MOST 0xfffffffffffu /* nobody makes as many */
typedef struct pd__entry {
  pd_value value;    /* a string is interned */
  const char *place; /* of the origin, interned; with the next three */
  uint32_t line;
  uint32_t column;
  uint64_t override : 44; /* 0: none */
  uint64_t source : 4;
  uint64_t replaced : 1;  /* a later one of the same source, or override, stands before it */
  uint64_t replaces : 15; /* entries; in `past` */
  struct pd__entry *past; /* the newest of those that it replaced, in a circle: the oldest is
                             behind it */
  struct pd__entry *next; /* of another source or override, below it; of a replaced one: newer */
} pd__entry;

static inline pd_origin pd__entry_origin(const pd__entry *entry) {
  return (pd_origin){(pd_source)entry->source, entry->line, entry->place, entry->column};
}

typedef struct pd__target pd__target; /* hooks.c: a flag of a validator or watcher */

typedef struct pd__pending pd__pending; /* pending.h */

/* What few names have. */
typedef struct pd__extra {
  pd__cell *cells;      /* as those of a flag without this */
  pd_flag *alias_of;    /* an alias: the flag that it is a name of */
  pd__pending *pending; /* given while nobody defined the name; in order */
  const void *mark;     /* of the operation under way */
  pd__target *targets;  /* validators and watchers that were added */
  uint32_t change;      /* the last one of those that are being looked at: its index + 1;
                           0: none */
} pd__extra;

/* Nodes that there can be. */
#define PD__NODES_MOST 0xfffffffu

/* A name. It is a flag while it is defined, another name of one while it is an alias, and
 * otherwise waits for its definition with the cells that import it and the values that
 * a former definition was given. Nodes are never freed. There may be a million of them:
 * one fills a line of the cache, and what few have stands elsewhere. */
struct pd_flag {
  /* The current value, in the form of a cell. Who still reads it as it was when
   * a definition of another type has come must find no pointer in a number, nor
   * a number in a bool. */
  const char *text;
  union {
    int32_t i32;
    int64_t i64;
    double f64;
  } number;
  const char *name; /* as in the definition, of whose module the text is; before and after
                       that as first met, stored for good */
  void *variable;   /* of the one cell of a plain flag; or NULL */
  union {
    pd__cell *cells;  /* first that of the definition, if there is one */
    pd__extra *extra; /* if has_extra: it has the cells */
  } more;
  union {
    pd__entry *entries; /* the current value first; none: the default */
    uintptr_t brief;    /* odd: the current value alone, as pd__brief makes it */
  } given;
  uint32_t index;     /* in the order in which names were met */
  uint32_t following; /* in the order of pd_flag_next: index + 1; 0: none */
#define PD__CLAIM_MOST 0x3fffffffu
  uint32_t claim : 30;  /* the definition under way that wants this name */
  uint32_t defined : 1; /* the first cell has its definition */
  uint32_t warned : 1;  /* of its use */
  uint8_t state;        /* as pd_flag_get_state says; for readers without the lock */
  bool truth;           /* the current value of a bool */
  uint8_t type;         /* of the values; outlives the definition */
  bool was_flag : 1;    /* a definition has had this name or alias */
  bool old_name : 1;    /* as an alias: is deprecated */
  bool special : 1;     /* the definition is deprecated or retired, or has a hook */
  bool frozen : 1;      /* by pd_flag_freeze; outlives the definition */
  bool has_extra : 1;
  bool assignable : 1; /* a module may assign to its variable */
  bool not_plain : 1;  /* plain: its one cell is open to every value of the type; nobody is
                          asked or told, for all that the definition says */
  bool changing : 1;   /* a value is prepared and not committed */
};

/* Whether a flag is plain, and nothing else was done to it. */
static inline bool pd__flag_plain(const pd_flag *flag) {
  return !flag->frozen && !flag->has_extra && !flag->assignable && !flag->not_plain;
}

/* Most flags that are given a value are given one, by an argument or by the program, and
 * it is the current one, which the node has. Then its origin is a word, and there is no
 * entry: while the flag is plain and has nothing extra, or isn't defined. */
#define PD__BRIEF_LINES (UINTPTR_MAX >> 5 < UINT32_MAX ? (uint32_t)(UINTPTR_MAX >> 5) : UINT32_MAX)
static inline uintptr_t pd__brief(pd_source source, uint32_t line) {
  return (uintptr_t)line << 5 | (uintptr_t)source << 1 | 1;
}
static inline bool pd__brief_fits(const pd_origin *origin) {
  bool fits = origin->source == PD_SOURCE_ARGV || origin->source == PD_SOURCE_RUNTIME;
  return fits && !origin->place && !origin->column && origin->line < PD__BRIEF_LINES;
}
static inline pd_origin pd__brief_origin(uintptr_t brief) {
  return (pd_origin){(pd_source)(brief >> 1 & 15), (uint32_t)(brief >> 5), NULL, 0};
}
static inline bool pd__flag_brief(const pd_flag *flag) {
  return !PD__LACKS_SHORTCUTS && flag->given.brief & 1;
}

/* The entries of a flag that isn't brief. */
static inline pd__entry *pd__flag_entries(const pd_flag *flag) {
  return pd__flag_brief(flag) ? NULL : flag->given.entries;
}

/* ---- Names (names.c) ---- */

/* No lock. */
bool pd__name_valid(const char *name, size_t length);

/* The node of a name (`-` and `_` alike), or NULL; doesn't follow aliases. */
pd_flag *pd__names_find(const char *name, size_t length);

/* The same, made where it is missing; NULL when memory is out. */
pd_flag *pd__names_add(const char *name, size_t length);

/* The same; a new node borrows the name until it is defined, or pd__names_own. */
pd_flag *pd__names_borrow(const char *name, size_t length);

/* Room for so many more; false when memory is out. */
bool pd__names_reserve(size_t count);

/* Give a node that has no definition any more, or got none, its name, which is stored for
 * good. NULL, for want of memory: the node is lost, nobody finds it again. */
void pd__names_own(pd_flag *node, const char *stored);

/* What few names have: to read (zeros where there is nothing), and to write (NULL when
 * memory is out). */
extern const pd__extra pd__no_extra;
static inline const pd__extra *pd__flag_extra(const pd_flag *node) {
  return node->has_extra ? node->more.extra : &pd__no_extra;
}
pd__extra *pd__flag_make_extra(pd_flag *node);

/* The cells of a flag, or of a name that is imported, in a list. */
static inline pd__cell **pd__flag_cells(pd_flag *node) {
  return node->has_extra ? &node->more.extra->cells : &node->more.cells;
}
static inline pd__cell *pd__flag_first_cell(const pd_flag *node) {
  return node->has_extra ? node->more.extra->cells : node->more.cells;
}

/* The flag that an alias is for, else the node itself. */
pd_flag *pd__flag_meant(pd_flag *node);

/* The node at `index`; NULL past the last. */
pd_flag *pd__names_at(uint32_t index);

/* The node of a name that means a flag: the flag itself, or an alias of it; NULL:
 * undefined. Somebody gave the name: if it is deprecated, they are warned. */
pd_flag *pd__names_resolve(const char *name, size_t length);

/* The name, stored for good; NULL when memory is out, which can't be for a name
 * that is stored already. */
const char *pd__names_stored(const char *name, size_t length);

/* Put a flag at the end of the order of pd_flag_next, unless it is there. */
void pd__names_list(pd_flag *flag);

/* The flag behind `previous` in that order, defined or not; NULL gives the first. */
pd_flag *pd__names_listed(const pd_flag *previous);

/* The definition of a flag; NULL: it isn't defined. */
static inline const pd_flag_def *pd__flag_def(const pd_flag *flag) {
  return flag->defined ? pd__flag_first_cell(flag)->def : NULL;
}

/* ---- Near names (hint.c) ---- */

/* Write the known flag that `name` is nearest to, if one is near, as
 * "; did you mean 'x'?" with `prefix` before the name; otherwise "". A `prefix`
 * that is NULL asks for the name of a flag; with one it may be the negation of one
 * too, or another word of a command line. */
#define PD__HINT_SIZE (PD_NAME_MAX + 40)
void pd__names_hint(const char *name, size_t length, const char *prefix, char out[PD__HINT_SIZE]);

/* ---- One definition by itself (check.c) ---- */

/* Copy a definition of another version's size into today's form. No lock. */
pd_status pd__def_convert(const pd_flag_def *from, pd_flag_def *to, pd_error *err);

/* Check all of it that can be checked without the registry. No lock. */
pd_status pd__def_check(const pd_flag_def *def, pd_error *err);

/* Fail because of what the definition says. No lock. */
pd_status pd__def_refuse(const pd_flag_def *def, pd_status status, const char *why, pd_error *err);

/* ---- Definitions (define.c) ---- */

/* Define all of `count` definitions or none. cells[i].def points at a
 * definition that pd__def_check accepted; on success the cells belong to the
 * registry until pd__undefine. Refusals go to `report`. Then apply what waited
 * for the names; a value that doesn't suit goes to `waiting` and is dropped. */
bool pd__define(pd__cell *cells, size_t count, pd__report *report, pd__report *waiting);

/* The flag of a cell; NULL: none. */
pd_flag *pd__cell_flag(const pd__cell *cell);

/* Whether a definition is required or has a validator. */
bool pd__defs_ask(void);

/* Take the cells away. A flag that no definition is left of is undefined. `program`: the
 * cells are those of its record, and text in it remains; NULL: of another module. */
void pd__undefine(pd__cell *cells, size_t count, const pd__platform_image *program);

/* How often a flag was undefined. As long as this stays, so do the types of all
 * flags; for readers without the lock. */
extern uint32_t pd__departures;

/* Take away the cells of pd_flag_register that lie between two addresses. */
void pd__forget_between(uintptr_t low, uintptr_t high);

/* ---- Values (change.c) ---- */

/* True once a command line has been parsed: startup-only flags are frozen. */
extern bool pd__startup_over;

typedef enum pd__action {
  PD__GIVE,        /* an entry */
  PD__GIVE_BRIEF,  /* a value without one */
  PD__DROP_ALL,    /* every value but the default */
  PD__DROP_SOURCE, /* the values of one source */
  PD__DROP_OVERRIDE   /* those of one override */
} pd__action;

/* A checked change of one flag, with all the memory that it needs. A long command line has
 * one for each argument. */
typedef struct pd__change {
  pd_flag *flag;
  union {
    pd__entry *entry; /* to give; NULL: nothing. Its `next` is a spare one, or NULL: for the
                         value of before, should that be brief */
    pd_value value;   /* to give */
    pd_override override;   /* to drop */
  } what;
  uint32_t number; /* the line, if brief; of others, while they are being looked at, the earlier
                      change of the flag: its index + 1; 0: none */
  uint8_t action;  /* pd__action */
  uint8_t source;  /* if brief, or to drop */
} pd__change;

/* The entry that a change gives, if it has one; NULL: none. */
static inline pd__entry *pd__change_entry(const pd__change *change) {
  return change->action == PD__GIVE ? change->what.entry : NULL;
}

/* Whether it does nothing: a retired flag was to be given a value. */
static inline bool pd__change_idle(const pd__change *change) {
  return change->action == PD__GIVE && !change->what.entry;
}

/* Check that the flag may take the value, and make the entry that will hold it, if it needs
 * one. `node` is the flag, or the alias that messages are to call it by.
 * `text` wins over `value`. On error nothing is held. A retired flag takes nothing:
 * the change is idle. `early`: the flag is being defined, startup may be over. */
pd_status pd__change_prepare(pd__change *change, pd_flag *node, const char *text, pd_value value,
                             const pd_origin *origin, bool early, pd_error *err);

/* Give a value that is brief an entry, since others are to look at the change before it is
 * committed. */
pd_status pd__change_open(pd__change *change, pd_error *err);

/* Can't fail; frees nothing that a reader may hold. */
void pd__change_commit(pd__change *change);
void pd__change_drop(pd__change *change);

/* Changes that are made together. Start with zeros; `report` collects their errors. */
typedef struct pd__changes {
  pd__report *report;
  pd_override override; /* that the values are to be; 0: none */
  bool early;     /* as for pd__change_prepare */
  bool forced;    /* no validator is asked */
  bool ask_all;   /* every validator is, also of flags that don't change */
  bool hooked;    /* somebody is to be asked, or told */
  size_t count;
  size_t capacity;   /* of `more` */
  pd__change *more;  /* all of them, once there are two */
  pd__change single; /* the first as long as it is alone */
} pd__changes;

/* Room for so many, where that is known; for want of memory nothing is done. */
void pd__changes_reserve(pd__changes *changes, size_t count);

/* The change at `index`. */
pd__change *pd__changes_at(pd__changes *changes, size_t index);

/* Prepare to give a flag a value; `node` as in pd__change_prepare. An error goes to `err`,
 * or to the report. */
pd_status pd__changes_try(pd__changes *changes, pd_flag *node, const char *text, pd_value value,
                          const pd_origin *origin, pd_error *err);
void pd__changes_add(pd__changes *changes, pd_flag *node, const char *text, pd_value value,
                     const pd_origin *origin);

/* Prepare to take away what `source` gave an open flag, if it gave anything. */
void pd__changes_drop(pd__changes *changes, pd_flag *flag, pd_source source);

/* Prepare to take all but the default from an open flag; with an override on it, the
 * topmost override is given the default instead. */
void pd__changes_reset(pd__changes *changes, pd_flag *flag);

/* Prepare to take away the values of an override. */
void pd__changes_pop(pd__changes *changes, pd_flag *flag, pd_override override);

/* Ask the validators, then commit all if there was no error, otherwise drop all.
 * Gives the report's status. Lets go of the lock while it calls a validator; from
 * the commit on it holds it. pd__tell is due when it is let go. */
pd_status pd__changes_finish(pd__changes *changes);

/* All of it for one value: as pd__change_prepare, then pd__changes_finish. */
pd_status pd__give(pd_flag *node, const char *text, pd_value value, const pd_origin *origin,
                   pd_error *err);

/* Give one value to a flag that is being defined; `node` as in pd__change_prepare. */
void pd__settle(pd_flag *node, const char *text, const pd_origin *origin, pd__report *report);

/* What is to be told, for readers without the lock. */
extern size_t pd__notices_due;
extern bool pd__warnings_due; /* there are some, and a handler */
extern bool pd__releases_due; /* hooks that are removed */

void pd__tell_all(void);

/* Without the lock: tell the watchers of what this thread has changed, and hand out
 * warnings. At the end of every function that may have changed something. */
static inline void pd__tell(void) {
  if (PD__LACKS_HOOKS) return;
  if (__atomic_load_n(&pd__notices_due, __ATOMIC_ACQUIRE) ||
      __atomic_load_n(&pd__warnings_due, __ATOMIC_ACQUIRE) ||
      __atomic_load_n(&pd__releases_due, __ATOMIC_ACQUIRE)) {
    pd__tell_all();
  }
}

/* Warn, once, of a deprecated name of `flag`, and of a deprecated or retired flag. */
void pd__warn_of_name(pd_flag *node, const pd_flag *flag);
void pd__warn_of_flag(pd_flag *flag, const pd_origin *origin);

/* What `source` gave last, which may be put into `room`; NULL: nothing. */
const pd__entry *pd__flag_entry_of(const pd_flag *flag, pd_source source, pd__entry *room);

/* Whether `source` gave the flag the value that `text` reads as. */
bool pd__flag_has(const pd_flag *flag, pd_source source, const char *text);

/* ---- The values that a flag was given (entries.c) ---- */

/* NULL when memory is out. */
pd__entry *pd__entry_new(pd_value value, const pd_origin *origin);
void pd__entry_free(pd__entry *entry);

/* Let `entry` remember `old`, which it replaces, as the newest of at most PD_HISTORY_KEPT. */
void pd__entry_add_past(pd__entry *entry, pd__entry *old);

/* The entry at *index, as pd_flag_get_entry counts; it may be put into `room`. NULL: the
 * default, if *index has become 0, or none. */
const pd__entry *pd__entries_at(const pd_flag *flag, size_t *index, pd__entry *room);

/* Make an entry of what is brief; false when memory is out. */
bool pd__entries_open(pd_flag *flag);

/* Put an entry in its place by its source, and take away those that a change drops.
 * Behind the entry may be a spare one, as in a change. */
void pd__entries_give(pd_flag *flag, pd__entry *entry);
void pd__entries_drop(const pd__change *change);

/* Remove what `source` gave; for flags that nobody defines, since nobody is told. */
void pd__flag_drop_source(pd_flag *flag, pd_source source);

/* Check the values that waited for the definition, of type `was`; drop the
 * ones that don't suit, with an error each. */
void pd__flag_review(pd_flag *flag, pd_type was, pd__report *report);

/* The default, with its text interned, which was done on definition. */
pd_value pd__def_default(const pd_flag_def *def);

/* The same, unless pd_flag_set_default gave another one. */
pd_value pd__flag_default(const pd_flag *flag);

/* A module may assign to its variable of the flag, from now on. */
void pd__flag_make_assignable(pd_flag *flag);

/* Take over what a module has assigned to its variable of the flag; of all flags. */
void pd__flag_adopt(pd_flag *flag);
void pd__adopt_all(void);

/* The value that holds, as the entries say, to the node and all cells. */
void pd__flag_publish(pd_flag *flag);

pd_value pd__flag_value(const pd_flag *flag);

/* An entry as hosts see it; NULL stands for the default. */
void pd__entry_show(const pd_flag *flag, const pd__entry *entry, pd_flag_entry *out);

/* What stands for the values of a sensitive flag wherever people read. */
#define PD__REDACTED "<redacted>"

/* The node's own copy of the value, while the flag is of that type. No lock. */
void *pd__flag_address(const pd_flag *flag, pd_type type);

/* What pd_flag_get_state tells. No lock. */
#define PD__STATE_ASSIGNABLE 0x80
#define PD__STATE_PLAIN (0xf | PD__STATE_ASSIGNABLE) /* the type alone: read without the lock */
static inline uint8_t pd__flag_state(const pd_flag *flag) {
  return __atomic_load_n(&flag->state, __ATOMIC_ACQUIRE);
}

/* Where a value came from, up to the name: "flags.conf:3: ", "environment: ", or "".
 * Gives `out`. */
#define PD__PLACE_SIZE (PD_NAME_MAX + 32)
const char *pd__place_of(const pd_origin *origin, char out[PD__PLACE_SIZE]);

/* Where a value came from, as the beginning of a message about it. Gives `out`. */
#define PD__SOURCE_SIZE (3 * PD_NAME_MAX + 64)
const char *pd__source_of(const char *name, const pd_origin *origin, char out[PD__SOURCE_SIZE]);

/* An origin that a host may give: no default, no override. NULL is allowed. */
pd_status pd__origin_check(const pd_origin *origin, pd_error *err);

/* PD_OK, or why the flag takes no value from `origin`: undefined, read-only,
 * frozen. */
pd_status pd__flag_check_open(const pd_flag *flag, const pd_origin *origin, pd_error *err);

/* PD_OK, with the value of now, or why there is none. */
pd_status pd__flag_check_defined(const pd_flag *flag, pd_error *err);
pd_status pd__flag_check_type(const pd_flag *flag, pd_type type, pd_error *err);

/* PD_OK, or why the flag takes no text that a file wrote so; as in pd_config_add.
 * `node` as in pd__change_prepare. */
pd_status pd__literal_check(pd_flag *node, const char *text, uint32_t literal,
                            const pd_origin *origin, pd_error *err);

/* Check a flag and the type of what it is to be given; text suits every type. */
pd_status pd__assignment_check(const pd_assignment *item, pd_error *err);

extern const pd_origin pd__at_run_time;

/* The module that a flag's first definition stands in, or NULL. */
pd_module *pd__flag_owner(const pd_flag *flag);

/* ---- What is told of a flag (flag.c) ---- */

/* Fill all but the size, for a flag that is defined. False: memory is out. */
bool pd__flag_info(const pd_flag *flag, pd_flag_info *info);

/* The same of pd_flag_get_entry. */
pd_status pd__flag_entry(const pd_flag *flag, size_t index, pd_flag_entry *entry, pd_error *err);

/* ---- Modules (module.c) ---- */

const char *pd__module_path(const pd_module *module);

/* The path of the module with a record that the address is in; NULL: none is known. */
const char *pd__module_path_at(const void *inside);

/* The module of a cell; NULL: none. */
pd_module *pd__cell_module(const pd__cell *cell);

/* What pd_host offers. No lock. */
void pd__module_join(pd_module_record *record);
void pd__module_leave(pd_module_record *record);

/* Join the modules that were here before the registry. No lock. */
void pd__join_those_before(void);

/* ---- Copies (copies.c) ---- */

/* This copy, as modules see it when it hosts the registry. */
extern const pd_host *const pd__own_host;

#endif /* PD__REGISTRY_H */
