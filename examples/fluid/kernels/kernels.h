/* What kernels and their callers agree on: arrays, a place, and the shape of signatures. A kernel
 * is a function. It knows no variable, scope, program or executor, and allocates nothing. */
#ifndef FLUID_KERNELS_H
#define FLUID_KERNELS_H

#include <stdint.h>

/* Matrices, one row after the other. `data` of an output is NULL if nobody wants it. */
typedef struct f32 {
  float *data;
  int64_t rows, columns;
} f32;
typedef struct f64 {
  double *data;
  int64_t rows, columns;
} f64;

/* A place where kernels run. Another place is another struct, and so another signature; that of a
 * GPU would have its stream. There is nothing to say of this one: the pointer is NULL. */
typedef struct cpu cpu;

/* Parameters by the numbers of outputs, inputs and attributes, for arrays of type A. */
#define TAKES_1_0_1(A) (cpu *, A *, double)
#define TAKES_1_0_2(A) (cpu *, A *, double, double)
#define TAKES_1_1_0(A) (cpu *, A *, const A *)
#define TAKES_1_1_1(A) (cpu *, A *, const A *, double)
#define TAKES_1_2_0(A) (cpu *, A *, const A *, const A *)
#define TAKES_1_3_0(A) (cpu *, A *, const A *, const A *, const A *)
#define TAKES_2_1_0(A) (cpu *, A *, A *, const A *)
#define TAKES_2_2_0(A) (cpu *, A *, A *, const A *, const A *)
#define TAKES_2_3_0(A) (cpu *, A *, A *, const A *, const A *, const A *)

#endif /* FLUID_KERNELS_H */
