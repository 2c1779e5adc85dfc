/* The clients' thread: connections, and what they wait for. */
#ifndef PD_LIVE_CLIENT_H
#define PD_LIVE_CLIENT_H

#include "job.h"

enum {
  PD__JOBS_MAX = 64, /* changes that wait; and jobs that wait for a step */
  PD__POLL_TIME = 50 /* ms between two looks for events */
};

/* ---- The clients (client.c) ---- */

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

pd__client *pd__client_find(uint64_t number);
/* Answers a job that the client, if it is still there, has waited for, and frees it. */
void pd__client_finish_job(pd__job *job);

/* ---- Their connections (connection.c) ---- */

void pd__clients_accept(pd_live_server *server);
void pd__client_handle_input(pd__client *client);
void pd__client_send_output(pd__client *client);
/* Removes those that are dead or done, or belong to a server that has stopped; closes some if there
 * are too many, or if they hold too much memory. */
void pd__clients_remove_finished(void);
void pd__clients_reset_in_child(void); /* in a forked child */

/* ---- Events (events.c) ---- */

/* Sends subscribers what is new. Returns whether there are any. */
bool pd__subscribers_notify(void);

/* ---- Steps (steps.c), on the clients' thread ---- */

/* Answers who waits for a step that is reached, or too long. Returns when to look again. */
int64_t pd__steps_answer_waiting_jobs(void);
/* Gives up what a client asked for, and opens the gate that it has closed. */
void pd__steps_release_client(uint64_t client);
void pd__steps_reset_in_child(void); /* in a forked child */

/* ---- Jobs that change something (jobs.c) ---- */

/* Queues a job, and owns it. Returns false if too many wait. */
bool pd__job_try_enqueue(pd__job *job);
/* Answers what is done, and what is late. Returns the next deadline, or INT64_MAX. */
int64_t pd__jobs_answer_and_expire(void);
/* Gives up what a client asked for. */
void pd__jobs_cancel_for_client(uint64_t client);
void pd__jobs_reset_in_child(void); /* in a forked child */
/* The caller holds pd__lock. */
bool pd__jobs_has_unfinished(void);

/* ---- Requests (request.c) ---- */

/* Carries out one line, and appends the answer to client->out. */
void pd__client_handle_request(pd__client *client, const char *line, size_t length);

/* ---- The thread (loop.c) ---- */

/* Starts it unless it is running. Returns false if there can be no thread. The caller holds
 * pd__lock, as for pd__loop_is_running. */
bool pd__loop_start(void);
bool pd__loop_is_running(void);
/* In a forked child: closes what belongs to the parent. */
void pd__loop_reset_in_child(void);

#endif /* PD_LIVE_CLIENT_H */
