/* Operations: several modules implement them, and a flag chooses which implementation runs. This
 * layer may use base, platform, value, registry and definition.
 *
 * A pd__family is the name of an operation, with the flag impl.<name>. A pd__op is one signature of
 * it. A pd__impl is a record of a module: a candidate, a slot through which the module calls the
 * operation, or both. Families and operations are never freed. Each step costs the same however
 * many of them there are. The caller holds the lock unless a comment says otherwise. */
#ifndef PD__OP_H
#define PD__OP_H

#include "../definition/definition.h"

typedef struct pd_op pd__op;
typedef struct pd__family pd__family;

typedef struct pd__impl {
  const pd_op_def *def;
  pd_module *module;         /* NULL: in no known image */
  pd__op *op;                /* NULL: not linked */
  const char *name;          /* of a candidate: interned */
  uint64_t number;           /* of a candidate, in the order of arrival, from 1; never reused */
  const char *why;           /* it isn't usable: interned; NULL: it is */
  bool asked;                /* `why` is known */
  bool asking;               /* another thread asks */
  bool choice_missed_answer; /* a choice was made meanwhile */
  pd_impl registered;        /* its number, if it came at run time; 0: a module's record */
  struct pd__impl *next_candidate, *previous_candidate, *next_slot, *previous_slot;
  struct pd__impl *next_alike, *previous_alike; /* candidates in the same bucket (record.c) */
} pd__impl;

/* What an operation runs in the scopes that choose by one list. Never freed. */
typedef struct pd__view {
  const char *list;       /* interned */
  void (*function)(void); /* read without the lock; NULL: none, callers run their own */
  struct pd__view *next;  /* read without the lock */
} pd__view;

struct pd_op {
  pd__family *family;
  const char *text; /* of the signature; interned */
  uint8_t types[sizeof((pd_op_signature *)0)->types];
  pd__impl *candidates, *last_candidate; /* in the order of arrival */
  pd__impl *slots;
  pd__impl *winner;        /* NULL: no module implements the operation */
  pd__impl *native;        /* the first native candidate when the winner was chosen */
  pd__impl *last_compared; /* the last candidate then; NULL: all must be compared again */
  const char *chosen_from; /* the list that the winner was chosen from; interned */
  pd__view *views;         /* read without the lock */
  size_t definitions;      /* records that define it */
  pd__op *next;            /* of the family */
  bool changed;            /* its implementation must be chosen again */
  pd__op *next_changed;
};

struct pd__family {
  const char *name; /* interned */
  pd_flag_def def;  /* of the flag */
  pd__cell cell;
  pd_scoped_cell value; /* if the flag is scoped */
  pd__op *ops, *last_op;
  uint32_t number;       /* from 1 */
  size_t members;        /* records of all its operations; pd__family_adjust_member_count */
  size_t definitions;    /* of them: those that define an operation */
  size_t scoped, plain;  /* of them: those that say whether the flag is */
  const char *warned_of; /* a list that leaves only what can't run; interned */
  bool
      changed; /* for pd__families_update_changed: choose for its due operations, define the flag */
  bool missed_answer;      /* an answer has come that a choice has missed */
  bool redefined;          /* the flag was defined since the last choice */
  bool has_waiting_values; /* values of the flag wait until its validators have been asked */
  pd__op *first_changed, *last_changed;
  pd__family *next_changed;
};

/* ---- Signatures (signature.c). These functions need no lock. ---- */

bool pd__signature_is_same(const pd__op *op, const pd_op_signature *of);

/* Hashes of a signature and of its types alone, in a family of that number. */
uint32_t pd__signature_hash(uint32_t family, const pd_op_signature *of);
uint32_t pd__signature_hash_types(uint32_t family, const uint8_t *types);

/* ---- Families and operations (family.c) ---- */

/* Iterates in the order in which they were added; NULL returns the first. */
pd__family *pd__family_next(const pd__family *previous);
pd__family *pd__family_find(const char *name, size_t length);

/* Return the one of that name, or of that signature, and add it if needed; NULL if memory runs out.
 */
pd__family *pd__family_find_or_add(const char *name);
pd__op *pd__op_find_or_add(pd__family *family, const pd_op_signature *of);

/* Returns the first operation of the family that has these types; NULL if there is none. */
pd__op *pd__op_find_by_types(const pd__family *family, const uint8_t *types);

/* Returns a family with members, other than `except`, whose flag has that name; NULL if there is
 * none. */
const pd__family *pd__family_find_by_flag_name(const char *name, size_t length,
                                               const pd__family *except);

/* Changes the number of members. Adding one needs room; reserving it returns false if memory is
 * out. */
bool pd__family_reserve_member(void);
void pd__family_adjust_member_count(pd__family *family, int change);

/* pd__op_queue_as_changed appends an operation and its family to what is due. The others remove the
 * next one; NULL if nothing is. */
void pd__op_queue_as_changed(pd__op *op);
pd__family *pd__family_pop_changed(void);
pd__op *pd__op_pop_changed(pd__family *family);

/* ---- Records (record.c) ---- */

/* Writes "pow.c:3 in libpow.so", or the parts of it that are known. Needs no lock. */
#define PD__RECORD_LOCATION_SIZE 420
const char *pd__impl_write_location(const pd_op_def *def, const pd_module *module,
                                    char out[PD__RECORD_LOCATION_SIZE]);

/* Copies a record into the current layout. The texts are borrowed from `from`. Needs no lock. */
pd_status pd__impl_convert(const pd_op_def *from, pd_op_def *to, pd_error *err);

/* Checks a record of the current layout by itself. Needs no lock. */
pd_status pd__impl_check_record(const pd_op_def *def, pd_error *err);

/* Checks further what holds for records of modules. Needs no lock. */
pd_status pd__impl_check_native_record(const pd_op_def *def, pd_error *err);

/* Links records to their operations, all or none; reports why not. Doesn't release the lock. The
 * registry uses the records until pd__impls_unlink. */
bool pd__impls_link(pd__impl *impls, size_t count, pd__report *report);
void pd__impls_unlink(pd__impl *impls, size_t count);

/* Returns whether definitions of flags, in the same module, leave the flags of the operations
 * alone; reports the others. */
bool pd__impls_check_flag_collisions(const pd__cell *cells, size_t count, pd__report *report);

/* Returns whether the flags of linked records are defined; reports why not. */
bool pd__impls_check_flags_defined(const pd__impl *impls, size_t count, pd__report *report);

/* Returns the candidate of that number; NULL if it has left. */
pd__impl *pd__impl_find(uint64_t number);

/* "; it has *0: double (double, double) at pow.c:3, …": the signatures that are defined. */
void pd__family_append_signatures(const pd__family *family, char *out, size_t size);

/* ---- Asking and keeping (ask.c). Each function releases the lock. ---- */

/* Nothing rules it out so far; it may not have been asked. */
static inline bool pd__impl_is_usable(const pd__impl *impl) { return !impl->why && !impl->asking; }

/* Asks whether it can run here; `impl` may be gone afterwards. */
void pd__impl_ask_usable(pd__operation *operation, pd__op *op, pd__impl *impl);

/* Returns whether this thread is asking that, further up its stack: the candidate then waits for
 * the answer, as for one that another thread asks. */
bool pd__impl_mark_answer_awaited(pd__impl *impl);

/* In the child of a fork, only the questions of this thread are left: the others are asked again.
 */
void pd__impls_reset_in_child(void);

/* A call can't pin the module that it jumps into. So a module whose implementation other modules
 * call stays loaded until the process ends. */
bool pd__impl_must_stay_loaded(const pd__op *op, const pd__impl *best);
void pd__impl_make_module_permanent(pd__operation *operation, pd__impl *impl);

/* Returns whether the list ends with a name and !, and of the implementations that it has, among
 * them one of that name, none can run; `why` is then the reason in words. The second function asks
 * them. */
bool pd__preference_is_unusable(const pd__family *family, const char *list, char *why, size_t size);
bool pd__preference_ask_whether_unusable(pd__operation *operation, pd__family *family,
                                         const char *list, char *why, size_t size);

/* ---- Joining (join.c) ----
 *
 * A join links its records, checks them, and unlinks them again before it releases the lock, so
 * that nobody else sees them. */

/* A candidate that would win, and must be asked or kept loaded before a join publishes its
 * records. */
typedef struct pd__unready_winner {
  pd__op *op;
  pd__impl *staged; /* NULL: the candidate of that number */
  uint64_t number;
  bool keeps; /* its module is to stay loaded; otherwise ask whether it can run */
  struct pd__unready_winner *next;
} pd__unready_winner;

/* Returns the candidates that the linked records would make win and that aren't ready to, in the
 * arena of the operation; NULL if all are. */
pd__unready_winner *pd__impls_find_unready_winners(pd__operation *operation, const pd__impl *impls,
                                                   size_t count);

/* Asks them, or keeps them loaded. The records aren't linked. Releases the lock. */
void pd__winners_make_ready(pd__operation *operation, const pd__unready_winner *winners);

/* Defines the flags of linked records; reports why that fails. Doesn't release the lock. */
bool pd__impls_define_flags(pd__operation *operation, const pd__impl *impls, size_t count,
                            pd__report *report, pd__report *waiting);

/* ---- Flags of operations (flag.c) ---- */

/* Defines the flag of a family. Doesn't release the lock. */
void pd__family_define_flag(pd__operation *operation, pd__family *family, pd__report *waiting);

/* Returns the interned list that the flag has, or would have if it were defined now. */
const char *pd__family_get_preference_list(pd__operation *operation, pd__family *family);

/* Defines the flags of operations that were added, undefines those of operations that were removed,
 * and chooses the implementations of both. May release the lock. */
void pd__families_update_changed(pd__operation *operation, pd__report *waiting);

/* ---- Choosing (choose.c) ---- */

/* Returns the candidate that code of modules would call by that list, whether or not it has been
 * asked; NULL if there is none. */
pd__impl *pd__op_find_best_in_list(pd__op *op, const char *list);

/* What the header's pd_op_revision points to; changed under the lock. */
extern uint64_t pd__impl_revision;

/* Whether code of modules can call it. */
static inline bool pd__impl_is_foreign(const pd__impl *impl) { return !impl->def->choice.function; }

/* Returns what runs for a caller on this thread that can also call foreign implementations; NULL if
 * none can run. May release the lock. */
const pd__impl *pd__op_choose_for_thread(pd__operation *operation, const pd_op *op);

/* Chooses the implementations of a family. Releases the lock to ask whether one is usable, and to
 * keep its module loaded. */
void pd__family_choose_impls(pd__operation *operation, pd__family *family);

/* The same for those of its operations that are due, while the flag hasn't changed: many signatures
 * may share it. */
void pd__family_choose_for_changed_ops(pd__operation *operation, pd__family *family);

/* ---- Arrays (arrays.c) ---- */

/* Returns NULL if pd_op_about accepts the text; otherwise, where the error is. Needs no lock. */
const char *pd__arrays_find_error(const char *text);

/* ---- At run time (register.c) ---- */

/* A module leaves: unlinks what was registered whose code or slot is in it. */
void pd__impls_unregister_for_module(pd__operation *operation, const pd_module *module);

/* ---- The text of the flag (preference.c) ---- */

typedef struct pd__preference {
  enum { PD__PREFER, PD__ONLY, PD__NEVER, PD__IF_THERE, PD__REST } kind;
  const char *name; /* `length` bytes */
  size_t length;
} pd__preference;

/* Reads the next item and moves the cursor, which is NULL at the end. Returns false at the end. */
bool pd__preference_next(const char **cursor, pd__preference *out);

/* Returns the position of a candidate in the list, from 1; 0 if the list excludes it. *named is set
 * if the list has its name. */
size_t pd__preference_find_rank(const char *list, const char *name, bool *named);

bool pd__preference_is_named(const pd__preference *item, const char *name);

/* Returns whether there is a candidate of that name. */
bool pd__preference_has_candidate(const pd__family *family, const pd__preference *item);

/* ---- The validator of the flag (validate.c) ---- */

/* `context` is the family. The first needs no lock; the second, for a flag that is being defined,
 * asks no implementation. */
bool pd__preference_check(const pd_flag_entry *const *entries, void *context, char *why,
                          size_t size);
bool pd__preference_check_names_locked(const pd_flag_entry *const *entries, void *context,
                                       char *why, size_t size);

/* The watcher of the flag (choose.c). */
void pd__family_on_flag_change(pd_flag *flag, void *context);

/* Reports the implementations that the flag names and that aren't registered. */
void pd__preference_report_unmet(const pd__family *family, pd__report *report);

/* While this thread reads a command line that allows no pending values, unknown implementations in
 * it are errors. */
extern _Thread_local bool pd__preference_strict;

#endif /* PD__OP_H */
