/* The threads of an OpenMP loop work in the scopes of the thread that began it.
 *
 *     cc -fopenmp openmp.c $(python -m paddle_flags config --cflags --libs) -o openmp
 */
#include <pd_flags.h>
#include <stdio.h>

PD_DEFINE_SCOPED_int32(level, 6, "Compression level", .min = 1, .max = 9);

enum { BLOCKS = 1000 };

/* Stands for work that reads the flag deep inside. */
static int compress_block(void) { return PD_SCOPED(level); }

static int compress_all(const char *when) {
  pd_scope_context *context = NULL;
  int sum = 0;
  pd_scope_capture(&context, NULL);
#pragma omp parallel num_threads(4) reduction(+ : sum)
  {
    pd_scope attached;
    pd_scope_attach(context, &attached, NULL);
#pragma omp for
    for (int i = 0; i < BLOCKS; i++) sum += compress_block();
    pd_scope_detach(attached, NULL);
  }
  pd_scope_release(context);
  printf("%s: each of %d blocks at level %d\n", when, BLOCKS, sum / BLOCKS);
  return sum;
}

int main(void) {
  pd_error err;
  pd_scope scope;
  pd_assignment values[] = {{.flag = PD_SCOPED_FLAG(level), .text = "9"}};
  compress_all("before");
  if (pd_scope_push(values, 1, NULL, NULL, &scope, &err) != PD_OK) {
    fprintf(stderr, "%s\n", err.message);
    return 1;
  }
  compress_all("in the scope");
  pd_scope_pop(scope, NULL);
  compress_all("after");
  return 0;
}
