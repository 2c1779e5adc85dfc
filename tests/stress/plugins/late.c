/* A flag of the record, and flags that the plugin defines while it runs. */
#include <pd_flags.h>
#include <pd_flags/late.h>

#define EXPORTED __attribute__((visibility("default")))
#define LATE 8

PD_DEFINE_int32(late_level, 6, "A number", .min = 0, .max = 99);

static pd_flag_def defs[LATE];
static pd_late_def lates[LATE];
static char names[LATE][8];
static int64_t cells[LATE];
static int defined;

EXPORTED int level(void);
int level(void) { return FLAGS_late_level; }

/* The number of the flag; -1: all are defined. */
EXPORTED int define_another(void);
int define_another(void) {
  int number = __atomic_fetch_add(&defined, 1, __ATOMIC_RELAXED);
  if (number >= LATE) return -1;
  pd_flag_def *def = &defs[number];
  *def = (pd_flag_def){.size = sizeof *def, .type = PD_TYPE_int64, .name = names[number]};
  for (int i = 0; i < 5; i++) names[number][i] = "late_"[i];
  names[number][5] = (char)('0' + number);
  def->cell = &cells[number];
  def->min.i64 = INT64_MIN;
  def->max.i64 = INT64_MAX;
  lates[number] = (pd_late_def){.size = sizeof lates[number], .def = def};
  return pd_late_define(&lates[number], NULL) == PD_OK ? number : -2;
}
