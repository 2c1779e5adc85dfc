// Classifies digits with the kernels alone: no runtime, no Python, and a registry of flags without
// a command line and environment (the profile no-input), as a telephone would have it.
//
//     lite MODEL [libblocked.so]
//
// MODEL holds six matrices as text, each with its rows and columns first: the weights and biases of
// two layers, images, and labels with a one in the column of the class.
#include <pd_flags.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "../kernels/kernels.h"

PD_DECLARE_OP_AS(mul_f32, "mul", void, TAKES_1_2_0(f32));
PD_DECLARE_OP_AS(add_f32, "add", void, TAKES_1_2_0(f32));
PD_DECLARE_OP_AS(relu_f32, "relu", void, TAKES_1_1_0(f32));

namespace {

struct Matrix {
  Matrix(int64_t rows, int64_t columns)
      : memory(new float[static_cast<size_t>(rows * columns)]),
        array{memory.get(), rows, columns} {}

  std::unique_ptr<float[]> memory;
  f32 array;
};

[[noreturn]] void fail(const char *message) {
  std::fprintf(stderr, "lite: %s\n", message);
  std::exit(1);
}

Matrix read(std::FILE *file) {
  long long rows = 0, columns = 0;
  if (std::fscanf(file, "%lld %lld", &rows, &columns) != 2) fail("expected rows and columns");
  Matrix made(rows, columns);
  for (long long i = 0; i < rows * columns; i++) {
    if (std::fscanf(file, "%f", &made.array.data[i]) != 1) fail("expected a number");
  }
  return made;
}

Matrix fc(const Matrix &x, const Matrix &weight, const Matrix &bias) {
  Matrix product(x.array.rows, weight.array.columns);
  PD_CALL(mul_f32)(nullptr, &product.array, &x.array, &weight.array);
  PD_CALL(add_f32)(nullptr, &product.array, &product.array, &bias.array);
  return product;
}

int64_t class_of(const f32 &matrix, int64_t row) {
  const float *data = matrix.data + row * matrix.columns;
  return std::max_element(data, data + matrix.columns) - data;
}

}  // namespace

int main(int argc, char **argv) {
  pd_error error;
  if (argc < 2) fail("usage: lite MODEL [PLUGIN]");
  if (argc > 2 && pd_module_load(argv[2], nullptr, nullptr, &error) != PD_OK) fail(error.message);
  std::FILE *file = std::fopen(argv[1], "r");
  if (!file) fail("can't read MODEL");
  const Matrix weight_0 = read(file), bias_0 = read(file), weight_1 = read(file),
               bias_1 = read(file), images = read(file), labels = read(file);
  std::fclose(file);
  Matrix hidden = fc(images, weight_0, bias_0);
  PD_CALL(relu_f32)(nullptr, &hidden.array, &hidden.array);
  const Matrix logits = fc(hidden, weight_1, bias_1);
  int64_t right = 0;
  for (int64_t i = 0; i < images.array.rows; i++) {
    right += class_of(logits.array, i) == class_of(labels.array, i);
  }
  pd_op *op = nullptr;
  pd_impl_info kernel = {};
  kernel.size = sizeof kernel;
  if (pd_op_find("mul", nullptr, &op, &error) != PD_OK) fail(error.message);
  if (pd_op_choose(op, &kernel, &error) != PD_OK) fail(error.message);
  std::printf("lite %s, mul by '%s': %lld of %lld right\n", pd_version(), kernel.name,
              static_cast<long long>(right), static_cast<long long>(images.array.rows));
  return 0;
}
