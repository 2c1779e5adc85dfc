/* Sound by itself. Of the libraries that it needs, one is refused and one takes its record back.
 *
 * Built with: -Wl,--no-as-needed -L$PLUGINS -lforeign -lother_abi -Wl,-rpath,$PLUGINS
 */
#include <pd_flags.h>

PD_DEFINE_int32(uses_foreign, 1, "Sound");
