#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "counter_flags.h"

static PyObject *count(PyObject *self, PyObject *number) {
  long value = PyLong_AsLong(number);
  (void)self;
  if (value == -1 && PyErr_Occurred()) return NULL;
  return PyLong_FromLong(value + FLAGS_counter_step);
}

static PyMethodDef methods[] = {
    {"count", count, METH_O, "Add a step to the number."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", NULL, 0, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&module); }
