/* What the other files need of the operating system: the lock, clocks, threads, descriptors, and
 * the pipe that wakes the clients' thread.
 *
 * The library uses only what pd_flags.h declares, through the module record (pd_flags/unlinked.h).
 * Its threads take no signals:
 *
 * - the clients' thread (loop.c) reads requests, answers those that only read, ends temporary
 * changes on time, and gives up changes that take too long. It never calls code of the program.
 * - the changes' thread (jobs.c) makes one change after the other: validators may take long.
 * - the callbacks' thread (audit.c) runs watchers and audits. It exists while there are any.
 *
 * pd__lock guards what they share, and is held by fork. No function of pd_flags.h is called while
 * it is held. */
#ifndef PD_LIVE_SYSTEM_H
#define PD_LIVE_SYSTEM_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

extern pthread_mutex_t pd__lock;
/* Broadcast under the lock after a change that a thread waits for. */
extern pthread_cond_t pd__lock_changed;

int64_t pd__get_steady_ms(void);
int64_t pd__get_wall_ms(void); /* since 1970 */

/* Starts a detached thread. Returns false if there can be none. */
bool pd__thread_start(void *(*function)(void *), void *argument);

/* A descriptor. The program may close it, as daemons do with all, and open something of its own
 * under the same number: so the file behind it is checked before each use. */
typedef struct pd__descriptor {
  int fd; /* -1: none */
  dev_t device;
  ino_t inode;
} pd__descriptor;

void pd__descriptor_adopt(pd__descriptor *to, int fd);
bool pd__descriptor_is_unchanged(const pd__descriptor *descriptor);
/* Closes it if it is still ours. */
void pd__descriptor_close(pd__descriptor *descriptor);

/* The ends of a pipe, since its inode is no other one's. The clients' thread opens it, and reads
 * what pd__loop_wake has written. */
extern pd__descriptor pd__wake_in, pd__wake_out;

/* Makes the clients' thread look for work. */
void pd__loop_wake(void);

#endif /* PD_LIVE_SYSTEM_H */
