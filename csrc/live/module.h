/* What the files of libpd_flags_live.so share: a server, its clients and their requests.
 *
 * The module links nothing of paddle_flags: it calls the registry of the process through its module
 * record (pd_flags/unlinked.h). Threads: the loop (loop.c), one for each server, is the only one
 * that calls libmicrohttpd; workers (worker.c) run changes, whose validators may take long. */
#ifndef PD_LIVE_MODULE_H
#define PD_LIVE_MODULE_H

#include <pd_flags/live_server.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/types.h>

#include "audit.h"
#include "socket.h"

struct MHD_Connection;
struct MHD_Daemon;

/* Limits of one server. Times are in milliseconds. */
enum {
  PD__CLIENTS_MAX = 256,
  PD__WORKERS_MAX = 4,
  PD__HEAD_MEMORY = 24 * 1024, /* of the head of a request, and of that of the response after it */
  PD__REQUEST_TIME = 10000,    /* in which a request must be complete */
  PD__IDLE_TIME = 60000,       /* between requests, and in which a response must be taken */
  PD__QUEUE_TIME = 10000,      /* that a change may wait for a worker */
  PD__TICK = 50,               /* between two looks for events */
  PD__PAUSE = 100,             /* of accepting, when descriptors have run out */
  PD__COMMENT_TIME = 15000     /* after which a silent stream gets a comment */
};

typedef struct pd__client pd__client;
typedef struct pd__request pd__request;
typedef struct pd__running pd__running;
typedef struct pd__stream pd__stream;

/* A connection. Belongs to the loop; `next` and `fd` are changed under pd__servers_lock, for the
 * child of a fork. */
struct pd__client {
  pd__client *next;
  pd__running *running;
  struct MHD_Connection *connection; /* NULL until libmicrohttpd has taken it */
  int fd;
  ino_t inode;        /* of the socket behind `fd` */
  int64_t deadline;   /* when the connection is cut, or INT64_MAX */
  bool suspended;     /* until something is to be sent */
  pd__stream *stream; /* of events; NULL: none */
  int64_t uid, pid;   /* of the peer on a Unix socket, else -1 */
  char command[64];
  char host[64];
};

enum pd__phase { PD__FRESH, PD__READING, PD__READY, PD__WORKING, PD__ANSWERED };

/* A request, from its first line until it is answered. Belongs to the loop, and to a worker in the
 * phase PD__WORKING: it copies all that a worker needs, as the connection may be gone by then. */
struct pd__request {
  pd__running *running;
  struct MHD_Connection *connection; /* NULL: gone */
  pd__client *client;                /* NULL: gone */
  enum pd__phase phase;
  bool streams_allowed; /* it isn't HEAD */
  bool close;           /* the connection ends after the response */
  bool too_large;
  bool busy;         /* no worker had time */
  const char *place; /* of the target in libmicrohttpd's buffer, which changes it later */
  char *target;
  char *method;
  char *text; /* of all headers */
  pd_live_header *headers;
  size_t header_count;
  char *body;
  size_t length, room;
  pd_live_who who;
  char command[64], host[64];
  pd_status status; /* of pd_live_answer */
  pd_live_response response;
  int64_t queued;    /* when */
  pd__request *next; /* in the queue, or among those that are done */
};

struct pd__stream {
  pd__client *client;
  pd_live_response pending; /* what is being sent */
  size_t sent;
  uint64_t revision;
  int64_t last; /* when something was sent */
  bool gone;    /* the client has closed */
};

/* A server while it runs. The loop and each worker hold one reference. */
struct pd__running {
  pd_live *live;
  uint32_t may;
  pd__socket socket;
  pid_t maker;
  int wake;  /* an eventfd */
  int epoll; /* libmicrohttpd's */
  struct MHD_Daemon *daemon;
  pthread_t loop;
  pd__client *clients;
  unsigned client_count, stream_count;
  int64_t swept;        /* when deadlines were checked */
  int64_t accept_again; /* when, after descriptors had run out */

  /* Under `lock`. */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  unsigned references;
  bool ready, stopping, ended;
  pd_status started;
  pd_error *why; /* of the starter, until `ready` */
  pd__request *queue, *done;
  unsigned workers, idle;
};

/* What the program holds. `running` is NULL in a forked child that isn't served. */
struct pd_live_server {
  pd_live_server *next;
  pd__running *running;
  char *address, *settable, *hosts; /* options */
  pd_live_token *tokens;
  size_t token_count;
  pd__audit *audit;
  char *audit_path;
  bool audit_fsync;
  uint32_t on_fork;
  char *where;    /* what pd_live_get_address returns; replaced in a forked child */
  bool reopening; /* a thread of the forked child opens it */
  bool stopped;   /* and pd_live_stop came first: that thread releases it */
};

/* ---- server.c ---- */

extern pthread_mutex_t pd__servers_lock;
extern pd_live_server *pd__servers; /* of this process */

/* Listen at `address` and start the threads for `server`, which is known by then: its `where` says
 * at which address. */
pd_status pd__server_run(pd_live_server *server, const char *address, pd_error *err);
/* After `running` has been stopped, and nobody knows the server any more. */
void pd__server_free(pd_live_server *server);
void pd__running_stop(pd__running *running);
void pd__running_hold(pd__running *running);
void pd__running_release(pd__running *running);

/* ---- loop.c ---- */

pd_status pd__loop_start(pd__running *running, pd_error *err);
void pd__loop_wake(pd__running *running);

/* Start a detached or joinable thread that gets no signals of the program. Returns an errno. */
int pd__thread_start(pthread_t *out, bool detached, void *(*function)(void *), void *argument);
int64_t pd__now(void); /* milliseconds */

/* ---- client.c ---- */

/* Accept what has connected; refuse others' connections and too many of them. */
void pd__clients_accept(pd__running *running, int64_t now);
/* Cut those that have passed their deadline. */
void pd__clients_sweep(pd__running *running, int64_t now);
/* The client of a connection that libmicrohttpd begins to serve, and its end. */
pd__client *pd__client_take(pd__running *running, struct MHD_Connection *connection);
void pd__client_forget(pd__client *client);
pd__client *pd__client_of(struct MHD_Connection *connection);
void pd__client_suspend(pd__client *client);
void pd__client_resume(pd__client *client);
/* Close the connections, which libmicrohttpd no longer does. */
void pd__clients_close(pd__running *running);

/* ---- request.c ---- */

/* Callbacks of libmicrohttpd, which the loop passes on. */
void *pd__request_begin(struct MHD_Connection *connection, const char *target);
int pd__request_continue(struct MHD_Connection *connection, pd__request *request,
                         const char *method, const char *version, const char *data, size_t *size);
void pd__request_end(pd__request *request);
void pd__request_free(pd__request *request);
/* Ask pd_live_answer; with `whole`, give it the body. */
void pd__request_ask(pd__request *request, bool whole);

/* ---- strict.c ---- */

/* Copy the head of the request, unless two readers could understand it in two ways. Returns what
 * is wrong with it, or NULL. */
const char *pd__head_take(pd__request *request, const char *method, const char *version);

/* ---- respond.c ---- */

/* Send the response of the request, and own it. Returns false if the connection must end. */
bool pd__respond(pd__request *request);
bool pd__respond_refusal(pd__request *request, uint32_t status, const char *detail);

/* ---- stream.c ---- */

struct MHD_Response *pd__stream_open(pd__request *request);
/* Resume those that have something to send. */
void pd__streams_tick(pd__running *running, int64_t now);

/* ---- worker.c ---- */

/* Let a worker ask for the whole request. Returns false if there can be none. */
bool pd__worker_take(pd__request *request);
/* Take back what workers have done, or couldn't do in time. The list is linked by `next`. */
pd__request *pd__worker_done(pd__running *running, int64_t now);

/* ---- assets.c, generated by tools/live_assets.py ---- */

/* A file of the page. Returns NULL if there is none of that name. */
const char *pd__asset(const char *name, size_t *length);

/* ---- fork.c ---- */

/* Prepare for forks, once. */
pd_status pd__fork_watch(pd_error *err);

#endif /* PD_LIVE_MODULE_H */
