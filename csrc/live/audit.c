/* The file to which each change appends one line of JSON: one write(2) with O_APPEND each, so that
 * lines of several processes never mix. logrotate needs no signal: a file that was renamed or
 * removed is noticed by its inode before each line, and opened again. */
#include "audit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"

struct pd__audit {
  pd__audit *next;
  char *path;
  bool sync;
  pthread_mutex_t lock;
  int fd;      /* -1: could not be opened */
  bool failed; /* and a warning says so */
};

static pthread_mutex_t audits_lock = PTHREAD_MUTEX_INITIALIZER;
static pd__audit *audits;

/* O_NONBLOCK: opening a FIFO must not wait for its reader. O_NOFOLLOW: nobody who may write in the
 * directory chooses another file. */
static int open_file(const char *path) {
  return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW,
              0600);
}

static void open_again(pd__audit *audit) {
  struct stat here, there;
  bool same = audit->fd >= 0 && fstat(audit->fd, &here) == 0 && stat(audit->path, &there) == 0 &&
              here.st_dev == there.st_dev && here.st_ino == there.st_ino;
  if (same) return;
  int fd = open_file(audit->path);
  if (fd < 0) return; /* the old file is better than none */
  if (audit->fd >= 0) close(audit->fd);
  audit->fd = fd;
}

pd_status pd__audit_open(const char *path, bool sync, pd__audit **out, pd_error *err) {
  int fd = open_file(path);
  if (fd < 0) return pd__say_errno(err, "the audit file can't be opened", path);
  pd__audit *audit = calloc(1, sizeof *audit);
  if (audit) audit->path = strdup(path);
  if (!audit || !audit->path) {
    free(audit);
    close(fd);
    return pd__say(err, PD_ERR_MEMORY, "%s", pd_status_text(PD_ERR_MEMORY));
  }
  audit->sync = sync;
  audit->fd = fd;
  pthread_mutex_init(&audit->lock, NULL);
  pthread_mutex_lock(&audits_lock);
  audit->next = audits;
  audits = audit;
  pthread_mutex_unlock(&audits_lock);
  *out = audit;
  return PD_OK;
}

static bool append(int fd, const char *line, size_t length) {
  ssize_t written;
  do written = write(fd, line, length);
  while (written < 0 && errno == EINTR);
  if (written >= 0 && (size_t)written < length) errno = ENOSPC;
  return written >= 0 && (size_t)written == length;
}

/* Warns once until a line succeeds again. */
void pd__audit_write(const char *event, size_t length, void *context) {
  pd__audit *audit = context;
  char *line = malloc(length + 1);
  bool written = false, first = false;
  if (line) {
    memcpy(line, event, length);
    line[length] = '\n';
  }
  pthread_mutex_lock(&audit->lock);
  errno = ENOMEM;
  if (line) open_again(audit);
  if (line && audit->fd >= 0) written = append(audit->fd, line, length + 1);
  if (written && audit->sync) written = fdatasync(audit->fd) == 0 || errno == EINVAL;
  first = !written && !audit->failed;
  audit->failed = !written;
  pthread_mutex_unlock(&audit->lock);
  pd_error err;
  if (first) {
    pd__say_errno(&err, "a change can't be written to the audit file", audit->path);
    pd__warn("%s", err.message);
  }
  free(line);
}

void pd__audits_forked(void) {
  pthread_mutex_init(&audits_lock, NULL);
  for (pd__audit *each = audits; each; each = each->next) pthread_mutex_init(&each->lock, NULL);
}
