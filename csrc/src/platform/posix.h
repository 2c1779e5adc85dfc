/* What posix.c asks of the files that know the loader, elf.c and macho.c; and the lock of walks. */
#ifndef PD__PLATFORM_POSIX_H
#define PD__PLATFORM_POSIX_H

#include <pthread.h>
#include <stdint.h>

/* What is wrong with a file of `size` bytes in a user's words, or NULL where only
 * the loader can tell. */
const char *pd__posix_complaint(int fd, uint64_t size);

/* An address in the image that dlopen gave a handle of; NULL: the loader doesn't
 * tell. */
const void *pd__posix_inside(void *handle);

/* Walks over the images may go on beside each other. The loader has a lock of its own for them,
 * which glibc leaves as it is in a forked child: so no fork comes while one of ours is under way.
 */
extern pthread_rwlock_t pd__posix_walks;

#endif /* PD__PLATFORM_POSIX_H */
