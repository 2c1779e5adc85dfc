/* Giving a Unix socket its name without a race.
 *
 * It is bound under a temporary name, listens, and is then renamed: a name that exists always
 * listens, so one that refuses connections is left over from a process that has died. The lock of
 * the directory lets only one process at a time look for and remove such sockets. Paths go through
 * /proc/self/fd, as bind and connect have no form with a directory's descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "socket.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

static struct sockaddr_un place(const pd__socket *socket, const char *name) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  snprintf(at.sun_path, sizeof at.sun_path, "/proc/self/fd/%d/%s", socket->directory, name);
  return at;
}

/* Another user who may read the directory could hold its lock: it isn't waited for for long. */
static pd_status lock_directory(const pd__socket *socket, pd_error *err) {
  struct timespec pause = {.tv_nsec = 10000000};
  for (int tries = 0; flock(socket->directory, LOCK_EX | LOCK_NB) != 0; tries++) {
    if (errno != EWOULDBLOCK || tries == 300) {
      return pd__fail_errno(err, "its directory can't be locked", socket->where);
    }
    nanosleep(&pause, NULL);
  }
  return PD_OK;
}

/* Connect to what has the name. Returns PD_OK if nobody answers there any more. */
static pd_status check_dead(const pd__socket *self, pd_error *err) {
  struct sockaddr_un at = place(self, self->name);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return pd__fail_errno(err, "no socket", self->where);
  int failed = connect(fd, (const struct sockaddr *)&at, sizeof at) == 0 ? 0 : errno;
  struct ucred peer = {.pid = 0};
  socklen_t size = sizeof peer;
  if (failed == 0) getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  close(fd);
  if (failed == ECONNREFUSED || failed == ENOENT) return PD_OK;
  if (failed && failed != EAGAIN) {
    errno = failed;
    return pd__fail_errno(err, "can't be connected to", self->where);
  }
  if (failed == 0 && (peer.pid == getpid() || peer.pid == 0)) { /* 0: of another container */
    return pd__fail(err, PD_ERR_CONFLICT, "%s: this process serves there already", self->where);
  }
  return pd__fail(err, PD_ERR_CONFLICT, "%s: process %ld serves there already", self->where,
                  (long)peer.pid);
}

static pd_status remove_stale(const pd__socket *socket, pd_error *err) {
  struct stat status;
  if (fstatat(socket->directory, socket->name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? PD_OK : pd__fail_errno(err, "can't be read", socket->where);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return pd__fail(err, PD_ERR_FILE, "%s: exists, and is not a socket", socket->where);
  }
  if (status.st_uid != geteuid()) {
    return pd__fail(err, PD_ERR_FILE, "%s: is a socket of uid %u", socket->where,
                    (unsigned)status.st_uid);
  }
  pd_status dead = check_dead(socket, err);
  if (dead != PD_OK) return dead;
  if (unlinkat(socket->directory, socket->name, 0) == 0 || errno == ENOENT) return PD_OK;
  return pd__fail_errno(err, "can't be removed", socket->where);
}

/* renameat2 is newer than some kernels and file systems. */
static bool give_name(const pd__socket *socket, const char *temporary) {
  int at = socket->directory;
  if (syscall(SYS_renameat2, at, temporary, at, socket->name, RENAME_NOREPLACE) == 0) return true;
  if (errno != ENOSYS && errno != EINVAL) return false;
  return linkat(at, temporary, at, socket->name, 0) == 0 && unlinkat(at, temporary, 0) == 0;
}

/* Until it is bound, the mode of the socket is that of the file to come: it never has another. */
static pd_status bind_and_name(pd__socket *self, pd_error *err) {
  char temporary[sizeof self->name + 24];
  struct stat status;
  snprintf(temporary, sizeof temporary, ".%s.%ld", self->name, (long)getpid());
  unlinkat(self->directory, temporary, 0);
  struct sockaddr_un at = place(self, temporary);
  if (fchmod(self->fd, 0600) != 0) return pd__fail_errno(err, "can't set its mode", self->where);
  if (bind(self->fd, (const struct sockaddr *)&at, sizeof at) != 0) {
    return pd__fail_errno(err, "can't be bound", self->where);
  }
  bool done = fstatat(self->directory, temporary, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
              listen(self->fd, SOMAXCONN) == 0 && give_name(self, temporary);
  if (!done) {
    pd__fail_errno(err, "can't listen", self->where);
    unlinkat(self->directory, temporary, 0);
    return PD_ERR_FILE;
  }
  self->device = status.st_dev;
  self->file = status.st_ino;
  return PD_OK;
}

pd_status pd__local_listen(pd__socket *socket, pd_error *err) {
  pd_status status = lock_directory(socket, err);
  if (status != PD_OK) return status;
  status = remove_stale(socket, err);
  if (status == PD_OK) status = bind_and_name(socket, err);
  flock(socket->directory, LOCK_UN);
  return status;
}
