/* A command line: the texts of its tokens, and the arguments that remain. */
#include <stdlib.h>

#include "fast.h"

/* Of a list of tokens that no other code uses: their texts, and where the library got them. */
typedef struct token_texts {
  PyObject *tokens; /* borrowed */
  PyObject *bytes;  /* list: owns the texts */
  char **argv;      /* changed by the library */
  char **given;     /* as `argv` was */
} token_texts;

/* Encodes as UTF-8; a lone surrogate becomes the byte that it stands for. NULL if it isn't
 * plain. */
static PyObject *encode_token(PyObject *word) {
  PyObject *bytes = PyUnicode_AsUTF8String(word);
  if (bytes) return bytes;
  PyErr_Clear();
  return PyUnicode_AsEncodedString(word, "utf-8", "surrogateescape");
}

static bool add_token(token_texts *made, Py_ssize_t index) {
  PyObject *word = PyList_GetItem(made->tokens, index);
  PyObject *bytes = word && PyUnicode_Check(word) ? encode_token(word) : NULL;
  bool added = bytes && PyBytes_AsStringAndSize(bytes, &made->argv[index], NULL) == 0 &&
               PyList_Append(made->bytes, bytes) == 0;
  Py_XDECREF(bytes);
  made->given[index] = made->argv[index];
  PyErr_Clear();
  return added;
}

static bool fill_argv(token_texts *made, Py_ssize_t count) {
  if (count > INT_MAX) return false;
  made->bytes = PyList_New(0);
  made->argv = calloc((size_t)count + 1, sizeof *made->argv);
  made->given = calloc((size_t)count + 1, sizeof *made->given);
  if (!made->bytes) PyErr_Clear();
  bool filled = made->bytes && made->argv && made->given;
  for (Py_ssize_t i = 0; filled && i < count; i++) filled = add_token(made, i);
  return filled;
}

/* Returns the remaining arguments, without the program, as the objects that they came from. They
 * are nearly in the order in which they were given, so each is looked for behind the last one. The
 * library may have added a "--" of its own. */
static PyObject *make_remaining_list(const token_texts *made, int argc) {
  PyObject *rest = PyList_New(argc > 1 ? argc - 1 : 0);
  Py_ssize_t count = PyList_Size(made->tokens), next = 1;
  for (int i = 1; rest && i < argc; i++) {
    Py_ssize_t passed = 0;
    while (passed < count && made->given[(next + passed) % count] != made->argv[i]) passed++;
    bool own = passed == count;
    if (!own) next = (next + passed) % count + 1;
    PyObject *object =
        own ? fast_decode_text(made->argv[i]) : Py_XNewRef(PyList_GetItem(made->tokens, next - 1));
    if (!object || PyList_SetItem(rest, i - 1, object) < 0) Py_CLEAR(rest);
  }
  return rest;
}

static PyObject *parse_argv_without_gil(token_texts *made, Py_ssize_t count,
                                        const pd_parse_options *options, pd_error *err) {
  int argc = (int)count;
  fast_hold_environment(true);
  PyThreadState *thread = release_gil();
  pd_status status = pd_parse_argv(&argc, made->argv, options, err);
  retake_gil(thread);
  pd_environment_release();
  if (status != PD_OK) return PyLong_FromLong(status);
  return make_remaining_list(made, argc);
}

/* parse_argv(tokens, options, err), the last two as addresses. Returns the remaining arguments, the
 * status if it isn't PD_OK, or None if a token isn't plain. */
PyObject *fast_parse_argv(PyObject *module, PyObject *arguments) {
  unsigned long long options, err;
  token_texts made = {NULL, NULL, NULL, NULL};
  PyObject *result = Py_None;
  (void)module;
  if (!PyArg_ParseTuple(arguments, "O!KK:parse_argv", &PyList_Type, &made.tokens, &options, &err)) {
    return NULL;
  }
  Py_ssize_t count = PyList_Size(made.tokens);
  if (fill_argv(&made, count)) {
    result = parse_argv_without_gil(&made, count, (const pd_parse_options *)(uintptr_t)options,
                                    (pd_error *)(uintptr_t)err);
  } else {
    Py_INCREF(result);
  }
  Py_XDECREF(made.bytes);
  free(made.argv);
  free(made.given);
  return result;
}
