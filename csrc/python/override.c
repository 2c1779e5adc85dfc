/* Pushing an override, or a scope, of plain values. */
#include "fast.h"

enum { MOST = 8 }; /* flags of an override; more are not plain */

typedef struct assignments {
  pd_assignment items[MOST];
  PyObject *holders[MOST]; /* own the texts */
  Py_ssize_t count;
} assignments;

/* Takes a list of pairs of a flag and a value. Returns false if they aren't plain. */
static bool prepare_assignments(fast_state *state, PyObject *wanted, assignments *taken) {
  Py_ssize_t count = PyList_Size(wanted);
  if (count > MOST) return false;
  for (; taken->count < count; taken->count++) {
    PyObject *pair = PyList_GetItem(wanted, taken->count); /* of the caller alone */
    PyObject *flag, *value;
    if (!pair || !PyArg_ParseTuple(pair, "OO", &flag, &value)) {
      PyErr_Clear();
      return false;
    }
    if (!fast_flag_prepare_assignment(state, flag, value, &taken->items[taken->count],
                                      &taken->holders[taken->count])) {
      return false;
    }
  }
  return true;
}

/* Releases the GIL, as a set does. */
static PyObject *push_assignments_without_gil(const assignments *taken, const pd_origin *origin,
                                              bool scoped, PyObject *refused) {
  pd_error err;
  pd_error_list *errors = pd_error_list_new();
  uint64_t number = 0; /* a pd_override or a pd_scope */
  PyThreadState *thread = release_gil();
  pd_status status = (scoped ? pd_scope_push : pd_override_push)(taken->items, (size_t)taken->count,
                                                                 origin, errors, &number, &err);
  retake_gil(thread);
  PyObject *result = status == PD_OK
                         ? PyLong_FromUnsignedLongLong(number)
                         : PyObject_CallFunction(refused, "KK", (unsigned long long)(uintptr_t)&err,
                                                 (unsigned long long)(uintptr_t)errors);
  pd_error_list_free(errors);
  return result;
}

PyObject *fast_push_override_or_scope(PyObject *module, PyObject *arguments) {
  fast_state *state = PyModule_GetState(module);
  PyObject *wanted, *file, *refused;
  pd_origin origin = {.source = PD_SOURCE_RUNTIME};
  assignments taken = {.count = 0};
  int scoped;
  if (!PyArg_ParseTuple(arguments, "O!OIOp:push", &PyList_Type, &wanted, &file, &origin.line,
                        &refused, &scoped)) {
    return NULL;
  }
  PyObject *result = Py_None;
  origin.place = fast_intern_text(state, file);
  if (origin.place && prepare_assignments(state, wanted, &taken)) {
    result = push_assignments_without_gil(&taken, &origin, scoped, refused);
  } else {
    Py_INCREF(result);
  }
  for (Py_ssize_t i = 0; i < taken.count; i++) Py_XDECREF(taken.holders[i]);
  return result;
}
