/* A plugin of what is released, of one flag. */
#include <pd_flags.h>
PD_DEFINE_double(plugin_rate, 0.5, "Rate");
