/* The numbers by which an operation marks the names that it has visited begin again after 2^32.
 *
 * Built with: -I$SOURCES $LIBRARY
 */
#include "check.h"

#include <registry/names.h>

/* The number `left` before the last one. */
static void use_up_marks(uint32_t left) { pd__last_visit_mark = UINT32_MAX - left; }

TEST(flags_are_defined_and_set_while_the_numbers_begin_again) {
  char name[32];
  for (uint32_t left = 0; left < 4; left++) {
    use_up_marks(left);
    for (uint32_t i = 0; i < 8; i++) {
      snprintf(name, sizeof name, "own_%u_%u", left, i);
      pd_flag *flag = define_flag(PD_TYPE_int64, name);
      CHECK_OK(pd_flag_set_int64(flag, i, &err));
    }
  }
}

static bool differ(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  snprintf(why, size, "expected different numbers");
  return entries[0]->value.i64 != entries[1]->value.i64 && !context;
}

/* The validator must see both of the proposed values, and the later one of a flag that has two. */
TEST(validators_see_all_proposed_values_while_the_numbers_begin_again) {
  pd_flag *flags[2] = {define_flag(PD_TYPE_int64, "a"), define_flag(PD_TYPE_int64, "b")};
  CHECK_OK(pd_flag_set_int64(flags[1], 1, &err));
  CHECK_OK(pd_validator_add(flags, 2, differ, NULL, NULL, NULL, &err));
  for (uint32_t left = 0; left < 12; left++) {
    pd_assignment items[] = {{flags[0], NULL, PD_TYPE_int64, {.i64 = 2}},
                             {flags[1], NULL, PD_TYPE_int64, {.i64 = 3}},
                             {flags[0], NULL, PD_TYPE_int64, {.i64 = 3}}};
    use_up_marks(left);
    CHECK(pd_batch_set(items, 3, NULL, NULL, &err) == PD_ERR_REFUSED);
    items[2].value.i64 = 4;
    use_up_marks(left);
    CHECK_OK(pd_batch_set(items, 3, NULL, NULL, &err));
    CHECK_STR(text_of(flags[0]), "4");
  }
}
