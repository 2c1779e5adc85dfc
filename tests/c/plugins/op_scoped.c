/* Defines twice, whose choice may differ by thread, and says what its arrays are. */
#include <pd_flags.h>

#define EXPORTED __attribute__((visibility("default")))

struct DLTensor;
static double native(double x) { return 2 * x; }
static void fill(struct DLTensor *out, const struct DLTensor *in) { (void)out, (void)in; }
PD_DEFINE_SCOPED_OP(twice, double, (double), native, "Two times x");
PD_DEFINE_OP(fill, void, (struct DLTensor *, const struct DLTensor *), fill, "Fill",
             .arrays = "f32[n,3], any[..., n] strided");

EXPORTED double scoped_calls(double x);
double scoped_calls(double x) { return PD_SCOPED_CALL(twice)(x); }
