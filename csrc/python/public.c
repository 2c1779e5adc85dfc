/* Public functions of the package as callers see them: an exception that leaves one has no frames
 * of the package in its traceback, as if the function were written in C. */
#include "fast.h"

#include <stddef.h>
#include <structmember.h> /* needs Python.h before it */

typedef struct function_object {
  PyObject_HEAD PyObject *module;
  PyObject *function; /* NULL once the garbage collector has cleared the object */
  PyObject *weak_references;
} function_object;

void fast_strip_traceback(fast_state *state) {
  PyObject *type, *value, *traceback;
  if (!state || !state->prune) return;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyObject *all = traceback ? traceback : Py_None;
  PyObject *kept = value ? PyObject_CallFunctionObjArgs(state->prune, value, all, NULL) : NULL;
  if (kept && PyException_SetTraceback(value, kept) == 0) {
    Py_XDECREF(traceback);
    traceback = kept == Py_None ? NULL : kept;
    if (!traceback) Py_DECREF(kept);
  } else {
    Py_XDECREF(kept);
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) {
      Py_XDECREF(type);
      Py_XDECREF(value);
      Py_XDECREF(traceback);
      return; /* raising what has interrupted the program meanwhile */
    }
    PyErr_Clear();
  }
  PyErr_Restore(type, value, traceback);
}

static PyObject *get_wrapped_function(PyObject *self) {
  PyObject *function = ((function_object *)self)->function;
  if (!function) PyErr_SetString(PyExc_ReferenceError, "the function is gone");
  return function;
}

static PyObject *call_wrapped_function(PyObject *self, PyObject *arguments, PyObject *named) {
  PyObject *function = get_wrapped_function(self);
  if (!function) return NULL;
  Py_INCREF(function);
  PyObject *result = PyObject_Call(function, arguments, named);
  Py_DECREF(function);
  if (!result) fast_strip_traceback(PyModule_GetState(((function_object *)self)->module));
  return result;
}

/* Like a function: the class returns the function itself, an instance a bound method. */
static PyObject *bind_to_instance(PyObject *self, PyObject *instance, PyObject *Py_UNUSED(type)) {
  if (!instance || instance == Py_None || !get_wrapped_function(self)) {
    if (PyErr_Occurred()) return NULL;
    return Py_NewRef(self);
  }
  fast_state *state = PyModule_GetState(((function_object *)self)->module);
  return PyObject_CallFunctionObjArgs(state->method_type, self, instance, NULL);
}

/* Attributes that the type lacks are those of the function. */
static PyObject *get_attribute_with_fallback(PyObject *self, PyObject *name) {
  PyObject *found = PyObject_GenericGetAttr(self, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  PyObject *function = get_wrapped_function(self);
  return function ? PyObject_GetAttr(function, name) : NULL;
}

static int set_wrapped_attribute(PyObject *self, PyObject *name, PyObject *value) {
  PyObject *function = get_wrapped_function(self);
  return function ? PyObject_SetAttr(function, name, value) : -1;
}

static PyObject *get_wrapped_attribute(PyObject *self, void *name) {
  PyObject *function = get_wrapped_function(self);
  return function ? PyObject_GetAttrString(function, name) : NULL;
}

static PyObject *get_dunder_wrapped(PyObject *self, void *Py_UNUSED(closure)) {
  PyObject *function = get_wrapped_function(self);
  return Py_XNewRef(function);
}

static PyObject *represent_function(PyObject *self) {
  PyObject *function = get_wrapped_function(self);
  return function ? PyObject_Repr(function) : NULL;
}

/* pickle finds it by name, like a function. */
static PyObject *get_pickle_name(PyObject *self, PyObject *Py_UNUSED(nothing)) {
  return get_wrapped_attribute(self, (void *)"__qualname__");
}

PyObject *fast_hide_frames(PyObject *module, PyObject *function) {
  fast_state *state = PyModule_GetState(module);
  if (!PyCallable_Check(function)) {
    PyErr_SetString(PyExc_TypeError, "hide_frames: expected a function");
    return NULL;
  }
  function_object *self = (function_object *)PyType_GenericAlloc(state->function_type, 0);
  if (!self) return NULL;
  self->module = Py_NewRef(module);
  self->function = Py_NewRef(function);
  return (PyObject *)self;
}

PyObject *fast_set_traceback_pruner(PyObject *module, PyObject *prune) {
  fast_state *state = PyModule_GetState(module);
  fast_set_reference(&state->prune, prune);
  Py_RETURN_NONE;
}

static PyObject *refuse_new(PyTypeObject *Py_UNUSED(type), PyObject *Py_UNUSED(arguments),
                            PyObject *Py_UNUSED(named)) {
  PyErr_SetString(PyExc_TypeError, "cannot create instances: use hide_frames()");
  return NULL;
}

static int traverse_function(PyObject *object, visitproc visit, void *arg) {
  function_object *self = (function_object *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->module);
  Py_VISIT(self->function);
  return 0;
}

static int clear_function(PyObject *object) {
  Py_CLEAR(((function_object *)object)->function);
  return 0;
}

static void dealloc_function(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  function_object *self = (function_object *)object;
  PyObject_GC_UnTrack(object);
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  clear_function(object);
  Py_XDECREF(self->module);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyGetSetDef getset[] = {
    {"__doc__", get_wrapped_attribute, NULL, NULL, (void *)"__doc__"},
    {"__module__", get_wrapped_attribute, NULL, NULL, (void *)"__module__"},
    {"__wrapped__", get_dunder_wrapped, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(function_object, weak_references), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyMethodDef methods[] = {{"__reduce__", get_pickle_name, METH_NOARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_new, (void *)refuse_new},
                              {Py_tp_dealloc, (void *)dealloc_function},
                              {Py_tp_traverse, (void *)traverse_function},
                              {Py_tp_clear, (void *)clear_function},
                              {Py_tp_call, (void *)call_wrapped_function},
                              {Py_tp_descr_get, (void *)bind_to_instance},
                              {Py_tp_getattro, (void *)get_attribute_with_fallback},
                              {Py_tp_setattro, (void *)set_wrapped_attribute},
                              {Py_tp_repr, (void *)represent_function},
                              {Py_tp_getset, getset},
                              {Py_tp_members, members},
                              {Py_tp_methods, methods},
                              {0, NULL}};

/* A method descriptor, so that Python calls methods without making a bound method first. */
PyType_Spec fast_function_spec = {
    "paddle_flags._fast.Function", sizeof(function_object), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_METHOD_DESCRIPTOR, slots};
