/* Defines two operations whose flags would be one. */
#include <pd_flags.h>

static double native(double x) { return x; }
PD_DEFINE_OP_AS(one, "to-sum", double, (double), native, "Sum");
PD_DEFINE_OP_AS(two, "to_sum", double, (double), native, "Sum");
PD_DEFINE_bool(op_alike_flag, false, "Comes only with its module");
