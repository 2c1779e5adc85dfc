/* A validator that notes what it is asked. It leaves no module record, so it stays when the flags
 * of a record leave. */
#define PD_NO_MODULE_RECORD
#include <pd_flags.h>
#include <stdio.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

EXPORTED char noting_seen[1024]; /* "n=5 from file; ..." */
EXPORTED int64_t noting_refused = -1;
EXPORTED void (*noting_during)(void);

EXPORTED bool noting_validate(const pd_flag_entry *const *entries, void *context, char *why,
                              size_t size);

/* The context has the names of the flags. Refuses the value `noting_refused` of any of them. */
bool noting_validate(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  const char *const *names = context;
  bool good = true;
  for (size_t i = 0; names[i]; i++) {
    const pd_flag_entry *entry = entries[i];
    size_t used = strlen(noting_seen);
    snprintf(noting_seen + used, sizeof noting_seen - used, "%s%s=%lld%s from %s", i ? ", " : "",
             names[i], (long long)entry->value.i64, entry->unset ? " (unset)" : "",
             pd_source_name(entry->origin.source));
    good = good && entry->value.i64 != noting_refused;
  }
  strcat(noting_seen, "; ");
  if (noting_during) noting_during();
  snprintf(why, size, "not %lld", (long long)noting_refused);
  return good;
}
