/* What an operation says of its arrays: the text of pd_op_about, and arrays of DLPack against it.
 */
#include <stdio.h>
#include <string.h>

#include "../base/text.h"
#include "op.h"

/* DLPack's DLTensor, whose layout never changes (https://dmlc.github.io/dlpack). */
typedef struct tensor {
  void *data;
  int32_t device, device_number;
  int32_t dimensions;
  uint8_t type, bits;
  uint16_t lanes;
  const int64_t *shape;
  const int64_t *strides; /* in items; NULL: compact and row-major */
  uint64_t offset;
} tensor;

enum { CPU = 1, CUDA_HOST = 3, ROCM_HOST = 11 }; /* devices whose memory the CPU reads */

static const struct {
  const char *name;
  uint8_t type, bits;
} types[] = {{"i8", 0, 8},   {"i16", 0, 16},  {"i32", 0, 32}, {"i64", 0, 64},   {"u8", 1, 8},
             {"u16", 1, 16}, {"u32", 1, 32},  {"u64", 1, 64}, {"f16", 2, 16},   {"f32", 2, 32},
             {"f64", 2, 64}, {"bf16", 4, 16}, {"c64", 5, 64}, {"c128", 5, 128}, {"bool", 6, 8}};
enum { TYPES = sizeof types / sizeof *types };

/* ---- The text ---- */

typedef struct word {
  const char *at;
  size_t length;
} word;

static bool is_word_equal_to_text(word a, const char *text) {
  return !strncmp(a.at, text, a.length) && !text[a.length];
}

static bool is_word_equal_to_word(word a, word b) {
  return a.length == b.length && !memcmp(a.at, b.at, a.length);
}

static void skip_blanks(const char **at) { *at += strspn(*at, " "); }

static bool consume_text(const char **at, const char *text) {
  skip_blanks(at);
  if (strncmp(*at, text, strlen(text)) != 0) return false;
  *at += strlen(text);
  return true;
}

static word read_array_word(const char **at) {
  skip_blanks(at);
  word found = {*at,
                strspn(*at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")};
  *at += found.length;
  return found;
}

/* One array; `at` stands at its dimensions, behind [. */
typedef struct array {
  word type;
  const char *at;
  bool leading; /* any dimensions may stand in front */
  bool strided, anywhere;
  bool more; /* a comma follows */
} array;

static bool is_type_name(word name) {
  size_t i = 0;
  while (i < TYPES && !is_word_equal_to_text(name, types[i].name)) i++;
  return i < TYPES || is_word_equal_to_text(name, "any");
}

static bool skip_dimensions(const char **at) {
  if (consume_text(at, "]")) return true;
  do {
    if (read_array_word(at).length == 0) return false;
  } while (consume_text(at, ","));
  return consume_text(at, "]");
}

/* Reads the next array and the comma behind it. Returns false where the text is wrong, and *at is
 * there. */
static bool read_array_spec(const char **at, array *out) {
  *out = (array){.type = read_array_word(at)};
  if (!is_type_name(out->type)) {
    *at = out->type.at;
    return false;
  }
  if (!consume_text(at, "[")) return false;
  out->leading = consume_text(at, "...");
  if (out->leading) consume_text(at, ",");
  out->at = *at;
  if (!skip_dimensions(at)) return false;
  out->strided = consume_text(at, "strided");
  out->anywhere = consume_text(at, "on any device");
  out->more = consume_text(at, ",");
  return out->more || !**at;
}

const char *pd__arrays_find_error(const char *text) {
  array one = {.more = true};
  while (one.more) {
    if (!read_array_spec(&text, &one)) return text;
  }
  return NULL;
}

/* ---- Arrays ---- */

enum { NAMES = 32 };

typedef struct sizes {
  size_t count;
  struct {
    word name;
    int64_t size;
    size_t of; /* the parameter that has said so */
  } known[NAMES];
} sizes;

static const char *get_type_name(const tensor *of, char out[64]) {
  size_t i = 0;
  while (i < TYPES && (types[i].type != of->type || types[i].bits != of->bits)) i++;
  if (i < TYPES && of->lanes == 1) return types[i].name;
  snprintf(out, 64, "DLPack's type %u of %u bits, %u lanes", of->type, of->bits, of->lanes);
  return out;
}

static bool is_contiguous(const tensor *of) {
  int64_t expected = 1;
  if (!of->strides) return true;
  for (int32_t i = of->dimensions; i-- > 0;) {
    if (of->shape[i] == 0) return true;
    if (of->shape[i] != 1 && of->strides[i] != expected) return false;
    expected *= of->shape[i];
  }
  return true;
}

static pd_status fail_size(size_t index, int32_t dimension, int64_t size, const sizes *all,
                           size_t known, pd_error *err) {
  return pd__fail(
      err, PD_ERR_TYPE, "array %zu: dimension %d is %lld, expected %lld: %.*s of array %zu", index,
      dimension, (long long)size, (long long)all->known[known].size,
      (int)all->known[known].name.length, all->known[known].name.at, all->known[known].of);
}

static int64_t parse_number(word text) {
  int64_t number = 0;
  for (const char *at = text.at; *at >= '0' && *at <= '9'; at++) {
    int digit = *at - '0';
    number = number <= (INT64_MAX - digit) / 10 ? 10 * number + digit : INT64_MAX;
  }
  return number;
}

static pd_status check_or_bind_size(word name, int64_t size, size_t index, int32_t dimension,
                                    sizes *all, pd_error *err) {
  if (is_word_equal_to_text(name, "_")) return PD_OK;
  if (*name.at >= '0' && *name.at <= '9') {
    if (parse_number(name) == size) return PD_OK;
    return pd__fail(err, PD_ERR_TYPE, "array %zu: dimension %d is %lld, expected %.*s", index,
                    dimension, (long long)size, (int)name.length, name.at);
  }
  size_t i = 0;
  while (i < all->count && !is_word_equal_to_word(all->known[i].name, name)) i++;
  if (i < all->count && all->known[i].size != size) {
    return fail_size(index, dimension, size, all, i, err);
  }
  if (i < all->count || i == NAMES) return PD_OK;
  all->known[i].name = name;
  all->known[i].size = size;
  all->known[i].of = index;
  all->count++;
  return PD_OK;
}

static pd_status check_expected_shape(const array *expected, const tensor *of, size_t index,
                                      sizes *all, pd_error *err) {
  const char *at = expected->at;
  int32_t count = 0;
  while (!consume_text(&at, "]")) { /* the text is right */
    read_array_word(&at);
    consume_text(&at, ",");
    count++;
  }
  int32_t first = of->dimensions - count;
  if (first < 0 || (first > 0 && !expected->leading)) {
    return pd__fail(err, PD_ERR_TYPE, "array %zu: it has %d dimensions, expected %d%s", index,
                    of->dimensions, count, expected->leading ? " or more" : "");
  }
  at = expected->at;
  for (int32_t i = first; i < of->dimensions; i++) {
    word name = read_array_word(&at);
    consume_text(&at, ",");
    pd_status status = check_or_bind_size(name, of->shape[i], index, i, all, err);
    if (status != PD_OK) return status;
  }
  return PD_OK;
}

static pd_status check_valid_shape(const tensor *of, size_t index, pd_error *err) {
  if (of->dimensions < 0 || (of->dimensions > 0 && !of->shape)) {
    return pd__fail(err, PD_ERR_TYPE, "array %zu: it has %d dimensions and no shape", index,
                    of->dimensions);
  }
  for (int32_t i = 0; i < of->dimensions; i++) {
    if (of->shape[i] >= 0) continue;
    return pd__fail(err, PD_ERR_TYPE, "array %zu: dimension %d is %lld, expected a size", index, i,
                    (long long)of->shape[i]);
  }
  return PD_OK;
}

static pd_status check_array(const array *expected, const tensor *of, size_t index, sizes *all,
                             pd_error *err) {
  char type[64];
  bool on_cpu = of->device == CPU || of->device == CUDA_HOST || of->device == ROCM_HOST;
  if (!is_word_equal_to_text(expected->type, "any") &&
      !is_word_equal_to_text(expected->type, get_type_name(of, type))) {
    return pd__fail(err, PD_ERR_TYPE, "array %zu: its items are %s, expected %.*s", index,
                    get_type_name(of, type), (int)expected->type.length, expected->type.at);
  }
  if (!on_cpu && !expected->anywhere) {
    return pd__fail(err, PD_ERR_TYPE,
                    "array %zu: it is on DLPack's device %d, expected memory of the CPU", index,
                    of->device);
  }
  pd_status status = check_valid_shape(of, index, err);
  if (status == PD_OK) status = check_expected_shape(expected, of, index, all, err);
  if (status != PD_OK || expected->strided || is_contiguous(of)) return status;
  return pd__fail(err, PD_ERR_TYPE, "array %zu: it is not compact, expected a row-major array",
                  index);
}

static const char *find_arrays_text(const pd_op *op) {
  pd__platform_lock();
  const pd__impl *one = op->candidates;
  while (one && !one->def->about.arrays) one = one->next_candidate;
  const char *text = one ? pd__intern_text(one->def->about.arrays) : NULL;
  pd__platform_unlock();
  return text;
}

static size_t count_array_specs(const char *text) {
  array one = {.more = true};
  size_t count = 0;
  for (; one.more; count++) read_array_spec(&text, &one);
  return count;
}

pd_status pd_op_check_arrays(const pd_op *op, const void *const *tensors, size_t count,
                             pd_error *err) {
  if (!op) return pd__fail_null(err, "op");
  if (!tensors && count > 0) return pd__fail_null(err, "tensors");
  const char *text = find_arrays_text(op);
  sizes all = {.count = 0};
  array expected = {.type = {"any", 3}, .at = "]", .leading = true};
  if (text && count_array_specs(text) != count) {
    return pd__fail(err, PD_ERR_TYPE, "%zu arrays, expected %zu: %s", count,
                    count_array_specs(text), text);
  }
  for (size_t i = 0; i < count; i++) {
    if (!tensors[i]) return pd__fail(err, PD_ERR_TYPE, "array %zu: it is NULL", i);
    if (text) read_array_spec(&text, &expected);
    pd_status status = check_array(&expected, tensors[i], i, &all, err);
    if (status != PD_OK) return status;
  }
  return PD_OK;
}
