/* The interface of libfluid for Python, which reads this file. Every pointer that a function
 * returns belongs to the caller, who frees it with the function of that name; kids of a scope are
 * freed with it. One thread at a time may use a scope or an executor. Functions with `error` return
 * whether they succeeded. */
#ifndef FLUID_H
#define FLUID_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fluid_scope fluid_scope;
typedef struct fluid_executor fluid_executor;

typedef struct fluid_error {
  char message[2000];
  int32_t not_finite; /* found by check_nan_inf: all below is known */
  int32_t op;
  char variable[128];
  int64_t row, column;
} fluid_error;

typedef struct fluid_tensor {
  void *data;
  int64_t rows, columns;
  int32_t is_f64;
} fluid_tensor;

/* Runs the operator with this number in the block. Returns whether it succeeded. */
typedef int32_t fluid_host(int32_t op);

fluid_scope *fluid_scope_new(fluid_scope *parent); /* NULL: an outermost one */
void fluid_scope_free(fluid_scope *scope);
int32_t fluid_scope_find(fluid_scope *scope, const char *name, fluid_tensor *out);
int32_t fluid_scope_var(fluid_scope *scope, const char *name, const char *dtype, int64_t rows,
                        int64_t columns, fluid_tensor *out, fluid_error *error);

/* `program` is the text of Program.serialized() of program.py. `hosted` are the types of operators
 * that `host` runs, with blanks between. NULL: see `error`. */
fluid_executor *fluid_executor_new(const char *program, int32_t block, const char *hosted,
                                   fluid_host *host, fluid_error *error);
void fluid_executor_free(fluid_executor *executor);
int32_t fluid_executor_run(fluid_executor *executor, fluid_scope *scope, int64_t batch,
                           fluid_error *error);

#ifdef __cplusplus
}
#endif

#endif /* FLUID_H */
