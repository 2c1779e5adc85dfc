/* paddle_flags._bridges: the bridges to native flag libraries, for paddle_flags.bridge. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define PD_NO_MODULE_RECORD
#include <pd_flags/bridge_abseil.hpp>
#include <pd_flags/bridge_c10.hpp>
#include <pd_flags/bridge_gflags.hpp>
#include <pd_flags/bridge_paddle.hpp>

#include <cstring>

namespace {

using pd::bridge_detail::outcome;

struct library {
  const char *name;
  outcome (*join)(const std::string &name_space);
};

const library libraries[] = {
    {"abseil", pd::bridge_detail::abseil_flags},
    {"c10", pd::bridge_detail::c10_flags},
    {"gflags", [](const std::string &space) { return pd::bridge_detail::gflags_flags(space); }},
    {"paddle", pd::bridge_detail::paddle_flags},
};

/* Texts of other libraries need not be UTF-8. */
PyObject *decode_lossy_text(const std::string &text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}

/* Appends a new reference, or drops it. */
bool append_and_release(PyObject *list, PyObject *item) {
  bool done = item && PyList_Append(list, item) == 0;
  Py_XDECREF(item);
  return done;
}

/* Appends texts to a list, which may be NULL. Returns it, or NULL if memory is out. */
PyObject *append_texts(PyObject *list, const std::vector<std::string> &texts) {
  for (const std::string &text : texts) {
    if (list && !append_and_release(list, decode_lossy_text(text))) Py_CLEAR(list);
  }
  return list;
}

PyObject *build_text_list(const std::vector<std::string> &texts) {
  return append_texts(PyList_New(0), texts);
}

/* Py_BuildValue() releases all objects if one of them is NULL. */
PyObject *build_pair_list(const std::vector<std::pair<std::string, std::string>> &pairs) {
  PyObject *list = PyList_New(0);
  for (const auto &pair : pairs) {
    if (!list) break;
    PyObject *item =
        Py_BuildValue("NN", decode_lossy_text(pair.first), decode_lossy_text(pair.second));
    if (!append_and_release(list, item)) Py_CLEAR(list);
  }
  return list;
}

PyObject *build_join_result(const outcome &out) {
  return Py_BuildValue("nNNN", static_cast<Py_ssize_t>(out.registries),
                       append_texts(build_text_list(out.joined), out.known),
                       build_pair_list(out.left_out), build_text_list(out.rejected));
}

PyObject *join_library(PyObject *, PyObject *arguments) {
  const char *name, *name_space;
  if (!PyArg_ParseTuple(arguments, "ss:join", &name, &name_space)) return nullptr;
  for (const library &each : libraries) {
    if (std::strcmp(each.name, name) != 0) continue;
    try {
      outcome out = each.join(name_space);
      return PyErr_Occurred() ? nullptr : build_join_result(out);
    } catch (const std::exception &error) {
      PyErr_Format(PyExc_RuntimeError, "bridge(%s): %s", name, error.what());
      return nullptr;
    }
  }
  PyErr_Format(PyExc_ValueError, "%s: expected abseil, c10, gflags or paddle", name);
  return nullptr;
}

int store_load_count(dl_phdr_info *info, size_t, void *context) {
  *static_cast<unsigned long long *>(context) = info->dlpi_adds;
  return 1; /* all images have the same number */
}

PyObject *count_library_loads(PyObject *, PyObject *) {
  unsigned long long count = 0;
  dl_iterate_phdr(store_load_count, &count);
  return PyLong_FromUnsignedLongLong(count);
}

PyMethodDef methods[] = {
    {"join", join_library, METH_VARARGS,
     "join(library, namespace): the registries found, the names of flags that have joined, now"
     " or before, names and reasons of those left out, and errors about pending values."},
    {"count_library_loads", count_library_loads, METH_NOARGS,
     "The number of libraries that were loaded until now."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef_Slot slots[] = {
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, nullptr}};

PyModuleDef module = {PyModuleDef_HEAD_INIT,
                      "_bridges",
                      "Bridges to native flag libraries.",
                      0,
                      methods,
                      slots,
                      nullptr,
                      nullptr,
                      nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__bridges(void) { return PyModuleDef_Init(&module); }
