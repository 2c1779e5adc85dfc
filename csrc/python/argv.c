/* A command line: its tokens in one block of memory, and the arguments that remain. */
#include <stdlib.h>
#include <string.h>

#include "fast.h"

/* In the block each token follows its index, so that a pointer to it identifies the object that it
 * came from. */
typedef struct argument_block {
  PyObject *tokens; /* borrowed; a list that no other code uses */
  char **argv;      /* offsets into the block while that grows */
  char *block;
  size_t used;
  size_t capacity;
} argument_block;

/* Encodes as UTF-8; a lone surrogate becomes the byte that it stands for. NULL if it isn't
 * plain. */
static PyObject *encode_token(PyObject *word) {
  PyObject *bytes = PyUnicode_AsUTF8String(word);
  if (bytes) return bytes;
  PyErr_Clear();
  return PyUnicode_AsEncodedString(word, "utf-8", "surrogateescape");
}

static bool reserve_bytes(argument_block *made, size_t size) {
  if (made->capacity - made->used >= size) return true;
  size_t room = 2 * made->capacity + size;
  char *block = realloc(made->block, room);
  if (!block) return false;
  made->block = block;
  made->capacity = room;
  return true;
}

static bool add_token(argument_block *made, uint32_t index) {
  PyObject *word = PyList_GetItem(made->tokens, index);
  if (!word || !PyUnicode_Check(word)) return false;
  PyObject *bytes = encode_token(word);
  char *text = NULL;
  bool added = bytes && PyBytes_AsStringAndSize(bytes, &text, NULL) == 0;
  size_t size = added ? strlen(text) + 1 : 0;
  added = added && reserve_bytes(made, sizeof index + size);
  if (added) {
    memcpy(made->block + made->used, &index, sizeof index);
    memcpy(made->block + made->used + sizeof index, text, size);
    made->argv[index] = (char *)(made->used + sizeof index);
    made->used += sizeof index + size;
  }
  Py_XDECREF(bytes);
  PyErr_Clear();
  return added;
}

static bool fill_argv(argument_block *made, Py_ssize_t count) {
  made->argv = malloc(((size_t)count + 1) * sizeof *made->argv);
  if (!made->argv || count > INT_MAX) return false;
  for (Py_ssize_t i = 0; i < count; i++) {
    if (!add_token(made, (uint32_t)i)) return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) made->argv[i] = made->block + (size_t)made->argv[i];
  made->argv[count] = NULL;
  return true;
}

/* Returns the object that a token came from. The library may have added a "--" of its own. */
static PyObject *get_token_object(const argument_block *made, const char *word) {
  uint32_t index;
  if (word < made->block || word >= made->block + made->used) return fast_make_text(word);
  memcpy(&index, word - sizeof index, sizeof index);
  PyObject *object = PyList_GetItem(made->tokens, index);
  return Py_XNewRef(object);
}

/* Returns the remaining arguments, without the program. */
static PyObject *make_remaining_list(const argument_block *made, int argc) {
  PyObject *rest = PyList_New(argc > 1 ? argc - 1 : 0);
  for (int i = 1; rest && i < argc; i++) {
    PyObject *object = get_token_object(made, made->argv[i]);
    if (!object || PyList_SetItem(rest, i - 1, object) < 0) Py_CLEAR(rest);
  }
  return rest;
}

static PyObject *parse_tokens(argument_block *made, Py_ssize_t count,
                              const pd_parse_options *options, pd_error *err) {
  int argc = (int)count;
  pd_environment_hold(true);
  PyThreadState *thread = release_gil();
  pd_status status = pd_parse_argv(&argc, made->argv, options, err);
  retake_gil(thread);
  pd_environment_release();
  if (status != PD_OK) return PyLong_FromLong(status);
  return make_remaining_list(made, argc);
}

/* call_holding(function, *arguments): returns what the function returns, of cffi or another that
 * lets go of the GIL. Other threads may change the environment then, and the library reads a copy.
 */
PyObject *fast_call_holding(PyObject *module, PyObject *arguments) {
  (void)module;
  PyObject *function = PyTuple_GetItem(arguments, 0);
  PyObject *rest = function ? PyTuple_GetSlice(arguments, 1, PyTuple_Size(arguments)) : NULL;
  if (!rest) return NULL;
  pd_environment_hold(false);
  PyObject *result = PyObject_CallObject(function, rest);
  pd_environment_release();
  Py_DECREF(rest);
  return result;
}

/* parse_argv(tokens, options, err), the last two as addresses. Returns the remaining arguments, the
 * status if it isn't PD_OK, or None if a token isn't plain. */
PyObject *fast_parse_argv(PyObject *module, PyObject *arguments) {
  unsigned long long options, err;
  argument_block made = {NULL, NULL, NULL, 0, 0};
  PyObject *result = Py_None;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "O!KK:parse_argv", &PyList_Type, &made.tokens, &options, &err)) {
    return NULL;
  }
  Py_ssize_t count = PyList_Size(made.tokens);
  if (fill_argv(&made, count)) {
    result = parse_tokens(&made, count, (const pd_parse_options *)(uintptr_t)options,
                          (pd_error *)(uintptr_t)err);
  } else {
    Py_INCREF(result);
  }
  free(made.argv);
  free(made.block);
  return result;
}
