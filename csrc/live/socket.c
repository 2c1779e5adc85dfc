/* The socket that a server listens on.
 *
 * Whoever can replace a socket can answer in our place, so its directory is opened once, checked
 * through its descriptor, and used through it.
 *
 * The socket is bound under a temporary name, listens, and is then renamed: a name that exists
 * always listens, so one that refuses connections is left over from a process that has died. The
 * lock of the directory lets only one process at a time look for and remove such sockets. Paths go
 * through /proc/self/fd, as bind and connect have no form with a directory's descriptor. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "server.h"

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

enum { SERVERS_MAX = 100 };

/* ---- Its directory ---- */

static const char *get_absolute_path(const char *variable) {
  const char *value = secure_getenv(variable);
  return value && *value == '/' ? value : NULL;
}

/* The directory above the default one. There is no other try: clients look only there. */
static int open_default_parent_directory(char *path, size_t size) {
  const char *base = get_absolute_path("XDG_RUNTIME_DIR"), *other = get_absolute_path("TMPDIR");
  if (base) {
    snprintf(path, size, "%s/paddle_flags", base);
  } else {
    base = other ? other : "/tmp";
    snprintf(path, size, "%s/paddle_flags-%u", base, (unsigned)geteuid());
  }
  return open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The name is made first: if somebody else has made it, the checks find out. */
static pd_status open_default_directory(char *path, size_t size, int *out, pd_error *err) {
  int base = open_default_parent_directory(path, size);
  if (base < 0) return pd__live_fail_errno(err, "can't be opened", path);
  const char *name = strrchr(path, '/') + 1;
  bool made = mkdirat(base, name, 0700) == 0;
  /* A umask may have taken bits, even those that opening needs. Older C libraries can't give them
   * back: opening then fails. */
  bool reset = made && fchmodat(base, name, 0700, AT_SYMLINK_NOFOLLOW) == 0;
  int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0 && made && !reset) fchmod(fd, 0700);
  int reason = errno;
  close(base);
  errno = reason == ELOOP ? ENOTDIR : reason;
  if (fd < 0) return pd__live_fail_errno(err, "expected a real directory", path);
  struct stat status;
  *out = fd;
  if (fstat(fd, &status) != 0) return pd__live_fail_errno(err, "can't be read", path);
  if (status.st_uid != geteuid()) {
    return pd__live_fail(err, PD_ERR_FILE,
                         "%s: belongs to uid %u: expected a directory of this user", path,
                         (unsigned)status.st_uid);
  }
  if ((status.st_mode & 07777) != 0700) {
    return pd__live_fail(err, PD_ERR_FILE, "%s: has mode %04o: expected 0700", path,
                         (unsigned)status.st_mode & 07777);
  }
  return PD_OK;
}

/* Others may read the directory and, if it is sticky, add files of their own to it. */
static pd_status open_named_directory(const char *path, char *real, int *out, pd_error *err) {
  char copy[PATH_MAX];
  const char *slash = strrchr(path, '/');
  size_t length = (size_t)(slash - path);
  if (length >= sizeof copy) return pd__live_fail(err, PD_ERR_ARGUMENT, "address: is too long");
  memcpy(copy, length ? path : "/", length ? length : 1);
  copy[length ? length : 1] = '\0';
  int fd = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return pd__live_fail_errno(err, "can't be opened", copy);
  *out = fd;
  struct stat status;
  if (fstat(fd, &status) != 0 || !realpath(copy, real)) {
    return pd__live_fail_errno(err, "can't be read", copy);
  }
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return pd__live_fail(err, PD_ERR_FILE, "%.400s: belongs to uid %u: expected this user or root",
                         copy, (unsigned)status.st_uid);
  }
  if ((status.st_mode & 022) && !(status.st_mode & S_ISVTX)) {
    return pd__live_fail(err, PD_ERR_FILE, "%.400s: has mode %04o: others may replace files in it",
                         copy, (unsigned)status.st_mode & 07777);
  }
  return PD_OK;
}

static pd_status choose_socket_name(const char *path, int number, pd__socket *out, pd_error *err) {
  if (!path) {
    long self = getpid();
    const char *form = number == 1 ? "%ld.sock" : "%ld-%d.sock";
    snprintf(out->name, sizeof out->name, form, self, number);
    return PD_OK;
  }
  const char *name = strrchr(path, '/') + 1;
  size_t length = strlen(name);
  if (length == 0 || length > 64 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
    return pd__live_fail(err, PD_ERR_ARGUMENT,
                         "address: %.400s: expected the name of a socket, of at most 64 bytes",
                         path);
  }
  memcpy(out->name, name, length + 1);
  return PD_OK;
}

/* Opens the directory and checks that no other user can replace what is in it. Fills `directory`,
 * `name` and `path` of `out`. The argument `path` is NULL for the default of the server `number` of
 * this process, counted from 1. */
static pd_status open_socket_directory(const char *path, int number, pd__socket *out,
                                       pd_error *err) {
  char real[PATH_MAX] = "";
  pd_status status = choose_socket_name(path, number, out, err);
  if (status != PD_OK) return status;
  int directory = -1;
  status = path ? open_named_directory(path, real, &directory, err)
                : open_default_directory(real, sizeof real, &directory, err);
  pd__descriptor_adopt(&out->directory, directory);
  if (status != PD_OK) return status;
  if (asprintf(&out->path, "%s/%s", strcmp(real, "/") == 0 ? "" : real, out->name) >= 0) {
    return PD_OK;
  }
  out->path = NULL;
  return pd__live_fail_memory(err);
}

/* ---- Its name ---- */

static struct sockaddr_un make_socket_address(const pd__socket *socket, const char *name) {
  struct sockaddr_un at = {.sun_family = AF_UNIX};
  snprintf(at.sun_path, sizeof at.sun_path, "/proc/self/fd/%d/%s", socket->directory.fd, name);
  return at;
}

/* Another user who may read the directory could hold its lock: it isn't waited for for long. */
static pd_status lock_directory(const pd__socket *socket, pd_error *err) {
  struct timespec pause = {.tv_nsec = 10000000};
  for (int tries = 0; flock(socket->directory.fd, LOCK_EX | LOCK_NB) != 0; tries++) {
    if (errno != EWOULDBLOCK || tries == 300) {
      return pd__live_fail_errno(err, "its directory can't be locked", socket->path);
    }
    nanosleep(&pause, NULL);
  }
  return PD_OK;
}

/* Connect to what has the name. Returns PD_OK if nobody answers there any more. */
static pd_status check_no_process_listens(const pd__socket *self, pd_error *err) {
  struct sockaddr_un at = make_socket_address(self, self->name);
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return pd__live_fail_errno(err, "no socket", self->path);
  int failed = connect(fd, (const struct sockaddr *)&at, sizeof at) == 0 ? 0 : errno;
  struct ucred peer = {.pid = 0};
  socklen_t size = sizeof peer;
  if (failed == 0) getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  close(fd);
  if (failed == ECONNREFUSED || failed == ENOENT) return PD_OK;
  if (failed && failed != EAGAIN) {
    errno = failed;
    return pd__live_fail_errno(err, "can't be connected to", self->path);
  }
  if (failed == 0 && (peer.pid == getpid() || peer.pid == 0)) { /* 0: of another container */
    return pd__live_fail(err, PD_ERR_CONFLICT, "%s: this process serves there already", self->path);
  }
  return pd__live_fail(err, PD_ERR_CONFLICT, "%s: process %ld serves there already", self->path,
                       (long)peer.pid);
}

static pd_status remove_stale_socket(const pd__socket *socket, pd_error *err) {
  struct stat status;
  if (fstatat(socket->directory.fd, socket->name, &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? PD_OK : pd__live_fail_errno(err, "can't be read", socket->path);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return pd__live_fail(err, PD_ERR_FILE, "%s: exists, and is not a socket", socket->path);
  }
  if (status.st_uid != geteuid()) {
    return pd__live_fail(err, PD_ERR_FILE, "%s: is a socket of uid %u", socket->path,
                         (unsigned)status.st_uid);
  }
  pd_status dead = check_no_process_listens(socket, err);
  if (dead != PD_OK) return dead;
  if (unlinkat(socket->directory.fd, socket->name, 0) == 0 || errno == ENOENT) return PD_OK;
  return pd__live_fail_errno(err, "can't be removed", socket->path);
}

/* renameat2 is newer than some kernels and file systems. */
static bool rename_socket(const pd__socket *socket, const char *temporary) {
  int at = socket->directory.fd;
  if (syscall(SYS_renameat2, at, temporary, at, socket->name, RENAME_NOREPLACE) == 0) return true;
  if (errno != ENOSYS && errno != EINVAL) return false;
  return linkat(at, temporary, at, socket->name, 0) == 0 && unlinkat(at, temporary, 0) == 0;
}

/* Until it is bound, the mode of the socket is that of the file to come: it never has another. */
static pd_status listen_then_rename(pd__socket *self, pd_error *err) {
  char temporary[sizeof self->name + 24];
  struct stat status;
  snprintf(temporary, sizeof temporary, ".%s.%ld", self->name, (long)getpid());
  unlinkat(self->directory.fd, temporary, 0);
  struct sockaddr_un at = make_socket_address(self, temporary);
  if (fchmod(self->listening.fd, 0600) != 0)
    return pd__live_fail_errno(err, "can't set its mode", self->path);
  if (bind(self->listening.fd, (const struct sockaddr *)&at, sizeof at) != 0) {
    return pd__live_fail_errno(err, "can't be bound", self->path);
  }
  bool done = fstatat(self->directory.fd, temporary, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
              listen(self->listening.fd, SOMAXCONN) == 0 && rename_socket(self, temporary);
  if (!done) {
    pd__live_fail_errno(err, "can't listen", self->path);
    unlinkat(self->directory.fd, temporary, 0);
    return PD_ERR_FILE;
  }
  self->device = status.st_dev;
  self->file = status.st_ino;
  return PD_OK;
}

/* Binds `fd` in the directory, listens, and gives it its name. PD_ERR_CONFLICT: a process has it.
 */
static pd_status listen_under_lock(pd__socket *socket, pd_error *err) {
  pd_status status = lock_directory(socket, err);
  if (status != PD_OK) return status;
  status = remove_stale_socket(socket, err);
  if (status == PD_OK) status = listen_then_rename(socket, err);
  flock(socket->directory.fd, LOCK_UN);
  return status;
}

/* ---- All together ---- */

static pd_status listen_at_path_or_default(const char *path, int number, pd__socket *out,
                                           pd_error *err) {
  int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  *out = (pd__socket){.listening.fd = -1, .directory.fd = -1};
  if (fd < 0) return pd__live_fail_errno(err, "no socket", path ? path : "address");
  pd__descriptor_adopt(&out->listening, fd);
  pd_status status = open_socket_directory(path, number, out, err);
  if (status == PD_OK) status = listen_under_lock(out, err);
  if (status == PD_OK) return status;
  pd__socket_close(out, false);
  free(out->path);
  return status;
}

/* A second server of the process has another name at the default place. */
pd_status pd__socket_listen(const char *address, pd__socket *out, pd_error *err) {
  int most = address ? 1 : SERVERS_MAX;
  pd_status status = PD_ERR_CONFLICT;
  for (int number = 1; status == PD_ERR_CONFLICT && number <= most; number++) {
    status = listen_at_path_or_default(address, number, out, err);
  }
  return status;
}

void pd__socket_unlink_file(const pd__socket *socket) {
  struct stat status;
  if (socket->directory.fd < 0 || !socket->file) return;
  if (fstatat(socket->directory.fd, socket->name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  bool same = status.st_dev == socket->device && status.st_ino == socket->file;
  if (same) unlinkat(socket->directory.fd, socket->name, 0);
}

void pd__socket_close(pd__socket *socket, bool remove) {
  if (remove) pd__socket_unlink_file(socket);
  pd__descriptor_close(&socket->listening);
  pd__descriptor_close(&socket->directory);
}
