/* Functions and a variable for hooks and flags, in a library that leaves no module record: the
 * registry can't see it come, nor leave. */
#define PD_NO_MODULE_RECORD
#include <pd_flags.h>
#include <stdio.h>

__attribute__((visibility("default"))) int32_t bare_cell = 5;
__attribute__((visibility("default"))) int bare_calls;
__attribute__((visibility("default"))) void (*bare_during)(void);

__attribute__((visibility("default"))) bool bare_validate(const pd_flag_entry *const *entries,
                                                          void *context, char *why, size_t size);
bool bare_validate(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  bare_calls++;
  if (bare_during) bare_during();
  if (entries[0]->value.i64 < 100) return true;
  snprintf(why, size, "expected less than %d", 100);
  return false;
}

__attribute__((visibility("default"))) void bare_watch(pd_flag *flag, void *context);
void bare_watch(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  bare_calls++;
  if (bare_during) bare_during();
}

__attribute__((visibility("default"))) void bare_warn(const char *message, pd_warning kind,
                                                      void *context);
void bare_warn(const char *message, pd_warning kind, void *context) {
  (void)kind;
  (void)message, (void)context;
  bare_calls++;
}

__attribute__((visibility("default"))) void bare_release(void *context);
void bare_release(void *context) {
  if (bare_during) bare_during();
  ++*(int *)context;
}

__attribute__((visibility("default"))) void bare_write(const char *text, size_t length,
                                                       void *context);
void bare_write(const char *text, size_t length, void *context) {
  if (bare_during) bare_during();
  if (text) *(size_t *)context += length;
}
