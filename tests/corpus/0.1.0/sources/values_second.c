/* Another source file of values: it declares a flag of the first, and defines one. */
#include <pd_flags.h>
#include "export.h"

PD_DECLARE_int32(v_int32);
PD_DEFINE_int32(v_second, 7, "Of the second file");

EXPORT int both(void);
EXPORT int both(void) { return FLAGS_v_int32 + FLAGS_v_second; }
