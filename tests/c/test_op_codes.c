/* The codes that C gives, and calls without a registry's choice. */
#define CHECK_DEFINES_FLAGS
#include "check.h"

struct opaque;
static long many(const struct opaque *a, struct opaque *b, const char *c, void *d, const void *e,
                 bool f, long long g, unsigned long h) {
  return a && b && c && d && e && f && g && h;
}
PD_DEFINE_OP(many, long,
             (const struct opaque *, struct opaque *, const char *, void *, const void *, bool,
              long long, unsigned long),
             many, "Types of all kinds");
static void nothing(void) {}
PD_DEFINE_OP(nothing, void, (void), nothing, "Does nothing");

TEST(the_codes_are_those_of_the_table) {
  static const uint8_t expected[] = {10, 78, 46, 67, 33, 65, 2, 10, 11, 0};
  CHECK(!memcmp(pd__signature_op_many.types, expected, sizeof expected));
  CHECK(pd__signature_op_nothing.types[1] == PD_CODE_VOID && !pd__signature_op_nothing.types[2]);
  PD_CALL(nothing)();
}
