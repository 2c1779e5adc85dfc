/* Sound by itself; the library that it depends on is not.
 * Built with: -Wl,--no-as-needed -L$PLUGINS -lclash -Wl,-rpath,$PLUGINS
 */
#include <pd_flags.h>

PD_DEFINE_int32(needs_clash, 1, "Sound");
