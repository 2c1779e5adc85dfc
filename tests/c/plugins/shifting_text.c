/* See shifting.c. */
#define SHIFTING_TEXT
#include "shifting.c"
