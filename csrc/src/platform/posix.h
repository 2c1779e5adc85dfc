/* What posix.c asks of the files that know the loader, elf.c and macho.c; and the lock of walks. */
#ifndef PD__PLATFORM_POSIX_H
#define PD__PLATFORM_POSIX_H

#include <stdint.h>

/* What is wrong with a file of `size` bytes in a user's words, or NULL where only
 * the loader can tell. */
const char *pd__posix_complaint(int fd, uint64_t size);

/* An address in the image that dlopen gave a handle of; NULL: the loader doesn't
 * tell. */
const void *pd__posix_inside(void *handle);

/* Around each walk over the images: a fork waits for its end. */
void pd__posix_walk_begin(void);
void pd__posix_walk_end(void);

/* Let none begin until pd__posix_walk_end, once all others are over. */
void pd__posix_walks_stop(void);

/* The same in the child of a fork. */
void pd__posix_walks_renew(void);

#endif /* PD__PLATFORM_POSIX_H */
