/* Flags of several types; two libraries are made of it. */
#include <sched.h>
#include <stdio.h>

#include <pd_flags.h>

/* Another thread may run while the registry waits for it. */
static bool is_small(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  sched_yield();
  snprintf(why, size, "expected a small number");
  return entries[0]->value.i64 < 999;
}

PD_DEFINE_int32(whole_level, 6, "A number", .min = 0, .aliases = "whole_grade",
                .validate = is_small);
PD_DEFINE_string(whole_mode, "fast", "How", .choices = "fast|best");
PD_DEFINE_bool(whole_on, false, "Whether");
PD_DEFINE_double(whole_ratio, 0.5, "How much");

__attribute__((visibility("default"))) int level(void);
int level(void) { return FLAGS_whole_level; }
