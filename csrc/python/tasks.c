/* Scopes that follow Python's contexts (contextvars), and so its tasks: from CPython 3.14 on, in
 * the main interpreter.
 *
 * A context in which Python has opened scopes has a box, as the value of a context variable. While
 * a thread is in that context the thread has its scopes, while it isn't the box keeps them. All
 * other contexts share the thread's own scopes, as all do where contexts aren't followed. A copy of
 * a context has the same value; its own box is made when a thread first comes to it.
 *
 * The watcher raises nothing, and is also called while an exception is on its way.
 *
 * Without a GIL, threads come to copies of one context at once, and one thread may end a scope of
 * a context that another one comes to: the lock guards the fields of all boxes. Whoever holds it
 * calls neither Python nor what may call back. */
#include <stdlib.h>

#include "fast.h"

/* The scopes of one Python context. References to contexts of the library are owned. */
typedef struct context_box {
  const void *context;            /* whose it is, only to be compared; atomic; NULL: that has
                                     another box */
  pd_scope_context *begins;       /* what a copy of the context begins with */
  pd_scope_context *away;         /* its scopes while no thread is in it, else NULL */
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

static fast_state *followed; /* atomic; of the main interpreter; NULL: contexts aren't followed */
static int watcher;
static context_box *boxes;
static size_t freed_records; /* so far */

/* Saves a look-up at each switch. Valid as long as no record was freed. */
static _Thread_local struct {
  PyThreadState *of;
  size_t freed;
  thread_record *found;
} latest;

static fast_mutex boxes_lock;

/* ---- Boxes and thread records ---- */

static void free_context_box(PyObject *capsule) {
  context_box *gone = PyCapsule_GetPointer(capsule, NULL);
  FAST_LOCK(&boxes_lock);
  *gone->at = gone->next;
  if (gone->next) gone->next->at = gone->at;
  FAST_UNLOCK(&boxes_lock);
  pd_scope_release(gone->begins);
  pd_scope_release(gone->away);
  free(gone);
}

static fast_state *get_followed(void) { return __atomic_load_n(&followed, __ATOMIC_ACQUIRE); }

static context_box *get_context_box(PyObject *capsule) {
  return capsule ? PyCapsule_GetPointer(capsule, NULL) : NULL;
}

static bool is_box_of_context(const context_box *box, const void *context) {
  return __atomic_load_n(&box->context, __ATOMIC_RELAXED) == context;
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
  FAST_LOCK(&boxes_lock);
  *made = (context_box){context, begins, NULL, boxes, &boxes};
  if (boxes) boxes->at = &made->next;
  boxes = made;
  FAST_UNLOCK(&boxes_lock);
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
  PyObject *key = get_followed()->scopes, *found = dict ? fast_dict_get(dict, key) : NULL;
  if (!found) return dict ? add_thread_record(dict, key) : NULL;
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
  PyObject *token = api.set(get_followed()->scopes, capsule ? capsule : Py_None);
  PyObject *former = in->capsule;
  if (token && former) __atomic_store_n(&get_context_box(former)->context, NULL, __ATOMIC_RELAXED);
  if (token) in->capsule = capsule;
  Py_XDECREF(token ? former : capsule);
  Py_XDECREF(token);
  return token != NULL;
}

/* ---- Switches ---- */

/* Gives the thread the scopes of a box, whose reference is stolen; NULL: its own. A new box, of a
 * copy of the context of `original`, gets what that copy begins with. */
static void switch_to_context_box(thread_record *in, PyObject *capsule, context_box *original) {
  PyObject *left = in->capsule;
  context_box *box = get_context_box(capsule);
  pd_scope_context **keep = left ? &get_context_box(left)->away : &in->shared, *former;
  pd_scope_context **take = original ? &original->begins : box ? &box->away : &in->shared;
  FAST_LOCK(&boxes_lock);
  pd_scope_context *stale = *keep;
  bool done = pd_scope_switch(*take, &former, NULL) == PD_OK;
  if (done) *take = NULL;
  if (done) *keep = former;
  if (done && original) { /* the thread has the reference, and both boxes get another one */
    box->begins = capture_thread_scopes();
    original->begins = capture_thread_scopes();
  }
  FAST_UNLOCK(&boxes_lock);
  if (done) in->capsule = capsule;
  if (done) pd_scope_release(stale);
  Py_XDECREF(done ? left : capsule);
}

/* Gives the current context, which is a copy of that of the box, a box of its own. */
static void switch_to_new_box(thread_record *in, context_box *original) {
  PyObject *capsule = make_context_box(in->context, NULL);
  PyObject *token = capsule ? api.set(get_followed()->scopes, capsule) : NULL;
  if (token) {
    Py_DECREF(token);
    switch_to_context_box(in, capsule, original);
  } else {
    Py_XDECREF(capsule);
  }
}

/* The current box is going to be left. Native code, or another thread, may have opened or ended
 * scopes since it was made. */
static void recapture_context_scopes(const thread_record *in) {
  context_box *left = get_context_box(in->capsule);
  if (!left) return;
  pd_scope_context *scopes = capture_thread_scopes();
  FAST_LOCK(&boxes_lock);
  pd_scope_context *former = left->begins;
  left->begins = scopes;
  FAST_UNLOCK(&boxes_lock);
  pd_scope_release(former);
}

static void switch_scopes_to_context(const void *context) {
  thread_record *in = get_cached_thread_record();
  PyObject *found = NULL;
  if (!in) return;
  in->context = context;
  if (api.get(get_followed()->scopes, NULL, &found) < 0) return;
  if (found == Py_None) Py_CLEAR(found);
  context_box *of = get_context_box(found);
  if (of && !is_box_of_context(of, context)) {
    recapture_context_scopes(in);
    switch_to_new_box(in, of);
  } else if (found != in->capsule) {
    recapture_context_scopes(in);
    Py_XINCREF(found);
    switch_to_context_box(in, found, NULL);
  }
  Py_XDECREF(found);
}

/* CPython calls this when the thread has come to a context; None: to no context. */
static int handle_context_switch_event(int event, PyObject *context) {
  PyObject *type, *error, *traceback;
  if (event != SWITCHED || !get_followed()) return 0;
  PyErr_Fetch(&type, &error, &traceback);
  switch_scopes_to_context(context == Py_None ? NULL : context);
  PyErr_Restore(type, error, traceback);
  return 0;
}

/* The context of a thread is known when it is left and comes back. */
static bool learn_current_context(thread_record *in) {
  if (in->context) return true;
  if (!set_context_box(in, NULL)) return false; /* there is a context from now on */
  PyObject *nothing = PyObject_CallObject(get_followed()->leave_context, NULL);
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

/* Returns the box of a context that no thread is in; NULL: there is none. The lock is held. */
static context_box *find_left_box(const void *context) {
  context_box *of = boxes;
  while (of && !(of->away && is_box_of_context(of, context))) of = of->next;
  return of;
}

/* Gives this thread the scopes of a context that no thread is in. Returns false if it has none. */
static bool borrow_scopes_of_context(const void *context, pd_scope_context **outer) {
  FAST_LOCK(&boxes_lock);
  context_box *of = find_left_box(context);
  bool done = of && pd_scope_switch(of->away, outer, NULL) == PD_OK;
  if (done) of->away = capture_thread_scopes();
  FAST_UNLOCK(&boxes_lock);
  return done;
}

/* Gives a context the scopes that this thread has now. Returns false if a thread has come to it
 * since it had those of `before`. */
static bool return_scopes_to_context(const void *context, const pd_scope_context *before) {
  pd_scope_context *away = capture_thread_scopes(), *begins = capture_thread_scopes(), *former;
  FAST_LOCK(&boxes_lock);
  context_box *of = find_left_box(context);
  bool done = of && of->away == before;
  if (done) {
    former = of->away, of->away = away, away = former;
    former = of->begins, of->begins = begins, begins = former;
  }
  FAST_UNLOCK(&boxes_lock);
  pd_scope_release(away);
  pd_scope_release(begins);
  return done;
}

/* Ends the scope in a context that no thread is in. Returns false if a thread is, or if it has no
 * box. */
static bool end_scope_in_context(const void *context, pd_scope number) {
  pd_scope_context *outer, *before, *after = NULL;
  if (!borrow_scopes_of_context(context, &outer)) return false;
  before = capture_thread_scopes();
  pd_scope_pop(number, NULL);
  bool done = return_scopes_to_context(context, before);
  pd_scope_release(before);
  pd_scope_switch(outer, &after, NULL);
  pd_scope_release(after);
  return done;
}

/* ---- Functions of the Python module ---- */

static bool is_following_contexts(PyObject *module) {
  fast_state *state = get_followed();
  return state && PyModule_GetState(module) == state;
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
  thread_record *in = is_following_contexts(module) ? get_cached_thread_record() : NULL;
  bool left = in && (uintptr_t)in->context != context;
  /* A pop ends the scope in this thread or else in any that has it, which may be in a copy of the
   * context. The scope may have ended with its thread. */
  if (!left || !end_scope_in_context((void *)(uintptr_t)context, number))
    pd_scope_pop(number, NULL);
  return fast_scopes_record_end(module, NULL);
}

/* Returns false if CPython has no watcher left. */
static bool start_following(fast_state *state, PyObject *variable, PyObject *leave_context) {
  watcher = api.add_watcher(handle_context_switch_event);
  if (watcher < 0) {
    PyErr_Clear();
    return false;
  }
  state->scopes = Py_NewRef(variable);
  state->leave_context = Py_NewRef(leave_context);
  __atomic_store_n(&followed, state, __ATOMIC_RELEASE);
  return true;
}

PyObject *fast_scopes_follow_contexts(PyObject *module, PyObject *arguments) {
  unsigned long long add, clear, get, set;
  PyObject *variable, *leave_context;
  bool started = false;
  if (!PyArg_ParseTuple(arguments, "OOKKKK:scopes_follow_contexts", &variable, &leave_context, &add,
                        &clear, &get, &set)) {
    return NULL;
  }
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) != 0) Py_RETURN_FALSE;
  FAST_BEGIN_SECTION(module);
  if (!get_followed()) {
    api.add_watcher = (int (*)(watch_function))(uintptr_t)add;
    api.clear_watcher = (int (*)(int))(uintptr_t)clear;
    api.get = (int (*)(PyObject *, PyObject *, PyObject **))(uintptr_t)get;
    api.set = (PyObject * (*)(PyObject *, PyObject *))(uintptr_t)set;
    started = start_following(PyModule_GetState(module), variable, leave_context);
  }
  FAST_END_SECTION();
  return PyBool_FromLong(started);
}

void fast_scopes_stop_following(fast_state *state) {
  if (get_followed() == state) {
    __atomic_store_n(&followed, NULL, __ATOMIC_RELEASE);
    if (api.clear_watcher(watcher) < 0) PyErr_Clear();
  }
  Py_CLEAR(state->scopes);
  Py_CLEAR(state->leave_context);
}
