/* What a report writes, collected without the GIL and in any interpreter. */
#include <stdlib.h>
#include <string.h>

#include "fast.h"

typedef struct text_buffer {
  char *text;
  size_t size;
  size_t capacity;
  bool memory_out;
} text_buffer;

static void append_text_to_buffer(const char *text, size_t size, void *context) {
  text_buffer *all = context;
  if (all->capacity - all->size < size) {
    size_t room = 2 * all->capacity + size;
    char *grown = realloc(all->text, room);
    all->memory_out |= !grown;
    if (!grown) return;
    all->text = grown;
    all->capacity = room;
  }
  if (size > 0) memcpy(all->text + all->size, text, size);
  all->size += size;
}

PyObject *fast_new_text_collector(PyObject *module, PyObject *nothing) {
  (void)module, (void)nothing;
  text_buffer *made = calloc(1, sizeof *made);
  if (!made) return PyErr_NoMemory();
  /* NOLINTNEXTLINE: the number is taken back by fast_pop_collected_text */
  return Py_BuildValue("KK", (unsigned long long)(uintptr_t)append_text_to_buffer,
                       (unsigned long long)(uintptr_t)made);
}

PyObject *fast_pop_collected_text(PyObject *module, PyObject *address) {
  (void)module;
  text_buffer *all = PyLong_AsVoidPtr(address);
  if (!all) return NULL;
  PyObject *text = all->memory_out ? PyErr_NoMemory()
                                   : PyBytes_FromStringAndSize(all->text, (Py_ssize_t)all->size);
  free(all->text);
  free(all);
  return text;
}
