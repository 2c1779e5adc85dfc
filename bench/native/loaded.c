/* A library that `loads` opens: with a flag, whose digits differ in each copy, or without. */
#ifdef WITH_FLAG
#include <pd_flags.h>
PD_DEFINE_int32(loaded_00000, 6, "Compression level", .min = 1, .max = 9);
#else
extern int loaded;
int loaded = 6;
#endif
