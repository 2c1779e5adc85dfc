/* A source for c10, the base of PyTorch. */
#include <c10/util/Flags.h>
#include "export.h"

C10_DEFINE_int(t_int, 6, "How hard to try");
C10_DEFINE_bool(t_bool, true, "A bool");
C10_DEFINE_string(t_string, "fast", "How to search");

EXPORT int number() { return FLAGS_t_int; }
EXPORT int assign() { return FLAGS_t_int = 8; }
EXPORT const char *text() { return FLAGS_t_string.c_str(); }
