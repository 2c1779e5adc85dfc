/* Defines the operation sum, and a flag of the name that its choice needs. */
#include <pd_flags.h>
#include <pd_flags/late.h>

static double native(double x) { return x; }
PD_DEFINE_OP(sum, double, (double), native, "Sum");

static pd_flag_def other;
static pd_late_def late = {.size = sizeof late, .def = &other};
__attribute__((constructor)) static void define(void) {
  other.size = sizeof other;
  other.type = PD_TYPE_int32;
  other.name = "impl.sum";
  other.max.i64 = 9;
  pd_late_define(&late, NULL);
}
