/* Flags that may have a value of their own in one thread. */
#include <pd_flags.h>

PD_DEFINE_SCOPED_int32(plugin_scoped_level, 6, "A number", .min = 0, .max = 99);
PD_DEFINE_SCOPED_string(plugin_scoped_mode, "fast", "How", .choices = "fast|best");

__attribute__((visibility("default"))) int level(void);
int level(void) { return PD_SCOPED(plugin_scoped_level); }
