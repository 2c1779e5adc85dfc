/* Defines the operation sum, and in the same list a flag of the name that its choice needs. */
#include <pd_flags.h>

static double native(double x) { return x; }
PD_DEFINE_OP(sum, double, (double), native, "Sum");

static const pd_flag_def pd__def_own = {.size = sizeof(pd_flag_def),
                                        .type = PD_TYPE_int32,
                                        .name = "impl-sum",
                                        .aliases = "impl.sum",
                                        .max.i64 = 9,
                                        .file = __FILE__,
                                        .line = __LINE__};
PD__LIST(own);
