/* Servers: the sockets that they listen on, their audits, and who asks them. */
#ifndef PD_LIVE_SERVER_H
#define PD_LIVE_SERVER_H

#include "system.h"
#include "text.h"

/* ---- The socket that a server listens on (socket.c) ---- */

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
void pd__socket_unlink_file(const pd__socket *socket);

/* ---- Audits (audit.c) ---- */

typedef struct pd__audit pd__audit;

pd_status pd__audit_open(const pd_live_server_options *options, pd__audit **out, pd_error *err);
/* The caller holds pd__lock. */
void pd__audit_retain(pd__audit *audit);
void pd__audit_release(pd__audit *audit);
/* Writes one line, and frees it. `audit` NULL: frees it. */
void pd__audit_write_and_free(pd__audit *audit, pd__text *event);
void pd__audits_write_and_free(pd__text *event); /* to all */
void pd__audits_reset_in_child(void);            /* in a forked child */
/* Makes sure that watchers and the functions of audits are called. */
void pd__callbacks_start_thread(void);

/* ---- Servers (server.c). The caller of all but pd__server_find_refusal holds pd__lock. ---- */

struct pd_live_server {
  pd_live_server *next;
  pd__socket socket;                  /* fd -1: it isn't served */
  char *address, *program, *settable; /* options; or NULL */
  pd__audit *audit;                   /* or NULL */
  pid_t process;                      /* that opened the socket, or tried to */
  uint32_t on_fork;
  size_t holders; /* the owner, connections and jobs */
  size_t connections;
  bool stopped;
  bool listed;
};

extern pd_live_server *pd__servers;

void pd__server_retain(pd_live_server *server);
void pd__server_release(pd_live_server *server);

/* Removes stopped servers from the list, once they have no connections. */
void pd__servers_remove_stopped(void);

/* Returns why clients may not change a flag; NULL: they may. */
const char *pd__server_find_refusal(const pd_live_server *server, const pd_flag_info *info);

/* ---- Who asks (server.c) ---- */

enum { PD__LABEL_MAX = 200 }; /* bytes */

typedef struct pd__requester {
  uint32_t uid;
  int64_t pid; /* 0: of another container */
  char command[64];
  char label[PD__LABEL_MAX + 1], host[PD__LABEL_MAX + 1]; /* on behalf of whom; "" where unknown */
} pd__requester;

/* Adds the members of a client, without `on_behalf_of` if there is none. */
void pd__requester_write_json(pd__text *to, const char *name, const pd__requester *requester);
bool pd__requester_is_same(const pd__requester *a, const pd__requester *b);

#endif /* PD_LIVE_SERVER_H */
