/* Random bytes for the key of the hashes, which the library keeps to itself.
 *
 * Built with: -I$SOURCES $LIBRARY
 */
#include "check.h"

#include <platform/platform.h>

TEST(random_bytes_differ_each_time_and_fill_what_was_asked_for) {
  unsigned char first[40] = {0}, second[40] = {0};
  CHECK(pd__platform_fill_random(first, 39) && pd__platform_fill_random(second, 39));
  CHECK(memcmp(first, second, 39) != 0);
  CHECK(first[39] == 0 && second[39] == 0);
  size_t zeros = 0;
  for (size_t i = 0; i < 39; i++) zeros += first[i] == 0;
  CHECK(zeros < 10);
}
