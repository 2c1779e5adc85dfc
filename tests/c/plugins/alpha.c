/* Flags of several types, in an order of its own. */
#include <pd_flags.h>

PD_DEFINE_int32(alpha_level, 6, "Compression level", .min = 1, .max = 9, .aliases = "alpha_lvl");
PD_DEFINE_string(alpha_mode, "fast", "How to search", .choices = "fast|best");
PD_DEFINE_bool(alpha_check, false, "Stop at the first NaN or Inf");
PD_DEFINE_double(alpha_ratio, 0.5, "Share of the work");

__attribute__((visibility("default"))) int32_t spare_cell; /* for pd_flag_register */

__attribute__((visibility("default"))) int alpha_level(void);
int alpha_level(void) { return FLAGS_alpha_level; }
