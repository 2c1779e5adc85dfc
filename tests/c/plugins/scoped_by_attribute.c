/* A flag whose variable isn't that of a scoped flag. */
#include <pd_flags.h>

PD_DEFINE_int32(half_scoped, 1, "", .scoped = true);
