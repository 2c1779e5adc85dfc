/* Functions of the loader-specific files, elf.c and macho.c, for posix.c; and the lock of walks. */
#ifndef PD__PLATFORM_POSIX_H
#define PD__PLATFORM_POSIX_H

#include <pthread.h>
#include <stdint.h>

/* Returns what is wrong with a library file of `size` bytes, as text for the user; NULL if the file
 * looks right or only the loader can tell. */
const char *pd__posix_complaint(int fd, uint64_t size);

/* Returns an address in the image of a handle from dlopen; NULL if the loader doesn't reveal it. */
const void *pd__posix_inside(void *handle);

/* Held for reading by each walk over the images, and for writing by fork. glibc doesn't reset its
 * own lock for walks in a forked child, so no thread may be in a walk during fork. */
extern pthread_rwlock_t pd__posix_walks;

#endif /* PD__PLATFORM_POSIX_H */
