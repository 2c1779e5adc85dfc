// A Python extension module with a flag. It joins the registry when it is imported.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <pd_flags.h>

PD_DEFINE_int32(consumer_factor, 2, "What to multiply by", .min = 1, .max = 9);

static PyObject *scale(PyObject *self, PyObject *value) {
  (void)self;
  long number = PyLong_AsLong(value);
  if (number == -1 && PyErr_Occurred()) return NULL;
  return PyLong_FromLong(number * FLAGS_consumer_factor);
}

static PyMethodDef functions[] = {
    {"scale", scale, METH_O, "Multiply by consumer_factor"},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "consumer", NULL, 0, functions, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_consumer(void) { return PyModule_Create(&module); }
