/* With whole.c: one name that is a flag of two types in turn. */
#include <pd_flags.h>

PD_DEFINE_double(turning, 0.5, "A number of another kind");
