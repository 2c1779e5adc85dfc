/* Whether the program runs with the module by LD_PRELOAD, and the variables that say more. */
#ifndef PD_LIVE_PRELOAD_H
#define PD_LIVE_PRELOAD_H

#include <stdbool.h>

/* False too in set-user-ID programs, and in programs that link the module: these decide. */
bool pd__is_preloaded(void);

/* An environment variable; NULL: it isn't set, or is empty. */
const char *pd__variable(const char *name);

#endif /* PD_LIVE_PRELOAD_H */
