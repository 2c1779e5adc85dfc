/* Flags as the registry keeps them: their fields, and those of what is listed in them. Private to
 * this folder: other layers call the functions of the other headers. */
#ifndef PD__FLAG_H
#define PD__FLAG_H

#include "hook.h"

/* ---- What is listed in a flag ---- */

/* What an override does to one flag. */
typedef struct pd__override_entry {
  pd_flag *flag; /* NULL: popped, or no value suited a new definition */
  pd_override number;
  bool temporary;                   /* it ends by itself: the program's values go below it */
  bool warned;                      /* that it hides one of them */
  pd__entry *values;                /* newest first; all but the first are replaced */
  struct pd__override_entry *above; /* of the same flag */
  struct pd__override_entry *below; /* of the same flag */
} pd__override_entry;

/* A place in the list of a flag's hooks or, if `flag` is NULL, of the watchers of all flags. */
typedef struct pd__target {
  pd__hook *hook;
  pd_flag *flag;
  uint8_t type; /* of the flag when the hook was added */
  struct pd__target *previous, *next;
} pd__target;

typedef struct pd__targets {
  pd__target *first, *last;
} pd__targets;

/* Freed only when no call of it is running. */
struct pd__hook {
  pd_hook number;
  bool watches; /* `call` is a pd_watcher; otherwise a pd_validator */
  pd__handler call;
  pd__handler release; /* takes only the context */
  size_t calls;        /* operations that hold the hook */
  uint64_t round;      /* the last round of validation that visited it */
  bool deferrable;     /* by pd_hook_defer: not called within constructors and destructors */
  bool removed;
  pd__hook *next_removed;
  size_t count; /* number of targets */
  pd__target targets[];
};

/* Watchers of every flag. */
extern pd__targets pd__general_watchers;

/* ---- Flags ---- */

/* Rarely needed fields of a name, allocated on first use. */
typedef struct pd__extra {
  pd_flag *alias_of;             /* of an alias: the flag that it names */
  pd__pending *pending;          /* values for the name while it is undefined, in order */
  uint32_t references;           /* of pd__name_retain */
  uint32_t scopes;               /* values that scopes have for the flag */
  struct pd__scoped *scoped;     /* these values, in no particular order */
  pd__targets hooks;             /* validators and watchers added at run time */
  pd__override_entry *overrides; /* topmost first */
  pd_value base;                 /* the value below the overrides, if there are any */
  struct pd__secret *secrets;    /* texts that a sensitive flag has published */
} pd__extra;

/* The value of a number, in the form of its cell. Strings and bools have fields of their own: when
 * a definition of another type replaces this one, a reader that still expects the old type must not
 * take a number for a pointer, nor for a bool. */
typedef union pd__number {
  int32_t i32;
  int64_t i64;
  double f64;
} pd__number;

/* The node of a name. It is a flag while it is defined, and an alias if extra->alias_of is set.
 * Otherwise it is kept because something waits for the name: imports, pending values, the values of
 * a former definition. A node that was ever a flag is never freed, since there are handles to it.
 *
 * The first 32 bytes, which lie in one cache line, are all that an assignment of a number at run
 * time uses; `extended` and `placed` repeat there what the others say. Bit fields share bytes, so
 * even reading one needs the lock. */
struct pd_flag {
  const char *name;     /* of a flag: the definition's text, in its module; else interned */
  void *variable;       /* of the definition; NULL: none, or reached by access functions only */
  pd__number number;    /* the value of a number */
  uint16_t length;      /* of the name */
  uint8_t state;        /* as pd_flag_get_state says; read without the lock */
  uint8_t type;         /* of the value; outlives the definition */
  bool truth;           /* the value of a bool */
  uint8_t source;       /* with line, column and place: pd__flag_origin */
  bool assigned : 1;    /* it was given a value, whose origin is stored here */
  bool defined : 1;     /* the first cell has the definition */
  bool single : 1;      /* there is one cell; its variable, if any, is `variable` */
  bool simple : 1;      /* the definition accepts all values of its type from all sources */
  bool hooked : 1;      /* the definition has a validator, a watcher or a converter */
  bool optional : 1;    /* its default stands for no value */
  bool frozen : 1;      /* by pd_flag_freeze; outlives the definition */
  bool assignable : 1;  /* a module may assign to its variable */
  bool warned : 1;      /* a warning about its use was added */
  bool known : 1;       /* was ever defined as a flag or an alias: there may be handles */
  bool withdrawn : 1;   /* was last undefined by pd_flag_unregister */
  bool was_secret : 1;  /* and sensitive until then */
  bool old_name : 1;    /* as an alias: deprecated */
  bool extended : 1;    /* there is `extra` */
  bool placed : 1;      /* line, column or place of the origin isn't 0 */
  bool sensitive : 1;   /* the definition is, or a former one since the last reset */
  pd__extra *extra;     /* NULL if none is needed */
  uint32_t generation;  /* of the definition; changes whenever that does */
  uint32_t line;        /* of the origin */
  uint32_t column;      /* of the origin */
  uint32_t visit_mark;  /* marks the last operation that visited the node: pd__next_visit_mark */
  const char *place;    /* of the origin */
  const char *text;     /* the value of a string */
  uint32_t index;       /* of the node: pd__names_get_node */
  uint32_t next_listed; /* in the order of pd_flag_next: index + 1; 0: none */
  pd__cell *cells;      /* the cell of the definition, if any, comes first */
  pd__entry *history;   /* hidden and replaced values: by rank, the latest of a rank first */
};

/* Returns the rarely needed fields; NULL if memory runs out. */
pd__extra *pd__flag_ensure_extra(pd_flag *node);

/* Gives up a node whose name can't be stored because memory runs out: lookups no longer find it. */
void pd__names_clear_name(pd_flag *node);

/* ---- Overrides (override.c) ---- */

/* Creates an override of at most `count` flags and returns its number; 0 if memory runs out. */
pd_override pd__override_new(size_t count, bool temporary);

/* Gives a flag a value of the override being made, or of one that it has. Returns whether that is
 * the topmost one. */
bool pd__flag_assign_in_override(pd_flag *flag, pd_override number, pd_value value,
                                 const pd_origin *origin, bool resets);

/* Returns what the override does to each of its *count flags; `flag` is NULL where it no longer
 * does anything. Valid until pd__override_free_record. Returns NULL if there is no such override.
 */
pd__override_entry *pd__override_find_entries(pd_override number, size_t *count);

/* Ends what an override does to a flag. The caller publishes the value below, unless the flag is
 * undefined. */
void pd__override_entry_drop(pd__override_entry *from);

/* ---- Reading them ---- */

/* Inlined wherever this folder calls them. node.c makes the functions that other layers call. */
#ifndef PD__EXPANDED
#define PD__EXPANDED extern inline __attribute__((gnu_inline, always_inline))
#endif

PD__EXPANDED const pd_flag_def *pd__flag_def(const pd_flag *flag) {
  return flag->defined ? flag->cells->def : NULL;
}

PD__EXPANDED pd_flag *pd__resolve_alias(pd_flag *node) {
  return node->extended && node->extra->alias_of ? node->extra->alias_of : node;
}

PD__EXPANDED pd_origin pd__flag_origin(const pd_flag *flag) {
  return (pd_origin){(pd_source)flag->source, flag->line, flag->place, flag->column};
}

#define PD__STATE_TYPE 0x07
#define PD__STATE_ASK 0x80 /* the registry's copy may not be the value that a reader should see */

/* Returns the address of the registry's own copy of the value, while the flag has that type. It
 * stays valid until the process ends. Needs no lock. */
PD__EXPANDED void *pd__flag_address(const pd_flag *flag, pd_type type) {
  pd_flag *node = (pd_flag *)flag;
  if (type == PD_TYPE_string) return &node->text;
  return type == PD_TYPE_bool ? (void *)&node->truth : &node->number;
}

PD__EXPANDED pd_value pd__flag_value(const pd_flag *flag) {
  return pd__cell_load((pd_type)flag->type, pd__flag_address(flag, (pd_type)flag->type));
}

PD__EXPANDED pd__override_entry *pd__flag_override(const pd_flag *flag) {
  return flag->extended ? flag->extra->overrides : NULL;
}

/* Returns what the override of that number does to the flag; NULL if nothing, or nothing more. */
static inline pd__override_entry *pd__flag_override_of(const pd_flag *flag, pd_override number) {
  pd__override_entry *at = pd__flag_override(flag);
  while (at && at->number != number) at = at->below;
  return at;
}

/* Returns the override that a run-time assignment changes: the topmost one of the program. */
static inline pd__override_entry *pd__flag_own_override(const pd_flag *flag) {
  pd__override_entry *at = pd__flag_override(flag);
  while (at && at->temporary) at = at->below;
  return at;
}

PD__EXPANDED bool pd__flag_has_values(const pd_flag *flag) {
  return flag->assigned || pd__flag_override(flag);
}

PD__EXPANDED pd__target *pd__hooks_first(const pd_flag *flag) {
  return flag->extended ? flag->extra->hooks.first : NULL;
}

PD__EXPANDED bool pd__flag_has_hooks(const pd_flag *flag) {
  return flag->hooked || pd__general_watchers.first || pd__hooks_first(flag);
}

#endif /* PD__FLAG_H */
