/* Implementations of other languages, and arrays of DLPack. */
#include "plugged.h"

#include <stddef.h>

typedef double calls(double x, double y);
static double run(void) {
  return ((calls *)(intptr_t)symbol_in("op_native", "native_calls"))(2, 3);
}

static pd_op_signature signature = {
    "pow", "double (double, double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE, PD_CODE_DOUBLE}};
static pd_op_def foreign(const char *name, pd_kind kind) {
  return (pd_op_def){.size = sizeof(pd_op_def),
                     .kind = (uint8_t)kind,
                     .name = name,
                     .file = "script.py",
                     .line = 7,
                     .signature = &signature};
}
static pd_op *find(void) {
  pd_op *op = NULL;
  CHECK_OK(pd_op_find("pow", signature.types, &op, &err));
  return op;
}
static pd_impl_info chosen(void) {
  pd_impl_info info = {.size = sizeof info}, same = {.size = sizeof same};
  CHECK_OK(pd_op_choose(find(), &info, &err));
  CHECK_OK(pd_op_get_impl(find(), info.index, &same, &err));
  CHECK_STR(same.name, info.name);
  return info;
}

TEST(a_foreign_implementation_is_known_to_the_flag_and_modules_do_not_call_it) {
  pd_impl number;
  load_module("op_native");
  pd_op_def numpy = foreign("numpy", PD_KIND_IMPL);
  numpy.choice.rank = 50;
  CHECK_OK(pd_impl_register(&numpy, &number, &err));
  CHECK(run() == 2003);
  pd_impl_info info = chosen();
  CHECK_STR(info.name, "numpy");
  CHECK(info.number == number && !info.function && info.line == 7);
  CHECK_OK(pd_flag_set_by_name("impl.pow", "native,numpy", &err));
  CHECK_STR(chosen().name, "native");
  CHECK_OK(pd_flag_set_by_name("impl.pow", "numpy!", &err));
  CHECK_STR(chosen().name, "numpy");
  CHECK(run() == 2003);
  CHECK_OK(pd_impl_unregister(number, &err));
  CHECK_STR(chosen().name, "native");
}

TEST(an_operation_without_native_code_is_chosen_among_foreign_ones) {
  pd_impl number;
  pd_op_def native = foreign("native", PD_KIND_OP), other = foreign("other", PD_KIND_IMPL);
  CHECK_OK(pd_impl_register(&native, &number, &err));
  CHECK_OK(pd_impl_register(&other, &number, &err));
  CHECK_STR(chosen().name, "native");
  CHECK_OK(pd_flag_set_by_name("impl.pow", "other,*", &err));
  CHECK_STR(chosen().name, "other");
}

TEST(the_revision_rises_with_each_choice) {
  load_module("op_native");
  uint64_t before = *pd_op_revision();
  CHECK_OK(pd_flag_set_by_name("impl.pow", "native", &err));
  CHECK(*pd_op_revision() > before);
  before = *pd_op_revision();
  load_module("op_fast");
  CHECK(*pd_op_revision() > before);
}

TEST(an_import_without_a_function_holds_null_until_the_operation_is_implemented) {
  void (*slot)(void) = NULL;
  pd_impl number;
  pd_op_def import = foreign("native", PD_KIND_OP_IMPORT);
  import.slot = &slot;
  CHECK_OK(pd_impl_register(&import, &number, &err));
  CHECK(!slot);
  pd_module *module = load_module("op_native");
  CHECK(slot && ((calls *)slot)(2, 3) == 2003);
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(!slot);
}

TEST(objects_are_told_apart_by_the_text_of_the_signature) {
  pd_op_signature first = {"join", "object (str, str)", {15, 15, 15}};
  pd_op_signature second = {"join", "object (list, list)", {15, 15, 15}};
  pd_op_def def = foreign("native", PD_KIND_OP);
  pd_op *op = NULL;
  size_t count = 0;
  def.signature = &first;
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  def.signature = &second;
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  while ((op = pd_op_next(op))) count++;
  CHECK(count == 2);
}

TEST(a_slot_needs_a_function_and_an_import_needs_a_slot) {
  void (*slot)(void) = NULL;
  pd_op_def def = foreign("native", PD_KIND_OP);
  def.slot = &slot;
  CHECK_STATUS(pd_impl_register(&def, NULL, &err), PD_ERR_ARGUMENT,
               "a slot without a function, expected both or none");
  def = foreign("native", PD_KIND_OP_IMPORT);
  CHECK_STATUS(pd_impl_register(&def, NULL, &err), PD_ERR_ARGUMENT, "an import's slot is NULL");
}

/* ---- Arrays ---- */

typedef struct array {
  void *data;
  int32_t device[2], dimensions;
  uint8_t type, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;
} array;

static pd_status check_arrays(const array *first, const array *second) {
  pd_op *op = NULL;
  const void *both[] = {first, second};
  CHECK_OK(pd_op_find("fill", NULL, &op, &err));
  return pd_op_check_arrays(op, both, 2, &err);
}

TEST(arrays_are_checked_against_what_the_definition_says) {
  int64_t four[] = {4, 3}, seven[] = {7, 2, 4}, turned[] = {1, 4}, wide[] = {4, 5};
  array a = {.device = {1}, .dimensions = 2, .type = 2, .bits = 32, .lanes = 1, .shape = four};
  array b = {.device = {1}, .dimensions = 3, .type = 0, .bits = 8, .lanes = 1, .shape = seven};
  load_module("op_scoped");
  CHECK_OK(check_arrays(&a, &b));
  array bad = a;
  bad.bits = 64;
  CHECK_STATUS(check_arrays(&bad, &b), PD_ERR_TYPE, "array 0: its items are f64, expected f32");
  bad = a;
  bad.device[0] = 2;
  CHECK(check_arrays(&bad, &b) == PD_ERR_TYPE && strstr(err.message, "on DLPack's device 2"));
  bad = a;
  bad.strides = turned;
  CHECK_STATUS(check_arrays(&bad, &b), PD_ERR_TYPE,
               "array 0: it is not compact, expected a row-major array");
  bad = a;
  bad.shape = wide;
  CHECK_STATUS(check_arrays(&bad, &b), PD_ERR_TYPE, "array 0: dimension 1 is 5, expected 3");
  bad = a;
  bad.dimensions = 1;
  CHECK_STATUS(check_arrays(&bad, &b), PD_ERR_TYPE, "array 0: it has 1 dimensions, expected 2");
  bad = a;
  bad.shape = NULL;
  CHECK_STATUS(check_arrays(&bad, &b), PD_ERR_TYPE, "array 0: it has 2 dimensions and no shape");
  seven[0] = -1;
  CHECK_STATUS(check_arrays(&a, &b), PD_ERR_TYPE, "array 1: dimension 0 is -1, expected a size");
  seven[0] = 7;
  seven[2] = 5;
  CHECK_STATUS(check_arrays(&a, &b), PD_ERR_TYPE,
               "array 1: dimension 2 is 5, expected 4: n of array 0");
}

TEST(a_text_of_arrays_that_is_wrong_is_refused_with_the_place) {
  static const char *const wrong[] = {"f33[n]",  "f32[n", "f32[n] compact", "f32[n,]", "f32",
                                      "f32[n],", ""};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    pd_op_def def = foreign("native", PD_KIND_OP);
    def.about.arrays = wrong[i];
    CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_ARGUMENT);
    CHECK(strstr(err.message, "expected one such as f32[m,n]"));
  }
}
