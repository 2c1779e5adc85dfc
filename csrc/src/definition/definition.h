/* Definitions: the checks of one definition by itself and against the others, taking a module's
 * definitions all together or not at all, and pending values. This layer may use base, platform,
 * value and registry.
 *
 * A definition is a pd_flag_def; a pd__cell ties it to its flag; a pd__pending is a value for a
 * name that is not defined yet. The caller holds the lock unless a comment says otherwise. */
#ifndef PD__DEFINITION_H
#define PD__DEFINITION_H

#include "../registry/change.h"
#include "../registry/define.h"

/* ---- One definition by itself (verify.c). Needs no lock. ---- */

/* Copies a definition into the current layout; a caller built with another version of the header
 * has one of another size. The texts are borrowed from `from`. */
pd_status pd__def_convert_version(const pd_flag_def *from, pd_flag_def *to, pd_error *err);

/* Checks everything that can be checked without the registry. With `defines`, an import is an
 * error. */
pd_status pd__def_check(const pd_flag_def *def, bool defines, pd_error *err);

/* Writes the default as messages show it, "'text'" or "<redacted>". Returns `out`. */
#define PD__DEFAULT_SIZE (PD__ESCAPED_SIZE + 2)
const char *pd__def_format_default(const pd_flag_def *def, char out[PD__DEFAULT_SIZE]);

/* ---- One against the others (check.c, conflict.c) ---- */

/* Definitions that are checked together, one after the other. */
typedef struct pd__definition_batch {
  pd__operation *operation;
  const pd__cell *cells;
  pd__reservation names;
  const pd__cell *cell; /* the one being checked */
  bool imports;         /* some of them are imports */
  bool texts;           /* some have aliases or a text default, which outlive them */
  pd_error err;         /* why one is refused */
} pd__definition_batch;

/* Returns true if both come from the same line of source, compiled into two modules. */
bool pd__def_is_same(const pd_flag_def *a, const pd_flag_def *b);

/* Returns PD_OK if no record of a module defines the flag, so that its definition may be
 * withdrawn. */
pd_status pd__flag_check_can_unregister(const pd_flag *flag, pd_error *err);

/* Fails because another definition already has the name `node`. The message shows both places. */
pd_status pd__fail_conflict(pd__definition_batch *batch, const pd_flag *node);

/* Checks whether the definition may take the free name `node`. PD_ERR_CONFLICT if it would make a
 * pair of a bool `b` and a flag `nob`: no command line could set both. PD_ERR_TYPE if an import
 * that waits for the name has another type. */
pd_status pd__check_new_name(pd__definition_batch *batch, const pd__naming *of,
                             const pd_flag *node);

/* PD_ERR_TYPE if the definition is an import whose type isn't that of the flag. */
pd_status pd__check_import_matches_definition(pd__definition_batch *batch);

/* ---- Values that wait (pending.h) ---- */

/* A value from a source other than pending values. */
typedef struct pd__environment_value {
  pd_flag *node; /* the flag, or the old name that it was given under; NULL: there is no value */
  const char *text;
  pd_origin origin; /* texts are in the arena of the operation */
} pd__environment_value;

/* Which variables of the environment give values, and how. */
typedef struct pd__variable_rules {
  char prefix[PD_NAME_MAX + 1]; /* of their names */
  bool ignore_empty;            /* a variable that is set, but empty, counts as not set */
  bool read_files;              /* <variable>_FILE may name a file with the value */
} pd__variable_rules;

/* Such a source: the environment, once it is enabled. There is at most one; NULL means none. `node`
 * will be the flag of the definition. */
typedef struct pd__new_flag_source {
  pd_status (*find)(pd__operation *operation, const pd__variable_rules *rules,
                    const pd_flag_def *def, pd_flag *node, pd__environment_value *out,
                    pd_error *err);
  pd__variable_rules rules;
} pd__new_flag_source;
extern pd__new_flag_source pd__define_source;

/* Reports what else waits: implementations that a flag names and that aren't registered. There is
 * one such function; without it, nothing else waits. */
typedef void pd__waiting_reporter(pd__report *report);
extern pd__waiting_reporter *pd__report_waiting;

/* Makes the values pending that the fleet gives this process from the start (inherit.c). The
 * registry is new, and the caller doesn't hold the lock. */
void pd__inherit_fleet_snapshot(void);

/* ---- Hooks and values deferred within constructors and destructors (resume.c) ---- */

/* Runs what was deferred for `owner` and reports the values that were rejected. The caller holds no
 * lock and isn't within constructors or destructors. */
void pd__deferred_run(const void *owner, pd__report *report);

/* ---- Definitions at run time (register.c) ---- */

/* A module leaves: undefines the definitions whose code or variable is in it. */
void pd__flags_unregister_for_module(pd__operation *operation, const pd_module *module);

/* ---- Namespaces (namespace.c) ---- */

/* PD_ERR_NAME if the text can't begin the name of a flag. Needs no lock. */
pd_status pd__namespace_check(const char *name_space, pd_error *err);

/* Prefixes the names of a definition with the namespace. The definition is a copy; the new names
 * are allocated in `arena`, which must live as long as it. */
pd_status pd__namespace_prefix_names(pd__arena *arena, const char *name_space, pd_flag_def *def,
                                     pd_error *err);

#endif /* PD__DEFINITION_H */
