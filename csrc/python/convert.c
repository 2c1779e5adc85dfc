/* C values as Python objects, and plain Python objects as C values. */
#include <pd_flags/items.h>
#include <string.h>

#include "fast.h"

static PyObject *decode_text(const char *text, size_t length) {
  return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "surrogateescape");
}

PyObject *fast_decode_text(const char *text) { return decode_text(text, strlen(text)); }

/* Appends the items of `list` to `items`. Each fits into `buffer`, which has room for the list. */
static bool append_list_items(PyObject *items, const char *list, char *buffer, size_t size) {
  for (const char *cursor = *list ? list : NULL; cursor;) {
    const char *start = cursor;
    size_t length;
    bool read = pd__item_read(&cursor, buffer, size, &length);
    PyObject *item = read ? decode_text(buffer, length) : fast_decode_text(start);
    int failed = item ? PyList_Append(items, item) : -1;
    Py_XDECREF(item);
    if (failed) return false;
    if (!read) break;
  }
  return true;
}

PyObject *fast_split_list(PyObject *Py_UNUSED(module), PyObject *text) {
  PyObject *items = NULL;
  PyObject *bytes = PyUnicode_AsEncodedString(text, "utf-8", "surrogateescape");
  char *list, *buffer = NULL;
  Py_ssize_t length;
  if (!bytes) return NULL;
  if (PyBytes_AsStringAndSize(bytes, &list, &length) == 0) {
    buffer = PyMem_Malloc((size_t)length + 1);
    items = buffer ? PyList_New(0) : PyErr_NoMemory();
  }
  if (items && buffer && !append_list_items(items, list, buffer, (size_t)length + 1))
    Py_CLEAR(items);
  PyMem_Free(buffer);
  Py_DECREF(bytes);
  return items;
}

/* One for each member of pd_value that a type may use. */
static PyObject *from_b(bool value) { return PyBool_FromLong(value); }
static PyObject *from_i64(int64_t value) { return PyLong_FromLongLong(value); }
static PyObject *from_u64(uint64_t value) { return PyLong_FromUnsignedLongLong(value); }
static PyObject *from_f64(double value) { return PyFloat_FromDouble(value); }
static PyObject *from_str(const char *value) { return fast_decode_text(value); }

#define FROM_CELL(name, number, ctype, member)                                                     \
  case PD_TYPE_##name: {                                                                           \
    ctype value;                                                                                   \
    __atomic_load((ctype *)cell, &value, __ATOMIC_ACQUIRE);                                        \
    return from_##member(value);                                                                   \
  }
/* Atomic: other threads, native ones too, may set the flag meanwhile. */
PyObject *fast_read_cell(pd_type type, const void *cell) {
  switch (type) { PD_TYPE_MAP(FROM_CELL) }
  return NULL;
}

#define BITS_OF_CELL(name, number, ctype, member)                                                  \
  case PD_TYPE_##name: {                                                                           \
    ctype value;                                                                                   \
    __atomic_load((ctype *)cell, &value, __ATOMIC_ACQUIRE);                                        \
    memcpy(&bits, &value, sizeof value);                                                           \
    break;                                                                                         \
  }
uint64_t fast_get_cell_bits(pd_type type, const void *cell) {
  uint64_t bits = 0;
  switch (type) { PD_TYPE_MAP(BITS_OF_CELL) }
  return bits;
}

static bool to_b(PyObject *value, bool low, bool high, bool *out) {
  (void)low, (void)high;
  *out = value == Py_True;
  return *out || value == Py_False;
}

static bool to_i64(PyObject *value, int64_t low, int64_t high, int64_t *out) {
  int overflow;
  if (!PyLong_CheckExact(value)) return false;
  *out = PyLong_AsLongLongAndOverflow(value, &overflow);
  return !overflow && *out >= low && *out <= high;
}

static bool to_u64(PyObject *value, uint64_t low, uint64_t high, uint64_t *out) {
  if (!PyLong_CheckExact(value)) return false;
  *out = PyLong_AsUnsignedLongLong(value);
  if (*out != UINT64_MAX || !PyErr_Occurred()) return *out >= low && *out <= high;
  PyErr_Clear();
  return false;
}

static bool to_f64(PyObject *value, double low, double high, double *out) {
  if (!PyFloat_CheckExact(value)) return false;
  *out = PyFloat_AsDouble(value);
  return !(*out < low) && !(*out > high);
}

PyObject *fast_encode_text(PyObject *text, const char **out) {
  if (!PyUnicode_CheckExact(text)) return NULL;
  PyObject *bytes = PyUnicode_AsUTF8String(text);
  char *found;
  /* Without an out parameter for the length, it rejects a NUL inside. */
  if (bytes && PyBytes_AsStringAndSize(bytes, &found, NULL) == 0) {
    *out = found;
    return bytes;
  }
  PyErr_Clear();
  Py_XDECREF(bytes);
  return NULL;
}

static bool to_str(PyObject *value, const char **out, PyObject **holder) {
  *holder = fast_encode_text(value, out);
  return *holder != NULL;
}

#define TO_b(low, high) to_b(value, low, high, &out->b)
#define TO_i64(low, high) to_i64(value, low, high, &out->i64)
#define TO_u64(low, high) to_u64(value, low, high, &out->u64)
#define TO_f64(low, high) to_f64(value, low, high, &out->f64)
#define TO_str(low, high) to_str(value, &out->str, holder)
#define TO_VALUE(name, number, ctype, member)                                                      \
  case PD_TYPE_##name:                                                                             \
    return TO_##member(PD__LOW_##name, PD__HIGH_##name);
bool fast_convert_to_c(pd_type type, PyObject *value, pd_value *out, PyObject **holder) {
  *holder = NULL;
  switch (type) { PD_TYPE_MAP(TO_VALUE) }
  return false;
}

#ifdef Py_GIL_DISABLED
PyObject *fast_dict_get(PyObject *dict, PyObject *key) {
  PyObject *found = NULL;
  if (PyDict_GetItemRef(dict, key, &found) < 0) PyErr_Clear();
  return found;
}

PyObject *fast_dict_set_default(PyObject *dict, PyObject *key, PyObject *value) {
  PyObject *found = NULL;
  if (value) PyDict_SetDefaultRef(dict, key, value, &found);
  Py_XDECREF(value);
  return found;
}
#else
PyObject *fast_dict_get(PyObject *dict, PyObject *key) {
  PyObject *found = PyDict_GetItemWithError(dict, key);
  if (found) {
    Py_INCREF(found);
  } else if (PyErr_Occurred()) {
    PyErr_Clear();
  }
  return found;
}

PyObject *fast_dict_set_default(PyObject *dict, PyObject *key, PyObject *value) {
  PyObject *found = value ? fast_dict_get(dict, key) : NULL;
  if (!found && value && PyDict_SetItem(dict, key, value) == 0) {
    found = Py_NewRef(value);
  }
  Py_XDECREF(value);
  return found;
}
#endif
