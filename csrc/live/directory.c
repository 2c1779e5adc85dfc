/* Directories of Unix sockets. Whoever can replace a socket can answer in our place, so the
 * directory is opened once, checked through its descriptor, and used through it. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "socket.h"

static const char *absolute(const char *variable) {
  const char *value = secure_getenv(variable);
  return value && *value == '/' ? value : NULL;
}

/* The directory above the default one. There is no other try: clients look only there. */
static int open_base(char *path, size_t size) {
  const char *base = absolute("XDG_RUNTIME_DIR"), *other = absolute("TMPDIR");
  if (base) {
    snprintf(path, size, "%s/paddle_flags", base);
  } else {
    base = other ? other : "/tmp";
    snprintf(path, size, "%s/paddle_flags-%u", base, (unsigned)geteuid());
  }
  return open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The name is made first: if somebody else has made it, the checks find out. */
static pd_status open_default(char *path, size_t size, int *out, pd_error *err) {
  int base = open_base(path, size);
  if (base < 0) return pd__fail_errno(err, "can't be opened", path);
  const char *name = strrchr(path, '/') + 1;
  bool made = mkdirat(base, name, 0700) == 0;
  int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0 && made) fchmod(fd, 0700); /* a umask may have taken bits */
  int reason = errno;
  close(base);
  errno = reason == ELOOP ? ENOTDIR : reason;
  if (fd < 0) return pd__fail_errno(err, "expected a real directory", path);
  struct stat status;
  *out = fd;
  if (fstat(fd, &status) != 0) return pd__fail_errno(err, "can't be read", path);
  if (status.st_uid != geteuid()) {
    return pd__fail(err, PD_ERR_FILE, "%s: belongs to uid %u: expected a directory of this user",
                    path, (unsigned)status.st_uid);
  }
  if ((status.st_mode & 07777) != 0700) {
    return pd__fail(err, PD_ERR_FILE, "%s: has mode %04o: expected 0700", path,
                    (unsigned)status.st_mode & 07777);
  }
  return PD_OK;
}

/* Others may read the directory and, if it is sticky, add files of their own to it. */
static pd_status open_named(const char *path, char *real, int *out, pd_error *err) {
  char copy[PATH_MAX];
  const char *slash = strrchr(path, '/');
  size_t length = (size_t)(slash - path);
  if (length >= sizeof copy) return pd__fail(err, PD_ERR_ARGUMENT, "address: is too long");
  memcpy(copy, length ? path : "/", length ? length : 1);
  copy[length ? length : 1] = '\0';
  int fd = open(copy, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return pd__fail_errno(err, "can't be opened", copy);
  *out = fd;
  struct stat status;
  if (fstat(fd, &status) != 0 || !realpath(copy, real)) {
    return pd__fail_errno(err, "can't be read", copy);
  }
  if (status.st_uid != geteuid() && status.st_uid != 0) {
    return pd__fail(err, PD_ERR_FILE, "%.400s: belongs to uid %u: expected this user or root", copy,
                    (unsigned)status.st_uid);
  }
  if ((status.st_mode & 022) && !(status.st_mode & S_ISVTX)) {
    return pd__fail(err, PD_ERR_FILE, "%.400s: has mode %04o: others may replace files in it", copy,
                    (unsigned)status.st_mode & 07777);
  }
  return PD_OK;
}

static pd_status take_name(const char *path, int number, pd__socket *out, pd_error *err) {
  if (!path) {
    long self = getpid();
    const char *form = number == 1 ? "%ld.sock" : "%ld-%d.sock";
    snprintf(out->name, sizeof out->name, form, self, number);
    return PD_OK;
  }
  const char *name = strrchr(path, '/') + 1;
  size_t length = strlen(name);
  if (length == 0 || length > 64 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
    return pd__fail(err, PD_ERR_ARGUMENT,
                    "address: %.400s: expected the name of a socket, of at most 64 bytes", path);
  }
  memcpy(out->name, name, length + 1);
  return PD_OK;
}

pd_status pd__directory_open(const char *path, int number, pd__socket *out, pd_error *err) {
  char real[PATH_MAX] = "";
  pd_status status = take_name(path, number, out, err);
  if (status != PD_OK) return status;
  status = path ? open_named(path, real, &out->directory, err)
                : open_default(real, sizeof real, &out->directory, err);
  if (status != PD_OK) return status;
  if (asprintf(&out->where, "%s/%s", strcmp(real, "/") == 0 ? "" : real, out->name) >= 0) {
    return PD_OK;
  }
  out->where = NULL;
  return pd__fail_memory(err);
}
