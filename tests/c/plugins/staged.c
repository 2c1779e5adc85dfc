/* Its validator and its `usable` call what the program put into their variables. It stays in the
 * process once its implementation was chosen, so a test can put something there before it joins
 * again. */
#include <pd_flags.h>
#include <pd_flags/late.h>
#include <stdio.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED void (*staged_during_usable)(void);
EXPORTED void (*staged_during_validate)(void);

static int none(void) { return 0; }
static int mine(void) { return 2; }

static const char *usable(void) {
  if (staged_during_usable) staged_during_usable();
  return NULL;
}

static bool is_not_7(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  if (staged_during_validate) staged_during_validate();
  snprintf(why, size, "expected not 7");
  return entries[0]->value.i64 != 7;
}

PD_DEFINE_bool(staged_plain, true, "Nobody is asked about it");
PD_DEFINE_int32(staged_level, 6, "Validated", .validate = is_not_7);
PD_IMPORT_OP(stage, int, (void), none);
PD_IMPL(stage, staged, mine, .rank = 100, .usable = usable);

static const pd_flag_def late_def = {
    .size = sizeof late_def, .type = PD_TYPE_bool, .name = "staged_late", .help = "Late"};
EXPORTED pd_status staged_define_late(void);
pd_status staged_define_late(void) {
  static pd_late_def late = {.size = sizeof late, .def = &late_def};
  return pd_late_define(&late, NULL);
}
