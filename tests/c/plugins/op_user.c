/* Imports pow, and brings nothing. */
#include <pd_flags.h>

#define EXPORTED __attribute__((visibility("default")))

static double nothing(double x, double y) { return x - y; }
PD_IMPORT_OP(pow, double, (double, double), nothing);

EXPORTED double user_calls(double x, double y);
double user_calls(double x, double y) { return PD_CALL(pow)(x, y); }
