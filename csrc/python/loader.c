/* Calls from the library while a native module is loaded. Its constructors hold the loader's lock,
 * and another thread that has the GIL may wait for that lock to import an extension module. The
 * order of locks is the GIL, the loader, the registry; so nothing here waits for the GIL.
 *
 * The globals belong to the process, which has one registry. */
#include <stdlib.h>
#include <string.h>

#include "fast.h"

/* Without one, other threads may change the environment meanwhile. */
#ifdef Py_GIL_DISABLED
enum { HAS_GIL = false };
#else
enum { HAS_GIL = true };
#endif

static bool is_in_main_interpreter(void) {
  return PyInterpreterState_GetID(PyInterpreterState_Get()) == 0;
}

/* While a library is loaded or unloaded, its thread keeps the GIL: for constructors and destructors
 * that use Python, and because os.fork needs the GIL. A child that is born while another thread is
 * in the loader inherits the loader's locks and a half-changed list of images. import keeps the GIL
 * for the same reasons. A sub-interpreter lets go of it, since callbacks would wait for it. */
static PyThreadState *release_gil_for_loader(bool keep_gil) {
  if (keep_gil && HAS_GIL) return NULL;
  fast_hold_environment(false);
  return keep_gil ? NULL : release_gil();
}

static void reacquire_gil_after_loader(bool keep_gil, PyThreadState *thread) {
  if (keep_gil && HAS_GIL) return;
  retake_gil(thread);
  pd_environment_release();
}

/* load_module(path, namespace, errors, out, err), the last three as addresses. Returns the status
 * of pd_module_load_as. */
PyObject *fast_load_module(PyObject *module, PyObject *arguments) {
  unsigned long long errors, out, err;
  const char *path, *name_space;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "yyKKK:load_module", &path, &name_space, &errors, &out, &err)) {
    return NULL;
  }
  bool main = is_in_main_interpreter();
  PyThreadState *thread = release_gil_for_loader(main);
  pd_status status = pd_module_load_as(path, name_space, (pd_error_list *)(uintptr_t)errors,
                                       (pd_module **)(uintptr_t)out, (pd_error *)(uintptr_t)err);
  reacquire_gil_after_loader(main, thread);
  return PyLong_FromLong(status);
}

/* unload_module(module, err), as addresses. Returns the status of pd_module_unload. */
PyObject *fast_unload_module(PyObject *module, PyObject *arguments) {
  unsigned long long unloaded, err;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "KK:unload_module", &unloaded, &err)) return NULL;
  bool main = is_in_main_interpreter();
  PyThreadState *thread = release_gil_for_loader(main);
  pd_status status = pd_module_unload((pd_module *)(uintptr_t)unloaded, (pd_error *)(uintptr_t)err);
  reacquire_gil_after_loader(main, thread);
  return PyLong_FromLong(status);
}

/* ---- Calls to the main thread ---- */

static bool notifies_main_thread; /* until Python ends */
static size_t notifying_count;    /* calls of schedule_listener_if_enabled() */
static bool scheduled;            /* the main thread will call `resume` */
static fast_mutex resume_lock;
static PyObject
    *resume; /* owned; a function of the main interpreter, for its main thread; or NULL */

/* Returns the former one, whose reference is the caller's. */
static PyObject *exchange_resume(PyObject *function) {
  Py_XINCREF(function);
  FAST_LOCK(&resume_lock);
  PyObject *former = resume;
  resume = function;
  FAST_UNLOCK(&resume_lock);
  return former;
}

/* Returns a new reference, or NULL. */
static PyObject *get_resume(void) {
  FAST_LOCK(&resume_lock);
  PyObject *function = Py_XNewRef(resume);
  FAST_UNLOCK(&resume_lock);
  return function;
}

/* Runs on the main thread, with the GIL, between two bytecodes. Before Python 3.12 that may be in
 * another interpreter: then the next call of the package does the work. */
static int call_main_thread_listener(void *unused) {
  (void)unused;
  __atomic_store_n(&scheduled, false, __ATOMIC_SEQ_CST);
  PyObject *function = is_in_main_interpreter() ? get_resume() : NULL;
  if (!function) return 0;
  PyObject *nothing = PyObject_CallObject(function, NULL);
  Py_DECREF(function);
  Py_XDECREF(nothing);
  return nothing ? 0 : -1;
}

/* If there are too many pending calls, the next call of the package does the work. */
static void schedule_main_thread_listener(void) {
  if (__atomic_exchange_n(&scheduled, true, __ATOMIC_SEQ_CST)) return;
  if (Py_AddPendingCall(call_main_thread_listener, NULL) != 0)
    __atomic_store_n(&scheduled, false, __ATOMIC_SEQ_CST);
}

/* Any thread, in a constructor or destructor, with or without the GIL; also when Python has
 * ended. */
static void schedule_listener_if_enabled(void) {
  __atomic_add_fetch(&notifying_count, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&notifies_main_thread, __ATOMIC_SEQ_CST)) schedule_main_thread_listener();
  __atomic_sub_fetch(&notifying_count, 1, __ATOMIC_SEQ_CST);
}

/* From now on no thread uses Python here. Those that do wait for nothing, so they are soon done; in
 * the child of a fork, one that it doesn't have never is. */
static void stop_notifying_main_thread(void) {
  __atomic_store_n(&notifies_main_thread, false, __ATOMIC_SEQ_CST);
  for (int i = 0; i < 1000000 && __atomic_load_n(&notifying_count, __ATOMIC_SEQ_CST) > 0; i++) {
  }
}

/* ---- Deferred hooks ---- */

static bool deferred; /* some hooks were, since the last pop_deferred() */

static void mark_hooks_deferred(void *unused) {
  (void)unused;
  __atomic_store_n(&deferred, true, __ATOMIC_SEQ_CST);
  schedule_listener_if_enabled();
}

/* ---- Warnings ---- */

typedef struct warning {
  struct warning *next; /* the previous one */
  pd_warning kind;
  char text[];
} warning;

static warning *warnings; /* the last one; each is freed by pop_warnings() */

/* Any thread, with or without the GIL. The warning is lost if memory is out. That of a refused
 * module doesn't wait for the next call of the package, which may never come. */
static void queue_registry_warning(const char *message, pd_warning kind, void *unused) {
  (void)unused;
  size_t size = strlen(message) + 1;
  warning *made = malloc(sizeof *made + size);
  if (!made) return;
  made->kind = kind;
  memcpy(made->text, message, size);
  made->next = __atomic_load_n(&warnings, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(&warnings, &made->next, made, true, __ATOMIC_RELEASE,
                                      __ATOMIC_RELAXED)) {
  }
  if (kind == PD_WARNING_REFUSED) schedule_listener_if_enabled();
}

/* pop_warnings(): returns the warnings since the last call, as pairs of kind and text. */
PyObject *fast_pop_warnings(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  PyObject *list = PyList_New(0);
  warning *each = __atomic_exchange_n(&warnings, NULL, __ATOMIC_ACQUIRE);
  while (each) {
    warning *taken = each;
    PyObject *pair = Py_BuildValue("iN", (int)taken->kind, fast_decode_text(taken->text));
    if (!pair || !list || PyList_Append(list, pair) < 0) Py_CLEAR(list);
    Py_XDECREF(pair);
    each = taken->next;
    free(taken);
  }
  if (list && PyList_Reverse(list) < 0) Py_CLEAR(list);
  return list;
}

/* ---- Warnings and deferred hooks ---- */

bool fast_has_pending_work(void) {
  return __atomic_load_n(&warnings, __ATOMIC_RELAXED) ||
         __atomic_load_n(&deferred, __ATOMIC_RELAXED);
}

/* has_pending_work(): true if there are warnings or deferred hooks. */
PyObject *fast_has_pending_work_method(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  return PyBool_FromLong(fast_has_pending_work());
}

/* pop_deferred(): true if hooks were deferred since the last call. */
PyObject *fast_pop_deferred(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  return PyBool_FromLong(__atomic_exchange_n(&deferred, false, __ATOMIC_SEQ_CST));
}

/* listen(function): from now on collect the registry's warnings, and have the main thread call the
 * function when hooks were deferred or a module was refused. None stops it. Only the main
 * interpreter is called this way. */
PyObject *fast_set_notice_listener(PyObject *module, PyObject *function) {
  (void)module;
  bool on = function != Py_None, main = is_in_main_interpreter();
  if (on) __atomic_store_n(&notifies_main_thread, true, __ATOMIC_SEQ_CST);
  if (on) pd_warning_handle(queue_registry_warning, NULL, NULL);
  if (on) pd_deferred_handle(mark_hooks_deferred, NULL, NULL);
  if (main) Py_XDECREF(exchange_resume(on ? function : NULL));
  if (!on && main) pd_warning_handle(NULL, NULL, NULL);
  if (!on && main) pd_deferred_handle(NULL, NULL, NULL);
  if (!on && main) stop_notifying_main_thread();
  Py_RETURN_NONE;
}
