/* The part of the Python package that has to be fast: reading and setting a flag,
 * defining one, giving a command line to the library.
 *
 * Each function here does the plain case alone. Whatever is unusual, and every error,
 * goes to the Python code of the package, which knows all cases and words the
 * messages; so nothing is decided twice. In the comments "not plain" means that: a
 * function has done nothing and raised nothing, and Python has to do the work.
 *
 * One binary serves CPython 3.9 and all later ones (abi3). Each interpreter has its own
 * module object with a fast_state; what belongs to the process stands in loader.c. */
#ifndef PD__PYTHON_FAST_H
#define PD__PYTHON_FAST_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* The module record is for plugins; the extension defines no flags. */
#define PD_NO_MODULE_RECORD
#include <pd_flags.h>

/* What Python code and this module share, told by connect(). */
typedef struct fast_state {
  PyTypeObject *flag_base;
  PyTypeObject *registry_base;
  PyTypeObject *function_type;
  PyTypeObject *flag_type; /* paddle_flags.Flag, a subclass of flag_base */
  PyObject *method_type;   /* types.MethodType */
  PyObject *prune;         /* function: drops our frames of a traceback; or NULL */
  PyObject *failures;      /* dict, not empty when a callback has raised */
  PyObject *warnings;      /* list, not empty when a callback has warned */
  PyObject *settle;        /* function: raises those, and hands these out */
  PyObject *refuse;        /* function: raises what the pd_error at an address tells */
  PyObject *places;        /* dict: a file's or module's name -> bytes */
  PyObject *value;         /* these four: names of attributes */
  PyObject *co_filename;
  PyObject *f_globals;
  PyObject *dunder_name;
  pd_error_list *spare; /* an empty list, for the next one who sets; or NULL */
} fast_state;

/* ---- Convert (convert.c) ---- */

/* Give the value of a flag, of which `cell` is the memory. */
PyObject *fast_from_cell(pd_type type, const void *cell);

/* Give text that C holds. */
PyObject *fast_text(const char *text);

/* Give `value` as one of `type`. Text belongs to *holder, a new reference. False: not
 * plain. */
bool fast_to_value(pd_type type, PyObject *value, pd_value *out, PyObject **holder);

/* How many types there are: their numbers begin at 1. */
#define FAST_ONE_TYPE(name, number, ctype, member) +1
enum { FAST_TYPES = 0 PD_TYPE_MAP(FAST_ONE_TYPE) };

/* Give the UTF-8 of a str as bytes; *text points into it. NULL: not plain. */
PyObject *fast_to_bytes(PyObject *text, const char **out);

/* ---- Dictionaries: references are new, so that other threads may change them ---- */

/* NULL without an exception: the key isn't there, or can't be looked for. */
PyObject *fast_get(PyObject *dict, PyObject *key);

/* Put `value` in unless the key is there; give what is there then. Takes the reference. */
PyObject *fast_set_default(PyObject *dict, PyObject *key, PyObject *value);

/* ---- Places (place.c) ---- */

/* Give a name of a file or module as text that stays. NULL: not plain. */
const char *fast_stored(fast_state *state, PyObject *text);

/* Give file and line that `frame` is at. False: not plain. */
bool fast_place(fast_state *state, PyFrameObject *frame, const char **file, uint32_t *line);

/* Give the module that the code of `frame` stands in: of a program that is its file. False:
 * not plain. */
bool fast_module(fast_state *state, PyFrameObject *frame, const char *file, const char **out);

/* ---- Flags (flag.c) ---- */

extern PyType_Spec fast_flag_spec;

/* Give the current value. NULL without an exception: not plain. */
PyObject *fast_flag_read(PyObject *flag);

/* False also where a host of an older version doesn't tell. */
bool fast_flag_is_defined(PyObject *flag);

/* What came of setting. */
typedef enum fast_result { FAST_ERROR = -1, FAST_NOT_PLAIN = 0, FAST_DONE = 1 } fast_result;

/* Set the value; the place is that of the Python code that runs. */
fast_result fast_flag_set(PyObject *flag, PyObject *value);

/* Give the Flag of a handle that has none yet, or had none a moment ago. */
PyObject *fast_flag_make(PyObject *module, pd_flag *handle, PyObject *name, bool sensitive);

/* After a call of the library: hand out what callbacks left. False: an exception is
 * raised. */
bool fast_settle(fast_state *state);

/* ---- Public functions (public.c) ---- */

extern PyType_Spec fast_function_spec;

/* With an exception raised: drop the frames of the package from its traceback. */
void fast_conceal(fast_state *state);

/* Functions of the module. */
PyObject *fast_public(PyObject *module, PyObject *function);
PyObject *fast_conceal_with(PyObject *module, PyObject *prune);

/* ---- While modules are loaded (loader.c) ---- */

/* Whether there are warnings, or hooks were put off. */
bool fast_waiting(void);

/* Functions of the module. */
PyObject *fast_load(PyObject *module, PyObject *arguments);
PyObject *fast_take_warnings(PyObject *module, PyObject *nothing);
PyObject *fast_take_deferred(PyObject *module, PyObject *nothing);
PyObject *fast_is_waiting(PyObject *module, PyObject *nothing);
PyObject *fast_listen(PyObject *module, PyObject *function);

/* ---- The mapping FLAGS (registry.c) ---- */

extern PyType_Spec fast_registry_spec;

/* Functions of the module. */
PyObject *fast_attach(PyObject *module, PyObject *arguments);
PyObject *fast_make(PyObject *module, PyObject *arguments);
PyObject *fast_define(PyObject *module, PyObject *arguments);
PyObject *fast_parse_argv(PyObject *module, PyObject *arguments);

#endif /* PD__PYTHON_FAST_H */
