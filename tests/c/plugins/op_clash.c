/* Brings an implementation under a name that op_fast uses, and a flag that goes with it. */
#include <pd_flags.h>

static double fast(double x, double y) { return x + y; }
PD_IMPORT_OP(pow, double, (double, double), fast);
PD_IMPL(pow, fast, fast, .rank = 200);
PD_DEFINE_bool(op_clash_flag, false, "Comes only with its module");
