// A plugin: it includes the header, defines a flag and links nothing.
#include <pd_flags.h>

PD_DEFINE_int32(plugin_factor, 2, "What to multiply by", .min = 1, .max = 9);

int plugin_scale(int value);

int plugin_scale(int value) { return value * FLAGS_plugin_factor; }
