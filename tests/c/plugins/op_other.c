/* Implements pow with a signature that nobody defines. */
#include <pd_flags.h>

static float other(float x, float y) { return x + y; }
PD_IMPORT_OP(pow, float, (float, float), other);
