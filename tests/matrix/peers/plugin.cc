/* plugin.c for another library: X is a or b. A flag of another module is read by
 * its name, through the copy that this one has: no data symbol needs to be seen. */
#include "entry.h"

#if IS_A
DEFINE_NUMBER(a_level, 1, "Level of a");
DEFINE_TEXT(a_mode, "none", "Mode of a");
#define OWN_LEVEL GET(a_level)
#define OWN_MODE GET(a_mode)
#define OTHER_LEVEL peer_number("b_level")
#else
DEFINE_NUMBER(b_level, 1, "Level of b");
DEFINE_TEXT(b_mode, "none", "Mode of b");
#define OWN_LEVEL GET(b_level)
#define OWN_MODE GET(b_mode)
#define OTHER_LEVEL peer_number("a_level")
#endif

/* From common.cc, which is compiled into both, or into a alone. */
#if HAS_COMMON
DECLARE_NUMBER(common_n);
#define COMMON GET(common_n)
#else
#define COMMON peer_number("common_n")
#endif

EXPORT int NAME(_own_level)() { return OWN_LEVEL; }
EXPORT int NAME(_other_level)() { return OTHER_LEVEL; }
EXPORT int NAME(_common)() { return COMMON; }

EXPORT const char *NAME(_own_mode)() {
  static std::string kept;
  kept = OWN_MODE;
  return kept.c_str();
}
