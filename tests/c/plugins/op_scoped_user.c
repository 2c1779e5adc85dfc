/* Imports twice, and brings two implementations of it. */
#include <pd_flags.h>

#define EXPORTED __attribute__((visibility("default")))

static double fallback(double x) { return x - 1; }
static double fast(double x) { return 2 * x + 0.5; }
static double slow(double x) { return 2 * x + 0.25; }
PD_IMPORT_SCOPED_OP(twice, double, (double), fallback);
PD_IMPL(twice, fast, fast, .rank = -1);
PD_IMPL(twice, slow, slow, .rank = -2);

EXPORTED double user_calls(double x);
double user_calls(double x) { return PD_SCOPED_CALL(twice)(x); }
