/* A source that two plugins have in common. */
#include <pd_flags.h>

PD_DEFINE_int32(common_n, 1, "A flag of both");
