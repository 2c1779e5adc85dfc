/* Where events go: to a file, one line each, and to a function of the program.
 *
 * A line is one write(2) with O_APPEND, so that lines of several processes never mix. If only a
 * part of it fits, as on a full disk, the part is cut off again, unless somebody has written behind
 * it: then a line break separates it from the next line. What is lost is counted, and the next line
 * that can be written has the number. logrotate needs no signal: a file that was renamed or removed
 * is noticed by its inode before each line. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server.h"

enum { QUEUE_MAX = 1 << 20 }; /* bytes that wait for the function */

struct pd__audit {
  pd__audit *next;
  size_t holders;
  char *path; /* NULL: no file */
  bool sync;
  pthread_mutex_t lock;   /* of the file */
  pd__descriptor file;    /* none: it could not be opened */
  uint64_t lost;          /* lines that are missing in the file */
  bool partial;           /* the file ends with a part of a line */
  pd_live_audit function; /* NULL: none. Guarded by pd__lock, as what follows */
  void *context;
  pd__text queue; /* lines */
  uint64_t dropped;
};

static pd__audit *audits; /* guarded by pd__lock */

/* ---- The file ---- */

/* O_NONBLOCK: opening a FIFO must not wait for its reader. O_NOFOLLOW: nobody who may write in the
 * directory chooses another file. */
static int open_audit_file(const char *path) {
  return open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW,
              0600);
}

static void reopen_audit_if_moved(pd__audit *audit) {
  struct stat there;
  bool own = pd__descriptor_is_unchanged(&audit->file);
  bool same = own && stat(audit->path, &there) == 0 && there.st_dev == audit->file.device &&
              there.st_ino == audit->file.inode;
  if (same) return;
  int fd = open_audit_file(audit->path);
  if (fd < 0 && own) return; /* the old file is better than none */
  pd__descriptor_close(&audit->file);
  pd__descriptor_adopt(&audit->file, fd);
  audit->partial = false;
}

/* Cuts off a part of a line that is still the end of the file. */
static void cut_partial_line(pd__audit *audit, off_t start, size_t length) {
  struct stat now;
  bool last = fstat(audit->file.fd, &now) == 0 && now.st_size == start + (off_t)length;
  audit->partial = !last || ftruncate(audit->file.fd, start) != 0;
}

static bool write_whole_line(pd__audit *audit, const char *line, size_t length) {
  ssize_t written;
  do written = write(audit->file.fd, line, length);
  while (written < 0 && errno == EINTR);
  if (written == (ssize_t)length) return true;
  if (written < 0) return false;
  off_t end = lseek(audit->file.fd, 0, SEEK_CUR); /* O_APPEND leaves it behind what was written */
  cut_partial_line(audit, end - written, (size_t)written);
  errno = ENOSPC;
  return false;
}

/* Begins with a line break if the file ends within a line, and with the number of lost lines. */
static bool append_audit_line(pd__audit *audit, const char *event, size_t length) {
  pd__text line = {.data = NULL};
  bool partial = audit->partial;
  if (partial) pd__text_add(&line, "\n", 1);
  if (audit->lost > 0) {
    pd__json_begin(&line, NULL, '{');
    pd__json_put_text(&line, "event", "lost");
    pd__json_put_time(&line, "at", pd__get_wall_ms());
    pd__json_put_number(&line, "lost", audit->lost);
    pd__json_end(&line, "}");
    pd__text_add(&line, "\n", 1);
  }
  pd__text_add(&line, event, length);
  pd__text_add(&line, "\n", 1);
  errno = ENOMEM;
  audit->partial = false;
  bool written = !line.failed && write_whole_line(audit, line.data, line.length);
  if (!written) audit->partial |= partial;
  pd__text_free(&line);
  return written;
}

/* Warns once until a line succeeds again. */
static void append_event_or_warn(pd__audit *audit, const char *event, size_t length) {
  pthread_mutex_lock(&audit->lock);
  errno = ENOENT;
  reopen_audit_if_moved(audit);
  bool written = audit->file.fd >= 0 && append_audit_line(audit, event, length);
  if (written && audit->sync) written = fdatasync(audit->file.fd) == 0 || errno == EINVAL;
  int reason = errno;
  bool first = !written && audit->lost == 0;
  audit->lost = written ? 0 : audit->lost + 1;
  pthread_mutex_unlock(&audit->lock);
  pd_error err;
  errno = reason;
  if (first) {
    pd__live_fail_errno(&err, "a change can't be written to the audit file", audit->path);
    pd__live_warn("%s", err.message);
  }
}

/* ---- The function ---- */

/* What waits holds the audit: all others may have gone before it is called. The caller holds
 * pd__lock. */
static void queue_event_for_function(pd__audit *audit, const char *event, size_t length) {
  if (audit->queue.length + length > QUEUE_MAX) {
    audit->dropped++;
    return;
  }
  bool empty = audit->queue.length == 0;
  pd__text_add(&audit->queue, event, length);
  pd__text_add(&audit->queue, "\n", 1);
  if (empty && audit->queue.length > 0) audit->holders++;
}

/* Calls the function for each line. pd__lock is free meanwhile. */
static void call_audit_function(pd__audit *audit) {
  pd__text lines = audit->queue;
  uint64_t dropped = audit->dropped;
  pd_live_audit function = audit->function;
  audit->queue = (pd__text){.data = NULL};
  audit->dropped = 0;
  pthread_mutex_unlock(&pd__lock);
  if (dropped > 0) pd__live_warn("%llu events of the audit are lost", (unsigned long long)dropped);
  for (char *at = lines.data, *end; at && (end = strchr(at, '\n')); at = end + 1) {
    *end = '\0';
    function(at, (size_t)(end - at), audit->context);
  }
  pd__text_free(&lines);
  pthread_mutex_lock(&pd__lock);
  pd__audit_release(audit);
}

/* Calls what waits in the queues. Returns whether there was any. */
static bool call_next_audit_function(void) {
  pthread_mutex_lock(&pd__lock);
  pd__audit *audit = audits;
  while (audit && (!audit->function || audit->queue.length == 0)) audit = audit->next;
  if (audit) call_audit_function(audit);
  pthread_mutex_unlock(&pd__lock);
  return audit != NULL;
}

/* ---- The thread for watchers and audits, which may wait for locks of the program ---- */

static bool callbacks_thread_runs, run_again; /* guarded by pd__lock */

static bool finish_callbacks_if_idle(void) {
  pthread_mutex_lock(&pd__lock);
  bool done = !run_again;
  run_again = false;
  if (done) callbacks_thread_runs = false;
  pthread_mutex_unlock(&pd__lock);
  return done;
}

/* A watcher that ends its thread leaves the rest to a new one. */
static void mark_callbacks_ended(void *finished) {
  if (*(volatile bool *)finished) return;
  pthread_mutex_lock(&pd__lock);
  callbacks_thread_runs = false;
  pthread_mutex_unlock(&pd__lock);
}

static void *run_callbacks(void *unused) {
  volatile bool finished = false;
  pthread_cleanup_push(mark_callbacks_ended, (void *)&finished);
  do {
    pd_callbacks_run();
    while (call_next_audit_function()) pd_callbacks_run();
  } while (!finish_callbacks_if_idle());
  finished = true;
  pthread_cleanup_pop(0);
  return unused;
}

void pd__callbacks_start_thread(void) {
  pthread_mutex_lock(&pd__lock);
  run_again = callbacks_thread_runs;
  if (!callbacks_thread_runs) callbacks_thread_runs = pd__thread_start(run_callbacks, NULL);
  pthread_mutex_unlock(&pd__lock);
}

/* ---- All of it ---- */

pd_status pd__audit_open(const pd_live_server_options *options, pd__audit **out, pd_error *err) {
  if (!options->audit_path && !options->audit) return PD_OK;
  int fd = options->audit_path ? open_audit_file(options->audit_path) : -1;
  if (options->audit_path && fd < 0) {
    return pd__live_fail_errno(err, "the audit file can't be opened", options->audit_path);
  }
  pd__audit *made = calloc(1, sizeof *made);
  if (made && options->audit_path) made->path = strdup(options->audit_path);
  if (!made || (options->audit_path && !made->path)) {
    free(made);
    if (fd >= 0) close(fd);
    return pd__live_fail_memory(err);
  }
  made->holders = 1;
  made->sync = options->audit_fsync;
  pd__descriptor_adopt(&made->file, fd);
  made->function = options->audit;
  made->context = options->context;
  pthread_mutex_init(&made->lock, NULL);
  pthread_mutex_lock(&pd__lock);
  made->next = audits;
  audits = made;
  pthread_mutex_unlock(&pd__lock);
  *out = made;
  return PD_OK;
}

void pd__audit_retain(pd__audit *audit) { audit->holders++; }

void pd__audit_release(pd__audit *audit) {
  if (--audit->holders > 0) return;
  pd__audit **at = &audits;
  while (*at != audit) at = &(*at)->next;
  *at = audit->next;
  pd__descriptor_close(&audit->file);
  pthread_mutex_destroy(&audit->lock);
  pd__text_free(&audit->queue);
  free(audit->path);
  free(audit);
}

static void write_event(pd__audit *audit, const pd__text *event) {
  if (event->failed) return;
  if (audit->path) append_event_or_warn(audit, event->data, event->length);
  pthread_mutex_lock(&pd__lock);
  bool queued = audit->function != NULL;
  if (queued) queue_event_for_function(audit, event->data, event->length);
  pthread_mutex_unlock(&pd__lock);
  if (queued) pd__callbacks_start_thread();
}

void pd__audit_write_and_free(pd__audit *audit, pd__text *event) {
  if (audit) write_event(audit, event);
  pd__text_free(event);
}

void pd__audits_write_and_free(pd__text *event) {
  pthread_mutex_lock(&pd__lock);
  for (pd__audit *at = audits, *next; at; at = next) {
    at->holders++;
    pthread_mutex_unlock(&pd__lock);
    write_event(at, event);
    pthread_mutex_lock(&pd__lock);
    next = at->next;
    pd__audit_release(at);
  }
  pthread_mutex_unlock(&pd__lock);
  pd__text_free(event);
}

void pd__audits_reset_in_child(void) {
  callbacks_thread_runs = run_again = false;
  for (pd__audit *each = audits; each; each = each->next) {
    pthread_mutex_init(&each->lock, NULL);
    if (each->queue.length > 0) each->holders--;
    each->queue.length = 0; /* the parent's */
  }
}
