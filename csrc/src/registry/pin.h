/* What an operation keeps in the process, and how it lets go. */
#ifndef PD__PIN_H
#define PD__PIN_H

#include "registry.h"

/* With the lock: undo the pins of modules that pd_module_load opened. */
void pd__pins_release(pd__operation *operation);

/* No lock: give the loader back what it gave, which may unload images. */
void pd__pins_close(pd__operation *operation);

/* In the child of a fork: forget the counts of all modules; count those of an operation again. */
void pd__pins_forget(void);
void pd__pins_count(const pd__operation *operation);

#endif /* PD__PIN_H */
