/* Three flags, the first of which the program defines in another way, sometimes. Built with PREFIX
 * as the beginning of their names, for several libraries. */
#include <pd_flags.h>

#define PASTE(a, b) a##b
#define NAME(a, b) PASTE(a, b)
#define DEFINE(name) PD_DEFINE_int32(name, 6, "A number", .min = 0, .max = 99)

DEFINE(NAME(PREFIX, _first));
DEFINE(NAME(PREFIX, _second));
DEFINE(NAME(PREFIX, _third));

__attribute__((visibility("default"))) int level(void);
int level(void) { return NAME(FLAGS_, NAME(PREFIX, _second)); }
