/* Values of C as Python objects, and the plain Python objects as values of C. */
#include <string.h>

#include "fast.h"

/* Other threads, native ones too, may set the flag meanwhile. */
#define LOAD(type, cell) __atomic_load_n((const type *)(cell), __ATOMIC_ACQUIRE)

PyObject *fast_text(const char *text) {
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape");
}

static PyObject *from_double(const void *cell) {
  uint64_t bits = LOAD(uint64_t, cell);
  double value;
  memcpy(&value, &bits, sizeof value);
  return PyFloat_FromDouble(value);
}

PyObject *fast_from_cell(pd_type type, const void *cell) {
  switch (type) {
    case PD_TYPE_bool:
      return PyBool_FromLong(LOAD(uint8_t, cell));
    case PD_TYPE_int32:
      return PyLong_FromLong(LOAD(int32_t, cell));
    case PD_TYPE_uint32:
      return PyLong_FromUnsignedLong(LOAD(uint32_t, cell));
    case PD_TYPE_int64:
      return PyLong_FromLongLong(LOAD(int64_t, cell));
    case PD_TYPE_uint64:
      return PyLong_FromUnsignedLongLong(LOAD(uint64_t, cell));
    case PD_TYPE_double:
      return from_double(cell);
    case PD_TYPE_string:
      return fast_text(LOAD(char *, cell));
  }
  return NULL;
}

static bool to_signed(PyObject *value, int64_t low, int64_t high, int64_t *out) {
  int overflow;
  if (!PyLong_CheckExact(value)) return false;
  *out = PyLong_AsLongLongAndOverflow(value, &overflow);
  return !overflow && *out >= low && *out <= high;
}

static bool to_uint64(PyObject *value, uint64_t *out) {
  if (!PyLong_CheckExact(value)) return false;
  *out = PyLong_AsUnsignedLongLong(value);
  if (*out != UINT64_MAX || !PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}

PyObject *fast_to_bytes(PyObject *text, const char **out) {
  if (!PyUnicode_CheckExact(text)) return NULL;
  PyObject *bytes = PyUnicode_AsUTF8String(text);
  char *found;
  /* Without room for a length, a NUL inside is an error. */
  if (bytes && PyBytes_AsStringAndSize(bytes, &found, NULL) == 0) {
    *out = found;
    return bytes;
  }
  PyErr_Clear();
  Py_XDECREF(bytes);
  return NULL;
}

bool fast_to_value(pd_type type, PyObject *value, pd_value *out, PyObject **holder) {
  int64_t number;
  *holder = NULL;
  switch (type) {
    case PD_TYPE_bool:
      out->b = value == Py_True;
      return out->b || value == Py_False;
    case PD_TYPE_int32:
      return to_signed(value, INT32_MIN, INT32_MAX, &out->i64);
    case PD_TYPE_int64:
      return to_signed(value, INT64_MIN, INT64_MAX, &out->i64);
    case PD_TYPE_uint32:
      if (!to_signed(value, 0, UINT32_MAX, &number)) return false;
      out->u64 = (uint64_t)number;
      return true;
    case PD_TYPE_uint64:
      return to_uint64(value, &out->u64);
    case PD_TYPE_double:
      if (!PyFloat_CheckExact(value)) return false;
      out->f64 = PyFloat_AsDouble(value);
      return true;
    case PD_TYPE_string:
      *holder = fast_to_bytes(value, &out->str);
      return *holder != NULL;
  }
  return false;
}

#ifdef Py_GIL_DISABLED
PyObject *fast_get(PyObject *dict, PyObject *key) {
  PyObject *found = NULL;
  if (PyDict_GetItemRef(dict, key, &found) < 0) PyErr_Clear();
  return found;
}

PyObject *fast_set_default(PyObject *dict, PyObject *key, PyObject *value) {
  PyObject *found = NULL;
  if (value) PyDict_SetDefaultRef(dict, key, value, &found);
  Py_XDECREF(value);
  return found;
}
#else
PyObject *fast_get(PyObject *dict, PyObject *key) {
  PyObject *found = PyDict_GetItemWithError(dict, key);
  if (found) {
    Py_INCREF(found);
  } else if (PyErr_Occurred()) {
    PyErr_Clear();
  }
  return found;
}

PyObject *fast_set_default(PyObject *dict, PyObject *key, PyObject *value) {
  PyObject *found = value ? fast_get(dict, key) : NULL;
  if (!found && value && PyDict_SetItem(dict, key, value) == 0) {
    found = value;
    Py_INCREF(found);
  }
  Py_XDECREF(value);
  return found;
}
#endif
