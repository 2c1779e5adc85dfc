/* What the files of libpd_flags_live.so share.
 *
 * The library uses only what pd_flags.h declares, through the module record (pd_flags/unlinked.h).
 * Threads, all of which take no signals:
 *
 * - the clients' thread (loop.c) reads requests, answers those that only read, ends temporary
 * changes on time, and gives up changes that take too long. It never calls code of the program.
 * - the changes' thread (jobs.c) makes one change after the other: validators may take long.
 * - the callbacks' thread (callbacks.c) runs watchers and audits. It exists while there are any.
 *
 * pd__lock guards what they share, and is held by fork. No function of pd_flags.h is called while
 * it is held. */
#ifndef PD_LIVE_LIVE_H
#define PD_LIVE_LIVE_H

#include <pd_flags/live.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/types.h>

#include "json.h"
#include "socket.h"
#include "text.h"

enum {
  PD__LINE_MAX = 1 << 20,    /* bytes of a request */
  PD__ANSWER_MAX = 1 << 16,  /* after which a list goes on in the next answer */
  PD__BUFFERS_MAX = 8 << 20, /* bytes of all requests that are being received; and of all answers */
  PD__CLIENTS_MAX = 100,
  PD__JOBS_MAX = 64,         /* changes that wait */
  PD__CHANGES_MAX = 2 << 20, /* bytes of all changes that are kept */
  PD__TEMPORARY_MAX = 1000,  /* temporary changes that are on */
  PD__NAMES_MAX = 1000,      /* in one change */
  PD__REASON_MAX = 1000,     /* bytes */
  PD__LABEL_MAX = 200,       /* bytes */
  PD__TICK = 50,             /* ms between two looks for events */
  PD__ALIVE_TIME = 15000,    /* ms after which a silent subscriber is told that all is well */
  PD__STALLED_TIME = 60000   /* ms in which a client must read something of its answer */
};

extern pthread_mutex_t pd__lock;

int64_t pd__now(void);      /* ms, steady */
int64_t pd__time_now(void); /* ms since 1970 */

/* Starts a detached thread. Returns false if there can be none. */
bool pd__thread_start(void *(*function)(void *), void *argument);

/* ---- Who asks ---- */

typedef struct pd__who {
  uint32_t uid;
  int64_t pid; /* 0: of another container */
  char command[64];
  char label[PD__LABEL_MAX + 1], host[PD__LABEL_MAX + 1]; /* on behalf of whom; "" where unknown */
} pd__who;

/* Adds the members of a client, without `on_behalf_of` if there is none. */
void pd__who_write(pd__text *to, const char *name, const pd__who *who);
bool pd__who_is_same(const pd__who *a, const pd__who *b);

/* ---- Servers (server.c). The list is guarded by pd__lock. ---- */

typedef struct pd__audit pd__audit;

struct pd_live_server {
  pd_live_server *next;
  pd__socket socket;                  /* fd -1: it isn't served */
  char *address, *program, *settable; /* options; or NULL */
  char *where;                        /* what pd_live_get_address returns */
  pd__audit *audit;                   /* or NULL */
  pid_t process;                      /* that opened the socket */
  uint32_t on_fork;
  size_t holders; /* the owner, connections and jobs */
  bool stopped;
  bool listed;
};

extern pd_live_server *pd__servers;

void pd__server_hold(pd_live_server *server);
void pd__server_release(pd_live_server *server);

/* Takes those that have stopped out of the list, once they have no connections. */
void pd__servers_sweep(void);

/* Listens for a server again, in a forked child. */
pd_status pd__server_reopen(pd_live_server *server, pd_error *err);

/* Returns why clients may not change a flag; NULL: they may. */
const char *pd__find_refusal(const pd_live_server *server, const pd_flag_info *info);

/* ---- The clients' thread (loop.c) ---- */

/* Makes sure that it runs. Returns false if there can be no thread. The caller holds pd__lock, as
 * for pd__loop_runs. */
bool pd__loop_start(void);
bool pd__loop_runs(void);
void pd__loop_wake(void);
/* In a forked child: closes what belongs to the parent. The caller holds pd__lock. */
void pd__loop_abandon(void);

/* ---- Connections (client.c), which belong to the clients' thread ---- */

typedef struct pd__client {
  struct pd__client *next; /* changed under pd__lock, for the child of a fork */
  uint64_t number;
  int fd;
  ino_t inode;
  pd_live_server *server;
  pd__who who;
  pd__text in, out;
  size_t sent;    /* bytes of `out` */
  int64_t active; /* when something was last read or written */
  bool closing;   /* no more requests: when all is answered and sent, it ends */
  bool dead;      /* it ends now */
  size_t waiting; /* jobs */
  bool subscribed;
  uint64_t seen; /* revision that a subscriber knows */
  bool lost;     /* and it has missed something before */
} pd__client;

extern pd__client *pd__clients;

void pd__clients_accept(pd_live_server *server);
void pd__client_read(pd__client *client);
void pd__client_send(pd__client *client);
/* Removes those that are dead or done, or belong to a server that has stopped; closes some if there
 * are too many, or if they hold too much memory. */
void pd__clients_sweep(void);
pd__client *pd__client_find(uint64_t number);
void pd__clients_forget(void); /* in a forked child */

/* ---- Requests (request.c) ---- */

/* Carries out one line, and appends the answer to client->out. */
void pd__request_answer(pd__client *client, const char *line, size_t length);

/* What an answer is to: "" for a notification, which gets none. */
typedef struct pd__id {
  char text[128]; /* JSON */
} pd__id;

/* Begins the answer; the result or the error follows, then pd__answer_end. */
void pd__answer_begin(pd__text *to, const pd__id *id);
void pd__answer_end(pd__text *to);
void pd__answer_error(pd__text *to, const pd__id *id, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The methods that only read: they append the result. Return false after an error was written. */
typedef struct pd__request {
  pd__client *client;
  const pd__value *params; /* an object; or NULL */
  pd__id id;
} pd__request;

bool pd__hello_write(pd__request *request, pd__text *to);
bool pd__flags_list(pd__request *request, pd__text *to);
bool pd__flags_get(pd__request *request, pd__text *to);
bool pd__changes_list(pd__request *request, pd__text *to);
bool pd__events_subscribe(pd__request *request, pd__text *to);

/* Returns a member that is text, NULL if it is left out. Another kind: *wrong becomes true. */
const char *pd__param_text(const pd__value *params, const char *name, bool *wrong);

/* ---- Flags (flags.c, values.c) ---- */

/* Adds the members that a flag has in every answer. */
void pd__flag_write(pd__text *to, pd_flag *flag, const pd_flag_info *info,
                    const pd_live_server *server, bool whole);

/* Adds `value`, `text` and so on of an entry. */
void pd__entry_write(pd__text *to, const pd_flag_info *info, const pd_flag_entry *entry,
                     bool whole);
void pd__default_write(pd__text *to, const pd_flag_info *info, bool whole);
void pd__value_write(pd__text *to, pd_type type, pd_type list, pd_value value);
void pd__place_write(pd__text *to, const pd_origin *origin);

/* Returns a value as text, in `number` or where it is; NULL for a type of 0. */
enum { PD__NUMBER_SIZE = 64 };
const char *pd__value_text(pd_type type, pd_value value, char number[PD__NUMBER_SIZE]);

/* Adds "epoch" and "revision". */
void pd__head_write(pd__text *to, uint64_t revision);

/* Reads "EPOCH-REVISION". Returns false if it isn't one. *known: of this process, and kept. */
bool pd__since_read(const char *text, uint64_t *revision, bool *known);

/* ---- Events (events.c) ---- */

void pd__event_write(pd__text *to, const pd_journal_event *event);
/* Sends subscribers what is new. Returns whether there are any. */
bool pd__subscribers_tell(void);

/* ---- Changes that were made (changes.c). The list is guarded by pd__lock. ---- */

typedef enum pd__change_state { PD__KEPT, PD__ON, PD__ENDED, PD__UNDONE } pd__change_state;

typedef struct pd__changed_flag {
  pd_flag *flag;
  char *name;
  uint32_t generation; /* of its definition */
  bool sensitive;
  bool drops;    /* it took back what clients had set */
  bool over;     /* of a temporary change: the value was taken back */
  bool had_live; /* clients had set a value before, */
  pd_type type;
  pd_value live_before;      /* this one: text is the registry's */
  pd_value given;            /* what the change gave; text is the registry's */
  bool hidden;               /* an override hides the new value */
  const char *wanted;        /* the text that was asked for; belongs to the job */
  char *old_text, *new_text; /* JSON; NULL: no value, or sensitive */
} pd__changed_flag;

typedef struct pd__change {
  struct pd__change *older;
  uint64_t number;
  int64_t at;
  uint64_t undoes; /* 0: it sets */
  bool of_fleet;   /* reported by pd_live_report */
  pd__who who;
  char *reason;     /* or NULL */
  int64_t until;    /* ms since 1970; 0: it stays */
  int64_t deadline; /* the same in steady time */
  pd_override override;
  pd__change_state state;
  pd__audit *audit; /* held while it is on; or NULL */
  size_t bytes;     /* of memory */
  size_t users;     /* who looks at it without the lock: it isn't forgotten meanwhile */
  size_t count;
  pd__changed_flag flags[];
} pd__change;

/* The caller is its first user. */
pd__change *pd__change_new(size_t count, const pd__who *who, const char *reason);
void pd__change_free(pd__change *change);
/* Gives it its number. Returns false if too many are on. */
bool pd__change_reserve(pd__change *change);
/* Frees a change that didn't happen; its number is used again. NULL: does nothing. */
void pd__change_drop(pd__change *change);
/* Lists it, and drops the oldest ones that are too many. */
void pd__change_add(pd__change *change);
/* The caller holds pd__lock for the first, and not for the second. */
void pd__change_use(pd__change *change);
void pd__change_leave(pd__change *change);
pd__change *pd__change_find(uint64_t number);
pd__change *pd__change_latest(void);
size_t pd__changes_on(void);
/* The temporary change with that override; NULL: none. */
pd__change *pd__change_of_override(pd_override override);
/* Says that a temporary change is over, and releases what it holds. */
void pd__change_end(pd__change *change, pd__change_state state);

/* Adds all members of a change. */
void pd__change_write(pd__text *to, const pd__change *change);
/* Adds the change as an event of the audit. */
void pd__change_write_event(pd__text *to, const pd__change *change, const char *event);
/* Adds "name", "old" and "new". */
void pd__changed_flag_write(pd__text *to, const pd__changed_flag *flag);

/* Ends what is due. Returns when the next one is, or -1 (ends.c). */
int64_t pd__changes_end_due(void);

/* ---- Jobs: changes that clients ask for (jobs.c) ---- */

typedef enum pd__job_state {
  PD__QUEUED,
  PD__ASKING,  /* validators */
  PD__DECIDED, /* it will happen, or has failed: no way back */
  PD__GIVEN_UP
} pd__job_state;

/* One thing that is wrong. */
typedef struct pd__problem {
  struct pd__problem *next;
  const char *kind; /* a row of the table in request.c */
  char *name;       /* of the flag; NULL: of no single one */
  pd_error error;
} pd__problem;

typedef struct pd__job {
  struct pd__job *next;
  pd__document document; /* the request: its texts are used until the end */
  const pd__value *params;
  pd__id id;
  uint64_t client;
  pd_live_server *server; /* held */
  pd__who who;
  bool undoes;
  bool dry_run;
  uint64_t undo; /* the number of the change; 0: the last one */
  const char *reason;
  int64_t duration; /* ms; 0: it stays */
  double timeout;   /* seconds */
  int64_t deadline; /* steady */
  uint32_t state;   /* pd__job_state, atomic */
  char *names;      /* of its flags, for messages */
  pd__problem *problems, **problems_end;
  pd__text current; /* members of "current": the values of flags in `expect` */
  pd__text result;  /* JSON */
} pd__job;

/* Queues a job, and owns it. Returns false if too many wait. */
bool pd__job_start(pd__job *job);
void pd__job_free(pd__job *job);
void pd__problems_free(pd__job *job);
/* Answers what is done, and what is late. Returns the next deadline, or -1. */
int64_t pd__jobs_answer(void);
/* Gives up what a client asked for. */
void pd__jobs_cancel(uint64_t client);
void pd__jobs_abandon(void); /* in a forked child */
/* The caller holds pd__lock. */
bool pd__jobs_wait(void);
void pd__jobs_wake(void);

__attribute__((format(printf, 5, 6))) void pd__job_fail(pd__job *job, const char *kind,
                                                        const char *name, pd_status status,
                                                        const char *format, ...);
void pd__job_write_error(pd__text *to, const pd__job *job);

/* Carry a job out, on the changes' thread. */
void pd__set_run(pd__job *job);
void pd__undo_run(pd__job *job);

/* Reads the params (params.c). Returns NULL, or what is wrong, in `buffer`. */
const char *pd__job_read(pd__job *job, char buffer[256]);
/* Reads `on_behalf_of` to `who`. Returns NULL, or what is wrong. */
const char *pd__behalf_read(const pd__value *params, pd__who *who);

/* ---- Batches (batch.c): what set.c, undo.c and ends.c share ---- */

typedef struct pd__batch {
  pd__job *job; /* NULL: of ends.c */
  const pd__who *who;
  uint64_t mark; /* the number of the change; 0: a trial */
  pd_batch_change *items;
  size_t count;
  pd_flag_revision *unchanged;
  size_t unchanged_count;
  const size_t *flag_of; /* of each item: the index of its flag in `made` */
  pd__change *made;      /* receives old and new texts; or NULL */
  pd_error_list *errors;
} pd__batch;

/* Applies a batch; on success the old and new texts are in `made`. */
pd_status pd__batch_apply(pd__batch *batch, bool dry_run, pd_override *override, pd_error *err);
/* Adds what was wrong with a batch to the problems of a job. */
void pd__job_report(pd__job *job, const pd_error_list *errors);
/* Reads the value that clients have given the flag. Returns false if there is none. */
bool pd__live_value(pd_flag *flag, pd_value *value);
/* Write the result of a change to job->result, and events to the audit. */
void pd__batch_write_result(pd__job *job, const pd__change *made);
void pd__audit_change(pd__audit *audit, const pd__change *change, const char *event);
void pd__audit_refusal(const pd__job *job, const pd__change *wanted);

/* ---- Audits (audit.c) ---- */

pd_status pd__audit_open(const pd_live_server_options *options, pd__audit **out, pd_error *err);
void pd__audit_hold(pd__audit *audit);
void pd__audit_release(pd__audit *audit);
/* Writes one line. */
void pd__audit_write(pd__audit *audit, const char *event, size_t length);
void pd__audits_write(const char *event, size_t length); /* to all */
void pd__audits_forked(void);
/* Calls what waits in the audits' queues. Returns whether there was any. */
bool pd__audits_call(void);

/* ---- Callbacks (callbacks.c) ---- */

/* Makes sure that what waits is called. */
void pd__callbacks_start(void);
void pd__callbacks_forked(void);

/* ---- Forks (fork.c) and LD_PRELOAD (start.c, preload.c) ---- */

pd_status pd__fork_watch(pd_error *err);
void pd__start_forked(void);

#endif /* PD_LIVE_LIVE_H */
