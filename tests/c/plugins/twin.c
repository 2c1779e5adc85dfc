/* The same source in a second library. */
#include "alpha.c"
