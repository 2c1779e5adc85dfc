/* What the modules of this example have in common: the operation matmul. */
#ifndef EXAMPLE_MATMUL_H
#define EXAMPLE_MATMUL_H

#include <stddef.h>
#include <stdint.h>

/* An array with its shape, laid out as DLPack's struct of this name: whoever has <dlpack/dlpack.h>
 * includes that instead. */
typedef struct DLTensor {
  void *data;
  struct {
    int32_t type, id; /* 1 and 0: memory of the CPU */
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits; /* 2 and 32: float */
    uint16_t lanes;     /* 1 */
  } dtype;
  int64_t *shape;
  int64_t *strides; /* NULL: rows one after the other, without gaps */
  uint64_t byte_offset;
} DLTensor;

/* void matmul(DLTensor *out, const DLTensor *a, const DLTensor *b): out becomes a times b. All are
 * matrices of float in memory of the CPU, rows one after the other, and their shapes fit: the
 * caller sees to it. `out` overlaps neither a nor b. */

static inline float *elements_of(const DLTensor *tensor) {
  return (float *)(void *)((char *)tensor->data + tensor->byte_offset);
}

/* The sizes of a product. */
typedef struct sizes {
  size_t rows, inner, columns;
} sizes;

static inline sizes sizes_of(const DLTensor *a, const DLTensor *b) {
  return (sizes){(size_t)a->shape[0], (size_t)a->shape[1], (size_t)b->shape[1]};
}

/* The implementation that comes with the operation (portable.c). */
void matmul_portable(DLTensor *out, const DLTensor *a, const DLTensor *b);

#endif /* EXAMPLE_MATMUL_H */
