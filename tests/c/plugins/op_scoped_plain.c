/* Imports twice as if its choice were the same in all threads. */
#include <pd_flags.h>

static double fallback(double x) { return x; }
PD_IMPORT_OP(twice, double, (double), fallback);
double plain_calls(double x);
double plain_calls(double x) { return PD_CALL(twice)(x); }
