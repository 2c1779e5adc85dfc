/* Code that Linux and macOS share: opening libraries, reading files, the locale. */
#define _GNU_SOURCE
#include "platform.h"

#ifndef _WIN32

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <xlocale.h>
#else
#include <sys/syscall.h>
#endif

#include "posix.h"

/* ---- Threads ---- */

void pd__platform_yield(void) { sched_yield(); }

/* A variable of the thread would need memory at its first use, if this library came by dlopen, and
 * a signal handler may have interrupted malloc. Static thread-local storage (initial-exec) is too
 * scarce for plugins with a copy of their own. Reading a key takes neither. */
static pthread_key_t exit_key;
static bool has_exit_key;

bool pd__platform_at_thread_exit(void (*function)(void *argument), void *argument) {
  bool made = has_exit_key || pthread_key_create(&exit_key, function) == 0;
  __atomic_store_n(&has_exit_key, made, __ATOMIC_RELEASE);
  return made && pthread_setspecific(exit_key, argument) == 0;
}

void *pd__platform_get_exit_argument(void) {
  return __atomic_load_n(&has_exit_key, __ATOMIC_ACQUIRE) ? pthread_getspecific(exit_key) : NULL;
}

/* Constructors and walks use different locks here. */
uintptr_t pd__platform_acquire_loader_lock(void) { return 0; }
void pd__platform_release_loader_lock(uintptr_t entered) { (void)entered; }

/* ---- This process ---- */

/* ---- Time ---- */

static int64_t read_clock(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t pd__platform_get_wall_ms(void) { return read_clock(CLOCK_REALTIME); }
/* dladdr returns the name by which the loader knows the image. dlopen recognizes that name without
 * looking at the file. The program itself needs no reference, so it doesn't matter if dlopen fails
 * for it. */
void pd__platform_pin_and_watch_forks(const pd_copy_record *own, void (*in_child)(void)) {
  Dl_info info;
  pd__posix_watch_forks(in_child);
  if (dladdr(own, &info) && info.dli_fname) {
    void *self = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
    if (self) dlclose(self);
  }
}

/* The loader compares names first, so it finds the image after chdir or if the file is gone. */
void *pd__platform_retain_image(const char *path, uintptr_t low, uintptr_t high) {
  int before = errno;
  pd__fork_state fork_state;
  pd__platform_release_fork_lock(&fork_state);
  void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  uintptr_t inside = handle ? (uintptr_t)pd__posix_find_library_address(handle) : 0;
  if (handle && (inside < low || inside >= high)) { /* a different image of the same name */
    dlclose(handle);
    handle = NULL;
  }
  pd__platform_reacquire_fork_lock(&fork_state);
  errno = before;
  return handle;
}

/* ---- Files ---- */

/* Returns what is wrong with the type of a file, or NULL. */
static const char *find_kind_fault(const struct stat *status, bool library) {
  if (S_ISREG(status->st_mode)) return NULL;
  if (S_ISDIR(status->st_mode) && library) return "is a directory, expected a shared library";
  if (S_ISDIR(status->st_mode)) return "is a directory, expected a regular file";
  if (library) return "is not a file, expected a shared library";
  if (S_ISFIFO(status->st_mode)) return "is a FIFO, expected a regular file";
  return "is a device or a socket, expected a regular file";
}

/* Returns a file descriptor, or -1 and sets *why. Only regular files are opened, since opening a
 * device may have side effects; fstat checks again, in case the file was replaced in between. */
static int open_regular_file(const char *path, bool library, struct stat *status,
                             const char **why) {
  bool found = stat(path, status) == 0;
  *why = found             ? find_kind_fault(status, library)
         : errno == ENOENT ? "no such file"
                           : strerror(errno);
  if (*why) return -1;
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  *why = fd < 0 || fstat(fd, status) != 0 ? strerror(errno) : find_kind_fault(status, library);
  if (fd < 0 || !*why) return fd;
  close(fd);
  return -1;
}

/* ---- Opening ---- */

/* Returns the loader's message without the path that it often begins with. */
static const char *get_loader_message(const char *path) {
  const char *words = dlerror();
  if (!words) return "the loader refused it";
  size_t length = strlen(path);
  const char *behind =
      strncmp(words, "./", 2) == 0 && strchr(path, '/') == NULL ? words + 2 : words;
  bool repeats = strncmp(behind, path, length) == 0 && !strncmp(behind + length, ": ", 2);
  return repeats ? behind + length + 2 : words;
}

/* dlopen searches for a name without a slash, so prefix it with "./". */
static void *dlopen_without_search(const char *path) {
  if (strchr(path, '/')) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  char *here = malloc(strlen(path) + 3);
  if (!here) return NULL; /* dlerror has no message then */
  void *handle = dlopen(strcat(strcpy(here, "./"), path), RTLD_NOW | RTLD_LOCAL);
  free(here);
  return handle;
}

pd_status pd__platform_open_library(const char *path, void **handle, const void **inside,
                                    pd_error *err) {
  struct stat status;
  const char *why = "the path is empty, expected that of a shared library";
  int fd = *path ? open_regular_file(path, true, &status, &why) : -1;
  if (fd >= 0) {
    why = pd__posix_find_library_fault(fd, (uint64_t)status.st_size);
    close(fd);
  }
  if (why) return pd__fail_load(path, why, err);
  pd__fork_state fork_state;
  pd__platform_release_fork_lock(&fork_state);
  *handle = dlopen_without_search(path);
  *inside = *handle ? pd__posix_find_library_address(*handle) : NULL;
  pd__platform_reacquire_fork_lock(&fork_state);
  return *inside ? PD_OK : pd__fail_load(path, get_loader_message(path), err);
}

void pd__platform_close_library(void *handle) {
  int before = errno;
  pd__fork_state fork_state;
  pd__platform_release_fork_lock(&fork_state);
  dlclose(handle);
  pd__platform_reacquire_fork_lock(&fork_state);
  errno = before;
}

/* A path without a slash was opened as "./path". */
bool pd__platform_is_same_path(const char *asked, const char *path) {
  bool here = !strchr(asked, '/') && !strncmp(path, "./", 2);
  return !strcmp(asked, here ? path + 2 : path);
}

/* ---- Reading ---- */

/* According to POSIX, a regular file always polls as ready for reading and writing, however it was
 * opened. Some files that the kernel calls regular are streams: /proc/kmsg and trace_pipe wait for
 * the next message, consume it, and never poll as ready for writing. */
static bool is_stream(int fd) {
  struct pollfd asked = {.fd = fd, .events = POLLIN | POLLOUT};
  int answered;
  do {
    answered = poll(&asked, 1, 0);
  } while (answered < 0 && errno == EINTR);
  return answered >= 0 && (~asked.revents & asked.events) != 0;
}

/* The file may grow while it is read, and files in /proc report no size. */
static const char *read_whole_file(pd__arena *arena, int fd, off_t size, size_t most, char **out,
                                   size_t *length) {
  if (is_stream(fd)) return "is a stream, expected a regular file";
  if ((uintmax_t)size > most) return PD__TOO_BIG;
  size_t capacity = (size_t)size + 2;
  *out = pd__arena_alloc(arena, capacity);
  for (*length = 0; *out; *out = pd__arena_grow_if_full(arena, *out, *length + 1, &capacity, 1)) {
    ssize_t got = read(fd, *out + *length, capacity - 1 - *length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN ? "reading it would wait" : strerror(errno);
    *length += (size_t)got;
    (*out)[*length] = '\0';
    if (got == 0) return NULL;
    if (*length > most) return PD__TOO_BIG;
  }
  return NULL;
}

const char *pd__platform_read_file(pd__arena *arena, const char *path, size_t most, char **out,
                                   size_t *length) {
  struct stat status;
  const char *why = "the path is empty";
  int fd = *path ? open_regular_file(path, false, &status, &why) : -1;
  if (fd >= 0) why = read_whole_file(arena, fd, status.st_size, most, out, length);
  if (fd >= 0) close(fd);
  return why ? pd__arena_copy_text(arena, why, strlen(why)) : NULL;
}

/* ---- Random bytes ---- */

#ifdef __APPLE__

bool pd__platform_fill_random(void *out, size_t size) {
  arc4random_buf(out, size);
  return true;
}

#else

#define WITHOUT_WAITING 1 /* GRND_NONBLOCK */

/* A system call, because older C libraries have no wrapper. So short a call is never interrupted by
 * a signal. */
bool pd__platform_fill_random(void *out, size_t size) {
  return syscall(SYS_getrandom, out, size, WITHOUT_WAITING) == (long)size;
}

#endif

/* ---- Environment and locale ---- */

char *pd__platform_copy_environment(void) {
  char *const *variables = pd__posix_get_environment();
  size_t size = 1, used = 0;
  if (!variables) return NULL;
  for (size_t i = 0; variables[i]; i++) size += strlen(variables[i]) + 1;
  char *copy = malloc(size);
  for (size_t i = 0; copy && variables[i]; i++) {
    size_t length = strlen(variables[i]) + 1;
    if (length == 1) continue;
    memcpy(copy + used, variables[i], length);
    used += length;
  }
  if (copy) copy[used] = '\0';
  return copy;
}

bool pd__platform_is_same_variable(const char *a, const char *b, size_t length) {
  return !strncmp(a, b, length);
}

static locale_t c_locale;

static void create_c_locale(void) { c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

double pd__platform_strtod(const char *text) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, create_c_locale);
  return strtod_l(text, NULL, c_locale);
}

#endif /* _WIN32 */
