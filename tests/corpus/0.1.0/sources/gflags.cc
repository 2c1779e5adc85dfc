/* A source for gflags, whose flags are variables that it assigns to. */
#include <gflags/gflags.h>
#include "export.h"

DEFINE_bool(g_bool, true, "A bool");
DEFINE_int32(g_int32, 6, "How hard to try");
DEFINE_uint64(g_uint64, 7, "A uint64");
DEFINE_double(g_double, 0.5, "A double");
DEFINE_string(g_string, "fast", "How to search");
static bool check(const char *, int32_t value) { return value != 13; }
DEFINE_validator(g_int32, &check);

EXPORT int values() { return FLAGS_g_bool && FLAGS_g_uint64 == 7 && FLAGS_g_double == 0.5; }
EXPORT int number() { return FLAGS_g_int32; }
EXPORT int assign() { return FLAGS_g_int32 = 8; }
EXPORT const char *text() { return FLAGS_g_string.c_str(); }
