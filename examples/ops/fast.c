/* Implementations of matmul in C: one for every processor, and one for those that have AVX2. */
#include <pd_flags.h>
#include <pd_flags/cpu.h>
#include <string.h>

#include "matmul.h"

/* ---- By blocks, which stay in the cache ---- */

enum { BLOCK = 64 };

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

static void multiply_block(float *out, const float *a, const float *b, sizes whole, sizes from) {
  size_t rows_end = smaller(from.rows + BLOCK, whole.rows);
  size_t inner_end = smaller(from.inner + BLOCK, whole.inner);
  for (size_t i = from.rows; i < rows_end; i++) {
    for (size_t k = from.inner; k < inner_end; k++) {
      float factor = a[i * whole.inner + k];
      const float *row = b + k * whole.columns;
      for (size_t j = 0; j < whole.columns; j++) out[i * whole.columns + j] += factor * row[j];
    }
  }
}

static void matmul_blocked(DLTensor *out, const DLTensor *a, const DLTensor *b) {
  sizes whole = sizes_of(a, b), from = {0};
  memset(elements_of(out), 0, whole.rows * whole.columns * sizeof(float));
  for (from.rows = 0; from.rows < whole.rows; from.rows += BLOCK) {
    for (from.inner = 0; from.inner < whole.inner; from.inner += BLOCK) {
      multiply_block(elements_of(out), elements_of(a), elements_of(b), whole, from);
    }
  }
}

/* This module calls matmul by no other name, so the fallback never runs. */
PD_IMPORT_OP(matmul, void, (DLTensor *, const DLTensor *, const DLTensor *), matmul_blocked);
PD_IMPL(matmul, blocked, matmul_blocked, .rank = 10);

/* ---- With AVX2 ---- */

#ifdef __x86_64__
#include <immintrin.h>

#define WITH_AVX2 __attribute__((target("avx2,fma")))

enum { TILE_ROWS = 4, TILE_COLUMNS = 16 };

/* The sums of 4 rows and 16 columns stay in registers. */
WITH_AVX2 static void multiply_tile(float *out, const float *a, const float *b, sizes whole) {
  __m256 sums[TILE_ROWS][2] = {0};
  for (size_t k = 0; k < whole.inner; k++) {
    const float *row = b + k * whole.columns;
    __m256 left = _mm256_loadu_ps(row), right = _mm256_loadu_ps(row + 8);
    for (size_t i = 0; i < TILE_ROWS; i++) {
      __m256 factor = _mm256_broadcast_ss(a + i * whole.inner + k);
      sums[i][0] = _mm256_fmadd_ps(factor, left, sums[i][0]);
      sums[i][1] = _mm256_fmadd_ps(factor, right, sums[i][1]);
    }
  }
  for (size_t i = 0; i < TILE_ROWS; i++) {
    _mm256_storeu_ps(out + i * whole.columns, sums[i][0]);
    _mm256_storeu_ps(out + i * whole.columns + 8, sums[i][1]);
  }
}

/* What is left at the right and at the bottom. */
static void multiply_one(float *out, const float *a, const float *b, sizes whole) {
  float sum = 0;
  for (size_t k = 0; k < whole.inner; k++) sum += a[k] * b[k * whole.columns];
  *out = sum;
}

static void matmul_avx2(DLTensor *result, const DLTensor *left, const DLTensor *right) {
  sizes whole = sizes_of(left, right);
  float *out = elements_of(result);
  const float *a = elements_of(left), *b = elements_of(right);
  size_t tiled_rows = whole.rows - whole.rows % TILE_ROWS;
  size_t tiled_columns = whole.columns - whole.columns % TILE_COLUMNS;
  for (size_t j = 0; j < tiled_columns; j += TILE_COLUMNS) {
    for (size_t i = 0; i < tiled_rows; i += TILE_ROWS) {
      multiply_tile(out + i * whole.columns + j, a + i * whole.inner, b + j, whole);
    }
  }
  for (size_t i = 0; i < whole.rows; i++) {
    for (size_t j = i < tiled_rows ? tiled_columns : 0; j < whole.columns; j++) {
      multiply_one(out + i * whole.columns + j, a + i * whole.inner, b + j, whole);
    }
  }
}

static const char *lacks_avx2(void) {
  const char *why = PD_CPU_LACKS("avx2");
  return why ? why : PD_CPU_LACKS("fma");
}
PD_IMPL(matmul, avx2, matmul_avx2, .rank = 50, .usable = lacks_avx2);
#endif /* __x86_64__ */
