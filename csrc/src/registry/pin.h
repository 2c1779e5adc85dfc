/* What an operation keeps in the process, and how it lets go. */
#ifndef PD__PIN_H
#define PD__PIN_H

#include "registry.h"

/* With the lock: undo the pins of modules that pd_module_load opened. */
void pd__pins_release(pd__operation *operation);

/* No lock: give the loader back what it gave, which may unload images. */
void pd__pins_close(pd__operation *operation);

/* In the child of a fork: count again what the operations of its thread keep. */
void pd__pins_in_child(void);

#endif /* PD__PIN_H */
