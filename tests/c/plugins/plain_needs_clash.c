/* A library without flags; the library that it depends on may be refused.
 * Built with: -Wl,--no-as-needed -L$PLUGINS -lclash -Wl,-rpath,$PLUGINS
 */
#include <stdint.h>

__attribute__((visibility("default"))) int32_t plain_needs_clash_cell;
