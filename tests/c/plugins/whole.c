/* With half.c: one name that is a flag of two types in turn. */
#include <pd_flags.h>

PD_DEFINE_int64(turning, 0x1111111111111111, "A whole number");
