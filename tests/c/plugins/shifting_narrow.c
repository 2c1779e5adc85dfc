/* See shifting.c. */
#define SHIFTING_NARROW
#include "shifting.c"
