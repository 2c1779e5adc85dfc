/* It is refused, since it defines what the test program has defined otherwise, and brings
 * libshifting along. Its constructor calls the function whose address the environment tells.
 * Built with: -Wl,--no-as-needed -L$PLUGINS -lshifting -Wl,-rpath,$PLUGINS
 */
#include <pd_flags.h>
#include <stdlib.h>

PD_DEFINE_int32(unwelcome_clash, 1, "A bool elsewhere");

/* The address is text, since this module's flags are those that are refused. */
__attribute__((constructor)) static void call(void) {
  const char *address = getenv("UNWELCOME_CALLS");
  uintptr_t number = address ? (uintptr_t)strtoull(address, NULL, 16) : 0;
  void (*function)(void);
  __builtin_memcpy(&function, &number, sizeof function);
  if (function) function();
}
