/* Files that appear at once with all their content, on a local file system or NFS. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "say.h"
#include "store.h"

static double seconds(struct timespec time) {
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static pd_status fail(pd_error *err, const char *what, const char *path) {
  return pd__say_errno(err, what, path);
}

/* ---- Reading ---- */

static pd_status read_all(int fd, const char *path, pd__data *out, pd_error *err) {
  size_t room = 4096;
  *out = (pd__data){.text = malloc(room + 1)};
  while (out->text && out->length < PD__MAX_RECORD + 4096) {
    ssize_t got = read(fd, out->text + out->length, room - out->length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    out->length += (size_t)got;
    out->text[out->length] = '\0';
    if (got == 0) return PD_OK;
    if (out->length < room) continue;
    char *more = realloc(out->text, room * 2 + 1);
    if (!more) break;
    out->text = more;
    room *= 2;
  }
  if (out->text && out->length >= PD__MAX_RECORD + 4096) return PD_OK;
  pd_status status = out->text ? fail(err, "can't be read", path)
                               : pd__say(err, PD_ERR_MEMORY, "%s", pd_status_text(PD_ERR_MEMORY));
  free(out->text);
  *out = (pd__data){.text = NULL};
  return status;
}

/* What isn't a file is empty: a pipe that somebody left there would be waited for. */
pd_status pd__file_read(const char *path, pd__data *out, pd_error *err) {
  struct stat file;
  *out = (pd__data){.text = NULL};
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) {
    if (errno == ENOENT || errno == ESTALE) return PD_ERR_UNDEFINED;
    return fail(err, "can't be read", path);
  }
  bool is_file = fstat(fd, &file) == 0 && S_ISREG(file.st_mode);
  pd_status status = PD_OK;
  if (is_file) {
    status = read_all(fd, path, out, err);
    out->stamped = seconds(file.st_mtim);
  } else {
    out->text = strdup("");
  }
  if (status != PD_OK && errno == ESTALE) status = PD_ERR_UNDEFINED;
  close(fd);
  return status;
}

/* ---- Writing ---- */

static bool write_all(int fd, const char *data, size_t length) {
  while (length > 0) {
    ssize_t wrote = write(fd, data, length);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    data += wrote;
    length -= (size_t)wrote;
  }
  return true;
}

/* Write a temporary file, whose name begins with a dot, and its path to `path`. Whoever may read
 * the folder may read the file, whatever the umask; nobody else writes it. */
static pd_status write_temporary(const char *folder, const char *data, size_t length, bool durable,
                                 char *path, pd_error *err) {
  uint64_t number = 0;
  struct stat status;
  if (getrandom(&number, sizeof number, 0) < 0) number = (uint64_t)getpid();
  snprintf(path, PATH_MAX, "%s/.%016llx", folder, (unsigned long long)number);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return fail(err, "can't be written", path);
  bool done = stat(folder, &status) == 0 && fchmod(fd, (status.st_mode & 0444) | 0600) == 0 &&
              write_all(fd, data, length) && (!durable || fsync(fd) == 0);
  pd_status found = done ? PD_OK : fail(err, "can't be written", path);
  close(fd);
  if (!done) unlink(path);
  return found;
}

static bool join(char *out, const char *folder, const char *name) {
  int length = snprintf(out, PATH_MAX, "%s/%s", folder, name);
  return length > 0 && length < PATH_MAX;
}

/* An NFS client may send the call twice: then the first one counts. */
static bool link_to(const char *temporary, const char *path) {
  struct stat file;
  if (link(temporary, path) == 0) return true;
  int reason = errno;
  int fd = reason == EEXIST ? open(temporary, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
  bool ours = fd >= 0 && fstat(fd, &file) == 0 && file.st_nlink > 1; /* stat may be out of date */
  if (fd >= 0) close(fd);
  errno = reason;
  return ours;
}

pd_status pd__file_create(const char *folder, const char *name, const char *data, size_t length,
                          bool *made, pd_error *err) {
  char temporary[PATH_MAX], path[PATH_MAX];
  pd_status status = write_temporary(folder, data, length, true, temporary, err);
  if (status != PD_OK) return status;
  *made = join(path, folder, name) && link_to(temporary, path);
  if (!*made && errno != EEXIST) status = fail(err, "can't be created", path);
  unlink(temporary);
  int fd = *made ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
  if (fd < 0) return status;
  (void)fsync(fd); /* some file systems can't sync a folder */
  close(fd);
  return status;
}

pd_status pd__file_replace(const char *folder, const char *name, const char *data, size_t length,
                           pd_error *err) {
  char temporary[PATH_MAX], path[PATH_MAX];
  pd_status status = write_temporary(folder, data, length, false, temporary, err);
  if (status != PD_OK) return status;
  if (join(path, folder, name) && rename(temporary, path) == 0) return PD_OK;
  status = fail(err, "can't be replaced", path);
  unlink(temporary);
  return status;
}

double pd__file_clock(const char *folder) {
  char path[PATH_MAX];
  struct stat file;
  struct timespec now;
  if (write_temporary(folder, ".", 1, false, path, NULL) == PD_OK) {
    bool found = stat(path, &file) == 0;
    unlink(path);
    if (found) return seconds(file.st_mtim);
  }
  clock_gettime(CLOCK_REALTIME, &now);
  return seconds(now);
}
