/* Definitions in Python: one call from the arguments of define() to the Flag. */
#include <string.h>

#include "fast.h"

#define MARK_ARGUMENT(name, words, about) GIVEN_##name,
#define TEXT_ARGUMENT(name, words, kind, about) GIVEN_##name,

/* The arguments, in order. Those from TYPE on may be left out together; they are NULL then. FLAGS
 * is a dict: address of a pd_flag -> its Flag. */
enum {
  FLAGS,
  FRAME,
  NAME,
  DEFAULT,
  HELP,
  TYPE,
  ITEMS,
  MIN,
  MAX,
  PD_MARK_MAP(MARK_ARGUMENT) PD_TEXT_MAP(TEXT_ARGUMENT) ARGUMENTS
};

#define ONE_TEXT(name, words, kind, about) +1

/* A definition with the bytes objects that its texts are in. */
typedef struct definition {
  pd_flag_def def;
  PyObject *references[5 PD_TEXT_MAP(
      ONE_TEXT)]; /* owned: name, help, default, bounds, and the other texts */
  size_t count;
} definition;

static void release_definition_references(definition *made) {
  while (made->count > 0) Py_DECREF(made->references[--made->count]);
}

static bool is_none(PyObject *value) { return !value || value == Py_None; }

static bool set_text_field(definition *made, const char **field, PyObject *text) {
  PyObject *bytes = fast_encode_text(text, field);
  if (bytes) made->references[made->count++] = bytes;
  return bytes != NULL;
}

static bool set_optional_text_field(definition *made, const char **field, PyObject *text) {
  return is_none(text) || set_text_field(made, field, text);
}

static bool set_bool_field(bool *field, PyObject *value) {
  *field = value == Py_True;
  return *field || value == Py_False || !value;
}

static bool set_value_field(definition *made, pd_value *field, PyObject *value) {
  PyObject *holder;
  if (!fast_convert_to_c((pd_type)made->def.type, value, field, &holder)) return false;
  if (holder) made->references[made->count++] = holder;
  return true;
}

static bool set_bound_field(definition *made, pd_value *field, PyObject *value) {
  if (is_none(value)) return true;
  if (made->def.type == PD_TYPE_bool || made->def.type == PD_TYPE_string) return false;
  return set_value_field(made, field, value);
}

/* Lists of names are plain only if they are empty. */
static bool has_no_names(PyObject *texts) {
  return !texts || (PyTuple_CheckExact(texts) && !PyTuple_Size(texts));
}

/* Returns 0 if it isn't plain. */
static int find_plain_type(PyObject *default_value, PyObject *name) {
  if (is_none(name)) {
    if (PyBool_Check(default_value)) return PD_TYPE_bool;
    if (PyLong_CheckExact(default_value)) return PD_TYPE_int64;
    if (PyFloat_CheckExact(default_value)) return PD_TYPE_double;
    return PyUnicode_CheckExact(default_value) ? PD_TYPE_string : 0;
  }
  for (int type = PyUnicode_CheckExact(name) ? FAST_TYPES : 0; type > 0; type--) {
    if (!PyUnicode_CompareWithASCIIString(name, pd_type_name((pd_type)type))) return type;
  }
  return 0;
}

#define SET_MARK(name, words, about) &&set_bool_field(&def->name, given[GIVEN_##name])
static bool set_mark_fields(pd_flag_def *def, PyObject *const *given) {
  return true PD_MARK_MAP(SET_MARK);
}

#define SET_TEXT(name) &&set_optional_text_field(made, &def->name, given[GIVEN_##name])
#define SET_NAMES(name) &&has_no_names(given[GIVEN_##name])
#define SET_ATTRIBUTE(name, words, kind, about) SET_##kind(name)
static bool set_text_fields(definition *made, PyObject *const *given) {
  pd_flag_def *def = &made->def;
  return set_text_field(made, &def->name, given[NAME]) &&
         set_text_field(made, &def->help, given[HELP]) PD_TEXT_MAP(SET_ATTRIBUTE);
}

static bool fill_plain_definition(fast_state *state, definition *made, PyObject *const *given) {
  PyFrameObject *frame = (PyFrameObject *)given[FRAME];
  pd_flag_def *def = &made->def;
  int type = find_plain_type(given[DEFAULT], given[TYPE]);
  if (!type || !is_none(given[ITEMS])) return false;
  pd_flag_def_init(def, sizeof *def, (pd_type)type);
  return set_value_field(made, &def->default_value, given[DEFAULT]) &&
         set_bound_field(made, &def->min, given[MIN]) &&
         set_bound_field(made, &def->max, given[MAX]) && set_mark_fields(def, given) &&
         set_text_fields(made, given) && fast_find_location(state, frame, &def->file, &def->line) &&
         fast_find_module_name(state, frame, def->file, &def->module);
}

/* Returns the one Flag of a handle; a new reference. */
static PyObject *get_or_make_flag(PyObject *module, PyObject *const *given, pd_flag *handle) {
  PyObject *key = PyLong_FromVoidPtr(handle);
  if (!key) return NULL;
  PyObject *flag = fast_flag_make(module, handle, given[NAME], given[GIVEN_sensitive] == Py_True);
  flag = fast_dict_set_default(given[FLAGS], key, flag);
  Py_DECREF(key);
  return flag;
}

static PyObject *register_definition(PyObject *module, PyObject *const *given,
                                     const pd_flag_def *def) {
  fast_state *state = PyModule_GetState(module);
  pd_flag *handle = NULL;
  pd_error err;
  fast_hold_environment(false);
  PyThreadState *thread = release_gil();
  pd_status status = pd_flag_register(def, &handle, &err);
  retake_gil(thread);
  pd_environment_release();
  if (status == PD_ERR_CONFLICT && !handle) Py_RETURN_NONE; /* it may be defined again */
  if (status != PD_OK) {
    return PyObject_CallFunction(state->raise_error_at, "K", (unsigned long long)(uintptr_t)&err);
  }
  PyObject *flag = get_or_make_flag(module, given, handle);
  if (flag && !fast_flag_match_or_set_definer(flag, (PyFrameObject *)given[FRAME])) {
    Py_DECREF(flag);
    Py_RETURN_NONE;
  }
  if (flag && !fast_raise_deferred(state, flag)) Py_CLEAR(flag);
  return flag;
}

PyObject *fast_try_define_flag(PyObject *module, PyObject *arguments) {
  PyObject *given[ARGUMENTS] = {NULL};
  definition made;
  made.count = 0;
  Py_ssize_t count = PyTuple_Size(arguments);
  if ((count != ARGUMENTS && count != TYPE) || !PyDict_Check(PyTuple_GetItem(arguments, FLAGS))) {
    PyErr_SetString(PyExc_TypeError, "define: other arguments");
    return NULL;
  }
  for (Py_ssize_t i = 0; i < count; i++) given[i] = PyTuple_GetItem(arguments, i);
  PyObject *flag = NULL;
  if (fill_plain_definition(PyModule_GetState(module), &made, given)) {
    flag = register_definition(module, given, &made.def);
  } else {
    flag = Py_NewRef(Py_None);
  }
  release_definition_references(&made);
  return flag;
}

PyObject *fast_wrap_handle(PyObject *module, PyObject *arguments) {
  unsigned long long address;
  PyObject *name;
  if (!PyArg_ParseTuple(arguments, "KU:make", &address, &name)) return NULL;
  return fast_flag_make(module, (pd_flag *)(uintptr_t)address, name, false);
}
