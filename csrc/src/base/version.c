/* The version of the library, which says what a small build lacks. */
#include "profile.h"
#include "work.h"

const char *pd_version(void) { return PD__VERSION; }
