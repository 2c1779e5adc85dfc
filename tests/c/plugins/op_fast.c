/* Brings two implementations of pow, of types of other names. */
#include <pd_flags.h>

#define EXPORTED __attribute__((visibility("default")))

typedef double real;
static real nothing(real x, real y) { return x - x - y + y - 1; }
static real fast(real x, real y) { return x * 0 + y * 0 + 2; }
static real slow(real x, real y) { return x * 0 + y * 0 + 3; }
PD_IMPORT_OP(pow, real, (real, real), nothing);
PD_IMPL(pow, fast, fast, .rank = 100);
PD_IMPL(pow, slow, slow, .rank = -1);

EXPORTED double fast_calls(double x, double y);
double fast_calls(double x, double y) { return PD_CALL(pow)(x, y); }
