/* The base class of the mapping FLAGS: an item is a flag, an attribute is the value of one. Flags
 * that were looked up before are in a dict. For other names, and for what isn't plain, it calls the
 * Python functions that attach() was given. No name in the dict is an attribute of the class, so
 * the order of lookups doesn't matter. */
#include "fast.h"

typedef struct registry_object {
  PyObject_HEAD PyObject *module;
  PyObject *known; /* dict: name -> Flag; owned, like the next six; NULL before attach() */
  PyObject *find;
  PyObject *get;
  PyObject *set;
  PyObject *drop;
  PyObject *contains;
  PyObject *finders; /* list: what looks for flags that have come just now */
} registry_object;

/* Returns the flag of this name, a new reference; NULL if it isn't in the dict. */
static PyObject *find_known_flag(registry_object *self, PyObject *name) {
  if (!self->known) return NULL;
  fast_state *state = PyModule_GetState(self->module);
  PyObject *flag = fast_dict_get(self->known, name);
  if (!flag || Py_TYPE(flag) == state->flag_type) return flag;
  Py_DECREF(flag);
  return NULL;
}

static PyObject *read_attribute(registry_object *self, PyObject *name) {
  PyObject *flag = find_known_flag(self, name);
  if (flag) {
    PyObject *value = fast_flag_read(flag);
    Py_DECREF(flag);
    if (value || PyErr_Occurred()) return value;
  }
  PyObject *found = PyObject_GenericGetAttr((PyObject *)self, name);
  if (found || !self->get || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  PyErr_Clear();
  return PyObject_CallFunctionObjArgs(self->get, name, NULL);
}

static void strip_registry_traceback(const registry_object *self) {
  if (self->module) fast_strip_traceback(PyModule_GetState(self->module));
}

static PyObject *get_registry_attribute(PyObject *self, PyObject *name) {
  PyObject *found = read_attribute((registry_object *)self, name);
  if (!found) strip_registry_traceback((registry_object *)self);
  return found;
}

static PyObject *get_registry_item(PyObject *object, PyObject *name) {
  registry_object *self = (registry_object *)object;
  PyObject *flag = find_known_flag(self, name);
  if (flag && fast_flag_is_defined(flag)) return flag;
  Py_XDECREF(flag);
  if (!self->find) PyErr_SetObject(PyExc_KeyError, name);
  PyObject *found = self->find ? PyObject_CallFunctionObjArgs(self->find, name, NULL) : NULL;
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

static int contains_by_python(registry_object *self, PyObject *name) {
  PyObject *found =
      self->contains ? PyObject_CallFunctionObjArgs(self->contains, name, NULL) : NULL;
  int result = found ? PyObject_IsTrue(found) : self->contains ? -1 : 0;
  Py_XDECREF(found);
  return result;
}

static int contains_flag(PyObject *object, PyObject *name) {
  registry_object *self = (registry_object *)object;
  PyObject *flag = find_known_flag(self, name);
  bool defined = flag && fast_flag_is_defined(flag);
  Py_XDECREF(flag);
  if (defined) return 1;
  const char *text;
  PyObject *bytes = fast_encode_text(name, &text);
  if (!bytes) return contains_by_python(self, name);
  bool found = is_flag_found(text);
  Py_DECREF(bytes);
  bool looks = !found && self->finders && PyList_Size(self->finders) > 0;
  return looks ? contains_by_python(self, name) : found;
}

/* Calls the Python function that sets, or the one that deletes if `value` is NULL. */
static int assign_by_python(registry_object *self, PyObject *name, PyObject *value) {
  PyObject *nothing = value ? PyObject_CallFunctionObjArgs(self->set, name, value, NULL)
                            : PyObject_CallFunctionObjArgs(self->drop, name, NULL);
  Py_XDECREF(nothing);
  return nothing ? 0 : -1;
}

static int assign_attribute(registry_object *self, PyObject *name, PyObject *value) {
  if (!self->known) return PyObject_GenericSetAttr((PyObject *)self, name, value);
  PyObject *flag = value ? find_known_flag(self, name) : NULL;
  fast_result result = flag ? fast_flag_set(flag, value) : FAST_NOT_PLAIN;
  Py_XDECREF(flag);
  if (result != FAST_NOT_PLAIN) return result == FAST_DONE ? 0 : -1;
  return assign_by_python(self, name, value);
}

static int set_registry_attribute(PyObject *self, PyObject *name, PyObject *value) {
  int result = assign_attribute((registry_object *)self, name, value);
  if (result < 0) strip_registry_traceback((registry_object *)self);
  return result;
}

PyObject *fast_attach_registry(PyObject *module, PyObject *arguments) {
  fast_state *state = PyModule_GetState(module);
  PyObject *object, *known, *find, *get, *set, *drop, *has, *finders;
  if (!PyArg_ParseTuple(arguments, "O!O!OOOOOO!:attach", state->registry_base, &object,
                        &PyDict_Type, &known, &find, &get, &set, &drop, &has, &PyList_Type,
                        &finders)) {
    return NULL;
  }
  registry_object *self = (registry_object *)object;
  fast_set_reference(&self->module, module);
  fast_set_reference(&self->find, find);
  fast_set_reference(&self->get, get);
  fast_set_reference(&self->set, set);
  fast_set_reference(&self->drop, drop);
  fast_set_reference(&self->contains, has);
  fast_set_reference(&self->finders, finders);
  fast_set_reference(&self->known, known);
  Py_RETURN_NONE;
}

#define REFERENCES(X) X(known) X(find) X(get) X(set) X(drop) X(contains) X(finders) X(module)
#define VISIT(field) Py_VISIT(self->field);
#define CLEAR(field) Py_CLEAR(self->field);

static int traverse_registry(PyObject *object, visitproc visit, void *arg) {
  registry_object *self = (registry_object *)object;
  Py_VISIT(Py_TYPE(object));
  REFERENCES(VISIT)
  return 0;
}

static int clear_registry(PyObject *object) {
  registry_object *self = (registry_object *)object;
  REFERENCES(CLEAR)
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
