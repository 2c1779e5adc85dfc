/* A module that links nothing and calls its host: definitions at run time, hooks, batches. */
#define PD_HEADER_ONLY
#include <pd_flags.h>
#include <pd_flags/late.h>
#include "export.h"

PD_DEFINE_int32(c_level, 6, "How hard to try", .min = 1, .max = 20);

static int seen;
static int64_t cell = 2;
static pd_flag_def late_def = {.size = sizeof late_def,
                               .type = PD_TYPE_int64,
                               .kind = PD_KIND_DEFINE,
                               .name = "c_late",
                               .help = "Defined late",
                               .file = "calls.c",
                               .cell = &cell,
                               .default_value.i64 = 2,
                               .min.i64 = INT64_MIN,
                               .max.i64 = INT64_MAX};
static pd_late_def late = {.size = sizeof late, .def = &late_def};

static bool is_even(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  if (size > 5) __builtin_memcpy(why, "even", 5);
  return entries[0]->value.i64 % 2 == 0;
}
static void see(pd_flag *flag, void *context) {
  (void)context;
  seen++;
  (void)flag;
}

EXPORT int define(void);
EXPORT int define(void) { return (int)pd_late_define(&late, NULL); }
EXPORT int late_value(void);
EXPORT int late_value(void) { return (int)cell; }
EXPORT int hooks(void);
EXPORT int hooks(void) {
  pd_flag *flag;
  pd_status status = pd_flag_find("c_level", &flag, NULL);
  if (status == PD_OK) status = pd_validator_add(&flag, 1, is_even, NULL, NULL, NULL, NULL);
  if (status == PD_OK) status = pd_watcher_add(flag, see, NULL, NULL, NULL, NULL);
  return (int)status;
}
EXPORT int override(void);
EXPORT int override(void) {
  pd_assignment item = {NULL, "8", PD_TYPE_int32, {0}};
  pd_override pushed;
  pd_status status = pd_flag_find("c_level", &item.flag, NULL);
  if (status == PD_OK) status = pd_override_push(&item, 1, NULL, NULL, &pushed, NULL);
  int value = FLAGS_c_level;
  if (status == PD_OK) status = pd_override_pop(pushed, NULL);
  return status == PD_OK ? value : -(int)status;
}
EXPORT int level(void);
EXPORT int level(void) { return FLAGS_c_level; }
EXPORT int changes(void);
EXPORT int changes(void) { return seen; }
EXPORT int info(void);
EXPORT int info(void) {
  pd_flag *flag;
  pd_flag_info about = {.size = sizeof about};
  pd_flag_entry entry = {.size = sizeof entry};
  if (pd_flag_find("c_level", &flag, NULL) != PD_OK) return -1;
  if (pd_flag_get_info(flag, &about, NULL) != PD_OK) return -2;
  if (pd_flag_get_entry(flag, 0, &entry, NULL) != PD_OK) return -3;
  return about.max.i64 == 20 && entry.origin.source == PD_SOURCE_DEFAULT;
}
