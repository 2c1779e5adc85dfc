/* Sound by itself; one library that it depends on is refused, and another one takes its record
 * back. Built with: -Wl,--no-as-needed -L$PLUGINS -lforeign -lother_abi -Wl,-rpath,$PLUGINS
 */
#include <pd_flags.h>

PD_DEFINE_int32(uses_foreign, 1, "Sound");
