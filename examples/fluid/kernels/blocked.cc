// Products of matrices by blocks that stay in the cache. The module brings implementations and no
// operation: load it or leave it, and choose with --impl.mul=blocked or --impl.mul=native.
#include <pd_flags.h>

#include "kernels.h"

namespace {

constexpr int64_t kBlock = 64;

int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// out += x y, where x is read by columns if `turned`. The inner loop runs over neighbours.
template <class T>
void accumulate(T *out, const T *x, const T *y, int64_t rows, int64_t inner, int64_t columns,
                bool turned) {
  for (int64_t begin = 0; begin < inner; begin += kBlock) {
    const int64_t end = smaller(begin + kBlock, inner);
    for (int64_t i = 0; i < rows; i++) {
      for (int64_t k = begin; k < end; k++) {
        const T factor = turned ? x[k * rows + i] : x[i * inner + k];
        for (int64_t j = 0; j < columns; j++) out[i * columns + j] += factor * y[k * columns + j];
      }
    }
  }
}

template <class T>
void clear(T *out, int64_t count) {
  for (int64_t i = 0; i < count; i++) out[i] = 0;
}

template <class A>
void mul(cpu *, A *out, const A *x, const A *y) {
  clear(out->data, out->rows * out->columns);
  accumulate(out->data, x->data, y->data, x->rows, x->columns, y->columns, false);
}

// dx = dout yT, which reads both by rows; dy = xT dout
template <class A>
void mul_grad(cpu *, A *dx, A *dy, const A *x, const A *y, const A *dout) {
  for (int64_t i = 0; dx->data && i < x->rows * y->rows; i++) {
    const auto *left = dout->data + i / y->rows * y->columns;
    const auto *right = y->data + i % y->rows * y->columns;
    decltype(+*left) sum = 0;
    for (int64_t j = 0; j < y->columns; j++) sum += left[j] * right[j];
    dx->data[i] = sum;
  }
  if (!dy->data) return;
  clear(dy->data, y->rows * y->columns);
  accumulate(dy->data, x->data, dout->data, y->rows, x->rows, y->columns, true);
}

}  // namespace

#define BLOCKED(op, array, takes)                                                                  \
  PD_IMPORT_OP_AS(op##_##array, #op, void, TAKES_##takes(array), op<array>);                       \
  PD_IMPL(op##_##array, blocked, op<array>, .rank = 10)

BLOCKED(mul, f32, 1_2_0);
BLOCKED(mul, f64, 1_2_0);
BLOCKED(mul_grad, f32, 2_3_0);
BLOCKED(mul_grad, f64, 2_3_0);
