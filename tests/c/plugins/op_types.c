/* Operations of all kinds of types, for callers in Python. */
#include <pd_flags.h>
#include <stddef.h>
#include <string.h>

struct thing {
  int32_t number;
};
typedef struct {
  void *data;
  int32_t device, device_number, dimensions;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;
} DLTensor;

static bool invert(bool x) { return !x; }
static int8_t next8(int8_t x) { return (int8_t)(x + 1); }
static uint64_t next64(uint64_t x) { return x + 1; }
static float half(float x) { return x / 2; }
static double sum(const double *items, int64_t count) {
  double found = 0;
  for (int64_t i = 0; i < count; i++) found += items[i];
  return found;
}
static void fill(int32_t *items, size_t count, int32_t value) {
  for (size_t i = 0; i < count; i++) items[i] = value;
}
static size_t length(const char *text) { return strlen(text); }
static const char *name_of(int32_t which) { return which ? "one" : NULL; }
static size_t bytes(const void *from, size_t count) {
  const unsigned char *at = from;
  size_t found = 0;
  for (size_t i = 0; i < count; i++) found += at[i] != 0;
  return found;
}
static int32_t number_of(const struct thing *of) { return of->number; }
static int32_t seven(void) { return 7; }
static void add(DLTensor *out, const DLTensor *a, const DLTensor *b) {
  for (int64_t i = 0; i < a->shape[0]; i++) {
    ((float *)out->data)[i] = ((float *)a->data)[i] + ((float *)b->data)[i];
  }
}
static int32_t rank_of(const DLTensor *of) { return of->dimensions; }

PD_DEFINE_OP(invert, bool, (bool), invert, "Not x");
PD_DEFINE_OP(next, int8_t, (int8_t), next8, "x + 1");
PD_DEFINE_OP_AS(next64, "next", uint64_t, (uint64_t), next64, "x + 1");
PD_DEFINE_OP(half, float, (float), half, "x / 2");
PD_DEFINE_OP(sum, double, (const double *, int64_t), sum, "Sum");
PD_DEFINE_OP(fill, void, (int32_t *, size_t, int32_t), fill, "Fill");
PD_DEFINE_OP(length, size_t, (const char *), length, "Length of a text");
PD_DEFINE_OP(name_of, const char *, (int32_t), name_of, "Name");
PD_DEFINE_OP(bytes, size_t, (const void *, size_t), bytes, "Bytes that aren't 0");
PD_DEFINE_OP(number_of, int32_t, (const struct thing *), number_of, "Number");
PD_DEFINE_OP(seven, int32_t, (void), seven, "7");
PD_DEFINE_OP(add, void, (DLTensor *, const DLTensor *, const DLTensor *), add, "Add vectors",
             .arrays = "f32[n], f32[n], f32[n]");
PD_DEFINE_OP(rank_of, int32_t, (const DLTensor *), rank_of, "Number of dimensions",
             .arrays = "any[...] strided");
