#include "system.h"

#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

pthread_mutex_t pd__lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t pd__lock_changed = PTHREAD_COND_INITIALIZER;

pd__descriptor pd__wake_in = {.fd = -1}, pd__wake_out = {.fd = -1};

static int64_t read_clock_ms(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t pd__get_steady_ms(void) { return read_clock_ms(CLOCK_MONOTONIC); }
int64_t pd__get_wall_ms(void) { return read_clock_ms(CLOCK_REALTIME); }

bool pd__thread_start(void *(*function)(void *), void *argument) {
  pthread_attr_t attributes;
  pthread_t thread;
  sigset_t all, before;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool created = pthread_create(&thread, &attributes, function, argument) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return created;
}

void pd__descriptor_adopt(pd__descriptor *to, int fd) {
  struct stat status = {.st_ino = 0};
  (void)fstat(fd, &status);
  to->device = status.st_dev;
  to->inode = status.st_ino;
  __atomic_store_n(&to->fd, fd, __ATOMIC_RELEASE);
}

bool pd__descriptor_is_unchanged(const pd__descriptor *descriptor) {
  struct stat status;
  int fd = __atomic_load_n(&descriptor->fd, __ATOMIC_ACQUIRE);
  return fd >= 0 && fstat(fd, &status) == 0 && status.st_dev == descriptor->device &&
         status.st_ino == descriptor->inode;
}

void pd__descriptor_close(pd__descriptor *descriptor) {
  if (pd__descriptor_is_unchanged(descriptor)) close(descriptor->fd);
  descriptor->fd = -1;
}

void pd__loop_wake(void) {
  if (pd__descriptor_is_unchanged(&pd__wake_out)) (void)!write(pd__wake_out.fd, "", 1);
}
