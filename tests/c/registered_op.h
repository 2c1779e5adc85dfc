/* Operations of functions of the test, registered at run time. */
#ifndef REGISTERED_OP_H
#define REGISTERED_OP_H

#include "check.h"

typedef double op_function(double x);
typedef void (*any_function)(void);

#define OP_FUNCTION(name, value)                                                                   \
  __attribute__((unused)) static double name(double x) { return x * 0 + (value); }
OP_FUNCTION(op_one, 1)
OP_FUNCTION(op_two, 2)
OP_FUNCTION(op_three, 3)

static pd_op_signature op_signature = {"sum", "double (double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE}};

static inline pd_op_def op_def(pd_kind kind, const char *name, op_function *function) {
  return (pd_op_def){.size = sizeof(pd_op_def),
                     .line = 7,
                     .kind = (uint8_t)kind,
                     .name = name,
                     .file = "ops.c",
                     .signature = &op_signature,
                     .choice = {.function = (any_function)function}};
}

static inline pd_impl add_op(const pd_op_def *def) {
  pd_impl number = 0;
  CHECK_OK(pd_impl_register(def, &number, &err));
  return number;
}

__attribute__((unused)) static inline pd_impl add_impl(const char *name, int32_t rank,
                                                       op_function *function) {
  pd_op_def def = op_def(PD_KIND_IMPL, name, function);
  def.choice.rank = rank;
  return add_op(&def);
}

/* The slot of the definition, through which modules would call. */
static any_function op_slot;

__attribute__((unused)) static inline pd_impl define_op(void) {
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  def.slot = &op_slot;
  return add_op(&def);
}

__attribute__((unused)) static inline double call_op(void) { return ((op_function *)op_slot)(5); }

static inline pd_op *find_op(const char *name, const uint8_t *types) {
  pd_op *op = NULL;
  CHECK_OK(pd_op_find(name, types, &op, &err));
  return op;
}

__attribute__((unused)) static inline pd_op_info op_info(const char *name) {
  pd_op_info info = {.size = sizeof info};
  CHECK_OK(pd_op_get_info(find_op(name, NULL), &info, &err));
  return info;
}

__attribute__((unused)) static inline pd_impl_info impl_info(const char *name, size_t index) {
  pd_impl_info info = {.size = sizeof info};
  CHECK_OK(pd_op_get_impl(find_op(name, NULL), index, &info, &err));
  return info;
}

#endif /* REGISTERED_OP_H */
