/* Scopes that follow Python's contexts (contextvars), and so its tasks: from CPython 3.14 on, in
 * the main interpreter.
 *
 * A context in which Python has opened scopes has a box, as the value of a context variable. While
 * a thread is in that context the thread has its scopes, while it isn't the box keeps them. All
 * other contexts share the thread's own scopes, as all do where contexts aren't followed. A copy of
 * a context has the same value; its own box is made when a thread first comes to it.
 *
 * The watcher raises nothing, and is also called while an exception is on its way. */
#include <stdlib.h>

#include "fast.h"

/* The scopes of one Python context. References to contexts of the library are owned. */
typedef struct context_box {
  const void *context;            /* whose it is, only to be compared; NULL: that has another box */
  pd_scope_context *begins;       /* what a copy of the context begins with */
  pd_scope_context *away;         /* its scopes while no thread is in it, else NULL */
  PyObject *capsule;              /* borrowed; this box as an object */
  struct context_box *next, **at; /* in the list of all; *at points here */
} context_box;

/* Of a thread. */
typedef struct thread_record {
  PyObject *capsule;        /* owned; of the box whose scopes the thread has; NULL: its own */
  pd_scope_context *shared; /* the thread's own scopes while it has those of a box */
  const void *context;      /* the current one; NULL: not known yet */
} thread_record;

/* Of CPython, but not in the limited API. */
enum { SWITCHED = 1 }; /* Py_CONTEXT_SWITCHED */
typedef int (*watch_function)(int, PyObject *);
static struct {
  int (*add_watcher)(watch_function);
  int (*clear_watcher)(int);
  int (*get)(PyObject *, PyObject *, PyObject **);
  PyObject *(*set)(PyObject *, PyObject *);
} api;

static fast_state *followed; /* of the main interpreter; NULL: contexts aren't followed */
static int watcher;
static context_box *boxes;
static size_t freed_records; /* so far */

/* Saves a look-up at each switch. Valid as long as no record was freed. */
static _Thread_local struct {
  PyThreadState *of;
  size_t freed;
  thread_record *found;
} latest;

/* For the boxes, which the GIL guards where there is one. Nothing is released in between. */
#ifdef Py_GIL_DISABLED
static PyMutex mutex;
#define LOCK() PyMutex_Lock(&mutex)
#define UNLOCK() PyMutex_Unlock(&mutex)
#else
#define LOCK() ((void)0)
#define UNLOCK() ((void)0)
#endif

/* ---- Boxes and thread records ---- */

static void free_context_box(PyObject *capsule) {
  context_box *gone = PyCapsule_GetPointer(capsule, NULL);
  LOCK();
  *gone->at = gone->next;
  if (gone->next) gone->next->at = gone->at;
  UNLOCK();
  pd_scope_release(gone->begins);
  pd_scope_release(gone->away);
  free(gone);
}

static context_box *get_context_box(PyObject *capsule) {
  return capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
}

static pd_scope_context *capture_thread_scopes(void) {
  pd_scope_context *scopes = NULL;
  pd_scope_capture(&scopes, NULL);
  return scopes;
}

/* Takes over the reference to `begins`. Returns NULL if memory is out. */
static PyObject *make_context_box(const void *context, pd_scope_context *begins) {
  context_box *made = calloc(1, sizeof *made);
  PyObject *capsule = made ? PyCapsule_New(made, NULL, free_context_box) : NULL;
  if (!capsule) {
    pd_scope_release(begins);
    free(made);
    return NULL;
  }
  LOCK();
  *made = (context_box){context, begins, NULL, capsule, boxes, &boxes};
  if (boxes) boxes->at = &made->next;
  boxes = made;
  UNLOCK();
  return capsule;
}

static void free_thread_record(PyObject *capsule) {
  thread_record *gone = PyCapsule_GetPointer(capsule, NULL);
  __atomic_add_fetch(&freed_records, 1, __ATOMIC_RELAXED);
  Py_XDECREF(gone->capsule);
  pd_scope_release(gone->shared);
  free(gone);
}

static thread_record *add_thread_record(PyObject *dict, PyObject *key) {
  thread_record *made = calloc(1, sizeof *made);
  PyObject *capsule = made ? PyCapsule_New(made, NULL, free_thread_record) : NULL;
  if (!capsule) free(made);
  bool added = capsule && PyDict_SetItem(dict, key, capsule) == 0;
  if (!added) PyErr_Clear();
  Py_XDECREF(capsule);
  return added ? made : NULL;
}

/* Returns NULL without an exception if memory is out, or the thread is ending. */
static thread_record *get_or_make_thread_record(void) {
  PyObject *dict = PyThreadState_GetDict();
  PyObject *found = dict ? fast_dict_get(dict, followed->scopes) : NULL;
  if (!found) return dict ? add_thread_record(dict, followed->scopes) : NULL;
  Py_DECREF(found); /* the dict has it */
  return PyCapsule_GetPointer(found, NULL);
}

static thread_record *get_cached_thread_record(void) {
  PyThreadState *thread = PyThreadState_Get();
  size_t now = __atomic_load_n(&freed_records, __ATOMIC_RELAXED);
  if (latest.of != thread || latest.freed != now || !latest.found) {
    latest.of = thread;
    latest.freed = now;
    latest.found = get_or_make_thread_record();
  }
  return latest.found;
}

/* Sets the variable in the current context. Steals the reference to `capsule`; NULL: no box. */
static bool set_context_box(thread_record *in, PyObject *capsule) {
  PyObject *token = api.set(followed->scopes, capsule ? capsule : Py_None);
  PyObject *former = in->capsule;
  if (token && former) get_context_box(former)->context = NULL;
  if (token) in->capsule = capsule;
  Py_XDECREF(token ? former : capsule);
  Py_XDECREF(token);
  return token != NULL;
}

/* ---- Switches ---- */

/* Gives the thread the scopes of a box, whose reference is stolen; NULL: its own. */
static void switch_to_context_box(thread_record *in, PyObject *capsule) {
  PyObject *left = in->capsule;
  pd_scope_context **keep = left ? &get_context_box(left)->away : &in->shared, *former;
  pd_scope_context **take = capsule ? &get_context_box(capsule)->away : &in->shared;
  LOCK();
  pd_scope_context *stale = *keep;
  bool done = pd_scope_switch(*take, &former, NULL) == PD_OK;
  if (done) *take = NULL;
  if (done) *keep = former;
  UNLOCK();
  if (done) in->capsule = capsule;
  if (done) pd_scope_release(stale);
  Py_XDECREF(done ? left : capsule);
}

/* Gives the current context, which is a copy of that of the box, a box of its own. */
static void switch_to_new_box(thread_record *in, context_box *original) {
  PyObject *capsule = make_context_box(in->context, NULL);
  PyObject *token = capsule ? api.set(followed->scopes, capsule) : NULL;
  if (!token) {
    Py_XDECREF(capsule);
    return;
  }
  Py_DECREF(token);
  context_box *copy = get_context_box(capsule);
  copy->away = original->begins; /* the thread gets this reference, and both boxes another one */
  switch_to_context_box(in, capsule);
  copy->begins = capture_thread_scopes();
  original->begins = capture_thread_scopes();
}

/* The current box is going to be left. Native code, or another thread, may have opened or ended
 * scopes since it was made. */
static void recapture_context_scopes(const thread_record *in) {
  context_box *left = get_context_box(in->capsule);
  pd_scope_context *former = left ? left->begins : NULL;
  if (left) left->begins = capture_thread_scopes();
  pd_scope_release(former);
}

static void switch_scopes_to_context(const void *context) {
  thread_record *in = get_cached_thread_record();
  PyObject *found = NULL;
  if (!in) return;
  in->context = context;
  if (api.get(followed->scopes, NULL, &found) < 0) return;
  if (found == Py_None) Py_CLEAR(found);
  context_box *of = get_context_box(found);
  if (of && of->context != context) {
    recapture_context_scopes(in);
    switch_to_new_box(in, of);
  } else if (found != in->capsule) {
    recapture_context_scopes(in);
    Py_XINCREF(found);
    switch_to_context_box(in, found);
  }
  Py_XDECREF(found);
}

/* CPython calls this when the thread has come to a context; None: to no context. */
static int handle_context_switch_event(int event, PyObject *context) {
  PyObject *type, *error, *traceback;
  if (event != SWITCHED || !followed) return 0;
  PyErr_Fetch(&type, &error, &traceback);
  switch_scopes_to_context(context == Py_None ? NULL : context);
  PyErr_Restore(type, error, traceback);
  return 0;
}

/* The context of a thread is known when it is left and comes back. */
static bool learn_current_context(thread_record *in) {
  if (in->context) return true;
  if (!set_context_box(in, NULL)) return false; /* there is a context from now on */
  PyObject *nothing = PyObject_CallObject(followed->leave_context, NULL);
  Py_XDECREF(nothing);
  if (nothing && !in->context) PyErr_SetString(PyExc_SystemError, "no switch of contexts was seen");
  return in->context != NULL;
}

/* Notes what the current context has, after a change. */
static bool store_scopes_in_box(thread_record *in) {
  pd_scope_context *scopes = capture_thread_scopes();
  if (scopes == in->shared) { /* as without a box */
    pd_scope_release(scopes);
    pd_scope_release(in->shared);
    in->shared = NULL;
    return !in->capsule || set_context_box(in, NULL);
  }
  PyObject *capsule = make_context_box(in->context, scopes);
  return capsule ? set_context_box(in, capsule) : (PyErr_NoMemory(), false);
}

/* Ends the scope in a context that no thread is in, if it has a box. */
static void end_scope_in_context(const void *context, pd_scope number) {
  LOCK();
  context_box *of = boxes;
  while (of && !(of->away && of->context == context)) of = of->next;
  if (of) Py_INCREF(of->capsule);
  pd_scope_context *away = of ? of->away : NULL, *outer, *former;
  if (of) of->away = NULL;
  UNLOCK();
  if (!of) return;
  if (pd_scope_switch(away, &outer, NULL) == PD_OK) {
    pd_scope_pop(number, NULL);
    former = of->begins;
    of->begins = capture_thread_scopes();
    pd_scope_switch(outer, &away, NULL);
    pd_scope_release(former);
  }
  of->away = away;
  Py_DECREF(of->capsule);
}

/* ---- Functions of the Python module ---- */

static bool is_following_contexts(PyObject *module) {
  return followed && PyModule_GetState(module) == followed;
}

static PyObject *make_context_number(const thread_record *in) {
  return in ? PyLong_FromVoidPtr((void *)(uintptr_t)in->context)
            : PyLong_FromUnsignedLong(PyThread_get_thread_ident());
}

PyObject *fast_scopes_prepare_opening(PyObject *module, PyObject *nothing) {
  (void)nothing;
  if (!is_following_contexts(module)) Py_RETURN_FALSE;
  thread_record *in = get_cached_thread_record();
  if (!in) return PyErr_NoMemory();
  if (!in->capsule) {
    pd_scope_release(in->shared);
    in->shared = capture_thread_scopes();
  }
  Py_RETURN_TRUE;
}

PyObject *fast_scopes_record_opening(PyObject *module, PyObject *nothing) {
  (void)nothing;
  if (!is_following_contexts(module)) return make_context_number(NULL);
  thread_record *in = get_cached_thread_record();
  if (!in) return PyErr_NoMemory();
  return learn_current_context(in) && store_scopes_in_box(in) ? make_context_number(in) : NULL;
}

PyObject *fast_scopes_record_end(PyObject *module, PyObject *nothing) {
  (void)nothing;
  thread_record *in = is_following_contexts(module) ? get_cached_thread_record() : NULL;
  if (in && in->capsule && !store_scopes_in_box(in)) return NULL;
  Py_RETURN_NONE;
}

PyObject *fast_scopes_get_context_number(PyObject *module, PyObject *nothing) {
  (void)nothing;
  return make_context_number(is_following_contexts(module) ? get_cached_thread_record() : NULL);
}

PyObject *fast_scopes_end(PyObject *module, PyObject *arguments) {
  unsigned long long number, context;
  if (!PyArg_ParseTuple(arguments, "KK:scopes_end", &number, &context)) return NULL;
  pd_scope_pop(number, NULL); /* it may have ended with its thread */
  thread_record *in = is_following_contexts(module) ? get_cached_thread_record() : NULL;
  if (in && (uintptr_t)in->context != context)
    end_scope_in_context((void *)(uintptr_t)context, number);
  return fast_scopes_record_end(module, NULL);
}

PyObject *fast_scopes_follow_contexts(PyObject *module, PyObject *arguments) {
  fast_state *state = PyModule_GetState(module);
  unsigned long long add, clear, get, set;
  PyObject *variable, *leave_context;
  if (!PyArg_ParseTuple(arguments, "OOKKKK:scopes_follow_contexts", &variable, &leave_context, &add,
                        &clear, &get, &set)) {
    return NULL;
  }
  if (followed || PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) Py_RETURN_FALSE;
  api.add_watcher = (int (*)(watch_function))(uintptr_t)add;
  api.clear_watcher = (int (*)(int))(uintptr_t)clear;
  api.get = (int (*)(PyObject *, PyObject *, PyObject **))(uintptr_t)get;
  api.set = (PyObject * (*)(PyObject *, PyObject *))(uintptr_t)set;
  watcher = api.add_watcher(handle_context_switch_event);
  if (watcher < 0) { /* others have taken all that there may be */
    PyErr_Clear();
    Py_RETURN_FALSE;
  }
  Py_INCREF(variable);
  Py_INCREF(leave_context);
  state->scopes = variable;
  state->leave_context = leave_context;
  followed = state;
  Py_RETURN_TRUE;
}

void fast_scopes_stop_following(fast_state *state) {
  if (followed == state) {
    followed = NULL;
    if (api.clear_watcher(watcher) < 0) PyErr_Clear();
  }
  Py_CLEAR(state->scopes);
  Py_CLEAR(state->leave_context);
}
