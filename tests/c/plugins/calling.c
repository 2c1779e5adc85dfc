/* Its validator and its watcher call what the program put into their variables, and go on
 * afterwards in the code, and with the data, of this library. */
#include <pd_flags.h>
#include <stdio.h>

__attribute__((visibility("default"))) void (*calling_during_validate)(void);
__attribute__((visibility("default"))) void (*calling_during_watch)(void);
__attribute__((visibility("default"))) void (*calling_at_end)(void);

static int limit = 100; /* what `context` points to */

static bool is_within(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  if (calling_during_validate) calling_during_validate();
  if (entries[0]->value.i64 < *(const int *)context) return true;
  snprintf(why, size, "expected less than %d", *(const int *)context);
  return false;
}

static int64_t changes;
static void notice(pd_flag *flag, void *context) {
  if (calling_during_watch) calling_during_watch();
  changes += flag && context;
}

/* calling_too.c gives the names another meaning: they are expanded before they become text. */
#define DEFINE(name, ...) PD_DEFINE_int64(name, __VA_ARGS__)
DEFINE(calling, 0, "Validated and watched", .validate = is_within, .watch = notice,
       .context = &limit);
DEFINE(calling_plain, 0, "Nobody is asked about it");

__attribute__((visibility("default"))) int64_t calling_changes(void);
int64_t calling_changes(void) { return changes; }

__attribute__((visibility("default"))) void calling_release(void *context);
void calling_release(void *context) { changes += context != NULL; }

__attribute__((visibility("default"))) void calling_warn(const char *message, pd_warning kind,
                                                         void *context);
void calling_warn(const char *message, pd_warning kind, void *context) {
  (void)kind;
  if (calling_during_watch) calling_during_watch();
  changes += message && context;
}

__attribute__((visibility("default"))) void calling_write(const char *text, size_t length,
                                                          void *context);
void calling_write(const char *text, size_t length, void *context) {
  if (calling_during_watch) calling_during_watch();
  if (text) *(size_t *)context += length;
}

__attribute__((destructor)) static void end(void) {
  if (calling_at_end) calling_at_end();
}
