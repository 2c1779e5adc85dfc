/* A host that multiplies matrices. It defines the operation matmul, whose implementations come from
 * plugins, and compares them:
 *
 *     host PLUGIN.so… [--impl.matmul=blocked,*] [--size=512]
 *
 * The plugins come first, so that their implementations are known when the rest of the command line
 * is parsed. */
#define _POSIX_C_SOURCE 200809L
#include <pd_flags.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "matmul.h"

enum { EXIT_OK = 0, EXIT_WRONG = 1, EXIT_USAGE = 2, REPEATS = 3 };

/* ---- The operation ---- */

static void matmul_portable(DLTensor *out, const DLTensor *a, const DLTensor *b) {
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
             "The product of two matrices", .arrays = "f32[m,n], f32[m,k], f32[k,n]");
PD_DEFINE_int32(size, 256, "Rows of the matrices", .min = 1, .max = 8192);

/* ---- Matrices ---- */

typedef struct matrix {
  int64_t shape[2];
  DLTensor tensor;
} matrix;

/* Small whole numbers: their products and sums are exact, in whatever order. */
static void fill(matrix *out, int64_t rows, int64_t columns, unsigned seed) {
  size_t count = (size_t)(rows * columns);
  float *data = calloc(count, sizeof *data);
  if (!data) abort();
  for (size_t i = 0; i < count; i++) {
    seed = seed * 1103515245u + 12345u;
    data[i] = (float)((seed >> 16) % 9) - 4;
  }
  *out = (matrix){.shape = {rows, columns}};
  out->tensor = (DLTensor){
      .data = data, .device = {1, 0}, .ndim = 2, .dtype = {2, 32, 1}, .shape = out->shape};
}

static size_t bytes_of(const matrix *m) {
  return (size_t)(m->shape[0] * m->shape[1]) * sizeof(float);
}

/* ---- Comparing ---- */

typedef struct comparison {
  matrix a, b, out, expected;
  pd_op *operation;
  pd_flag *flag; /* impl.matmul */
  double native_ms;
} comparison;

static double measure(comparison *with) {
  double best = 0;
  for (int i = 0; i < REPEATS; i++) {
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    PD_CALL(matmul)(&with->out.tensor, &with->a.tensor, &with->b.tensor);
    clock_gettime(CLOCK_MONOTONIC, &end);
    double ms =
        (double)(end.tv_sec - begin.tv_sec) * 1e3 + (double)(end.tv_nsec - begin.tv_nsec) / 1e6;
    if (i == 0 || ms < best) best = ms;
  }
  return best;
}

static bool is_right(const comparison *with) {
  return !memcmp(with->out.tensor.data, with->expected.tensor.data, bytes_of(&with->out));
}

static const char *winner_of(const pd_op *operation) {
  pd_op_info info = {.size = sizeof info};
  pd_impl_info impl = {.size = sizeof impl};
  pd_op_get_info(operation, &info, NULL);
  pd_status status = pd_op_get_impl(operation, info.winner, &impl, NULL);
  return status == PD_OK ? impl.name : "nothing";
}

/* Prints a line of the table for what is chosen now. */
static bool print_line(comparison *with, const char *remark) {
  char choice[64] = "";
  pd_flag_get_text(with->flag, choice, sizeof choice, NULL, NULL);
  memset(with->out.tensor.data, 0xff, bytes_of(&with->out)); /* no number */
  double ms = measure(with);
  if (with->native_ms == 0) with->native_ms = ms;
  printf("%-14s %-10s %9.3f ms %7.1fx%s%s\n", choice, winner_of(with->operation), ms,
         with->native_ms / ms, *remark ? "   " : "", remark);
  if (is_right(with)) return true;
  fprintf(stderr, "host: %s: the product is wrong\n", winner_of(with->operation));
  return false;
}

/* The same with one implementation preferred, and the user's choice again afterwards. */
static bool print_preferring(comparison *with, const char *name, size_t index) {
  char text[64];
  pd_error error;
  pd_override number;
  pd_impl_info impl = {.size = sizeof impl};
  snprintf(text, sizeof text, "%s,*", name);
  pd_assignment item = {.flag = with->flag, .text = text};
  if (pd_override_push(&item, 1, NULL, NULL, &number, &error) != PD_OK) {
    fprintf(stderr, "host: %s\n", error.message);
    return false;
  }
  pd_op_get_impl(with->operation, index, &impl, NULL);
  bool good = print_line(with, impl.chosen ? "" : impl.why);
  pd_override_pop(number, NULL);
  return good;
}

static bool compare(comparison *with) {
  bool good = true;
  pd_op_info info = {.size = sizeof info};
  pd_impl_info impl = {.size = sizeof impl};
  pd_op_get_info(with->operation, &info, NULL);
  printf("%-14s %-10s %12s %8s\n", "impl.matmul", "runs", "time", "faster");
  for (size_t i = 0; i < info.impls; i++) {
    if (pd_op_get_impl(with->operation, i, &impl, NULL) != PD_OK) continue;
    good &= print_preferring(with, impl.name, i);
  }
  good &= print_line(with, "your choice");
  return good;
}

static bool run(void) {
  comparison with = {0};
  pd_op_info info = {.size = sizeof info};
  pd_op_find("matmul", NULL, &with.operation, NULL);
  pd_op_get_info(with.operation, &info, NULL);
  with.flag = info.flag;
  /* Sizes that no tile divides. */
  fill(&with.a, FLAGS_size, FLAGS_size + 3, 1);
  fill(&with.b, FLAGS_size + 3, FLAGS_size + 5, 2);
  fill(&with.out, FLAGS_size, FLAGS_size + 5, 3);
  fill(&with.expected, FLAGS_size, FLAGS_size + 5, 4);
  matmul_portable(&with.expected.tensor, &with.a.tensor, &with.b.tensor);
  bool good = compare(&with);
  free(with.a.tensor.data);
  free(with.b.tensor.data);
  free(with.out.tensor.data);
  free(with.expected.tensor.data);
  return good;
}

/* ---- The command line ---- */

static bool is_plugin(const char *argument) {
  size_t length = strlen(argument);
  return argument[0] != '-' && length > 3 && strcmp(argument + length - 3, ".so") == 0;
}

int main(int argc, char **argv) {
  pd_error error;
  pd_parse_options options = {.size = sizeof options, .env_prefix = "FLAGS_"};
  int count = 0;
  for (; count + 1 < argc && is_plugin(argv[count + 1]); count++) {
    if (pd_module_load(argv[count + 1], NULL, NULL, &error) != PD_OK) {
      fprintf(stderr, "host: %s\n", error.message);
      return EXIT_USAGE;
    }
  }
  argv[count] = argv[0]; /* the rest is the command line */
  argv += count;
  argc -= count;
  pd_status status = pd_parse_argv(&argc, argv, &options, &error);
  if (status == PD_HELP) {
    printf("usage: host PLUGIN.so... [--impl.matmul=NAME,...] [--size=N]\n");
    return EXIT_OK;
  }
  if (status != PD_OK || argc > 1) {
    fprintf(stderr, "host: %s\n", status == PD_OK ? "expected plugins, then flags" : error.message);
    return EXIT_USAGE;
  }
  return run() ? EXIT_OK : EXIT_WRONG;
}
