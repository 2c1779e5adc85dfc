/* The module paddle_flags._fast, one object for each interpreter. */
#include "fast.h"

#define PUBLIC __attribute__((visibility("default")))

/* connect(Flag, failures, warnings, raise_deferred, raise_error_at): sets these fields of
 * fast_state. */
static PyObject *connect_package(PyObject *module, PyObject *arguments) {
  fast_state *state = PyModule_GetState(module);
  PyObject *type, *failures, *warnings, *raise_deferred, *raise_error_at;
  if (!PyArg_ParseTuple(arguments, "O!O!O!OO:connect", &PyType_Type, &type, &PyDict_Type, &failures,
                        &PyList_Type, &warnings, &raise_deferred, &raise_error_at)) {
    return NULL;
  }
  if (!PyType_IsSubtype((PyTypeObject *)type, state->flag_base)) {
    PyErr_SetString(PyExc_TypeError, "connect: expected a subclass of FlagBase");
    return NULL;
  }
  fast_set_reference((PyObject **)&state->flag_type, type);
  fast_set_reference(&state->failures, failures);
  fast_set_reference(&state->warnings, warnings);
  fast_set_reference(&state->raise_deferred, raise_deferred);
  fast_set_reference(&state->raise_error_at, raise_error_at);
  Py_RETURN_NONE;
}

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec, const char *name) {
  PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
  if (PyModule_AddObjectRef(module, name, type) != 0) Py_CLEAR(type);
  return (PyTypeObject *)type;
}

static PyObject *find_method_type(void) {
  PyObject *types = PyImport_ImportModule("types");
  PyObject *found = types ? PyObject_GetAttrString(types, "MethodType") : NULL;
  Py_XDECREF(types);
  return found;
}

static int init_module(PyObject *module) {
  fast_state *state = PyModule_GetState(module);
  state->flag_base = add_type(module, &fast_flag_spec, "FlagBase");
  if (!state->flag_base) return -1;
  state->registry_base = add_type(module, &fast_registry_spec, "RegistryBase");
  state->function_type = add_type(module, &fast_function_spec, "Function");
  state->method_type = find_method_type();
  state->place_names = PyDict_New();
  state->value = PyUnicode_InternFromString("value");
  state->co_filename = PyUnicode_InternFromString("co_filename");
  state->f_globals = PyUnicode_InternFromString("f_globals");
  state->dunder_name = PyUnicode_InternFromString("__name__");
  bool whole = state->registry_base && state->function_type && state->method_type &&
               state->place_names && state->value && state->co_filename && state->f_globals &&
               state->dunder_name;
  return whole ? 0 : -1;
}

/* References that may be part of cycles; those of gates and scopes are visited apart. */
#define TYPES(X) X(flag_base) X(registry_base) X(function_type) X(flag_type) X(method_type)
#define OBJECTS(X)                                                                                 \
  X(prune) X(failures) X(warnings) X(raise_deferred) X(raise_error_at) X(place_names)
#define NAMES(X) X(value) X(co_filename) X(f_globals) X(dunder_name)
#define VISIT(field) Py_VISIT(state->field);
#define CLEAR(field) Py_CLEAR(state->field);

static int traverse_module(PyObject *module, visitproc visit, void *arg) {
  fast_state *state = PyModule_GetState(module);
  if (!state) return 0;
  TYPES(VISIT)
  OBJECTS(VISIT)
  Py_VISIT(state->scopes);
  Py_VISIT(state->leave_context);
  return fast_hook_gate_traverse(state, visit, arg);
}

static int clear_module(PyObject *module) {
  fast_state *state = PyModule_GetState(module);
  if (!state) return 0;
  TYPES(CLEAR)
  OBJECTS(CLEAR)
  NAMES(CLEAR)
  fast_hook_gate_close(state);
  fast_scopes_stop_following(state);
  return 0;
}

static void free_module(void *module) {
  fast_state *state = PyModule_GetState(module);
  clear_module(module);
  if (state) pd_error_list_free(__atomic_exchange_n(&state->spare, NULL, __ATOMIC_ACQ_REL));
}

static PyMethodDef methods[] = {
    {"connect", connect_package, METH_VARARGS, NULL},
    {"attach", fast_attach_registry, METH_VARARGS, NULL},
    {"make", fast_wrap_handle, METH_VARARGS, NULL},
    {"define", fast_try_define_flag, METH_VARARGS, NULL},
    {"parse_argv", fast_parse_argv, METH_VARARGS, NULL},
    {"call_holding_environment", fast_call_holding_environment, METH_VARARGS, NULL},
    {"split_list", fast_split_list, METH_O, NULL},
    {"push", fast_push_override_or_scope, METH_VARARGS, NULL},
    {"scopes_follow_contexts", fast_scopes_follow_contexts, METH_VARARGS, NULL},
    {"scopes_opening", fast_scopes_prepare_opening, METH_NOARGS, NULL},
    {"scopes_opened", fast_scopes_record_opening, METH_NOARGS, NULL},
    {"scopes_ended", fast_scopes_record_end, METH_NOARGS, NULL},
    {"scopes_context_number", fast_scopes_get_context_number, METH_NOARGS, NULL},
    {"scopes_end", fast_scopes_end, METH_VARARGS, NULL},
    {"load_module", fast_load_module, METH_VARARGS, NULL},
    {"unload_module", fast_unload_module, METH_VARARGS, NULL},
    {"pop_warnings", fast_pop_warnings, METH_NOARGS, NULL},
    {"pop_deferred", fast_pop_deferred, METH_NOARGS, NULL},
    {"has_pending_work", fast_has_pending_work_method, METH_NOARGS, NULL},
    {"listen", fast_set_notice_listener, METH_O, NULL},
    {"new_text_collector", fast_new_text_collector, METH_NOARGS, NULL},
    {"pop_collected_text", fast_pop_collected_text, METH_O, NULL},
    {"is_assigning", fast_is_assigning, METH_NOARGS, NULL},
    {"open_gate", fast_open_gate, METH_VARARGS, NULL},
    {"is_in_hook", fast_is_in_hook, METH_NOARGS, NULL},
    {"close_gates", fast_close_gates, METH_NOARGS, NULL},
    {"has_ended", fast_has_python_ended, METH_NOARGS, NULL},
    {"reset_gates_in_child", fast_reset_gates_in_child, METH_NOARGS, NULL},
    {"new_hook", fast_new_hook, METH_NOARGS, NULL},
    {"free_unadded_hook", fast_free_unadded_hook, METH_O, NULL},
    {"hide_frames", fast_hide_frames, METH_O, NULL},
    {"set_traceback_pruner", fast_set_traceback_pruner, METH_O, NULL},
    {NULL, NULL, 0, NULL}};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)init_module},
#ifdef Py_GIL_DISABLED
                                   {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
                                   {0, NULL}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 .m_name = "paddle_flags._fast",
                                 .m_size = sizeof(fast_state),
                                 .m_methods = methods,
                                 .m_slots = slots,
                                 .m_traverse = traverse_module,
                                 .m_clear = clear_module,
                                 .m_free = free_module};

extern PUBLIC PyObject *PyInit__fast(void);
PyObject *PyInit__fast(void) { return PyModuleDef_Init(&definition); }
