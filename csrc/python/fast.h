/* The part of the Python package that has to be fast: reading and setting a flag, defining one, and
 * passing a command line to the library.
 *
 * Each function here handles the plain case only. Unusual cases and all errors go to the Python
 * code of the package, which handles every case and words the messages, so that nothing is decided
 * twice. In the comments "not plain" means that the function has done nothing and raised nothing,
 * and that the caller falls back to Python.
 *
 * One binary serves CPython 3.11 and all later versions (abi3). Each interpreter has its own module
 * object with a fast_state; state of the process is in loader.c. The caller is attached to its
 * interpreter (holds the GIL) unless a comment says otherwise. */
#ifndef PD__PYTHON_FAST_H
#define PD__PYTHON_FAST_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* The module record is for plugins; the extension defines no flags. */
#define PD_NO_MODULE_RECORD
#include <pd_flags.h>

#include "gil.h"

/* Shared by the Python code and this module; connect() sets some fields. References are owned. */
typedef struct fast_state {
  PyTypeObject *flag_base;
  PyTypeObject *registry_base;
  PyTypeObject *function_type;
  PyTypeObject *flag_type;  /* paddle_flags.Flag, a subclass of flag_base */
  PyObject *method_type;    /* types.MethodType */
  PyObject *prune;          /* function: drops the package's frames from a traceback; or NULL */
  PyObject *failures;       /* dict, not empty if a callback has raised */
  PyObject *warnings;       /* list, not empty if a callback has warned */
  PyObject *raise_deferred; /* function: raises those exceptions and issues those warnings */
  PyObject *raise_error_at; /* function: raises the exception for the pd_error at an address */
  PyObject *place_names;    /* dict: file or module name -> bytes */
  PyObject *value;          /* this one and the next three: names of attributes */
  PyObject *co_filename;
  PyObject *f_globals;
  PyObject *dunder_name;
  pd_error_list *spare;    /* an empty list for the next set; or NULL */
  struct fast_gate *gate;  /* of hooks in Python; NULL before open_gate() */
  PyObject *scopes;        /* ContextVar; NULL before scopes_follow_contexts() */
  PyObject *leave_context; /* function: leaves the current context and comes back */
} fast_state;

/* Code between these two runs on one thread at a time for each object. The GIL does the same where
 * there is one, as long as that code calls nothing. */
#ifdef Py_GIL_DISABLED
#define FAST_BEGIN_SECTION(object) Py_BEGIN_CRITICAL_SECTION(object)
#define FAST_END_SECTION() Py_END_CRITICAL_SECTION()
#else
#define FAST_BEGIN_SECTION(object) {
#define FAST_END_SECTION() }
#endif

/* A lock for what belongs to the process, likewise. Whoever holds it calls no Python: a fork, for
 * example, waits until each thread is between two byte codes, and so holds none. */
#ifdef Py_GIL_DISABLED
typedef PyMutex fast_mutex;
#define FAST_LOCK(mutex) PyMutex_Lock(mutex)
#define FAST_UNLOCK(mutex) PyMutex_Unlock(mutex)
#else
typedef char fast_mutex;
#define FAST_LOCK(mutex) ((void)(mutex))
#define FAST_UNLOCK(mutex) ((void)(mutex))
#endif

/* Replaces an owned reference, or NULL, by a new one to `value`. */
static inline void fast_set_reference(PyObject **field, PyObject *value) {
  PyObject *old = *field;
  *field = Py_NewRef(value);
  Py_XDECREF(old);
}

/* ---- Convert (convert.c) ---- */

/* Returns the value of a flag, read from `cell`. */
PyObject *fast_read_cell(pd_type type, const void *cell);

/* Returns the bits of the value in `cell`: of text its address. */
uint64_t fast_get_cell_bits(pd_type type, const void *cell);

/* Returns a str with the text. */
PyObject *fast_decode_text(const char *text);

/* split_list(text): the items of a list that the library has checked, as text. */
PyObject *fast_split_list(PyObject *module, PyObject *text);

/* Converts `value` to one of `type`. Text is owned by *holder, a new reference; NULL for other
 * types. Returns false if it isn't plain. */
bool fast_convert_to_c(pd_type type, PyObject *value, pd_value *out, PyObject **holder);

/* The number of types, and so the highest type number. */
#define FAST_ONE_TYPE(name, number, ctype, member) +1
enum { FAST_TYPES = 0 PD_TYPE_MAP(FAST_ONE_TYPE) };

/* Returns the UTF-8 of a str as bytes; *out points into it. NULL if it isn't plain. */
PyObject *fast_encode_text(PyObject *text, const char **out);

/* ---- Dictionaries. Results are new references: other threads may change the dict. ---- */

/* Returns NULL without an exception if the lookup finds nothing or fails. */
PyObject *fast_dict_get(PyObject *dict, PyObject *key);

/* Inserts `value` unless the key exists. Returns the value in the dict. Steals the reference to
 * `value`. */
PyObject *fast_dict_set_default(PyObject *dict, PyObject *key, PyObject *value);

/* ---- Locations (location.c) ---- */

/* Returns the name of a file or module as text that `state` keeps. NULL if it isn't plain. */
const char *fast_intern_text(fast_state *state, PyObject *text);

/* Finds the file and line of `frame`. Returns false if it isn't plain. */
bool fast_find_location(fast_state *state, PyFrameObject *frame, const char **file, uint32_t *line);

/* Finds the module of the frame's code; for __main__ that is its file. Returns false if it isn't
 * plain. */
bool fast_find_module_name(fast_state *state, PyFrameObject *frame, const char *file,
                           const char **out);

/* ---- Flags (flag.c) ---- */

extern PyType_Spec fast_flag_spec;

/* Notes that the code of `frame` defines the flag, unless other code is known to have done that:
 * returns false then. */
bool fast_flag_match_or_set_definer(PyObject *flag, PyFrameObject *frame);

/* Returns the current value; of a list that has not changed, the same tuple again. NULL without an
 * exception if it isn't plain. */
PyObject *fast_flag_try_read(PyObject *flag);

/* Returns true if the flag is defined; false also if a host of an older version can't tell. */
bool fast_flag_is_defined(PyObject *flag);

/* The result of setting a flag. */
typedef enum fast_result { FAST_ERROR = -1, FAST_NOT_PLAIN = 0, FAST_DONE = 1 } fast_result;

/* Sets the value. Its origin is the Python code that is running. */
fast_result fast_flag_try_set(PyObject *flag, PyObject *value);

/* Fills *item to assign `value` to `flag`. Text is owned by *holder, a new reference; NULL for
 * other types. Returns false if it isn't plain. */
bool fast_flag_prepare_assignment(fast_state *state, PyObject *flag, PyObject *value,
                                  pd_assignment *item, PyObject **holder);
/* is_assigning(): true within such a call on this thread, for a callback. */
PyObject *fast_is_assigning(PyObject *module, PyObject *nothing);

/* Returns a new Flag for a handle. If another thread makes one at the same time, the caller keeps
 * the one that is in the dict first. */
PyObject *fast_flag_make(PyObject *module, pd_flag *handle, PyObject *name, bool sensitive);

/* Call this after a call of the library: raises and warns what callbacks left. A warning that a
 * filter makes an error gets the result of the function. Returns false if an exception is raised.
 */
bool fast_raise_deferred(fast_state *state, PyObject *result);

/* ---- Public functions (public.c) ---- */

extern PyType_Spec fast_function_spec;

/* Drops the frames of the package from the traceback of the exception that is raised. */
void fast_strip_traceback(fast_state *state);

/* Functions of the Python module. */
PyObject *fast_hide_frames(PyObject *module, PyObject *function);
PyObject *fast_set_traceback_pruner(PyObject *module, PyObject *prune);

/* ---- Overrides (override.c) ---- */

/* Function of the Python module. */
PyObject *fast_push_override_or_scope(PyObject *module, PyObject *arguments);

/* ---- Scopes that follow tasks (tasks.c) ---- */

void fast_scopes_stop_following(fast_state *state);

/* Functions of the Python module. A place is where scopes are open: the number of a context if
 * contexts are followed, else of a thread. */

/* scopes_follow_contexts(variable, leave_context, PyContext_AddWatcher, PyContext_ClearWatcher,
 * PyContextVar_Get, PyContextVar_Set), the last four as addresses. Returns true if scopes follow
 * contexts from now on: those of the main interpreter, if CPython has a watcher left, and if no
 * other object of this module does it. */
PyObject *fast_scopes_follow_contexts(PyObject *module, PyObject *arguments);

/* scopes_opening(): call this before the current context gets other scopes. Returns whether
 * contexts are followed. */
PyObject *fast_scopes_prepare_opening(PyObject *module, PyObject *nothing);

/* scopes_opened(): call this when it has them. Returns the current place. */
PyObject *fast_scopes_record_opening(PyObject *module, PyObject *nothing);

/* scopes_ended(): call this when it has the former ones again. */
PyObject *fast_scopes_record_end(PyObject *module, PyObject *nothing);

/* scopes_context_number(): returns the current place. */
PyObject *fast_scopes_get_context_number(PyObject *module, PyObject *nothing);

/* scopes_end(number, place): ends a scope, which was opened at that place. */
PyObject *fast_scopes_end(PyObject *module, PyObject *arguments);

/* ---- The environment (environment.c) ---- */

/* Like pd_environment_hold, also where no GIL keeps other threads from changing os.environ. */
void fast_hold_environment(bool always);

/* Function of the Python module. */
PyObject *fast_call_holding_environment(PyObject *module, PyObject *arguments);

/* ---- While native modules are loaded (loader.c) ---- */

/* Returns true if there are warnings or deferred hooks. Needs no GIL. */
bool fast_has_pending_work(void);

/* Functions of the Python module. */
PyObject *fast_load_module(PyObject *module, PyObject *arguments);
PyObject *fast_unload_module(PyObject *module, PyObject *arguments);
PyObject *fast_pop_warnings(PyObject *module, PyObject *nothing);
PyObject *fast_pop_deferred(PyObject *module, PyObject *nothing);
PyObject *fast_has_pending_work_method(PyObject *module, PyObject *nothing);
PyObject *fast_set_notice_listener(PyObject *module, PyObject *function);

/* ---- Validators and watchers in Python (hook.c) ---- */

typedef struct fast_gate fast_gate;

int fast_hook_gate_traverse(const fast_state *state, visitproc visit, void *arg);
void fast_hook_gate_close(fast_state *state);

/* Functions of the Python module. */

/* open_gate(follows, held): from now on a call of a hook calls the function that the dict `held`
 * has for the hook's address, with the address of the entries or of the flag, and with True if
 * nothing of this interpreter waits for the call. A converter is called with the address of the
 * text, and returns None or whether it accepts that, with the canonical text or the reason. An
 * auditor is called with the event as bytes alone.
 * `follows` says whether Python knows in which interpreter a thread is. Returns the addresses of a
 * pd_validator, a pd_watcher, a pd_converter, the function of an audit (pd_flags/live.h) and a
 * function that releases a hook, which deletes it from the dict. */
PyObject *fast_open_gate(PyObject *module, PyObject *arguments);

/* is_in_hook(): true within a call of a hook on this thread. */
PyObject *fast_is_in_hook(PyObject *module, PyObject *nothing);

/* close_gates(): no new call of a hook reaches this interpreter from now on, and no interpreter if
 * it is the main one. Waits for the calls that have begun, on other threads, as long as these can
 * take the GIL. */
PyObject *fast_close_gates(PyObject *module, PyObject *nothing);

/* has_ended(): true once the main interpreter has called close_gates(), or Python ends. */
PyObject *fast_has_python_ended(PyObject *module, PyObject *nothing);

/* reset_gates_in_child(): in the child, forgets the calls of threads that it doesn't have. */
PyObject *fast_reset_gates_in_child(PyObject *module, PyObject *nothing);

/* new_hook(): returns the address of a new hook, the context for the library.
 * free_unadded_hook(address) frees one that the library doesn't have. */
PyObject *fast_new_hook(PyObject *module, PyObject *nothing);
PyObject *fast_free_unadded_hook(PyObject *module, PyObject *address);

/* ---- Reports (collect.c). Functions of the Python module. ---- */

/* new_text_collector(): returns the address of a pd_writer and that of its context, which collects
 * the text. pop_collected_text(context) returns the text as bytes, and frees the context. */
PyObject *fast_new_text_collector(PyObject *module, PyObject *nothing);
PyObject *fast_pop_collected_text(PyObject *module, PyObject *address);

/* ---- The mapping FLAGS (registry.c) ---- */

extern PyType_Spec fast_registry_spec;

/* Functions of the Python module. */
PyObject *fast_attach_registry(PyObject *module, PyObject *arguments);
PyObject *fast_wrap_handle(PyObject *module, PyObject *arguments);
PyObject *fast_try_define_flag(PyObject *module, PyObject *arguments);
PyObject *fast_parse_argv(PyObject *module, PyObject *arguments);

#endif /* PD__PYTHON_FAST_H */
