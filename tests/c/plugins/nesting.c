/* Its constructor loads the library that NESTED in the environment names. */
#define PD_HEADER_ONLY
#include <pd_flags.h>
#include <stdlib.h>

PD_DEFINE_int64(nesting, 1, "Of the outer library");

__attribute__((constructor)) static void arrive(void) {
  const char *path = getenv("NESTED");
  if (path) pd_module_load(path, NULL, NULL, NULL);
}
