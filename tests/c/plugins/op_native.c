/* Defines pow with two signatures. */
#include <pd_flags.h>

#define EXPORTED __attribute__((visibility("default")))

static double native(double x, double y) { return x * 1000 + y; }
static double native_i(double x, int32_t y) { return x * 1000 - y; }
PD_DEFINE_OP(pow, double, (double, double), native, "x to the power of y");
PD_DEFINE_OP_AS(pow_i, "pow", double, (double, int32_t), native_i, "x to the power of an integer");

EXPORTED double native_calls(double x, double y);
double native_calls(double x, double y) { return PD_CALL(pow)(x, y); }
EXPORTED double native_calls_i(double x, int32_t y);
double native_calls_i(double x, int32_t y) { return PD_CALL(pow_i)(x, y); }
