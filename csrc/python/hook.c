/* Validators and watchers in Python, as the library calls them: on any thread, which may be a
 * native one, and in the interpreter that has added them.
 *
 * Each interpreter has a gate, through which every call passes. When Python ends, or the
 * interpreter, the gate is closed: later calls do nothing, as if the hooks had been removed.
 * Threads that were waiting for the GIL by then are let in first, because no thread may ask for the
 * GIL of an interpreter that is gone. With the main interpreter all gates are closed: Python ends
 * the interpreters that are left later, and some versions abort if a thread is in one of them. */
#include <stdlib.h>
#include <string.h>

#include "fast.h"

struct fast_gate {
  PyInterpreterState *interpreter; /* which may be gone */
  bool of_main;                    /* of the main one */
  PyObject *functions; /* owned; dict: address of a hook -> function; NULL when closed */
  bool follows;        /* Python knows in which interpreter a thread is: since 3.12 */
  bool closed;
  size_t waiting;    /* threads on their way in */
  size_t running;    /* calls that run Python code */
  size_t references; /* of the module and of each hook */
  fast_gate *next;   /* of another interpreter */
};

/* Guards the next two and each gate's `functions`. */
static fast_mutex gates_lock;
static fast_gate *gates; /* of all interpreters that are there */
static bool ended;       /* the main interpreter has closed them, as Python ends; atomic */

/* What the library has as the context of a hook. */
typedef struct hook {
  fast_gate *gate;
} hook;

/* A call that has passed the gate. */
typedef struct hook_call {
  fast_gate *gate;
  PyGILState_STATE lock;
  PyThreadState *own_thread; /* made for this call; NULL: the thread has one in the interpreter */
  PyThreadState *former_thread; /* to go back to, if own_thread isn't NULL */
  bool native;                  /* no code of this interpreter waits for the call on this thread */
  struct hook_call *outer;      /* of the same thread */
} hook_call;

static _Thread_local hook_call *innermost;

/* NOLINTNEXTLINE: the pointee changes atomically */
static size_t add_atomically(size_t *count, size_t by) {
  return __atomic_add_fetch(count, by, __ATOMIC_SEQ_CST);
}

static void release_gate(fast_gate *gate) {
  if (gate && add_atomically(&gate->references, (size_t)-1) == 0) free(gate);
}

/* ---- Through the gate ---- */

/* Makes the interpreter of the gate current. Returns false if memory is out. */
static bool enter_interpreter(hook_call *made) {
  made->own_thread = NULL;
  if (PyInterpreterState_Get() == made->gate->interpreter) return true;
  made->own_thread = PyThreadState_New(made->gate->interpreter);
  if (made->own_thread) made->former_thread = PyThreadState_Swap(made->own_thread);
  made->native |= made->gate->follows;
  return made->own_thread != NULL;
}

static bool is_gate_closed(const hook *of) {
  return __atomic_load_n(&of->gate->closed, __ATOMIC_SEQ_CST) || !Py_IsInitialized();
}

/* Returns false if Python must not be called; otherwise the thread has the GIL until leave(). */
static bool enter_gate(const hook *of, hook_call *made) {
  fast_gate *gate = of->gate;
  bool entered = false;
  add_atomically(&gate->waiting, 1);
  if (!is_gate_closed(of)) {
    *made = (hook_call){.gate = gate, .outer = innermost};
    made->native = !PyGILState_GetThisThreadState();
    made->lock = PyGILState_Ensure();
    entered = enter_interpreter(made);
    if (entered) {
      add_atomically(&gate->running, 1);
      innermost = made;
    } else {
      PyGILState_Release(made->lock);
    }
  }
  add_atomically(&gate->waiting, (size_t)-1);
  return entered;
}

static void leave_gate(hook_call *made) {
  innermost = made->outer;
  if (made->own_thread) {
    PyThreadState_Clear(made->own_thread);
    PyThreadState_Swap(made->former_thread);
    PyThreadState_Delete(made->own_thread);
  }
  add_atomically(&made->gate->running, (size_t)-1);
  PyGILState_Release(made->lock);
}

/* Returns a new reference; NULL: the gate is closed. */
static PyObject *get_gate_functions(const fast_gate *gate) {
  FAST_LOCK(&gates_lock);
  PyObject *functions = Py_XNewRef(gate->functions);
  FAST_UNLOCK(&gates_lock);
  return functions;
}

/* Returns the function of the hook, a new reference; NULL if there is none. */
static PyObject *get_hook_function(const hook_call *made, const void *context) {
  PyObject *key = PyLong_FromVoidPtr((void *)(uintptr_t)context);
  PyObject *functions = get_gate_functions(made->gate);
  PyObject *function = key && functions ? fast_dict_get(functions, key) : NULL;
  Py_XDECREF(functions);
  Py_XDECREF(key);
  return function;
}

/* Calls the function of the hook. Returns NULL if it raises, which is reported. */
static PyObject *call_hook_function(const hook_call *made, const void *context, const void *about) {
  PyObject *function = get_hook_function(made, context);
  if (!function) return NULL;
  PyObject *answer = PyObject_CallFunction(function, "KO", (unsigned long long)(uintptr_t)about,
                                           made->native ? Py_True : Py_False);
  if (!answer) PyErr_WriteUnraisable(function);
  Py_DECREF(function);
  return answer;
}

static void forget_hook_function(const hook_call *made, const void *context) {
  PyObject *key = PyLong_FromVoidPtr((void *)(uintptr_t)context);
  PyObject *functions = get_gate_functions(made->gate);
  if (key && functions) PyDict_DelItem(functions, key);
  Py_XDECREF(functions);
  Py_XDECREF(key);
  PyErr_Clear();
}

/* ---- What the library calls ---- */

static size_t count_characters(const char *text) {
  size_t count = 0;
  for (; *text; text++) count += (*text & 0xC0) != 0x80;
  return count;
}

/* Copies the reason. One that is too long is cut at a character, and its length is said. */
static bool read_verdict(PyObject *answer, char *why, size_t size) {
  char *text = NULL, end[48] = "";
  Py_ssize_t length = 0;
  if (answer == Py_None) return true;
  if (!answer || PyBytes_AsStringAndSize(answer, &text, &length) < 0) {
    PyErr_Clear();
    return false;
  }
  size_t used = (size_t)length;
  if (used >= size) {
    unsigned long count = (unsigned long)count_characters(text);
    PyOS_snprintf(end, sizeof end, "... (%lu characters)", count);
    used = size > strlen(end) ? size - 1 - strlen(end) : 0;
    while (used > 0 && (text[used] & 0xC0) == 0x80) used--;
  }
  memcpy(why, text, used);
  PyOS_snprintf(why + used, size - used, "%s", end);
  return false;
}

static bool call_validator(const pd_flag_entry *const *entries, void *context, char *why,
                           size_t size) {
  hook_call made;
  if (!enter_gate(context, &made))
    return is_gate_closed(context); /* as if removed; or memory is out */
  PyObject *answer = call_hook_function(&made, context, entries);
  bool accepted = read_verdict(answer, why, size);
  Py_XDECREF(answer);
  leave_gate(&made);
  return accepted;
}

static bool call_converter(const char *text, void *context, pd_writer write, void *out, char *why,
                           size_t size) {
  hook_call made;
  int accepted = 0;
  const char *result;
  Py_ssize_t length;
  if (!enter_gate(context, &made)) return is_gate_closed(context);
  PyObject *answer = call_hook_function(&made, context, text);
  if (answer && PyTuple_Check(answer) &&
      PyArg_ParseTuple(answer, "py#", &accepted, &result, &length)) {
    if (accepted) {
      write(result, (size_t)length, out);
    } else {
      PyObject *reason = PyTuple_GetItem(answer, 1);
      read_verdict(reason, why, size);
    }
  }
  PyErr_Clear();
  accepted |= answer == Py_None;
  Py_XDECREF(answer);
  leave_gate(&made);
  return accepted;
}

static void call_watcher(pd_flag *flag, void *context) {
  hook_call made;
  if (!enter_gate(context, &made)) return;
  Py_XDECREF(call_hook_function(&made, context, flag));
  leave_gate(&made);
}

static void call_auditor(const char *event, size_t length, void *context) {
  hook_call made;
  if (!enter_gate(context, &made)) return;
  PyObject *function = get_hook_function(&made, context);
  if (function) {
    PyObject *answer = PyObject_CallFunction(function, "y#", event, (Py_ssize_t)length);
    if (!answer) PyErr_WriteUnraisable(function);
    Py_XDECREF(answer);
    Py_DECREF(function);
  }
  leave_gate(&made);
}

static void release_hook(void *context) {
  hook_call made;
  hook *of = context;
  if (enter_gate(of, &made)) {
    forget_hook_function(&made, context);
    leave_gate(&made);
  }
  release_gate(of->gate);
  free(of);
}

/* ---- Functions of the Python module ---- */

PyObject *fast_new_hook(PyObject *module, PyObject *nothing) {
  (void)nothing;
  fast_state *state = PyModule_GetState(module);
  hook *made = state->gate ? malloc(sizeof *made) : NULL;
  if (!made) return PyErr_NoMemory();
  add_atomically(&state->gate->references, 1);
  made->gate = state->gate;
  return PyLong_FromVoidPtr(made);
}

PyObject *fast_free_unadded_hook(PyObject *module, PyObject *address) {
  (void)module;
  hook *made = PyLong_AsVoidPtr(address);
  if (!made) return NULL;
  release_gate(made->gate);
  free(made);
  Py_RETURN_NONE;
}

PyObject *fast_is_in_hook(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  return PyBool_FromLong(innermost != NULL);
}

static bool has_begun_to_end(void) { return __atomic_load_n(&ended, __ATOMIC_SEQ_CST); }

/* Counts the calls of this thread that run Python code. */
static size_t count_own_calls(const fast_gate *gate) {
  size_t count = 0;
  for (const hook_call *each = innermost; each; each = each->outer) count += each->gate == gate;
  return count;
}

/* Whether the gate closes when the interpreter with the gate `own`, or none, ends. */
static bool is_closing_with(const fast_gate *gate, const fast_gate *own) {
  return gate == own || has_begun_to_end();
}

/* Counts the threads that wait for the GIL to call a hook, and the calls of other threads. */
static void count_other_calls(const fast_gate *own, size_t *waiting, size_t *running) {
  *waiting = *running = 0;
  FAST_LOCK(&gates_lock);
  for (const fast_gate *each = gates; each; each = each->next) {
    if (!is_closing_with(each, own)) continue;
    *waiting += __atomic_load_n(&each->waiting, __ATOMIC_SEQ_CST); /* first: it starts running */
    *running += __atomic_load_n(&each->running, __ATOMIC_SEQ_CST) - count_own_calls(each);
  }
  FAST_UNLOCK(&gates_lock);
}

/* Waits for a lock that nobody releases, which is how every system's Python can sleep. */
static void sleep_microseconds(PY_TIMEOUT_T count) {
  PyThread_type_lock lock = PyThread_allocate_lock();
  if (!lock) return;
  PyThread_acquire_lock(lock, WAIT_LOCK);
  PyThread_acquire_lock_timed(lock, count, 1);
  PyThread_release_lock(lock);
  PyThread_free_lock(lock);
}

/* Lets threads in that wait, and waits for the calls; if Python ends, for a second at most, because
 * a hook may be waiting for what won't come. No other interpreter can end before they have.
 *
 * The steps grow, because the shortest sleep of Windows takes 16 ms. */
static void wait_for_other_calls(const fast_gate *own) {
  const PY_TIMEOUT_T first = 500, most = 16000, patience = 1000000; /* µs */
  PY_TIMEOUT_T slept = 0;
  size_t waiting, running;
  while (count_other_calls(own, &waiting, &running), waiting + running > 0) {
    if (has_begun_to_end() && waiting == 0 && slept > patience) return;
    PY_TIMEOUT_T step = first + slept / 8 < most ? first + slept / 8 : most;
    Py_BEGIN_ALLOW_THREADS;
    sleep_microseconds(step);
    Py_END_ALLOW_THREADS;
    slept += step;
    if (PyErr_CheckSignals() == 0) continue;
    PyErr_Clear();
    slept = patience;
  }
}

static bool is_main_interpreter(PyInterpreterState *interpreter) {
  return PyInterpreterState_GetID(interpreter) == 0;
}

/* Since 3.12, subinterpreters that are left wait for their threads as others do. */
static bool has_python_ended(void) {
  return has_begun_to_end() || (Py_Version < 0x030C0000 && !Py_IsInitialized());
}

/* Closes the gate `own`, and all if this is the main interpreter. */
static void close_gates(const fast_gate *own) {
  if (has_python_ended()) return; /* who lets go of the GIL doesn't get it again */
  __atomic_store_n(&ended, is_main_interpreter(PyInterpreterState_Get()), __ATOMIC_SEQ_CST);
  FAST_LOCK(&gates_lock);
  for (fast_gate *each = gates; each; each = each->next) {
    if (is_closing_with(each, own)) __atomic_store_n(&each->closed, true, __ATOMIC_SEQ_CST);
  }
  FAST_UNLOCK(&gates_lock);
  wait_for_other_calls(own);
}

PyObject *fast_close_gates(PyObject *module, PyObject *nothing) {
  (void)nothing;
  close_gates(((fast_state *)PyModule_GetState(module))->gate);
  Py_RETURN_NONE;
}

static PyObject *close_all_gates(PyObject *unused, PyObject *nothing) {
  (void)unused, (void)nothing;
  close_gates(NULL);
  Py_RETURN_NONE;
}

static PyMethodDef exit_function = {"close_all_gates", close_all_gates, METH_NOARGS, NULL};

static bool has_gate_of_main(void) {
  FAST_LOCK(&gates_lock);
  const fast_gate *each = gates;
  while (each && !each->of_main) each = each->next;
  FAST_UNLOCK(&gates_lock);
  return each != NULL;
}

/* If the main interpreter lacks this package, has it call close_all_gates() when Python ends:
 * before 3.12, that aborts while a thread is in a subinterpreter that is left. Only there has a
 * thread that runs code of a subinterpreter a state of the main one, too. */
static void register_exit_function(void) {
  static bool registered;
  PyThreadState *main = PyGILState_GetThisThreadState();
  if (registered || has_gate_of_main() || !main ||
      !is_main_interpreter(PyThreadState_GetInterpreter(main))) {
    return;
  }
  PyThreadState *own = PyThreadState_Swap(main);
  PyObject *atexit = PyImport_ImportModule("atexit");
  PyObject *function = PyCFunction_New(&exit_function, NULL);
  PyObject *done =
      atexit && function ? PyObject_CallMethod(atexit, "register", "O", function) : NULL;
  registered = done != NULL;
  PyErr_Clear();
  Py_XDECREF(done);
  Py_XDECREF(function);
  Py_XDECREF(atexit);
  PyThreadState_Swap(own);
}

PyObject *fast_open_gate(PyObject *module, PyObject *arguments) {
  fast_state *state = PyModule_GetState(module);
  PyObject *held;
  int follows;
  if (!PyArg_ParseTuple(arguments, "pO!:open_gate", &follows, &PyDict_Type, &held)) return NULL;
  fast_gate *made = calloc(1, sizeof *made);
  if (!made) return PyErr_NoMemory();
  Py_INCREF(held);
  *made = (fast_gate){.interpreter = PyInterpreterState_Get(),
                      .functions = held,
                      .follows = follows,
                      .references = 1};
  made->of_main = is_main_interpreter(made->interpreter);
  fast_hook_gate_close(state);
  FAST_LOCK(&gates_lock);
  made->next = gates;
  gates = state->gate = made;
  FAST_UNLOCK(&gates_lock);
  register_exit_function();
  return Py_BuildValue(
      "KKKKK", (unsigned long long)(uintptr_t)call_validator,
      (unsigned long long)(uintptr_t)call_watcher, (unsigned long long)(uintptr_t)call_converter,
      (unsigned long long)(uintptr_t)call_auditor, (unsigned long long)(uintptr_t)release_hook);
}

PyObject *fast_has_python_ended(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  return PyBool_FromLong(has_python_ended());
}

PyObject *fast_reset_gates_in_child(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  for (fast_gate *each = gates; each; each = each->next) {
    each->waiting = 0;
    each->running = count_own_calls(each);
  }
  Py_RETURN_NONE;
}

/* ---- The module's part ---- */

int fast_hook_gate_traverse(const fast_state *state, visitproc visit, void *arg) {
  if (state->gate) Py_VISIT(state->gate->functions);
  return 0;
}

void fast_hook_gate_close(fast_state *state) {
  fast_gate *gate = state->gate;
  state->gate = NULL;
  if (!gate) return;
  __atomic_store_n(&gate->closed, true, __ATOMIC_SEQ_CST);
  FAST_LOCK(&gates_lock);
  fast_gate **place = &gates;
  while (*place != gate) place = &(*place)->next;
  *place = gate->next;
  PyObject *functions = gate->functions;
  gate->functions = NULL;
  FAST_UNLOCK(&gates_lock);
  Py_XDECREF(functions);
  release_gate(gate);
}
