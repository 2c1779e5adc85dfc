/* A flag of whole.c, whether that is there or not. */
#include <pd_flags.h>

PD_IMPORT_int32(whole_level, 6);
PD_DEFINE_int32(importer_level, 6, "A number", .min = 0, .max = 99);

__attribute__((visibility("default"))) int level(void);
int level(void) { return FLAGS_whole_level; }
