/* Files of flags, one in a line. */
#ifndef PD__FLAGFILE_H
#define PD__FLAGFILE_H

#include "words.h"

/* With the lock. Take what the file says; what is wrong with it is found. `path` lives
 * as long as the words; `by` is the item that names it, or has no name. */
void pd__flagfile_read(pd__words *words, const char *path, const pd__item *by);

#endif /* PD__FLAGFILE_H */
