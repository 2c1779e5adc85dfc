/* Flags that get a namespace. */
#include <pd_flags.h>

PD_DEFINE_int32(named_level, 6, "A number", .min = 0, .max = 99);
PD_DEFINE_string(named_mode, "fast", "How", .choices = "fast|best");

__attribute__((visibility("default"))) int level(void);
int level(void) { return FLAGS_named_level; }
