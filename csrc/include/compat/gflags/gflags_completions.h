/* Completion of a command line by the program itself, as gflags does it: who has set
 * --tab_completion_word gets the flags that it may become, and the program ends. */
#ifndef GFLAGS_COMPLETIONS_H_
#define GFLAGS_COMPLETIONS_H_

#include <gflags/gflags.h>

#endif /* GFLAGS_COMPLETIONS_H_ */
