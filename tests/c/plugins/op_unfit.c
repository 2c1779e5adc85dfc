/* The best implementations of pow, of which one can't run and the other can. */
#include <pd_flags.h>

#define EXPORTED __attribute__((visibility("default")))

static int32_t times;
EXPORTED int32_t times_asked(void);
int32_t times_asked(void) { return times; }
static const char *never(void) {
  times++;
  return "the CPU lacks nothing but luck";
}
static const char *always(void) { return NULL; }
static double unfit(double x, double y) { return x * 0 + y * 0 + 7; }
static double fit(double x, double y) { return x * 0 + y * 0 + 8; }
PD_IMPORT_OP(pow, double, (double, double), unfit);
PD_IMPL(pow, unfit, unfit, .rank = 900, .usable = never);
PD_IMPL(pow, fit, fit, .rank = 800, .usable = always);
