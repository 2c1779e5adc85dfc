/* pd_flags/op.hpp: operations of other modules as objects, and the codes that C++ gives.
 * Built with: -std=c++11
 */
#include <pd_flags.hpp>

#include <cstring>

#define CHECK_DEFINES_FLAGS
#include "check.h"

static double fallback(double x, double y) { return x - y; }
static float other(float x) { return x; }
static pd::op<double(double, double)> power{"pow", fallback};

static double twice_here(double x) { return x - 1; }
static double twice_better(double x) { return 2 * x + 1; }
static pd::scoped_op<double(double)> twice{"twice", twice_here};
PD_DEFINE_SCOPED_OP(twice, double, (double), twice_here, "Two times x");
PD_IMPL(twice, better, twice_better, .rank = -1);

static double own(double x, double y) { return x * 1000 + y; }
static double best(double x, double y) { return x + y + 100; }
static void nothing() {}
PD_DEFINE_OP_AS(own_pow, "pow", double, (double, double), own, "x to the power of y");
PD_IMPL(own_pow, best, best, .rank = 5);
PD_DEFINE_OP(nothing, void, (void), nothing, "Does nothing");

TEST(an_object_calls_the_implementation_that_is_chosen) {
  pd_version(); /* there is a registry */
  CHECK_OK(power.check(&err));
  CHECK(power(1, 2) == 103);
  CHECK(PD_CALL(own_pow)(1, 2) == 103);
  CHECK_OK(pd_flag_set_by_name("impl.pow", "native", &err));
  CHECK(power(1, 2) == 1002);
  PD_CALL(nothing)();
}

TEST(an_object_of_another_signature_is_refused_by_name) {
  pd_version();
  static pd::op<float(float)> wrong{"pow", other};
  CHECK(wrong.check(&err) == PD_ERR_TYPE);
  CHECK(std::strstr(err.message, "operation 'pow' has no signature float (float), which"));
  CHECK(wrong(3) == 3);
}

struct opaque;
static long many(const opaque *, opaque *, const char *, void *, const void *, bool, long long,
                 unsigned long) {
  return 0;
}
PD_DEFINE_OP(many, long,
             (const opaque *, opaque *, const char *, void *, const void *, bool, long long,
              unsigned long),
             many, "Types of all kinds");

TEST(the_codes_are_those_of_the_table) {
  static const uint8_t expected[] = {10, 78, 46, 67, 33, 65, 2, 10, 11, 0};
  CHECK(!std::memcmp(pd__signature_op_many.types, expected, sizeof expected));
}

static int thrown;
static const char *throws() {
  if (thrown++ == 0) throw 42;
  return nullptr;
}

TEST(an_exception_of_usable_reaches_the_caller_and_the_question_can_be_asked_again) {
  pd_version();
  pd_op *op = nullptr;
  pd_op_def def = {};
  CHECK_OK(pd_op_find("pow", nullptr, &op, &err));
  def.size = sizeof def;
  def.kind = PD_KIND_IMPL;
  def.name = "throwing";
  def.signature = &pd__signature_op_own_pow;
  def.choice.function = reinterpret_cast<void (*)()>(own);
  def.choice.rank = 99;
  def.choice.usable = throws;
  try {
    pd_impl_register(&def, nullptr, &err);
    check_fail(__FILE__, __LINE__, "%s", "the exception was lost");
  } catch (int number) {
    CHECK(number == 42);
  }
  CHECK(PD_CALL(own_pow)(1, 2) == 103);
  CHECK(pd_flag_set_by_name("impl.pow", "throwing!", &err) == PD_ERR_REFUSED);
  CHECK(std::strstr(err.message, "the question whether it can run here was interrupted"));
  CHECK_OK(pd_op_check_again(op, &err));
  CHECK(PD_CALL(own_pow)(1, 2) == 1002);
}

TEST(a_scoped_object_calls_what_the_scope_has_chosen) {
  pd_version();
  pd_flag *flag = nullptr;
  CHECK_OK(pd_flag_find("impl.twice", &flag, &err));
  pd_assignment item = {};
  item.flag = flag;
  item.text = "better";
  pd_scope scope = 0;
  CHECK_OK(twice.check(&err));
  CHECK(twice(3) == 2 && PD_SCOPED_CALL(twice)(3) == 2);
  CHECK_OK(pd_scope_push(&item, 1, nullptr, nullptr, &scope, &err));
  CHECK(twice(3) == 7 && PD_SCOPED_CALL(twice)(3) == 7);
  CHECK_OK(pd_scope_pop(scope, &err));
  CHECK(twice(3) == 2);
}
