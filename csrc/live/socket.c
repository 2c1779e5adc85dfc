/* The socket that a server listens on. */
#include "socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

ino_t pd__inode_of(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

void pd__close_own(int fd, ino_t inode) {
  if (fd >= 0 && inode != 0 && pd__inode_of(fd) == inode) close(fd);
}

enum { SERVERS_MAX = 100 };

static pd_status listen_local(const char *path, int number, pd__socket *out, pd_error *err) {
  *out = (pd__socket){.fd = -1, .directory = -1};
  out->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (out->fd < 0) return pd__fail_errno(err, "no socket", path ? path : "address");
  pd_status status = pd__directory_open(path, number, out, err);
  if (status == PD_OK) status = pd__local_listen(out, err);
  if (status != PD_OK) pd__socket_close(out, false);
  return status;
}

/* A second server of the process has another name at the default place. */
static pd_status listen_somewhere(const char *path, pd__socket *out, pd_error *err) {
  pd_status status = PD_ERR_CONFLICT;
  for (int number = 1; status == PD_ERR_CONFLICT && number <= (path ? 1 : SERVERS_MAX); number++) {
    status = listen_local(path, number, out, err);
  }
  return status;
}

pd_status pd__socket_listen(const char *address, pd__socket *out, pd_error *err) {
  if (address && !strchr(address, '/')) {
    return pd__fail(err, PD_ERR_ARGUMENT, "address: %.400s: expected a path with a slash", address);
  }
  pd_status status = listen_somewhere(address, out, err);
  if (status == PD_OK) out->inode = pd__inode_of(out->fd);
  return status;
}

void pd__socket_remove(const pd__socket *socket) {
  struct stat status;
  if (socket->directory < 0 || !socket->file) return;
  if (fstatat(socket->directory, socket->name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  bool same = status.st_dev == socket->device && status.st_ino == socket->file;
  if (same) unlinkat(socket->directory, socket->name, 0);
}

void pd__socket_close(pd__socket *socket, bool remove) {
  if (remove) pd__socket_remove(socket);
  if (socket->fd >= 0 && socket->inode) pd__close_own(socket->fd, socket->inode);
  if (socket->fd >= 0 && !socket->inode) close(socket->fd);
  if (socket->directory >= 0) close(socket->directory);
  free(socket->where);
  socket->where = NULL;
  socket->fd = socket->directory = -1;
}
