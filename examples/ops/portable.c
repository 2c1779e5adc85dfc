/* The operation matmul, with an implementation for every processor. */
#include "matmul.h"

#include <pd_flags.h>

void matmul_portable(DLTensor *out, const DLTensor *a, const DLTensor *b) {
  sizes whole = sizes_of(a, b);
  const float *left = elements_of(a), *right = elements_of(b);
  for (size_t i = 0; i < whole.rows; i++) {
    for (size_t j = 0; j < whole.columns; j++) {
      float sum = 0;
      for (size_t k = 0; k < whole.inner; k++) {
        sum += left[i * whole.inner + k] * right[k * whole.columns + j];
      }
      elements_of(out)[i * whole.columns + j] = sum;
    }
  }
}

PD_DEFINE_OP(matmul, void, (DLTensor *, const DLTensor *, const DLTensor *), matmul_portable,
             "out = a b", .arrays = "f32[m,n], f32[m,k], f32[k,n]");
