/* Imports a flag of scoped.c as if it weren't scoped. */
#include <pd_flags.h>

PD_IMPORT_int32(scoped_level, 1);
