/* Values of the fleet that are refused while memory is out: none of them is in effect, whatever
 * fails.
 *
 * Built with: -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free $LIBRARY
 */
#include "failing.h"

static pd_flag *mate;

static pd_flag_def bounded(void) {
  pd_flag_def def = definition(PD_TYPE_int64, "bad");
  def.max.i64 = 9;
  return def;
}

static void give_both(void) {
  pd_origin origin = {PD_SOURCE_FLEET, 12, "dir:///mnt/job42", 0};
  mate = define_flag(PD_TYPE_int64, "mate");
  CHECK_OK(pd_pending_set("mate", "5", &origin, &err));
  CHECK_OK(pd_pending_set("bad", "10", &origin, &err));
}

static pd_status define_bad(void) {
  pd_flag_def def = bounded();
  pd_status status = pd_flag_register(&def, NULL, &err);
  if (status == PD_ERR_MEMORY && is_defined("bad")) { /* its values wait */
    pd_flag *flag;
    CHECK(pd_flag_find("bad", &flag, NULL) == PD_OK);
    CHECK_STR(text_of(flag), "0");
    CHECK(pd_flag_unregister(flag, NULL) == PD_OK);
  }
  return status;
}

static void check_dropped(void) {
  pd_flag *flag = find_flag("bad");
  CHECK_STR(text_of(flag), "0");
  CHECK_STR(text_of(mate), "0");
}

TEST(a_refused_value_is_dropped_or_the_definition_says_that_memory_is_out) {
  run(&(scenario){give_both, define_bad, nothing, check_dropped}, 5);
}
