/* Two names of alpha.c with other meanings, and one that is free. */
#include <pd_flags.h>

PD_DEFINE_int32(clash_free, 1, "Nobody else has it");
PD_DEFINE_bool(alpha_level, false, "Another meaning");
PD_DEFINE_string(alpha_mode, "slow", "Another meaning");
