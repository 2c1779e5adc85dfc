/* A source for Paddle. */
#include <paddle/common/flags.h>
#include "export.h"

PHI_DEFINE_EXPORTED_int32(p_int32, 6, "How hard to try");
PHI_DEFINE_EXPORTED_bool(p_bool, true, "A bool");
PHI_DEFINE_EXPORTED_string(p_string, "fast", "How to search");

EXPORT int number() { return FLAGS_p_int32; }
EXPORT int assign() { return FLAGS_p_int32 = 8; }
EXPORT const char *text() { return FLAGS_p_string.c_str(); }
