/* Letting go of the GIL while the library is called. Used by all extension modules.
 *
 * Before 3.12, CPython destroys the subinterpreters that are left when it ends. By then only one
 * thread state, of the main interpreter, may take the GIL: in any other interpreter, the thread
 * that has let go of it is ended instead of getting it again, so the process loses its exit status,
 * or never ends. There the GIL is kept. */
#ifndef PD__PYTHON_GIL_H
#define PD__PYTHON_GIL_H

#include <Python.h>

/* Returns what retake_gil() takes. */
static inline PyThreadState *release_gil(void) {
  bool ends = !Py_IsInitialized() && PyInterpreterState_GetID(PyInterpreterState_Get()) != 0;
  return ends ? NULL : PyEval_SaveThread();
}

static inline void retake_gil(PyThreadState *thread) {
  if (thread) PyEval_RestoreThread(thread);
}

/* What cffi writes around each call. */
#undef Py_BEGIN_ALLOW_THREADS
#undef Py_END_ALLOW_THREADS
#define Py_BEGIN_ALLOW_THREADS                                                                     \
  {                                                                                                \
    PyThreadState *thread_ = release_gil();
#define Py_END_ALLOW_THREADS                                                                       \
  retake_gil(thread_);                                                                             \
  }

#endif /* PD__PYTHON_GIL_H */
