/* An implementation of a rank that others pass. */
#include <sched.h>

#include <pd_flags.h>

#define EXPORTED __attribute__((visibility("default")))

static int return_none(void) { return 0; }
static int return_rank(void) { return 50; }
static const char *say_usable(void) {
  sched_yield();
  return NULL;
}

PD_DEFINE_int32(swift_level, 6, "A number", .min = 0, .max = 99);
PD_IMPORT_OP(stress_rank, int, (void), return_none);
PD_IMPL(stress_rank, swift, return_rank, .rank = 50, .usable = say_usable);

EXPORTED int level(void);
int level(void) { return FLAGS_swift_level; }
EXPORTED int call(void);
int call(void) { return PD_CALL(stress_rank)(); }
