/* Requests, each of which is a job, and the methods that carry them out. */
#ifndef PD_LIVE_JOB_H
#define PD_LIVE_JOB_H

#include "change.h"
#include "json.h"

enum {
  PD__LINE_MAX = 1 << 20,   /* bytes of a request */
  PD__ANSWER_MAX = 1 << 16, /* after which a list goes on in the next answer */
  PD__BUFFERS_MAX = 8 << 20 /* bytes of all requests that are being received; and of all answers */
};

/* ---- One job (job.c) ---- */

typedef enum pd__job_state {
  PD__QUEUED,
  PD__ASKING,  /* validators */
  PD__DECIDED, /* it will happen, or has failed: no way back */
  PD__GIVEN_UP
} pd__job_state;

/* One thing that is wrong. */
typedef struct pd__problem {
  struct pd__problem *next;
  const char *kind; /* a row of the table in job.c */
  char *name;       /* of the flag; NULL: of no single one */
  pd_error error;
} pd__problem;

typedef struct pd__step {
  bool given;
  int64_t number;
} pd__step;

typedef struct pd__since {
  bool given, known; /* of this process, and kept */
  uint64_t revision;
} pd__since;

enum { PD__ID_SIZE = 128 };

typedef struct pd__job {
  struct pd__job *next;
  pd__document document; /* the request: its texts are used until the end */
  char id[PD__ID_SIZE];  /* JSON; "": a notification, which isn't answered */
  uint64_t client;
  pd_live_server *server; /* held */
  void (*run)(struct pd__job *job);
  /* The params (params.c); of objects and arrays, the first value in it. */
  const char *name, *after, *reason, *fleet, *by;
  pd__since since;
  uint64_t before, undo; /* numbers of changes; `undo` 0: the last one */
  uint64_t until;        /* ms since 1970; 0: it stays */
  pd__step step;
  const pd__value *set, *unset, *expect, *confirm;
  const pd__value *values;  /* the object itself; NULL: none */
  double duration, timeout; /* seconds; `duration` 0: it stays */
  bool dry_run;
  bool answered_later; /* by pd__steps_answer_waiting_jobs */
  pd__requester requester;
  int64_t deadline; /* steady */
  uint32_t state;   /* pd__job_state, atomic */
  pd__problem *problems, *last_problem;
  pd__text current; /* members of "current": the values of flags in `expect` */
  pd__text result;  /* JSON */
} pd__job;

__attribute__((format(printf, 5, 6))) void pd__job_add_problem(pd__job *job, const char *kind,
                                                               const char *name, pd_status status,
                                                               const char *format, ...);
/* Adds all errors of the registry; if there are none in the list, `err`. */
void pd__job_add_errors(pd__job *job, const pd_error_list *errors, const pd_error *err);
/* Changes the state. Returns false if it is another one than `from`. */
bool pd__job_try_change_state(pd__job *job, uint32_t from, uint32_t to);
/* Appends a line with the result, or with the problems if there are any. */
void pd__job_write_answer(const pd__job *job, pd__text *to);
/* Appends the same for a request that isn't carried out. */
void pd__problem_write_answer(pd__text *to, const char *id, const char *kind, const char *why);
void pd__job_free(pd__job *job);

/* ---- Its params (params.c) ---- */

/* Reads the params, of which the method knows those in `known`, with blanks around. */
void pd__params_parse(pd__job *job, const char *known, const pd__value *params);
void pd__check_flags_set_params(pd__job *job); /* whether those of flags.set go together */

/* ---- What the methods have in common (values.c) ---- */

/* Returns NULL after it has added a problem. */
pd_flag *pd__job_find_flag(pd__job *job, const char *name, pd_flag_info *info);

/* Returns a value as text, in `number` or where it is; NULL for a type of 0. */
enum { PD__VALUE_TEXT_SIZE = 64 };
const char *pd__value_format(pd_type type, pd_value value, char number[PD__VALUE_TEXT_SIZE]);

/* Adds "place". */
void pd__location_write(pd__text *to, const pd_origin *origin);
/* Adds "epoch" and "revision". */
void pd__revision_write(pd__text *to, uint64_t revision);
void pd__event_write(pd__text *to, const pd_journal_event *event);

/* Reads the value that clients have given the flag. Returns false if there is none. */
bool pd__flag_find_live_value(pd_flag *flag, pd_value *value);

/* ---- Batches (batch.c): what set.c and undo.c share ---- */

typedef struct pd__batch {
  pd__job *job;
  pd__change_record *change; /* what happens; owned until it is in the list */
  pd__change_record *undone; /* what is undone; or NULL */
  pd_batch_change *items;
  size_t count, capacity;
  pd_flag_revision *unchanged;
  size_t unchanged_count;
  bool memory_out; /* memory was out */
} pd__batch;

/* Makes the change, and writes the result, or problems. In each round, `check` fills the revisions
 * in `unchanged`, and adds problems; it returns false if nothing else needs to be tried. */
void pd__batch_run(pd__batch *batch, bool (*check)(pd__batch *batch));
/* Audits a change that was given up. `wanted` NULL: nobody has looked what it was. */
void pd__batch_audit_if_given_up(pd__job *job, const pd__change_record *wanted);

/* ---- The methods ---- */

/* Those that only read run on the clients' thread, the others on the changes'. */
void pd__hello_answer(pd__job *job);
void pd__flags_answer_list(pd__job *job);
void pd__flags_answer_get(pd__job *job);
void pd__flags_answer_set(pd__job *job);
void pd__changes_answer_list(pd__job *job);
void pd__changes_answer_undo(pd__job *job);
void pd__events_answer_subscribe(pd__job *job);
void pd__fleet_answer_apply(pd__job *job);
void pd__steps_answer_get(pd__job *job);
void pd__steps_answer_gate(pd__job *job);
void pd__steps_answer_wait(pd__job *job);

#endif /* PD_LIVE_JOB_H */
