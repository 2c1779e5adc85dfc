/* An implementation of matmul by OpenBLAS, where that is installed. Nothing here needs it to build
 * or to load. */
#include <dlfcn.h>
#include <pd_flags.h>
#include <stdio.h>
#include <string.h>

#include "matmul.h"

#define LIBRARY "libopenblas.so.0"

enum { ROWS_FIRST = 101, AS_IT_IS = 111 }; /* of CBLAS */
typedef void sgemm_function(int order, int transpose_a, int transpose_b, int rows, int columns,
                            int inner, float alpha, const float *a, int a_stride, const float *b,
                            int b_stride, float beta, float *out, int out_stride);
static sgemm_function *sgemm;

static void matmul_openblas(DLTensor *out, const DLTensor *a, const DLTensor *b) {
  int rows = (int)a->shape[0], inner = (int)a->shape[1], columns = (int)b->shape[1];
  sgemm(ROWS_FIRST, AS_IT_IS, AS_IT_IS, rows, columns, inner, 1, elements_of(a), inner,
        elements_of(b), columns, 0, elements_of(out), columns);
}

/* Called once, before the implementation may run. The library stays open: nobody can know when the
 * last call is over. */
static const char *lacks_openblas(void) {
  static char why[300];
  void *library = dlopen(LIBRARY, RTLD_NOW);
  void *found = library ? dlsym(library, "cblas_sgemm") : NULL;
  if (found) {
    memcpy(&sgemm, &found, sizeof sgemm); /* C has no cast from void * to a function */
    return NULL;
  }
  snprintf(why, sizeof why, "%s", dlerror());
  return why;
}

/* This module doesn't call matmul, so the fallback never runs. */
PD_IMPORT_OP(matmul, void, (DLTensor *, const DLTensor *, const DLTensor *), matmul_openblas);
PD_IMPL(matmul, openblas, matmul_openblas, .rank = 100, .usable = lacks_openblas);
