/* What all systems need for walks over images. */
#include <stdlib.h>
#include <string.h>

#include "platform.h"

pd__platform_image *pd__platform_copy_image(const pd__platform_image *image) {
  size_t size = strlen(image->path) + 1;
  pd__platform_image *copy = malloc(sizeof *copy + size);
  if (!copy) return NULL;
  *copy = *image;
  copy->path = memcpy(copy + 1, image->path, size);
  return copy;
}

#ifndef _WIN32

#include <pthread.h>

#include "posix.h"

/* Walks may go on beside each other. The loader has a lock of its own for them, which glibc leaves
 * as it is in a forked child: so no fork comes while one of ours is under way. */
static pthread_rwlock_t walks = PTHREAD_RWLOCK_INITIALIZER;

void pd__posix_walk_begin(void) { pthread_rwlock_rdlock(&walks); }
void pd__posix_walk_end(void) { pthread_rwlock_unlock(&walks); }
void pd__posix_walks_stop(void) { pthread_rwlock_wrlock(&walks); }

/* The thread that stopped them has another number in the child: it could not let go of the lock. */
void pd__posix_walks_renew(void) { walks = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER; }

#endif /* _WIN32 */
