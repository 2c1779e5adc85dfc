/* Follows alpha.c's flag through its name and its alias. */
#include <pd_flags.h>

PD_IMPORT_int32(alpha_level, -1);
PD_IMPORT_int32(alpha_lvl, -2);

__attribute__((visibility("default"))) int imported_level(void);
int imported_level(void) { return FLAGS_alpha_level; }

__attribute__((visibility("default"))) int imported_alias(void);
int imported_alias(void) { return FLAGS_alpha_lvl; }
