/* The copy of the environment that the library reads while the GIL is released. */
#include "fast.h"

#ifdef Py_GIL_DISABLED
typedef struct held_copy {
  bool always;
  bool taken;
} held_copy;

/* All other threads of Python are stopped. Returns 0: it needs no further object. */
static int hold_with_threads_stopped(PyObject *unused, void *context) {
  held_copy *copy = context;
  (void)unused;
  pd_environment_hold(copy->always);
  copy->taken = true;
  return 0;
}

/* os.environ may change on another thread while the environment is copied. Only what visits all
 * objects stops the others, which it does before the first one. */
void fast_hold_environment(bool always) {
  held_copy copy = {always, false};
  PyUnstable_GC_VisitObjects(hold_with_threads_stopped, &copy);
  if (!copy.taken) pd_environment_hold(always);
}
#else
void fast_hold_environment(bool always) { pd_environment_hold(always); }
#endif

/* call_holding_environment(function, *arguments): returns what the function returns, of cffi or
 * another that lets go of the GIL. Other threads may change the environment then, and the library
 * reads a copy. */
PyObject *fast_call_holding_environment(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *function = PyTuple_GetItem(arguments, 0);
  PyObject *rest = function ? PyTuple_GetSlice(arguments, 1, PyTuple_Size(arguments)) : NULL;
  if (!rest) return NULL;
  fast_hold_environment(false);
  PyObject *result = PyObject_CallObject(function, rest);
  pd_environment_release();
  Py_DECREF(rest);
  return result;
}
