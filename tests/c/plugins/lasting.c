/* A library that never leaves the process.
 * Built with: -Wl,-z,nodelete
 */
#include <pd_flags.h>

PD_DEFINE_int32(lasting, 1, "Sound");
