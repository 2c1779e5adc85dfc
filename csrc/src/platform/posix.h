/* Functions of the loader-specific files, elf.c and macho.c, of posix.c and of posix_threads.c, for
 * each other. */
#ifndef PD__PLATFORM_POSIX_H
#define PD__PLATFORM_POSIX_H

#include <pthread.h>
#include <stdint.h>

#include "platform.h"

/* Returns what is wrong with a library file of `size` bytes, as text for the user; NULL if the file
 * looks right or only the loader can tell. */
const char *pd__posix_find_library_fault(int fd, uint64_t size);

/* Returns an address in the image of a handle from dlopen; NULL if the loader doesn't reveal it. */
const void *pd__posix_find_library_address(void *handle);

/* Returns all variables as "NAME=value", up to NULL. NULL in a setuid or setgid process. */
char *const *pd__posix_get_environment(void);

/* Enclose a walk over the images: fork waits until it is over. */
void pd__posix_begin_image_walk(pd__fork_state *fork_state);
void pd__posix_end_image_walk(const pd__fork_state *fork_state);

/* From now on fork holds the lock, and a child calls `in_child` while it still does. */
void pd__posix_watch_forks(void (*in_child)(void));

#endif /* PD__PLATFORM_POSIX_H */
