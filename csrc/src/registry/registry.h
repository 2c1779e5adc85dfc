/* The registry of the process: names, flags, their cells and values, and the only way to change a
 * value. This layer may use base, platform and value. It treats definitions as data (pd_flag_def)
 * and knows nothing about how modules join, about command lines or about files.
 *
 * There are four main types. A pd_flag has a name and a value. A pd__cell ties a variable of a
 * module to a flag. A pd_module is an image whose code or variables are in use. A pd__operation is
 * one call of the library, with everything that it holds.
 *
 * The caller holds the registry's lock unless a function says otherwise. No code of a module runs
 * while the lock is held, except for the access functions of compat strings. Nodes of names and
 * modules are never moved; those that have handles are never freed. */
#ifndef PD__REGISTRY_H
#define PD__REGISTRY_H

#include "../base/arena.h"
#include "../base/error.h"
#include "../platform/platform.h"
#include "../value/value.h"
#include "operation.h"

typedef struct pd__pending pd__pending; /* definition/pending.h */
typedef struct pd__hook pd__hook;

/* A definition or an import of a flag in a module. Its variable is def->cell. */
typedef struct pd__cell {
  const pd_flag_def *def;
  struct pd__cell *next;   /* of the same flag */
  uint32_t flag;           /* index + 1 of the flag whose list this cell is in; 0: none */
  uint32_t module : 31;    /* number of its image; 0: unknown */
  uint32_t registered : 1; /* by pd_flag_register, which allocated cell and definition */
} pd__cell;

/* ---- The values of a flag (history.c, override.c) ---- */

/* A value that a flag was given and that isn't the current one. */
typedef struct pd__entry {
  pd_value value; /* text is stored permanently, and so is the place */
  pd_origin origin;
  bool replaced; /* by a later value of the same source or override */
  struct pd__entry *next;
} pd__entry;

/* ---- What other layers know of a flag (node.c) ---- */

/* The node of a name. It is a flag while it is defined; it may be an alias of one. Otherwise it is
 * kept because something waits for the name, or because there are handles to it. */
const char *pd__flag_name(const pd_flag *node);

/* Returns the definition; NULL if the flag is undefined. */
const pd_flag_def *pd__flag_def(const pd_flag *flag);

/* Changes whenever the definition does. */
uint32_t pd__flag_generation(const pd_flag *flag);

/* Returns the cells of definitions and imports. That of the definition, if any, comes first. */
const pd__cell *pd__flag_get_first_cell(const pd_flag *flag);

/* Of the value; outlives the definition. */
pd_type pd__flag_type(const pd_flag *flag);

/* Returns whether the definition is sensitive, or was when the flag got one of its values. */
bool pd__flag_is_sensitive(const pd_flag *flag);

/* By pd_flag_freeze; outlives the definition. */
bool pd__flag_is_frozen(const pd_flag *flag);

/* Returns whether the flag is optional and has no value. */
bool pd__flag_is_unset(const pd_flag *flag);

/* Returns whether the flag has values, which its next definition would get. */
bool pd__flag_has_values(const pd_flag *flag);

/* Returns the current value, its source, and the origin of the value below the overrides. */
pd_value pd__flag_value(const pd_flag *flag);
pd_source pd__flag_get_effective_source(const pd_flag *flag);
pd_origin pd__flag_origin(const pd_flag *flag);

/* Returns the value in this thread (scope.c). */
pd_value pd__flag_value_in_thread(const pd_flag *flag);

/* Returns the flag of an alias; for other nodes, the node itself. */
pd_flag *pd__resolve_alias(pd_flag *node);

/* Returns whether the name is an alias of a flag, and deprecated. */
bool pd__name_is_old(const pd_flag *node);

/* Returns whether the name was ever defined: there may be handles to it. `node` may be NULL. */
bool pd__name_has_been_defined(const pd_flag *node);

/* Returns the number of a node: pd__names_get_node. */
uint32_t pd__name_index(const pd_flag *node);

/* Marks a node as visited by an operation; `mark` is of pd__next_visit_mark. Returns false if it
 * has that mark already. */
bool pd__name_mark_visited(pd_flag *node, uint32_t mark);
bool pd__name_is_visited(const pd_flag *node, uint32_t mark);

/* ---- Names (names.c) ---- */

/* Needs no lock. */
bool pd__name_is_valid(const char *name, size_t length);

/* Returns the node of a name, in which `-` and `_` are equal; NULL if there is none. Doesn't follow
 * aliases. */
pd_flag *pd__names_find(const char *name, size_t length);

/* Returns the node of a name, and adds it if needed; NULL if memory runs out. A new node borrows
 * `name` until it is defined or pd__names_store_name is called. */
pd_flag *pd__names_find_or_add(const char *name, size_t length);

/* pd__names_find_or_add in two steps. The first prefetches what the second reads: process some
 * other names in between, to hide the latency of the memory. */
typedef struct pd__hashed_key {
  const char *name;
  uint32_t length;
  uint32_t hash;
} pd__hashed_key;
pd__hashed_key pd__names_make_hashed_key(const char *name, size_t length);
pd_flag *pd__names_find_or_add_hashed(const pd__hashed_key *wanted);

/* Makes room for `count` more names. Returns false if memory runs out. */
bool pd__names_reserve(size_t count);

/* Interns the name of a node. Returns false if memory runs out; an interned name needs no
 * memory. */
bool pd__names_store_name(pd_flag *node, const char *name, size_t length);

/* Frees a node that was never a flag and that nothing waits for. Returns false if it is still
 * needed. */
bool pd__names_free_if_unused(pd_flag *node);

/* Does the same for a node whose name may be `text`, which is about to be freed: if the node is
 * still needed, its name is interned. If memory runs out for that, lookups no longer find the
 * node. */
void pd__names_free_or_intern(pd_flag *node, const char *text);

/* Keeps a node while values for its name are made. Returns false, and does nothing, if memory is
 * out. pd__name_release undoes it; pd__names_free_or_intern then frees the node. */
bool pd__name_retain(pd_flag *node);
void pd__name_release(pd_flag *node);

/* Returns where the list of the values that wait for the name begins, for definition/pending.c;
 * NULL if it can have none yet, or if `node` is NULL. */
pd__pending **pd__name_get_pending_list(pd_flag *node);

/* pd__names_next returns the node after `previous`, in no particular order; NULL gives the first.
 * pd__names_get_node returns NULL if there is no such index. */
pd_flag *pd__names_next(const pd_flag *previous);
pd_flag *pd__names_get_node(uint32_t index);

/* Returns a number above the indexes of all nodes. */
uint32_t pd__names_count(void);

/* pd__names_append_to_list appends a flag to the order of pd_flag_next, unless it is in there
 * already. pd__names_next_listed iterates in that order; NULL gives the first. */
void pd__names_append_to_list(pd_flag *flag);
pd_flag *pd__names_next_listed(const pd_flag *previous);

/* Returns the first of `count` numbers for flag->visit_mark that no node has, and that follow one
 * another. Earlier numbers are of no use afterwards. */
uint32_t pd__names_reserve_visit_marks(uint32_t count);
static inline uint32_t pd__next_visit_mark(void) { return pd__names_reserve_visit_marks(1); }

/* ---- For readers in other processes (index.c) ---- */

extern const struct pd_index pd__index;

/* ---- What a name means (resolve.c) ---- */

typedef struct pd__meaning {
  pd_flag *flag; /* NULL: undefined */
  pd_flag *node; /* the flag, or the alias that it was named by */
  bool negated;  /* the name was --noname */
} pd__meaning;

/* Returns the node of a name: a defined flag, or an alias of one. NULL if the name is undefined.
 * Adds a warning if the name is deprecated. */
pd_flag *pd__names_find_defined_node(const char *name, size_t length);

/* Like pd__names_find_defined_node, but also accepts --noname. The caller checks that the flag is a
 * bool. */
pd__meaning pd__resolve_flag_or_negation(const char *name, size_t length);

/* Fails because no flag has the name, and suggests the nearest one. */
pd_status pd__fail_undefined(const char *name, pd_error *err);

/* ---- Suggestions (suggest.c) ---- */

/* Writes "; did you mean 'x'?" with the known flag that is nearest to `name`, or "" if none is
 * near. With a `prefix`, which is put before the suggested name, negated bools and the other
 * options of a command line are suggested as well; if it is NULL, only flags. */
#define PD__SUGGESTION_SIZE (PD_NAME_MAX + 200)
void pd__suggest_name(const char *name, size_t length, const char *prefix,
                      char out[PD__SUGGESTION_SIZE]);

/* Returns the number of edits (insert, delete, change, swap neighbors) from `a` to `b`; if there
 * are more than two, PD__TOO_FAR or any higher number. `b` has at most PD_NAME_MAX bytes. Needs no
 * lock. */
#define PD__TOO_FAR 3
unsigned pd__edit_distance(const char *a, size_t a_length, const char *b, size_t b_length);

/* Suggests what -`name` may mean if no flag has that name: --port=9 for -p9, and -v -q for -vq, of
 * whose letters one may be unknown. */
void pd__suggest_for_short_option(const char *name, char out[PD__SUGGESTION_SIZE]);

/* Suggests how the arguments right after a flag may be meant as its value: of a list, whose value
 * so far is `text`, or of a bool without a value (NULL). */
void pd__suggest_arguments_as_value(const pd_flag *flag, const char *text, char *const *arguments,
                                    size_t count, char out[PD__SUGGESTION_SIZE]);

/* Returns whether the one-letter name is that of a sensitive flag. */
bool pd__letter_has_sensitive_flag(char letter);

/* ---- Modules: images whose code or variables are in use (image.c) ---- */

/* pd__module_path is interned, and pd__module_get_end_address is the address behind the image. */
const char *pd__module_path(const pd_module *module);
uintptr_t pd__module_get_end_address(const pd_module *module);
bool pd__module_has_address(const pd_module *module, uintptr_t address);
bool pd__module_has_same_range(const pd_module *module, const pd__platform_image *image);

/* pd__module_is_present returns whether the image is loaded, as far as is known, and
 * pd__module_is_never_unloaded whether the loader never unloads it. */
bool pd__module_is_never_unloaded(const pd_module *module);
bool pd__module_is_present(const pd_module *module);
void pd__module_set_present(pd_module *module, bool present);

/* The module has a record, which announces when it leaves. */
void pd__module_mark_has_record(pd_module *module);

/* What module/module.h knows of the module; NULL: it has never joined. */
struct pd__membership *pd__module_get_membership(const pd_module *module);
void pd__module_set_membership(pd_module *module, struct pd__membership *membership);

/* The image of a cell; NULL: unknown. */
pd_module *pd__cell_module(const pd__cell *cell);
void pd__cell_set_module(pd__cell *cell, const pd_module *module);

/* Returns the known image that contains the address; NULL if there is none. */
pd_module *pd__module_find_at(const void *address);

/* Adds an image, or reuses the node of one that has left; NULL if memory runs out. pd__module_next
 * iterates in the order of numbers; NULL gives the first. */
pd_module *pd__module_add(const pd__platform_image *image);
pd_module *pd__module_next(const pd_module *previous);

/* Marks a module as gone. Everything that it registered must have been removed. */
void pd__module_mark_gone(pd_module *module);

/* Returns the image that contains `address`, and adds it if needed. NULL if there is none or memory
 * is out. The caller must not hold the lock. */
pd_module *pd__module_find_or_add(const void *address);

/* Like pd__module_find_or_add, for an address about to be registered. An image without a record,
 * which can't announce that it leaves, is kept loaded until pd__module_remove_registration. Returns
 * NULL for 0. The caller must not hold the lock. */
pd_module *pd__module_add_registration(uintptr_t address);

/* Undoes pd__module_add_registration; the image may be unloaded when the operation ends. `module`
 * may be NULL. */
void pd__module_remove_registration(pd__operation *operation, pd_module *module);

/* ---- How long modules stay (pin.c). The caller holds the lock. ---- */

/* pd__module_begin_load holds the module for a load under way, with a handle of the loader: from
 * now on, closing by other code doesn't withdraw the module. The load ends with one of the other
 * two: pd__module_turn_load_into_opening leaves an opening, which pd__module_end_opening ends;
 * pd__module_cancel_load returns the handle if the caller is to close it, without the lock, and to
 * call pd__module_closed; NULL if it is pinned. */
void pd__module_begin_load(pd_module *module, void *handle);
void pd__module_turn_load_into_opening(pd_module *module);
void *pd__module_cancel_load(pd_module *module);

/* Ends an opening: the handle is closed when the operation ends, or when the last pin is
 * released. */
void pd__module_end_opening(pd__operation *operation, pd_module *module);

/* pd__module_has_opening returns whether the module has an opening, and pd__module_is_retained
 * whether it has one or a load holds it. */
bool pd__module_has_opening(const pd_module *module);
bool pd__module_is_retained(const pd_module *module);

/* Called after a handle of a module was closed, without the lock; module/load.c sets it. It calls
 * pd__module_end_closing, which returns whether the image stays although nothing holds it. */
extern void (*pd__module_closed)(pd_module *module);
bool pd__module_end_closing(pd_module *module);

/* pd__module_make_permanent keeps the image loaded until the process ends, because others call its
 * code; returns false if it is leaving. The lock is released meanwhile. */
bool pd__module_make_permanent(pd__operation *operation, pd_module *module);
bool pd__module_is_permanent(const pd_module *module);

/* ---- The value of a flag (flag.c) ---- */

/* Returns the value below the overrides; if there are none, the current value. */
pd_value pd__flag_value_without_overrides(const pd_flag *flag);

/* pd__def_intern_default returns the default of a definition, with its text interned.
 * pd__flag_get_current_default returns the default set by pd_flag_set_default, if any, else that of
 * the definition. */
pd_value pd__def_intern_default(const pd_flag_def *def);
pd_value pd__flag_get_current_default(const pd_flag *flag);

/* pd__flag_publish stores the current value in the node and in all cells, and the state. */
void pd__flag_publish(pd_flag *flag);
void pd__flag_publish_state(pd_flag *flag);

/* Call these after a change of the flag's cells, and after a change of its definition. */
void pd__flag_cache_variable(pd_flag *flag);
void pd__flag_renew_generation(pd_flag *flag);

/* Changes whenever a definition does, or flags lose values: what is known of the values of
 * undefined flags must then be looked up again. */
extern uint64_t pd__values_revision;

/* Hides the variable from readers without the lock, and waits for those that are reading it, which
 * takes only a few instructions. */
void pd__flag_hide_variable_and_wait(pd_flag *flag);

/* For the child of a fork, where no other thread reads. */
void pd__flag_readers_reset_in_child(void);

/* Returns the value in the module's variable; for a string or without a variable, the committed
 * value. Needs no lock. */
pd_value pd__flag_read_variable(const pd_flag *flag, pd_type type);

/* How many variables that modules may assign to have ever been defined. */
extern uint32_t pd__assignables;

/* Adopt the values that modules have assigned to variables of the flag, or of all flags. */
void pd__flag_adopt_assigned_value(pd__operation *operation, pd_flag *flag);
void pd__flags_adopt_assigned_values(pd__operation *operation);

/* Adopts what modules have assigned. Returns PD_OK, or an error if the flag is undefined. */
pd_status pd__flag_adopt_and_check_defined(pd__operation *operation, pd_flag *flag, pd_error *err);

/* Fails because the flag of a handle is undefined. */
pd_status pd__fail_flag_gone(const pd_flag *flag, pd_error *err);

/* ---- History (history.c) ---- */

/* Makes room for `count` entries, so that assigning and dropping values can't fail. Returns false
 * if memory runs out. */
bool pd__history_reserve(size_t count);

/* Give a flag a value that isn't an override's. pd__history_update_if_same_origin does so only if
 * it needs no entry, because the flag has no value yet or one of the same origin; else it returns
 * false. */
bool pd__history_update_if_same_origin(pd_flag *flag, pd_value value, const pd_origin *origin);
void pd__history_assign_by_rank(pd_flag *flag, pd_value value, const pd_origin *origin);

/* Drops the values of some sources, a PD__SOURCE_BIT each. The caller publishes the result. */
#define PD__SOURCE_BIT(source) (1u << (source))
void pd__history_drop_sources(pd_flag *flag, uint32_t sources);

/* Copies the latest value from `source` to *out. Returns false if there is none. */
bool pd__history_find_source_entry(const pd_flag *flag, pd_source source, pd__entry *out);

/* Copies the entry at `index`, as in pd_flag_get_entry, to *out. Returns false if there is none. */
bool pd__history_describe_entry(const pd_flag *flag, size_t index, pd_flag_entry *out);

/* Describes a value of the flag as validators and listings see it. */
void pd__entry_describe(const pd_flag *flag, pd_value value, const pd_origin *origin,
                        pd_flag_entry *out);

/* Drops the values for which `keeps` returns false; it may also change a value. `current` is false
 * for replaced values. `base` is the value of pd__flag_value_without_overrides, read before a
 * change of the flag's type. */
typedef bool pd__entry_test(pd_flag *flag, pd__entry *entry, bool current, void *context);
void pd__history_filter_with_current(pd_flag *flag, pd_value base, pd__entry_test *keeps,
                                     void *context);

/* Does the same for one list of the flag's values. */
void pd__entries_filter(pd__entry **list, pd_flag *flag, pd__entry_test *keeps, void *context);

/* Entries for lists. pd__entry_take_from_pool needs pd__history_reserve and can't fail. */
pd__entry *pd__entry_take_from_pool(pd_value value, const pd_origin *origin);
void pd__entry_return_to_pool(pd__entry *entry);

/* Replace the values of a flag, `current` and those after it (NULL: none), and the values of a list
 * by copies of `values`. Both need room from pd__history_reserve. The caller publishes the result.
 */
void pd__history_restore(pd_flag *flag, const pd__entry *current);
void pd__entries_restore(pd__entry **list, const pd__entry *values);

/* Puts `fresh` on top of a list of values of one source. Of the replaced values a limited number is
 * kept. If the top value has the same origin, it only gets the new value, and `fresh` is freed. */
void pd__entries_prepend_or_update(pd__entry **list, pd__entry *fresh);

/* ---- Overrides (override.c) ---- */

/* Returns whether an override does something to the flag. */
bool pd__flag_is_overridden(const pd_flag *flag);

/* Returns whether the override no longer does anything. */
bool pd__override_is_empty(pd_override number);
void pd__override_free_record(pd_override number);

/* Copies the value that the flag would have without the override of that number, or with 0 without
 * the temporary ones on top, and without the live value if it `drops_live`. Returns false if it
 * would have none. */
bool pd__flag_find_value_below(const pd_flag *flag, pd_override number, bool drops_live,
                               pd_value *out);

/* ---- Where a value came from, for messages (origin.c) ---- */

extern const pd_origin pd__at_run_time;

/* Writes the start of a message, up to the name: "flags.conf:3: ", "environment: ", or "". Returns
 * `out`. */
#define PD__PREFIX_SIZE (PD_NAME_MAX + 40)
const char *pd__origin_write_message_prefix(const pd_origin *origin, char out[PD__PREFIX_SIZE]);

/* Returns true for a value of an environment variable, which has no line. --fromenv on a command
 * line names a variable, too. */
bool pd__origin_is_env_variable(const pd_origin *origin);

/* Returns true if the second of two uses of a flag adds to what the first gave, in a list that
 * grows: on one command line, in one variable, or in one file that isn't structured. */
bool pd__origin_is_same_input(const pd_origin *first, const pd_origin *second);

/* The text between place and line: ":", or " revision " if the line is one of the fleet. */
const char *pd__origin_line_separator(const pd_origin *origin);

/* Writes an origin alone: "flags.conf:3", "$FLAGS_level", "argv[2]", "default". Returns `out`. */
const char *pd__origin_write_description(const pd_origin *origin, char out[PD__ESCAPED_SIZE]);

/* Writes the start of a message about the value: the place and the name. Returns `out`. */
#define PD__SOURCE_SIZE (3 * PD_NAME_MAX + 64)
const char *pd__origin_write_message_subject(const char *name, const pd_origin *origin,
                                             char out[PD__SOURCE_SIZE]);

/* Returns PD_OK if hosts may give values from the origin: NULL is allowed, defaults and overrides
 * aren't. */
pd_status pd__origin_check_settable(const pd_origin *origin, pd_error *err);

/* Returns true if the two, whose places are interned, are equal. */
bool pd__origin_is_same(const pd_origin *a, const pd_origin *b);

/* Shown in place of the values of sensitive flags. */
#define PD__REDACTED "<redacted>"

/* ---- Warnings (warning.c) ---- */

/* Add a warning, once, about a deprecated name of `flag`, or about a deprecated or retired flag. */
void pd__warn_of_deprecated_name(pd_flag *node, const pd_flag *flag);
void pd__warn_of_deprecated_flag(pd_flag *flag, const pd_origin *origin);

/* Adds a warning and returns room for its text. If memory runs out, returns NULL, and the warning
 * is lost. */
pd_error *pd__warning_add(pd_warning kind);

/* Delivers warnings to the handler. The caller must not hold the lock. */
void pd__warnings_deliver(pd__operation *operation);

/* ---- What is listed of a flag (inspect.c) ---- */

/* True once a command line has been parsed: startup-only flags are frozen. */
extern bool pd__startup_over;

/* Fills all fields but the size. The flag must be defined. Returns false if memory runs out. */
bool pd__flag_fill_info(const pd_flag *flag, pd_flag_info *info);

/* Fills all fields but the size, as pd_flag_get_entry does. */
pd_status pd__flag_fill_entry(const pd_flag *flag, size_t index, pd_flag_entry *entry,
                              pd_error *err);

/* Overwrites all texts that a sensitive flag has published, except the current one. */
void pd__flag_wipe_secrets(pd_flag *flag);

#endif /* PD__REGISTRY_H */
