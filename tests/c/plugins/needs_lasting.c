/* Clashes with alpha, and depends on a library that is sound and never leaves.
 * Built with: -Wl,--no-as-needed -L$PLUGINS -llasting -Wl,-rpath,$PLUGINS
 */
#include <pd_flags.h>

PD_DEFINE_bool(alpha_level, true, "Another type than alpha's");
