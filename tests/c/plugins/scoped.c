/* A plugin with scoped flags, and functions that read them. */
#include <pd_flags.h>

PD_DEFINE_SCOPED_int32(scoped_level, 6, "Compression level", .min = 1, .max = 9);
PD_DEFINE_SCOPED_string(scoped_mode, "fast", "How to search", .choices = "fast|best");

int scoped_level(void);
int scoped_level(void) { return PD_SCOPED(scoped_level); }
const char *scoped_mode(void);
const char *scoped_mode(void) { return PD_SCOPED(scoped_mode); }
