/* alpha.c's successor: a flag is gone, the others have other types and ranges. */
#include <pd_flags.h>

PD_DEFINE_int64(alpha_level, 1, "Compression level", .max = 5);
PD_DEFINE_string(alpha_mode, "best", "How to search", .choices = "best|worst");
PD_DEFINE_string(alpha_ratio, "1/2", "Share of the work");
