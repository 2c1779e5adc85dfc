/* Depends on a library whose constructor loads another one.
 * Built with: -Wl,--no-as-needed -L$PLUGINS -lnesting -Wl,-rpath,$PLUGINS
 */
#include <pd_flags.h>

PD_DEFINE_int32(uses_nesting, 1, "A bool elsewhere");
