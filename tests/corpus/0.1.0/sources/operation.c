/* Operations with several implementations, one of them per thread, and one of another module. */
#include <pd_flags.h>
#include "export.h"

struct thing;
static int32_t one(int32_t n) { return n + 1; }
static int32_t two(int32_t n) { return n + 2; }
static int32_t ten(int32_t n) { return n + 10; }
static const char *usable(void) { return "it never can"; }
PD_DEFINE_OP(o_step, int32_t, (int32_t), one, "Where to go from n");
PD_IMPL(o_step, two, two, .rank = 100);
PD_IMPL(o_step, ten, ten, .rank = 200, .usable = usable);
PD_DEFINE_SCOPED_OP(o_leap, int32_t, (int32_t), ten, "Where to go from n");
PD_IMPL(o_leap, two, two, .rank = -1);

static double fallback(const struct thing *thing, double *out, uint8_t bits) {
  return thing || out ? 0 : bits;
}
PD_IMPORT_OP(o_foreign, double, (const struct thing *, double *, uint8_t), fallback);

EXPORT int step(void);
EXPORT int step(void) { return PD_CALL(o_step)(0); }
EXPORT int leap(void);
EXPORT int leap(void) { return PD_SCOPED_CALL(o_leap)(0); }
EXPORT int foreign(void);
EXPORT int foreign(void) { return (int)PD_CALL(o_foreign)(NULL, NULL, 3); }
