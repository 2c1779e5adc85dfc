/* Imports alpha.c's flag as another type. */
#include <pd_flags.h>

PD_IMPORT_bool(alpha_level, false);
