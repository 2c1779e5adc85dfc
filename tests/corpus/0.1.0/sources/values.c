/* Flags of all types, with all attributes. */
#include <pd_flags.h>
#include "export.h"

static int watched;
static bool check(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  if (entries[0]->value.i64 != *(const int *)context) return true;
  if (size > 7) __builtin_memcpy(why, "not 13", 7);
  return false;
}
static void watch(pd_flag *flag, void *context) {
  (void)flag;
  watched += *(const int *)context;
}
static int thirteen = 13;

PD_DEFINE_bool(v_bool, true, "A bool", .hidden = true);
PD_DEFINE_int32(v_int32, -5, "An int32", .min = -9, .max = 99, .category = "Numbers",
                .validate = check, .watch = watch, .context = &thirteen);
PD_DEFINE_uint32(v_uint32, UINT32_MAX, "A uint32", .min = 1, .metavar = "COUNT");
PD_DEFINE_int64(v_int64, INT64_MIN, "An int64", .runtime = true, .unsafe = true);
PD_DEFINE_uint64(v_uint64, UINT64_MAX, "A uint64", .per_process = true);
PD_DEFINE_double(v_double, 0.5, "A double", .max = 1.5, .experimental = true);
PD_DEFINE_string(v_string, "fast", "A string", .choices = "fast|best", .aliases = "v-mode|v_kind");
PD_DEFINE_int64(v_size, 4096, "A size", .unit = "bytes");
PD_DEFINE_double(v_delay, 1.5, "A time", .unit = "seconds");
PD_DEFINE_string(v_list, "1,2", "A list", .list = PD_TYPE_int32);
PD_DEFINE_string(v_names, "a", "Names", .list = PD_TYPE_string, .merge = true);
PD_DEFINE_string(v_secret, "hush", "A secret", .sensitive = true);
PD_DEFINE_int32(v_fixed, 3, "Read only", .read_only = true);
PD_DEFINE_int32(v_startup, 4, "Not changed later", .startup_only = true);
PD_DEFINE_int32(v_old, 1, "Deprecated", .deprecated = "use v_new");
PD_DEFINE_int32(v_retired, 1, "Retired", .retired = "does nothing");
PD_DEFINE_int32(v_new, 1, "Renamed", .old_names = "v_former");
PD_DEFINE_string(v_optional, "", "Perhaps nothing", .optional = true);
PD_DEFINE_string(v_multi, "", "May be repeated", .list = PD_TYPE_string, .multi = true);
PD_DEFINE_int32(v_count, 0, "How often", .count = true);

EXPORT int values(void);
EXPORT int values(void) {
  return FLAGS_v_bool && FLAGS_v_uint32 == UINT32_MAX && FLAGS_v_int64 == INT64_MIN &&
         FLAGS_v_uint64 == UINT64_MAX && FLAGS_v_double == 0.5 && FLAGS_v_size == 4096;
}
EXPORT int int32(void);
EXPORT int int32(void) { return FLAGS_v_int32; }
EXPORT const char *string(void);
EXPORT const char *string(void) { return FLAGS_v_string; }
EXPORT const char *list(void);
EXPORT const char *list(void) { return FLAGS_v_list; }
EXPORT int size(void);
EXPORT int size(void) { return (int)FLAGS_v_size; }
EXPORT int changes(void);
EXPORT int changes(void) { return watched; }
