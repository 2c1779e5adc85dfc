/* The socket that a server listens on. */
#ifndef PD_LIVE_SOCKET_H
#define PD_LIVE_SOCKET_H

#include <pd_flags/live.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct pd__socket {
  int fd;      /* listening; -1: closed */
  ino_t inode; /* of the socket behind `fd` */
  int directory;
  char name[108];
  dev_t device; /* of the file `name` */
  ino_t file;
  char *where; /* the absolute path */
} pd__socket;

/* Listens at an address of pd_live_server_options. All descriptors are closed by exec.
 * PD_ERR_CONFLICT: a process listens there. */
pd_status pd__socket_listen(const char *address, pd__socket *out, pd_error *err);

/* With `remove`, removes the file too, unless it is no longer this socket's. */
void pd__socket_close(pd__socket *socket, bool remove);
void pd__socket_remove(const pd__socket *socket);

/* Closes `fd` unless the program has closed it and opened something else there. */
void pd__close_own(int fd, ino_t inode);
ino_t pd__inode_of(int fd);

/* ---- directory.c ---- */

/* Opens the directory of a Unix socket and checks that no other user can replace what is in it.
 * Fills `directory`, `name` and `where`. `path` NULL: the default, of the server `number` of this
 * process, from 1. */
pd_status pd__directory_open(const char *path, int number, pd__socket *out, pd_error *err);

/* ---- local.c ---- */

/* Binds `fd` in the directory, listens, and gives it its name. PD_ERR_CONFLICT: this process has
 * it.
 */
pd_status pd__local_listen(pd__socket *socket, pd_error *err);

/* ---- Errors (fail.c) ---- */

/* Fills `err` (NULL allowed) and returns `status`. */
__attribute__((format(printf, 3, 4))) pd_status pd__fail(pd_error *err, pd_status status,
                                                         const char *format, ...);
pd_status pd__fail_memory(pd_error *err);

/* The same with PD_ERR_FILE and the text of errno. */
pd_status pd__fail_errno(pd_error *err, const char *what, const char *path);

/* Warns through pd_warning_report, which the program may handle: the library never prints. */
__attribute__((format(printf, 1, 2))) void pd__warn(const char *format, ...);

#endif /* PD_LIVE_SOCKET_H */
