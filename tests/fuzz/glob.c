/* Patterns for the names of programs, as fnmatch of the C library tells them: a pattern,
 * a NUL, a name. */
#include <fnmatch.h>

#include "fuzz.h"
#include "input/glob.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > 64) return -1; /* fnmatch takes its time */
  fuzz_bytes in = {data, data + size};
  char *pattern = fuzz_text(&in, '\0'), *name = fuzz_text(&in, '\0');
  bool matches = pd__glob_is_match(pattern, strlen(pattern), name);
  /* Classes differ where they are odd, a \ at the end means nothing to fnmatch, and behind
   * a star it doesn't find \/, which is a slash. */
  size_t length = strlen(pattern);
  bool plain = !strchr(pattern, '[') && !strstr(pattern, "\\/");
  plain &= length == 0 || pattern[length - 1] != '\\';
  if (plain) REQUIRE(matches == (fnmatch(pattern, name, FNM_PATHNAME) == 0));
  free(pattern);
  free(name);
  return 0;
}
