/* Imports the flags of scoped.c, and one that nobody defines. */
#include <pd_flags.h>

PD_IMPORT_SCOPED_int32(scoped_level, 1);
PD_IMPORT_SCOPED_string(scoped_nowhere, "here");

int imported_level(void);
int imported_level(void) { return PD_SCOPED(scoped_level); }
