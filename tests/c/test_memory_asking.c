/* Questions to implementations, and calls in scopes, while memory is out.
 *
 * Built with: -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=free $LIBRARY
 */
#include "registered_op.h"

#include "used_up.h"

static void let_fail(int after, bool all) {
  to_the_end = all;
  failed = false;
  left = after;
}

/* ---- Questions ---- */

enum { MANY = 60 };

static int asked;
static const char *is_usable(void) {
  asked++;
  return "no luck";
}

static int count_reasons(const char *reason) {
  int count = 0;
  for (size_t i = 1; i <= MANY; i++) count += !strcmp(impl_info("sum", i).why, reason);
  return count;
}

TEST(an_implementation_that_nobody_can_ask_for_lack_of_memory_says_so) {
  static char names[MANY][16];
  int out_of_memory = 0;
  define_op();
  for (int i = 0; i < MANY; i++) {
    snprintf(names[i], sizeof *names, "name%d", i);
    pd_op_def def = op_def(PD_KIND_IMPL, names[i], op_two);
    def.choice.rank = 1;
    def.choice.usable = is_usable;
    add_op(&def);
  }
  pd_op *op = find_op("sum", NULL);
  for (int number = 0; number == 0 || failed; number++) {
    asked = 0;
    let_fail(number, false);
    CHECK_OK(pd_op_check_again(op, &err));
    left = -1;
    CHECK(asked == count_reasons("no luck"));
    CHECK(asked + count_reasons("memory is out") == MANY && call_op() == 1);
    out_of_memory += MANY - asked;
  }
  CHECK(out_of_memory > 0);
}

static const char *give_reason_without_memory(void) {
  use_up_text();
  let_fail(0, true);
  return "a reason that nobody has given before";
}

TEST(a_reason_that_finds_no_memory_is_a_reason) {
  define_op();
  pd_op_def def = op_def(PD_KIND_IMPL, "other", op_two);
  def.choice = (pd_op_choice){(any_function)op_two, 5, give_reason_without_memory};
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  CHECK(failed);
  left = -1;
  CHECK(call_op() == 1);
  CHECK_STR(impl_info("sum", 1).why, "memory is out");
}

/* ---- Calls in scopes ---- */

static pd_scope push(pd_flag *flag, const char *list) {
  pd_assignment item = {.flag = flag, .text = list};
  pd_scope scope = 0;
  CHECK_OK(pd_scope_push(&item, 1, NULL, NULL, &scope, &err));
  return scope;
}

static double slow_twice(double x) { return x * 0 + 9; }

TEST(a_call_in_a_scope_needs_memory_for_a_list_once_and_without_it_runs_its_own) {
  static pd_op_signature signature = {"twice", "double (double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE}};
  static pd_scoped_slot slot = {.function = (any_function)op_one};
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  def.signature = &signature;
  def.scoped = true;
  def.slot = &slot.function;
  add_op(&def);
  def = op_def(PD_KIND_IMPL, "slow", slow_twice);
  def.signature = &signature;
  def.choice.rank = -1;
  add_op(&def);
  pd_flag *flag = find_flag("impl.twice");
  CHECK(slot.find);
  pd_scope outer = push(flag, "slow,native"), inner = push(flag, "slow");
  CHECK(slot.find(&slot) == (any_function)slow_twice);
  CHECK_OK(pd_scope_pop(inner, &err));
  use_up_text();
  let_fail(0, true);
  CHECK(slot.find(&slot) == (any_function)op_one && failed); /* a list without a view */
  left = -1;
  inner = push(flag, "slow");
  let_fail(0, true);
  CHECK(slot.find(&slot) == (any_function)slow_twice && !failed);
  left = -1;
  CHECK_OK(pd_scope_pop(inner, &err));
  CHECK(slot.find(&slot) == (any_function)slow_twice);
  CHECK_OK(pd_scope_pop(outer, &err));
}
