/* What an operation says of its arrays, and arrays of DLPack against it. */
#include "check.h"

typedef struct array {
  void *data;
  int32_t device, device_number, dimensions;
  uint8_t type, bits;
  uint16_t lanes;
  const int64_t *shape, *strides;
  uint64_t offset;
} array;

enum { CPU = 1, CUDA = 2, CUDA_HOST = 3, ROCM_HOST = 11 };

/* An array of f32 on the CPU, compact, of the sizes. */
#define SIZES(...)                                                                                 \
  (const int64_t[]) { __VA_ARGS__ }
static array of_sizes(int32_t dimensions, const int64_t *shape) {
  return (array){
      .device = CPU, .dimensions = dimensions, .type = 2, .bits = 32, .lanes = 1, .shape = shape};
}

/* Returns the status of registering an operation whose arrays are so. */
static pd_status define_op(const char *arrays, pd_op **out) {
  static char names[100][8];
  static int count;
  char *name = names[count];
  snprintf(name, sizeof *names, "op%d", count++);
  pd_op_signature signature = {name, "void (double)", {PD_CODE_VOID, PD_CODE_DOUBLE}};
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_OP, .name = "native"};
  def.signature = &signature;
  def.about.arrays = arrays;
  pd_status status = pd_impl_register(&def, NULL, &err);
  if (status == PD_OK && out) CHECK_OK(pd_op_find(name, NULL, out, &err));
  return status;
}

static pd_op *op_of(const char *arrays) {
  pd_op *op = NULL;
  CHECK_OK(define_op(arrays, &op));
  return op;
}

static pd_status check_one(const pd_op *op, array one) {
  const void *all[] = {&one};
  return pd_op_check_arrays(op, all, 1, &err);
}

static pd_status check_two(const pd_op *op, array one, array other) {
  const void *all[] = {&one, &other};
  return pd_op_check_arrays(op, all, 2, &err);
}

/* ---- The text ---- */

static void refuse_text(const char *arrays, const char *where) {
  char message[256];
  snprintf(message, sizeof message, "the text of its arrays has %s, expected one such as f32[m,n]",
           where);
  CHECK(define_op(arrays, NULL) == PD_ERR_ARGUMENT);
  if (!strstr(err.message, message)) check_fail(__FILE__, __LINE__, "%s", err.message);
}

TEST(the_reason_shows_where_the_text_goes_wrong) {
  refuse_text("f32[n], f3[n]", "f3[n]");
  refuse_text("f322[n]", "f322[n]");
  refuse_text("f32 n]", "n]");
  refuse_text("f32[n m]", "m]");
  refuse_text("f32[n] f32[n]", "f32[n]");
  refuse_text("f32[,n]", ",n]");
  refuse_text("f32[n] on any device strided", "strided");
  refuse_text("boolean[n]", "boolean[n]");
}

TEST(blanks_may_stand_between_all_parts_of_the_text) {
  pd_op *op = op_of(" f32 [ n , 3 ] strided , any [ ... , n ]  on any device");
  CHECK_OK(check_two(op, of_sizes(2, SIZES(4, 3)), of_sizes(2, SIZES(9, 4))));
  CHECK(check_two(op, of_sizes(2, SIZES(4, 3)), of_sizes(2, SIZES(9, 5))) == PD_ERR_TYPE);
}

TEST(the_text_comes_back_in_the_info) {
  pd_op_info info = {.size = sizeof info};
  CHECK_OK(pd_op_get_info(op_of("f32[n]"), &info, &err));
  CHECK_STR(info.arrays, "f32[n]");
  CHECK_OK(pd_op_get_info(op_of(NULL), &info, &err));
  CHECK_STR(info.arrays, "");
}

/* ---- Types ---- */

TEST(each_type_of_dlpack_has_a_name) {
  static const struct {
    const char *text;
    uint8_t type, bits;
  } types[] = {{"i8[]", 0, 8},   {"i16[]", 0, 16},   {"i32[]", 0, 32}, {"i64[]", 0, 64},
               {"u8[]", 1, 8},   {"u16[]", 1, 16},   {"u32[]", 1, 32}, {"u64[]", 1, 64},
               {"f16[]", 2, 16}, {"f32[]", 2, 32},   {"f64[]", 2, 64}, {"bf16[]", 4, 16},
               {"c64[]", 5, 64}, {"c128[]", 5, 128}, {"bool[]", 6, 8}};
  array one = of_sizes(0, NULL);
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    pd_op *op = op_of(types[i].text);
    one.type = types[i].type;
    one.bits = types[i].bits;
    CHECK_OK(check_one(op, one));
    one.bits = 1;
    CHECK(check_one(op, one) == PD_ERR_TYPE);
    one.bits = types[i].bits;
    one.type = 9;
    CHECK(check_one(op, one) == PD_ERR_TYPE);
  }
}

TEST(a_type_without_a_name_suits_only_any) {
  array one = of_sizes(0, NULL);
  one.lanes = 4;
  CHECK_OK(check_one(op_of("any[]"), one));
  CHECK_STATUS(check_one(op_of("f32[]"), one), PD_ERR_TYPE,
               "array 0: its items are DLPack's type 2 of 32 bits, 4 lanes, expected f32");
}

/* ---- Sizes ---- */

TEST(an_array_without_dimensions_needs_no_shape) {
  pd_op *op = op_of("f32[]");
  CHECK_OK(check_one(op, of_sizes(0, NULL)));
  CHECK_STATUS(check_one(op, of_sizes(1, SIZES(1))), PD_ERR_TYPE,
               "array 0: it has 1 dimensions, expected 0");
  CHECK_STATUS(check_one(op, of_sizes(-1, SIZES(1))), PD_ERR_TYPE,
               "array 0: it has -1 dimensions and no shape");
  CHECK_STATUS(check_one(op, of_sizes(1, NULL)), PD_ERR_TYPE,
               "array 0: it has 1 dimensions and no shape");
}

TEST(any_dimensions_may_stand_before_those_that_are_listed) {
  pd_op *op = op_of("f32[...,n,3]");
  CHECK_OK(check_one(op, of_sizes(2, SIZES(7, 3))));
  CHECK_OK(check_one(op, of_sizes(4, SIZES(2, 5, 7, 3))));
  CHECK_STATUS(check_one(op, of_sizes(1, SIZES(3))), PD_ERR_TYPE,
               "array 0: it has 1 dimensions, expected 2 or more");
  CHECK_STATUS(check_one(op, of_sizes(3, SIZES(3, 7, 4))), PD_ERR_TYPE,
               "array 0: dimension 2 is 4, expected 3");
  CHECK_OK(check_one(op_of("f32[...]"), of_sizes(3, SIZES(1, 2, 3))));
  CHECK_OK(check_one(op_of("f32[...]"), of_sizes(0, NULL)));
}

TEST(equal_names_have_equal_sizes_and_others_any) {
  pd_op *op = op_of("f32[n,nm],f32[mn,n]");
  CHECK_OK(check_two(op, of_sizes(2, SIZES(2, 3)), of_sizes(2, SIZES(4, 2))));
  CHECK_STATUS(check_two(op, of_sizes(2, SIZES(2, 3)), of_sizes(2, SIZES(4, 3))), PD_ERR_TYPE,
               "array 1: dimension 1 is 3, expected 2: n of array 0");
  op = op_of("f32[a,b],f32[b,a]");
  CHECK_OK(check_two(op, of_sizes(2, SIZES(2, 3)), of_sizes(2, SIZES(3, 2))));
  CHECK_STATUS(check_two(op, of_sizes(2, SIZES(2, 3)), of_sizes(2, SIZES(2, 3))), PD_ERR_TYPE,
               "array 1: dimension 0 is 2, expected 3: b of array 0");
  CHECK_STATUS(check_two(op_of("f32[a],f32[b,b]"), of_sizes(1, SIZES(2)), of_sizes(2, SIZES(3, 4))),
               PD_ERR_TYPE, "array 1: dimension 1 is 4, expected 3: b of array 1");
  op = op_of("f32[nm],f32[n,n]");
  CHECK_OK(check_two(op, of_sizes(1, SIZES(2)), of_sizes(2, SIZES(3, 3))));
  CHECK(check_two(op, of_sizes(1, SIZES(2)), of_sizes(2, SIZES(3, 4))) == PD_ERR_TYPE);
}

TEST(an_underscore_stands_for_any_size_each_time) {
  CHECK_OK(check_one(op_of("f32[_,_]"), of_sizes(2, SIZES(2, 3))));
}

TEST(a_number_stands_for_itself) {
  pd_op *op = op_of("f32[0,10,109]");
  CHECK_OK(check_one(op, of_sizes(3, SIZES(0, 10, 109))));
  CHECK_STATUS(check_one(op, of_sizes(3, SIZES(0, 10, 100))), PD_ERR_TYPE,
               "array 0: dimension 2 is 100, expected 109");
  CHECK_STATUS(check_one(op, of_sizes(3, SIZES(1, 10, 109))), PD_ERR_TYPE,
               "array 0: dimension 0 is 1, expected 0");
  CHECK_STATUS(check_one(op, of_sizes(3, SIZES(0, 9, 109))), PD_ERR_TYPE,
               "array 0: dimension 1 is 9, expected 10");
}

TEST(a_word_that_begins_with_a_digit_is_the_number_there) {
  CHECK_OK(check_one(op_of("f32[3d]"), of_sizes(1, SIZES(3))));
  CHECK(check_one(op_of("f32[3d]"), of_sizes(1, SIZES(30))) == PD_ERR_TYPE);
}

TEST(a_number_that_no_size_can_be_is_the_largest_one) {
  CHECK_OK(check_one(op_of("f32[9223372036854775805]"), of_sizes(1, SIZES(INT64_MAX - 2))));
  CHECK_OK(check_one(op_of("f32[9223372036854775807]"), of_sizes(1, SIZES(INT64_MAX))));
  CHECK_OK(check_one(op_of("f32[9223372036854775808]"), of_sizes(1, SIZES(INT64_MAX))));
  CHECK_OK(check_one(op_of("f32[99999999999999999999]"), of_sizes(1, SIZES(INT64_MAX))));
}

TEST(an_operation_remembers_the_sizes_of_32_names) {
  char text[300] = "f32[";
  int64_t shape[34], other[34];
  for (int i = 0; i < 34; i++) {
    sprintf(text + strlen(text), i ? ",n%d" : "n%d", i);
    shape[i] = other[i] = 1;
  }
  strcat(text, "],");
  strcat(text, strncpy((char[300]){""}, text, strlen(text) - 1));
  pd_op *op = op_of(text);
  other[32] = other[33] = 2;
  CHECK_OK(check_two(op, of_sizes(34, shape), of_sizes(34, other)));
  other[31] = 2;
  CHECK_STATUS(check_two(op, of_sizes(34, shape), of_sizes(34, other)), PD_ERR_TYPE,
               "array 1: dimension 31 is 2, expected 1: n31 of array 0");
}

/* ---- Memory ---- */

TEST(an_array_of_another_device_is_refused_unless_it_may_be_anywhere) {
  static const int32_t read_by_cpu[] = {CPU, CUDA_HOST, ROCM_HOST};
  pd_op *op = op_of("f32[n]");
  array one = of_sizes(1, SIZES(3));
  for (int i = 0; i < 3; i++) {
    one.device = read_by_cpu[i];
    CHECK_OK(check_one(op, one));
  }
  one.device = CUDA;
  CHECK_STATUS(check_one(op, one), PD_ERR_TYPE,
               "array 0: it is on DLPack's device 2, expected memory of the CPU");
  CHECK_OK(check_one(op_of("f32[n] on any device"), one));
}

static pd_status check_strides(const char *text, int32_t dimensions, const int64_t *shape,
                               const int64_t *strides) {
  array one = of_sizes(dimensions, shape);
  one.strides = strides;
  return check_one(op_of(text), one);
}

TEST(strides_that_say_row_major_are_compact) {
  CHECK_OK(check_strides("f32[a,b,c]", 3, SIZES(2, 3, 4), SIZES(12, 4, 1)));
  CHECK_STATUS(check_strides("f32[a,b,c]", 3, SIZES(2, 3, 4), SIZES(3, 4, 1)), PD_ERR_TYPE,
               "array 0: it is not compact, expected a row-major array");
  CHECK(check_strides("f32[a,b,c]", 3, SIZES(2, 3, 4), SIZES(12, 4, 2)) == PD_ERR_TYPE);
  CHECK_OK(check_strides("f32[a,b,c] strided", 3, SIZES(2, 3, 4), SIZES(12, 4, 2)));
}

TEST(strides_of_one_item_and_of_none_do_not_matter) {
  CHECK_OK(check_strides("f32[a,b,c]", 3, SIZES(2, 1, 4), SIZES(4, 77, 1)));
  CHECK_OK(check_strides("f32[a,b]", 2, SIZES(5, 0), SIZES(77, 77)));
}

/* ---- All arrays of a call ---- */

TEST(the_number_of_arrays_is_that_of_the_text) {
  pd_op *op = op_of("f32[n],f32[n]");
  CHECK_STATUS(check_one(op, of_sizes(1, SIZES(3))), PD_ERR_TYPE,
               "1 arrays, expected 2: f32[n],f32[n]");
  CHECK_STATUS(pd_op_check_arrays(op, NULL, 0, &err), PD_ERR_TYPE,
               "0 arrays, expected 2: f32[n],f32[n]");
}

TEST(where_nothing_is_said_compact_arrays_of_the_cpu_are_expected) {
  pd_op *op = op_of(NULL);
  array one = of_sizes(2, SIZES(2, 3)), other = of_sizes(1, SIZES(7));
  other.type = 9;
  CHECK_OK(pd_op_check_arrays(op, NULL, 0, &err));
  CHECK_OK(check_two(op, one, other));
  other.device = CUDA;
  CHECK(check_two(op, one, other) == PD_ERR_TYPE);
  one.strides = SIZES(1, 2);
  CHECK(check_one(op, one) == PD_ERR_TYPE);
}

TEST(an_array_of_a_call_that_is_missing_is_told_by_its_number) {
  array one = of_sizes(1, SIZES(3));
  const void *all[] = {&one, NULL};
  CHECK_STATUS(pd_op_check_arrays(op_of(NULL), all, 2, &err), PD_ERR_TYPE, "array 1: it is NULL");
  CHECK_STATUS(pd_op_check_arrays(NULL, all, 2, &err), PD_ERR_ARGUMENT, "op is NULL");
  CHECK_STATUS(pd_op_check_arrays(op_of(NULL), NULL, 1, &err), PD_ERR_ARGUMENT, "tensors is NULL");
}

/* ---- The edges of what is read ---- */

TEST(sizes_and_strides_are_read_from_their_begin_on) {
  static const int64_t shape[] = {9, 2, 3}, strides[] = {9, 3, 1};
  array one = of_sizes(2, shape + 1);
  one.strides = strides + 1;
  CHECK_OK(check_one(op_of("f32[n,m]"), one));
}

TEST(a_size_may_begin_with_any_digit) {
  pd_op *op = op_of("f32[9,0]");
  CHECK_OK(check_one(op, of_sizes(2, SIZES(9, 0))));
  CHECK_STATUS(check_one(op, of_sizes(2, SIZES(8, 0))), PD_ERR_TYPE,
               "array 0: dimension 0 is 8, expected 9");
  CHECK_STATUS(check_one(op, of_sizes(2, SIZES(9, 1))), PD_ERR_TYPE,
               "array 0: dimension 1 is 1, expected 0");
}

TEST(a_wrong_size_is_reported_before_the_strides) {
  array one = of_sizes(2, SIZES(2, 3));
  one.strides = SIZES(1, 2);
  CHECK_STATUS(check_one(op_of("f32[n,4]"), one), PD_ERR_TYPE,
               "array 0: dimension 1 is 3, expected 4");
}
