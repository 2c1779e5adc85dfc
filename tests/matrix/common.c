/* A source that two plugins have in common. */
#include <pd_flags.h>

PD_DEFINE_int32(common_n, 1, "A flag of both");

PD_DECLARE_OP(a_step, int32_t, (int32_t));
static int32_t in_common(int32_t n) { return n + 3; }
PD_IMPL(a_step, common, in_common, .rank = -1);
