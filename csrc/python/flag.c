/* The base class of Flag: reads the value from the library's memory and sets it by a call of the
 * library. The rest is in the Python class, with the methods that are called here: _read, _assign,
 * _drop_runtime_value and _raise_or_assign_again. */
#include "fast.h"

#include <stddef.h>
#include <structmember.h> /* needs Python.h before it */

/* The library keeps a flag's value in a place of its own for text, for bools and for numbers: no
 * place ever holds a value of another kind. */
enum { TEXT, TRUTH, NUMBER, PLACES };

/* A state is the type, above it the type of a list's items, and above that whether to ask the
 * library for the value. */
enum { TYPE_BITS = 0x7, ITEM_SHIFT = 4, ASK = 0x80 };

/* Not tracked by the garbage collector, as there may be a hundred thousand flags: every cycle
 * through a flag also runs through the globals of a module, and ends with them. */
typedef struct flag_object {
  PyObject_HEAD pd_flag *handle;
  const uint8_t *state; /* as of pd_flag_get_state; NULL if the host is an older version */
  const uint32_t
      *generation; /* as of pd_flag_get_generation; NULL if the host is an older version */
  const void *cells[PLACES]; /* borrowed, valid forever; NULL: not fetched yet */
  PyObject *module;
  PyObject *weak_references;
  PyObject *name;
  PyObject *code; /* a weak reference to the code that defined it; or NULL */
  PyObject *kind; /* this and the next fields are of the definition `known_generation`; NULL: not
                     looked up */
  PyObject *type; /* the Type that makes values of those of C; or NULL; atomic, as is `scoped` */
  PyObject *cached_value; /* the value that was made of the one in C whose bits are `cached_bits`;
                             or NULL */
  uint64_t cached_bits;
  uint32_t known_generation; /* of the definition looked up last */
  char sensitive;
  char scoped; /* the flag is scoped, and not optional */
} flag_object;

static fast_state *get_module_state(const flag_object *self) {
  return self->module ? PyModule_GetState(self->module) : NULL;
}

/* ---- Reading ---- */

/* Also tells whether an optional flag has no value. */
static uint8_t load_state(const flag_object *self) {
  return self->state ? __atomic_load_n(self->state, __ATOMIC_ACQUIRE) : 0;
}

static uint8_t load_type_state(const flag_object *self) {
  return load_state(self) & (uint8_t) ~(PD_STATE_UNSET | ASK);
}

/* Returns the memory of a value of the type in `state`. NULL if it isn't plain. */
static const void *get_cell(flag_object *self, uint8_t state) {
  int type = state & TYPE_BITS;
  int kind = type == PD_TYPE_string ? TEXT : type == PD_TYPE_bool ? TRUTH : NUMBER;
  const void *cell = __atomic_load_n(&self->cells[kind], __ATOMIC_RELAXED);
  if (cell) return cell;
  cell = pd_flag_get_address(self->handle);
  /* Another thread may have changed the type twice meanwhile. */
  if (load_type_state(self) != state) return NULL;
  __atomic_store_n(&self->cells[kind], cell, __ATOMIC_RELAXED);
  return cell;
}

static bool is_list_state(uint8_t state) {
  int item = state >> ITEM_SHIFT;
  return (state & TYPE_BITS) == PD_TYPE_string && item >= 1 && item <= FAST_TYPES;
}

/* ---- What is known of the definition ---- */

static uint32_t load_generation(const flag_object *self) {
  return self->generation ? __atomic_load_n(self->generation, __ATOMIC_ACQUIRE) : 0;
}

static uint32_t load_known_generation(const flag_object *self) {
  return __atomic_load_n(&self->known_generation, __ATOMIC_ACQUIRE);
}

/* Takes over what is known of the definition with that number. Returns false if that is what was
 * known. */
static bool store_definition(flag_object *self, uint32_t generation, PyObject *kind, PyObject *type,
                             bool sensitive, bool scoped) {
  bool fresh;
  PyObject *old_kind, *old_type, *made = NULL;
  Py_XINCREF(kind);
  Py_XINCREF(type);
  FAST_BEGIN_SECTION(self);
  fresh = self->known_generation != generation || self->type != type;
  old_kind = self->kind;
  old_type = self->type;
  if (fresh) {
    made = self->cached_value;
    self->cached_value = NULL;
  }
  self->kind = kind;
  __atomic_store_n(&self->type, type, __ATOMIC_RELEASE);
  __atomic_store_n(&self->sensitive, sensitive, __ATOMIC_RELAXED);
  __atomic_store_n(&self->scoped, scoped, __ATOMIC_RELEASE);
  __atomic_store_n(&self->known_generation, generation, __ATOMIC_RELEASE);
  FAST_END_SECTION();
  Py_XDECREF(old_kind);
  Py_XDECREF(old_type);
  Py_XDECREF(made);
  return fresh;
}

/* Returns the value that is kept for the one in C; a new reference, or NULL. */
static PyObject *get_cached_value(flag_object *self, uint32_t generation, uint64_t bits) {
  PyObject *value = NULL;
  FAST_BEGIN_SECTION(self);
  if (self->cached_bits == bits && self->known_generation == generation) value = self->cached_value;
  Py_XINCREF(value);
  FAST_END_SECTION();
  return value;
}

static void cache_value(flag_object *self, uint32_t generation, PyObject *made_by, uint64_t bits,
                        PyObject *value) {
  PyObject *old = value;
  Py_INCREF(value);
  FAST_BEGIN_SECTION(self);
  PyObject *type = self->type ? self->type : Py_None;
  if (self->known_generation == generation && type == made_by && !self->sensitive) {
    old = self->cached_value;
    self->cached_value = value;
    self->cached_bits = bits;
  }
  FAST_END_SECTION();
  Py_XDECREF(old);
}

/* Returns false if the library can't tell. Releases the GIL, since it takes the library's lock. The
 * definition is asked, as a plugin may come back with another one. */
static bool read_flag_info(const flag_object *self, pd_flag_info *info) {
  *info = (pd_flag_info){.size = sizeof *info};
  PyThreadState *thread = release_gil();
  pd_status status = pd_flag_get_info(self->handle, info, NULL);
  retake_gil(thread);
  return status == PD_OK;
}

/* Returns true if the fields for the current definition are valid. Releases the GIL. */
static bool refresh_definition(flag_object *self) {
  pd_flag_info info;
  if (!read_flag_info(self, &info)) return false;
  if (!info.context) { /* no definition of a Type is without one */
    store_definition(self, info.generation, NULL, NULL, info.sensitive,
                     info.scoped && !info.optional);
  } else {
    PyObject *done = PyObject_CallMethod((PyObject *)self, "_refresh_definition", NULL);
    if (!done) PyErr_Clear();
    Py_XDECREF(done);
  }
  return load_known_generation(self) == load_generation(self);
}

static inline bool ensure_definition_known(flag_object *self) {
  return load_known_generation(self) == load_generation(self) || refresh_definition(self);
}

/* Returns true if the definition that was looked up last has a Type. What else is read after the
 * generation that is known, and before the library's is compared with it, is of that definition. */
static bool has_custom_type(const flag_object *self) {
  return __atomic_load_n(&self->type, __ATOMIC_ACQUIRE) != NULL;
}

static bool is_scoped(const flag_object *self) {
  return __atomic_load_n(&self->scoped, __ATOMIC_ACQUIRE);
}

/* Returns None if the values are those of C; NULL if that isn't known of the definition. */
static PyObject *get_custom_type(flag_object *self, uint32_t generation) {
  PyObject *type = NULL;
  FAST_BEGIN_SECTION(self);
  if (self->known_generation == generation) type = self->type ? self->type : Py_None;
  Py_XINCREF(type);
  FAST_END_SECTION();
  return type;
}

static PyObject *decode_value(flag_object *self, uint32_t generation, uint8_t state,
                              uint64_t bits) {
  PyObject *value = NULL, *made_by = get_custom_type(self, generation);
  if (!made_by) return NULL;
  pd_type type = (pd_type)(state & TYPE_BITS);
  PyObject *plain = type == PD_TYPE_string ? fast_decode_text((const char *)(uintptr_t)bits)
                                           : fast_read_cell(type, &bits);
  if (plain) {
    value = PyObject_CallMethod((PyObject *)self, "_decode", "iOO", state, plain, made_by);
  }
  if (value == Py_NotImplemented) Py_CLEAR(value);
  if (value) cache_value(self, generation, made_by, bits, value);
  Py_XDECREF(plain);
  Py_DECREF(made_by);
  return value;
}

/* The text at an address never changes, so what was made of it, or of a number, is valid while the
 * flag has that value, whoever sets it. Only the text of a sensitive flag may be overwritten, so
 * that no copy of it is left: nothing is kept of that. */
static PyObject *read_decoded_value(flag_object *self, uint32_t generation, uint8_t whole,
                                    const void *cell) {
  uint8_t state = whole & (uint8_t) ~(PD_STATE_UNSET | ASK);
  uint64_t bits = fast_get_cell_bits((pd_type)(state & TYPE_BITS), cell);
  if (load_state(self) != whole || load_generation(self) != generation) return NULL;
  PyObject *value = get_cached_value(self, generation, bits);
  if (value) return value;
  return decode_value(self, generation, state, bits);
}

#define GET(name, number, ctype, member)                                                           \
  case PD_TYPE_##name:                                                                             \
    return pd_flag_get_##name(self->handle, (ctype *)value, NULL) == PD_OK;

/* Copies the value that this thread sees; takes no lock. */
static bool read_thread_value(const flag_object *self, uint8_t state, uint64_t *value) {
  switch ((pd_type)(state & TYPE_BITS)) { PD_TYPE_MAP(GET) }
  return false;
}

PyObject *fast_flag_try_read(PyObject *flag) {
  flag_object *self = (flag_object *)flag;
  uint8_t whole = load_state(self), state = whole & (uint8_t) ~(PD_STATE_UNSET | ASK);
  uint64_t here;
  bool list = is_list_state(state);
  if (state == 0 || (state > FAST_TYPES && !list)) return NULL;
  if (whole & PD_STATE_UNSET && !(whole & ASK)) Py_RETURN_NONE;
  const void *cell = whole & ASK ? &here : get_cell(self, state);
  if (!cell) return NULL;
  if (!ensure_definition_known(self)) return NULL;
  uint32_t generation = load_known_generation(self);
  if (whole & ASK && !(is_scoped(self) && read_thread_value(self, state, &here))) return NULL;
  if (list || has_custom_type(self)) return read_decoded_value(self, generation, whole, cell);
  PyObject *value = fast_read_cell((pd_type)state, cell);
  /* Another thread may have changed the definition. */
  if (load_state(self) != whole || load_generation(self) != generation) Py_CLEAR(value);
  return value;
}

bool fast_flag_is_defined(PyObject *flag) { return load_type_state((flag_object *)flag) != 0; }

static PyObject *get_flag_value(PyObject *self, void *Py_UNUSED(closure)) {
  PyObject *value = fast_flag_try_read(self);
  if (value || PyErr_Occurred()) return value;
  value = PyObject_CallMethod(self, "_read", NULL);
  if (!value) fast_strip_traceback(get_module_state((flag_object *)self));
  return value;
}

/* Returns the value before Python looks up the property, which takes longer. */
static PyObject *get_flag_attribute(PyObject *self, PyObject *name) {
  fast_state *state = get_module_state((flag_object *)self);
  if (!state || name != state->value) return PyObject_GenericGetAttr(self, name);
  return get_flag_value(self, NULL);
}

static PyObject *get_flag_source(PyObject *self, void *Py_UNUSED(closure)) {
  pd_flag_info info;
  if (read_flag_info((flag_object *)self, &info))
    return fast_decode_text(pd_source_name(info.source));
  PyObject *source = PyObject_CallMethod(self, "_source", NULL);
  if (!source) fast_strip_traceback(get_module_state((flag_object *)self));
  return source;
}

/* ---- Setting ---- */

bool fast_raise_deferred(fast_state *state, PyObject *result) {
  if (PyDict_Size(state->failures) == 0 && PyList_Size(state->warnings) == 0 &&
      !fast_has_pending_work()) {
    return true;
  }
  PyObject *nothing = PyObject_CallFunctionObjArgs(state->raise_deferred, result, NULL);
  Py_XDECREF(nothing);
  return nothing != NULL;
}

static fast_result consume_call_result(PyObject *result) {
  Py_XDECREF(result);
  return result ? FAST_DONE : FAST_ERROR;
}

/* Allocating a list for errors takes a tenth of the time of a set, and nearly all stay empty. */
static pd_error_list *acquire_error_list(fast_state *state) {
  pd_error_list *spare = __atomic_exchange_n(&state->spare, NULL, __ATOMIC_ACQ_REL);
  return spare ? spare : pd_error_list_new();
}

static void release_error_list(fast_state *state, pd_error_list *list) {
  pd_error_list_free(__atomic_exchange_n(&state->spare, list, __ATOMIC_ACQ_REL));
}

static _Thread_local unsigned assigning_depth; /* calls of assign_flag() on this thread */

PyObject *fast_is_assigning(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  return PyBool_FromLong(assigning_depth > 0);
}

/* Releases the GIL: native validators and watchers run inside, and may wait for a Python thread. */
static fast_result assign_flag(flag_object *self, fast_state *state, PyObject *value,
                               const pd_assignment *item, const pd_origin *origin) {
  pd_error err;
  pd_error_list *errors = acquire_error_list(state);
  assigning_depth++;
  PyThreadState *thread = release_gil();
  pd_status status = pd_batch_set(item, 1, origin, errors, &err);
  retake_gil(thread);
  assigning_depth--;
  if (status != PD_OK) {
    fast_result result = consume_call_result(PyObject_CallMethod(
        (PyObject *)self, "_raise_or_assign_again", "OKK", value,
        (unsigned long long)(uintptr_t)&err, (unsigned long long)(uintptr_t)errors));
    pd_error_list_free(errors);
    return result;
  }
  release_error_list(state, errors);
  return fast_raise_deferred(state, Py_None) ? FAST_DONE : FAST_ERROR;
}

bool fast_flag_prepare_assignment(fast_state *state, PyObject *flag, PyObject *value,
                                  pd_assignment *item, PyObject **holder) {
  if (Py_TYPE(flag) != state->flag_type) return false;
  flag_object *self = (flag_object *)flag;
  if (!ensure_definition_known(self) || has_custom_type(self)) return false;
  *item = (pd_assignment){.flag = self->handle, .type = (pd_type)load_type_state(self)};
  return fast_convert_to_c(item->type, value, &item->value, holder);
}

fast_result fast_flag_try_set(PyObject *flag, PyObject *value) {
  flag_object *self = (flag_object *)flag;
  fast_state *state = get_module_state(self);
  PyFrameObject *frame = PyEval_GetFrame();
  pd_origin origin = {.source = PD_SOURCE_RUNTIME};
  pd_assignment item = {.flag = self->handle, .type = (pd_type)load_type_state(self)};
  PyObject *holder;
  if (!state || !frame || !ensure_definition_known(self) || has_custom_type(self) ||
      !fast_find_location(state, frame, &origin.place, &origin.line) ||
      !fast_convert_to_c(item.type, value, &item.value, &holder)) {
    return FAST_NOT_PLAIN;
  }
  fast_result result = assign_flag(self, state, value, &item, &origin);
  Py_XDECREF(holder);
  return result;
}

static fast_result set_or_drop_value(PyObject *self, PyObject *value) {
  if (!value) return consume_call_result(PyObject_CallMethod(self, "_drop_runtime_value", NULL));
  fast_result result = fast_flag_try_set(self, value);
  if (result != FAST_NOT_PLAIN) return result;
  return consume_call_result(PyObject_CallMethod(self, "_assign", "(O)", value));
}

static int set_flag_value(PyObject *self, PyObject *value, void *Py_UNUSED(closure)) {
  if (set_or_drop_value(self, value) == FAST_DONE) return 0;
  fast_strip_traceback(get_module_state((flag_object *)self));
  return -1;
}

/* ---- The object ---- */

PyObject *fast_flag_make(PyObject *module, pd_flag *handle, PyObject *name, bool sensitive) {
  fast_state *state = PyModule_GetState(module);
  flag_object *self = (flag_object *)PyType_GenericAlloc(state->flag_type, 0);
  if (!self) return NULL;
  self->handle = handle;
  self->state = pd_flag_get_state(handle);
  self->generation = pd_flag_get_generation(handle);
  self->sensitive = sensitive;
  self->module = Py_NewRef(module);
  self->name = Py_NewRef(name);
  return (PyObject *)self;
}

/* References to one object without a callback are one object. */
bool fast_flag_match_or_set_definer(PyObject *flag, PyFrameObject *frame) {
  flag_object *self = (flag_object *)flag;
  PyObject *code = (PyObject *)PyFrame_GetCode(frame);
  PyObject *made = PyWeakref_NewRef(code, NULL);
  Py_DECREF(code);
  if (!made) PyErr_Clear();
  PyObject *old = NULL;
  bool same;
  FAST_BEGIN_SECTION(self);
  if (!self->code || self->code == Py_None) {
    old = self->code;
    self->code = Py_XNewRef(made);
  }
  same = self->code == made;
  FAST_END_SECTION();
  Py_XDECREF(old);
  Py_XDECREF(made);
  return same;
}

static void dealloc_flag(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  flag_object *self = (flag_object *)object;
  if (self->weak_references) PyObject_ClearWeakRefs(object);
  Py_XDECREF(self->module);
  Py_XDECREF(self->name);
  Py_XDECREF(self->kind);
  Py_XDECREF(self->code);
  Py_XDECREF(self->type);
  Py_XDECREF(self->cached_value);
  ((freefunc)PyType_GetSlot(type, Py_tp_free))(object);
  Py_DECREF(type);
}

static PyObject *get_flag_address(PyObject *self, void *Py_UNUSED(closure)) {
  return PyLong_FromVoidPtr(((flag_object *)self)->handle);
}

static PyObject *get_flag_state(PyObject *self, void *Py_UNUSED(closure)) {
  if (!((flag_object *)self)->state) Py_RETURN_NONE;
  return PyLong_FromLong(load_type_state((flag_object *)self));
}

static PyObject *get_custom_type_attribute(PyObject *object, void *Py_UNUSED(closure)) {
  flag_object *self = (flag_object *)object;
  ensure_definition_known(self);
  PyObject *type = get_custom_type(self, load_known_generation(self));
  if (!type) Py_RETURN_NONE; /* another one has come on another thread */
  return type;
}

/* Returns what is known of the current definition: (kind, sensitive), or None. */
static PyObject *get_known_definition(PyObject *object, void *Py_UNUSED(closure)) {
  flag_object *self = (flag_object *)object;
  uint32_t generation = load_generation(self);
  PyObject *kind = NULL;
  bool sensitive = false;
  FAST_BEGIN_SECTION(self);
  if (self->known_generation == generation) {
    kind = self->kind;
    sensitive = self->sensitive;
  }
  Py_XINCREF(kind);
  FAST_END_SECTION();
  if (!kind) Py_RETURN_NONE;
  return Py_BuildValue("(NO)", kind, sensitive ? Py_True : Py_False);
}

/* _know(generation, kind, type, sensitive, scoped): see know(). */
static PyObject *store_definition_method(PyObject *self, PyObject *arguments) {
  unsigned long generation;
  PyObject *kind, *type;
  int sensitive, scoped;
  if (!PyArg_ParseTuple(arguments, "kOOpp:_know", &generation, &kind, &type, &sensitive, &scoped))
    return NULL;
  if (type == Py_None) type = NULL;
  return PyBool_FromLong(
      store_definition((flag_object *)self, (uint32_t)generation, kind, type, sensitive, scoped));
}

static PyGetSetDef getset[] = {
    {"value", get_flag_value, set_flag_value,
     "The current value, shared with native code.\n\n"
     "Reading takes no lock. The value of a list is a tuple; it can be set from any\n"
     "sequence except text. Setting raises FlagTypeError, FlagValueError,\n"
     "ReadOnlyFlagError or FrozenFlagError, and the value is then unchanged; `history`\n"
     "records the file and line that set it. `del flag.value` drops the value set at\n"
     "run time.",
     NULL},
    {"source", get_flag_source, NULL,
     "Where the value comes from, such as `\"default\"` or `\"argv\"`; see `FlagEntry.source`.",
     NULL},
    {"_type", get_custom_type_attribute, NULL, "The Type, or None.", NULL},
    {"_known", get_known_definition, NULL,
     "The ValueType, and whether values are secret; None of a former definition.", NULL},
    {"_address", get_flag_address, NULL, "The pd_flag, as a number.", NULL},
    {"_state", get_flag_state, NULL, "The result of pd_flag_get_state, or None.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMemberDef members[] = {
    {"_name", T_OBJECT, offsetof(flag_object, name), READONLY, "The name."},
    {"_code", T_OBJECT, offsetof(flag_object, code), 0, "A weak reference to what defined it."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(flag_object, weak_references), READONLY, NULL},
    {"_sensitive", T_BOOL, offsetof(flag_object, sensitive), READONLY, "Withhold its values."},
    {NULL, 0, 0, 0, NULL}};

/* Flag[int], for type annotations. */
static PyMethodDef methods[] = {{"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, NULL},
                                {"_know", store_definition_method, METH_VARARGS, NULL},
                                {NULL, NULL, 0, NULL}};

static PyType_Slot slots[] = {{Py_tp_dealloc, (void *)dealloc_flag},
                              {Py_tp_getset, getset},
                              {Py_tp_members, members},
                              {Py_tp_getattro, (void *)get_flag_attribute},
                              {Py_tp_methods, methods},
                              {0, NULL}};

PyType_Spec fast_flag_spec = {"paddle_flags._fast.FlagBase", sizeof(flag_object), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
