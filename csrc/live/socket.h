/* The socket that a server listens on. */
#ifndef PD_LIVE_SOCKET_H
#define PD_LIVE_SOCKET_H

#include <pd_flags/live_server.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct pd__socket {
  int fd;        /* listening; -1: closed */
  ino_t inode;   /* of the socket behind `fd` */
  bool local;    /* a Unix socket */
  int directory; /* of a Unix socket; else -1 */
  char name[108];
  dev_t device; /* of the file `name` */
  ino_t file;
  char *where;     /* the absolute path, or address and port */
  char hosts[128]; /* the values of Host that name it by themselves; "": any host's address */
} pd__socket;

/* Listen at an address of pd_live_server_options. All descriptors are closed by exec. */
pd_status pd__socket_listen(const char *address, pd__socket *out, pd_error *err);

/* With `remove`, remove the file too, unless it is no longer this socket's. */
void pd__socket_close(pd__socket *socket, bool remove);
void pd__socket_remove(const pd__socket *socket);

/* Close `fd` unless the program has closed it and opened something else there. */
void pd__close_own(int fd, ino_t inode);
ino_t pd__inode_of(int fd);

/* ---- directory.c ---- */

/* Open the directory of a Unix socket and check that no other user can replace what is in it. Fills
 * `directory`, `name` and `where`. `path` NULL: the default, of the server `number` of this
 * process, from 1. */
pd_status pd__directory_open(const char *path, int number, pd__socket *out, pd_error *err);

/* ---- local.c ---- */

/* Bind `fd` in the directory, listen, and give it its name. PD_ERR_CONFLICT: this process has it.
 */
pd_status pd__local_listen(pd__socket *socket, pd_error *err);

#endif /* PD_LIVE_SOCKET_H */
