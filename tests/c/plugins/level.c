/* alpha.c's successor: one flag is gone, one has another type and range. */
#include <pd_flags.h>

PD_DEFINE_int64(alpha_level, 1, "Compression level", .max = 5);
PD_DEFINE_string(alpha_ratio, "1/2", "Share of the work");
