/* A plugin with two flags. It includes one header, and doesn't link paddle_flags. */
#define PD_HEADER_ONLY
#include <pd_flags.h>

PD_DEFINE_int32(level, 6, "Compression level", .min = 1, .max = 9);
PD_DEFINE_bool(checksum, true, "Append a checksum");

/* What the plugin reads: a variable. */
int compress_level(void) { return FLAGS_level; }

/* Large input: C sets the flag, and everybody sees the new value. */
int compress_quickly(void) { return pd_flag_set_by_name("level", "1", NULL); }
