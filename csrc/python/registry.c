/* The base class of the mapping FLAGS: an item is a flag, an attribute is the value of one. Flags
 * that were looked up before are in a dict. For other names, and for what isn't plain, it calls
 * methods of the Python class: _find_flag, _get_value, _set_value, _drop_value and _contains_name.
 * No name in the dict is an attribute of the class, so the order of lookups doesn't matter. */
#include "fast.h"

typedef struct registry_object {
  PyObject_HEAD PyObject *module; /* owned, like the next two; NULL before attach() */
  PyObject *known;                /* dict: name -> Flag */
  PyObject *finders;              /* list: what looks for flags that have come just now */
} registry_object;

/* Returns the flag of this name, a new reference; NULL if it isn't in the dict. */
static PyObject *find_flag_in_dict(registry_object *self, PyObject *name) {
  if (!self->known) return NULL;
  fast_state *state = PyModule_GetState(self->module);
  PyObject *flag = fast_dict_get(self->known, name);
  if (!flag || Py_TYPE(flag) == state->flag_type) return flag;
  Py_DECREF(flag);
  return NULL;
}

/* Calls a method of the class, which no flag hides; `value` may be NULL. */
static PyObject *call_class_method(PyObject *self, const char *method, PyObject *name,
                                   PyObject *value) {
  PyObject *function = PyObject_GetAttrString((PyObject *)Py_TYPE(self), method);
  PyObject *result =
      function ? PyObject_CallFunctionObjArgs(function, self, name, value, NULL) : NULL;
  Py_XDECREF(function);
  return result;
}

static PyObject *get_value_or_attribute(registry_object *self, PyObject *name) {
  PyObject *flag = find_flag_in_dict(self, name);
  if (flag) {
    PyObject *value = fast_flag_try_read(flag);
    Py_DECREF(flag);
    if (value || PyErr_Occurred()) return value;
  }
  PyObject *found = PyObject_GenericGetAttr((PyObject *)self, name);
  if (found || !self->known || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return call_class_method((PyObject *)self, "_get_value", name, NULL);
}

static void strip_registry_traceback(const registry_object *self) {
  if (self->module) fast_strip_traceback(PyModule_GetState(self->module));
}

static PyObject *get_registry_attribute(PyObject *self, PyObject *name) {
  PyObject *found = get_value_or_attribute((registry_object *)self, name);
  if (!found) strip_registry_traceback((registry_object *)self);
  return found;
}

static PyObject *get_registry_item(PyObject *object, PyObject *name) {
  registry_object *self = (registry_object *)object;
  PyObject *flag = find_flag_in_dict(self, name);
  if (flag && fast_flag_is_defined(flag)) return flag;
  Py_XDECREF(flag);
  PyObject *found = call_class_method(object, "_find_flag", name, NULL);
  if (!found) strip_registry_traceback(self);
  return found;
}

/* Releases the GIL: an old name warns. */
static bool is_flag_found(const char *name) {
  pd_flag *found;
  PyThreadState *thread = release_gil();
  pd_status status = pd_flag_find(name, &found, NULL);
  retake_gil(thread);
  return status == PD_OK;
}

static int call_python_contains(registry_object *self, PyObject *name) {
  PyObject *found = call_class_method((PyObject *)self, "_contains_name", name, NULL);
  int result = found ? PyObject_IsTrue(found) : -1;
  Py_XDECREF(found);
  return result;
}

static int contains_flag(PyObject *object, PyObject *name) {
  registry_object *self = (registry_object *)object;
  PyObject *flag = find_flag_in_dict(self, name);
  bool defined = flag && fast_flag_is_defined(flag);
  Py_XDECREF(flag);
  if (defined) return 1;
  const char *text;
  PyObject *bytes = fast_encode_text(name, &text);
  if (!bytes) return call_python_contains(self, name);
  bool found = is_flag_found(text);
  Py_DECREF(bytes);
  bool looks = !found && self->finders && PyList_Size(self->finders) > 0;
  return looks ? call_python_contains(self, name) : found;
}

/* Calls the Python method that sets, or the one that deletes if `value` is NULL. */
static int call_python_assign(registry_object *self, PyObject *name, PyObject *value) {
  PyObject *flags = (PyObject *)self;
  const char *method = value ? "_set_value" : "_drop_value";
  PyObject *nothing = call_class_method(flags, method, name, value);
  Py_XDECREF(nothing);
  return nothing ? 0 : -1;
}

static int assign_attribute(registry_object *self, PyObject *name, PyObject *value) {
  if (!self->known) return PyObject_GenericSetAttr((PyObject *)self, name, value);
  PyObject *flag = value ? find_flag_in_dict(self, name) : NULL;
  fast_result result = flag ? fast_flag_try_set(flag, value) : FAST_NOT_PLAIN;
  Py_XDECREF(flag);
  if (result != FAST_NOT_PLAIN) return result == FAST_DONE ? 0 : -1;
  return call_python_assign(self, name, value);
}

static int set_registry_attribute(PyObject *self, PyObject *name, PyObject *value) {
  int result = assign_attribute((registry_object *)self, name, value);
  if (result < 0) strip_registry_traceback((registry_object *)self);
  return result;
}

PyObject *fast_attach_registry(PyObject *module, PyObject *arguments) {
  fast_state *state = PyModule_GetState(module);
  PyObject *object, *known, *finders;
  if (!PyArg_ParseTuple(arguments, "O!O!O!:attach", state->registry_base, &object, &PyDict_Type,
                        &known, &PyList_Type, &finders)) {
    return NULL;
  }
  registry_object *self = (registry_object *)object;
  fast_set_reference(&self->module, module);
  fast_set_reference(&self->finders, finders);
  fast_set_reference(&self->known, known);
  Py_RETURN_NONE;
}

static int traverse_registry(PyObject *object, visitproc visit, void *arg) {
  registry_object *self = (registry_object *)object;
  Py_VISIT(Py_TYPE(object));
  Py_VISIT(self->known);
  Py_VISIT(self->finders);
  Py_VISIT(self->module);
  return 0;
}

static int clear_registry(PyObject *object) {
  registry_object *self = (registry_object *)object;
  Py_CLEAR(self->known);
  Py_CLEAR(self->finders);
  Py_CLEAR(self->module);
  return 0;
}

static void dealloc_registry(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  clear_registry(self);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
  Py_DECREF(type);
}

static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)dealloc_registry},
                              {Py_tp_traverse, (void *)traverse_registry},
                              {Py_tp_clear, (void *)clear_registry},
                              {Py_tp_getattro, (void *)get_registry_attribute},
                              {Py_tp_setattro, (void *)set_registry_attribute},
                              {Py_mp_subscript, (void *)get_registry_item},
                              {Py_sq_contains, (void *)contains_flag},
                              {0, NULL}};

PyType_Spec fast_registry_spec = {"paddle_flags._fast.RegistryBase", sizeof(registry_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
                                  slots};
