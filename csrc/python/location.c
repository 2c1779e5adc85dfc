/* Finds the file, line and module of running Python code, as the library takes them. */
#include "fast.h"

const char *fast_intern_text(fast_state *state, PyObject *text) {
  const char *found;
  if (!PyUnicode_CheckExact(text)) return NULL;
  PyObject *bytes = fast_dict_get(state->place_names, text);
  if (!bytes)
    bytes = fast_dict_set_default(state->place_names, text, fast_encode_text(text, &found));
  if (!bytes) {
    PyErr_Clear();
    return NULL;
  }
  found = PyBytes_AsString(bytes);
  Py_DECREF(bytes); /* the dict keeps it */
  return found;
}

bool fast_find_location(fast_state *state, PyFrameObject *frame, const char **file,
                        uint32_t *line) {
  PyObject *code = (PyObject *)PyFrame_GetCode(frame);
  PyObject *name = PyObject_GetAttr(code, state->co_filename);
  Py_DECREF(code);
  *file = name ? fast_intern_text(state, name) : NULL;
  Py_XDECREF(name);
  PyErr_Clear();
  int number = PyFrame_GetLineNumber(frame);
  *line = number > 0 ? (uint32_t)number : 0;
  return *file != NULL;
}

bool fast_find_module_name(fast_state *state, PyFrameObject *frame, const char *file,
                           const char **out) {
  PyObject *globals = PyObject_GetAttr((PyObject *)frame, state->f_globals);
  PyObject *name = globals ? fast_dict_get(globals, state->dunder_name) : NULL;
  *out = NULL;
  if (name && PyUnicode_CheckExact(name)) {
    bool is_program = PyUnicode_CompareWithASCIIString(name, "__main__") == 0;
    *out = is_program ? file : fast_intern_text(state, name);
  }
  Py_XDECREF(name);
  Py_XDECREF(globals);
  PyErr_Clear();
  return *out != NULL;
}
