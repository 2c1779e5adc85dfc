/* The pins of an operation, and how they are released. */
#ifndef PD__PIN_H
#define PD__PIN_H

#include "registry.h"

/* Releases all pins and queues their references for pd__close_queued_handles. The caller holds the
 * lock. */
void pd__pins_release(pd__operation *operation);

/* Closes the queued references, which may unload images. The caller must not hold the lock. */
void pd__close_queued_handles(pd__operation *operation);

/* In the child of a fork, recounts the pins: only the operations of this thread are left. */
void pd__pins_reset_in_child(void);

#endif /* PD__PIN_H */
