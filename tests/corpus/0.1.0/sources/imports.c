/* Imports of all types, from nobody, and of one flag that the host defines. */
#include <pd_flags.h>
#include "export.h"

PD_IMPORT_bool(i_bool, true);
PD_IMPORT_int32(i_int32, -1);
PD_IMPORT_uint32(i_uint32, 1);
PD_IMPORT_int64(i_host, -2);
PD_IMPORT_uint64(i_uint64, UINT64_MAX);
PD_IMPORT_double(i_double, 0.5);
PD_IMPORT_string(i_string, "none");

EXPORT int unknown(void);
EXPORT int unknown(void) {
  return FLAGS_i_bool && FLAGS_i_int32 == -1 && FLAGS_i_uint32 == 1 &&
         FLAGS_i_uint64 == UINT64_MAX && FLAGS_i_double == 0.5 && FLAGS_i_string[0] == 'n';
}
EXPORT int host(void);
EXPORT int host(void) { return (int)FLAGS_i_host; }
