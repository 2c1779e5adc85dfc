/* An implementation of the highest rank: once it was chosen, the plugin stays in the process. */
#include <sched.h>
#include <unistd.h>

#include <pd_flags.h>

#define EXPORTED __attribute__((visibility("default")))

static int return_none(void) { return 0; }
static int return_rank(void) { return 100; }

/* Another thread may run while the registry asks. */
static const char *say_usable(void) {
  sched_yield();
  usleep(100);
  return NULL;
}

PD_DEFINE_int32(chosen_level, 6, "A number", .min = 0, .max = 99);
PD_DEFINE_string(chosen_mode, "fast", "How", .choices = "fast|best");
PD_IMPORT_OP(stress_rank, int, (void), return_none);
PD_IMPL(stress_rank, chosen, return_rank, .rank = 100, .usable = say_usable);

EXPORTED int level(void);
int level(void) { return FLAGS_chosen_level; }
EXPORTED int call(void);
int call(void) { return PD_CALL(stress_rank)(); }
