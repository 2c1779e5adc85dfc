/* The same source in a second library. */
#include "leaving.c"
