/* A flag that its module validates and watches itself. */
#include <pd_flags.h>
#include <stdio.h>

/* While it isn't 0, the validator doesn't return; 2: it is inside. */
__attribute__((visibility("default"))) int guarded_gate;

static bool is_even(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  for (int open = 1; __atomic_load_n(&guarded_gate, __ATOMIC_ACQUIRE); open = 2) {
    __atomic_compare_exchange_n(&guarded_gate, &open, 2, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
  if (!context && entries[0]->value.i64 % 2 == 0) return true;
  snprintf(why, size, "expected an even number");
  return false;
}

__attribute__((visibility("default"))) int guarded_changes;
static void count(pd_flag *flag, void *context) { guarded_changes += flag && !context; }

PD_DEFINE_int32(guarded, 2, "An even number", .validate = is_even, .watch = count);
PD_DEFINE_int32(guarded_new, 0, "A flag with an old name", .old_names = "guarded_old");
PD_DEFINE_bool(guarded_gone, false, "Nothing", .retired = "since 2.0");
PD_DEFINE_string(guarded_key, "a", "A secret", .sensitive = true, .choices = "a|b");
