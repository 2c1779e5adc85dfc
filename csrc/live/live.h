/* What the files of libpd_flags_live.so share.
 *
 * The library uses only what pd_flags.h declares, through the module record (pd_flags/unlinked.h).
 * Threads, all of which take no signals:
 *
 * - the clients' thread (loop.c) reads requests, answers those that only read, ends temporary
 * changes on time, and gives up changes that take too long. It never calls code of the program.
 * - the changes' thread (jobs.c) makes one change after the other: validators may take long.
 * - the callbacks' thread (audit.c) runs watchers and audits. It exists while there are any.
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
  PD__POLL_TIME = 50,        /* ms between two looks for events */
  PD__ALIVE_TIME = 15000,    /* ms after which a silent subscriber is told that all is well */
  PD__STALLED_TIME = 60000   /* ms in which a client must read something of its answer */
};

extern pthread_mutex_t pd__lock;

int64_t pd__get_steady_ms(void); /* ms, steady */
int64_t pd__get_wall_ms(void);   /* ms since 1970 */

/* Starts a detached thread. Returns false if there can be none. */
bool pd__thread_start(void *(*function)(void *), void *argument);

/* ---- The socket that a server listens on (socket.c) ---- */

/* A descriptor. The program may close it, as daemons do with all, and open something of its own
 * under the same number: so the file behind it is looked at before each use. */
typedef struct pd__descriptor {
  int fd; /* -1: none */
  dev_t device;
  ino_t inode;
} pd__descriptor;

void pd__descriptor_adopt(pd__descriptor *to, int fd);
bool pd__descriptor_is_own(const pd__descriptor *descriptor);
/* Closes it if it is still ours. */
void pd__descriptor_close(pd__descriptor *descriptor);

typedef struct pd__socket {
  pd__descriptor listening, directory;
  char name[108];
  dev_t device; /* of the file `name` */
  ino_t file;
  char *path; /* the absolute path; yours to free */
} pd__socket;

/* Listens at an address of pd_live_server_options. All descriptors are closed by exec.
 * PD_ERR_CONFLICT: a process listens there. */
pd_status pd__socket_listen(const char *address, pd__socket *out, pd_error *err);

/* With `remove`, removes the file too, unless it is no longer this socket's. */
void pd__socket_close(pd__socket *socket, bool remove);
void pd__socket_remove(const pd__socket *socket);

/* ---- Who asks ---- */

typedef struct pd__requester {
  uint32_t uid;
  int64_t pid; /* 0: of another container */
  char command[64];
  char label[PD__LABEL_MAX + 1], host[PD__LABEL_MAX + 1]; /* on behalf of whom; "" where unknown */
} pd__requester;

/* Adds the members of a client, without `on_behalf_of` if there is none. */
void pd__requester_write(pd__text *to, const char *name, const pd__requester *requester);
bool pd__requester_is_same(const pd__requester *a, const pd__requester *b);

/* ---- Servers (server.c). The list is guarded by pd__lock. ---- */

typedef struct pd__audit pd__audit;

struct pd_live_server {
  pd_live_server *next;
  pd__socket socket;                  /* fd -1: it isn't served */
  char *address, *program, *settable; /* options; or NULL */
  pd__audit *audit;                   /* or NULL */
  pid_t process;                      /* that opened the socket, or tried to */
  uint32_t on_fork;
  size_t holders; /* the owner, connections and jobs */
  bool stopped;
  bool listed;
};

extern pd_live_server *pd__servers;

void pd__server_retain(pd_live_server *server);
void pd__server_release(pd_live_server *server);

/* Takes those that have stopped out of the list, once they have no connections. */
void pd__servers_remove_stopped(void);

/* Returns why clients may not change a flag; NULL: they may. */
const char *pd__server_find_refusal(const pd_live_server *server, const pd_flag_info *info);

/* ---- The clients' thread (loop.c) ---- */

/* Makes sure that it runs. Returns false if there can be no thread. The caller holds pd__lock, as
 * for pd__loop_is_running. */
bool pd__loop_start(void);
bool pd__loop_is_running(void);
void pd__loop_wake(void);
/* In a forked child: closes what belongs to the parent. The caller holds pd__lock. */
void pd__loop_reset_in_child(void);

/* ---- Connections (client.c), which belong to the clients' thread ---- */

typedef struct pd__client {
  struct pd__client *next; /* changed under pd__lock, for the child of a fork */
  uint64_t number;
  pd__descriptor descriptor;
  pd_live_server *server;
  pd__requester requester;
  pd__text in, out;
  size_t sent;    /* bytes of `out` */
  int64_t active; /* when something was last read or written */
  bool closing;   /* no more requests: when all is answered and sent, it ends */
  bool dead;      /* it ends now */
  size_t waiting; /* jobs */
  bool subscribed;
  uint64_t seen_revision; /* revision that a subscriber knows */
  bool missed_events;     /* and it has missed something before */
} pd__client;

extern pd__client *pd__clients;

void pd__clients_accept(pd_live_server *server);
void pd__client_read(pd__client *client);
void pd__client_send(pd__client *client);
/* Removes those that are dead or done, or belong to a server that has stopped; closes some if there
 * are too many, or if they hold too much memory. */
void pd__clients_remove_finished(void);
pd__client *pd__client_find(uint64_t number);
void pd__clients_reset_in_child(void); /* in a forked child */

/* ---- Requests (request.c), each of which is a job ---- */

/* Carries out one line, and appends the answer to client->out. */
void pd__client_handle_request(pd__client *client, const char *line, size_t length);

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
  bool answered_later; /* it is answered later, by pd__steps_answer */
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
/* Appends the result, or the problems if there are any. */
void pd__job_answer(const pd__job *job, pd__client *client);
void pd__client_answer_problem(pd__client *client, const char *id, const char *kind,
                               const char *why);
void pd__job_free(pd__job *job);

/* Reads the params, of which the method knows those in `known`, with blanks around. */
void pd__params_parse(pd__job *job, const char *known, const pd__value *params);
void pd__flags_check_set(pd__job *job); /* whether those of flags.set go together */
size_t pd__values_count(const pd__value *first);

/* The methods. Those that only read run on the clients' thread, the others on the changes'. */
void pd__hello_answer(pd__job *job);
void pd__flags_list(pd__job *job);
void pd__flags_get(pd__job *job);
void pd__flags_set(pd__job *job);
void pd__changes_list(pd__job *job);
void pd__changes_undo(pd__job *job);
void pd__events_subscribe(pd__job *job);
void pd__fleet_apply(pd__job *job);
void pd__steps_get(pd__job *job);
void pd__steps_gate(pd__job *job);
void pd__steps_wait(pd__job *job);

/* ---- Flags (flags.c) ---- */

/* Returns NULL after it has added a problem. */
pd_flag *pd__job_find_flag(pd__job *job, const char *name, pd_flag_info *info);

/* Returns a value as text, in `number` or where it is; NULL for a type of 0. */
enum { PD__NUMBER_SIZE = 64 };
const char *pd__value_format(pd_type type, pd_value value, char number[PD__NUMBER_SIZE]);

/* Adds "place". */
void pd__location_write(pd__text *to, const pd_origin *origin);
/* Adds "epoch" and "revision". */
void pd__revision_write(pd__text *to, uint64_t revision);

/* ---- Events (events.c) ---- */

void pd__event_write(pd__text *to, const pd_journal_event *event);
/* Sends subscribers what is new. Returns whether there are any. */
bool pd__subscribers_notify(void);

/* ---- Changes that were made (changes.c). The list is guarded by pd__lock. ---- */

typedef enum pd__change_state {
  PD__CHANGE_PERMANENT,
  PD__CHANGE_ACTIVE,
  PD__CHANGE_ENDED,
  PD__CHANGE_UNDONE
} pd__change_state;

typedef struct pd__changed_flag {
  pd_flag *flag;
  char *name;
  uint32_t generation; /* of its definition */
  bool sensitive;
  bool drops_value;  /* it took back what clients had set */
  bool ended;        /* of a temporary change: the value was taken back */
  bool had_override; /* it ended temporary values */
  bool had_live;     /* clients had set a value before, */
  pd_type type;
  pd_value live_before;       /* this one: text is the registry's */
  pd_value set_value;         /* what the change gave; text is the registry's */
  bool hidden;                /* an override hides the new value */
  const char *requested_name; /* its name as the client wrote it; belongs to the job */
  const char *requested_text; /* what it gets; belongs to the job. NULL: what is there is dropped */
  uint32_t literal;           /* how the client wrote `text` */
  bool unconfirmed;           /* it is unsafe to change */
  char *old_text, *new_text;  /* JSON; NULL: no value, or sensitive */
} pd__changed_flag;

typedef struct pd__change {
  struct pd__change *older;
  uint64_t number;
  int64_t at;
  uint64_t undoes; /* 0: it sets */
  bool from_fleet; /* reported by pd_live_report */
  pd__requester requester;
  char *reason;     /* or NULL */
  int64_t until;    /* ms since 1970; 0: it stays */
  int64_t deadline; /* the same in steady time */
  pd_override override;
  pd__change_state state;
  pd__audit *audit; /* held while it is on; or NULL */
  size_t bytes;     /* of memory */
  size_t holders;   /* threads that end or undo it: it isn't freed */
  size_t count;
  pd__changed_flag flags[];
} pd__change;

pd__change *pd__change_new(size_t count, const pd__requester *requester, const char *reason);
/* Gives it its number. Returns false if too many are on. */
bool pd__change_assign_number(pd__change *change);
/* Frees a change that didn't happen; its number is used again. NULL: does nothing. */
void pd__change_discard(pd__change *change);
/* Lists it, and drops the oldest ones that are too many. */
void pd__change_add(pd__change *change);
pd__change *pd__change_find(uint64_t number);
pd__change *pd__change_latest(void);
size_t pd__changes_count_temporary(void);
/* The temporary change with that override; NULL: none. */
pd__change *pd__change_find_by_override(pd_override override);
/* Says that a temporary change is over, and releases what it holds. */
void pd__change_mark_ended(pd__change *change, pd__change_state state);

/* Adds all members of a change. */
void pd__change_write(pd__text *to, const pd__change *change);
/* Adds the change as an event of the audit. */
void pd__change_write_event(pd__text *to, const pd__change *change, const char *event);
/* Adds "name", "old" and "new". */
void pd__changed_flag_write(pd__text *to, const pd__changed_flag *flag);

/* Ends what is due. Returns when the next one is, or INT64_MAX. */
int64_t pd__changes_end_due(void);

/* ---- Jobs that change something (jobs.c) ---- */

/* Queues a job, and owns it. Returns false if too many wait. */
bool pd__job_queue(pd__job *job);
/* Changes the state. Returns false if it is another one than `from`. */
bool pd__job_change_state(pd__job *job, uint32_t from, uint32_t to);
/* Answers what is done, and what is late. Returns the next deadline, or INT64_MAX. */
int64_t pd__jobs_answer(void);
/* Gives up what a client asked for. */
void pd__jobs_cancel_of_client(uint64_t client);
void pd__jobs_reset_in_child(void); /* in a forked child */
/* The caller holds pd__lock. */
bool pd__jobs_are_pending(void);
void pd__jobs_wake_thread(void);

/* ---- Steps (steps.c), on the clients' thread ---- */

/* Answers who waits for a step that is reached, or too long. Returns when to look again. */
int64_t pd__steps_answer(void);
/* Gives up what a client asked for, and opens the gate that it has closed. */
void pd__steps_release_client(uint64_t client);
void pd__steps_reset_in_child(void); /* in a forked child */

/* ---- Batches (batch.c): what set.c and undo.c share ---- */

typedef struct pd__batch {
  pd__job *job;       /* NULL: a temporary change ends */
  pd__change *change; /* what happens; owned until it is in the list */
  pd__change *undone; /* what is undone; or NULL */
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
void pd__batch_audit_given_up(pd__job *job, const pd__change *wanted);
/* Takes back the values of a temporary change. */
pd_status pd__batch_end_overrides(pd__change *change);
/* Reads the value that clients have given the flag. Returns false if there is none. */
bool pd__flag_get_live_value(pd_flag *flag, pd_value *value);

/* ---- Audits (audit.c) ---- */

pd_status pd__audit_open(const pd_live_server_options *options, pd__audit **out, pd_error *err);
void pd__audit_retain(pd__audit *audit);
void pd__audit_release(pd__audit *audit);
/* Writes one line, and frees it. `audit` NULL: frees it. */
void pd__audit_write(pd__audit *audit, pd__text *event);
void pd__audits_write(pd__text *event); /* to all */
void pd__audits_reset_in_child(void);   /* in a forked child */
/* Makes sure that watchers and the functions of audits are called. */
void pd__callbacks_start(void);

/* ---- Forks (server.c) and LD_PRELOAD (start.c) ---- */

pd_status pd__fork_handlers_register(pd_error *err);
void pd__start_resume_in_child(void);

#endif /* PD_LIVE_LIVE_H */
