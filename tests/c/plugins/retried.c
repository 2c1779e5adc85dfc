/* Refused while the program has a flag of its name; stays in the process all the same.
 * Built with: -Wl,-z,nodelete
 */
#include <pd_flags.h>
#include <stdio.h>

__attribute__((visibility("default"))) void (*retried_during_validate)(void);

static bool is_not_7(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  if (retried_during_validate) retried_during_validate();
  snprintf(why, size, "expected not 7");
  return entries[0]->value.i64 != 7;
}

PD_DEFINE_int32(retried_level, 3, "Validated", .validate = is_not_7);
