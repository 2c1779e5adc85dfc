/* The same as calling.c by other names. */
#define calling calling_too
#define FLAGS_calling FLAGS_calling_too
#define calling_plain calling_too_plain
#define FLAGS_calling_plain FLAGS_calling_too_plain
#include "calling.c"
