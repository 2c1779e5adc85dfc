#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "report.h"

/* Makes room for `more` bytes and a NUL; false if memory is out. */
static bool make_room(pd__out *out, size_t more) {
  size_t needed = out->length + more + 1;
  if (needed <= out->capacity) return true;
  size_t capacity = needed < 2 * out->capacity ? 2 * out->capacity : needed + 1024;
  char *text = pd__arena_realloc(out->arena, out->text, out->length, capacity);
  if (!text) return false;
  out->text = text;
  out->capacity = capacity;
  return true;
}

void pd__out_add(pd__out *out, const char *text, size_t length) {
  if (length == 0 || !make_room(out, length)) return;
  memcpy(out->text + out->length, text, length);
  out->length += length;
  out->text[out->length] = '\0';
}

void pd__out_add_text(pd__out *out, const char *text) { pd__out_add(out, text, strlen(text)); }

void pd__out_add_format(pd__out *out, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  out->arena->failed |= length < 0;
  if (length < 0 || !make_room(out, (size_t)length)) return;
  va_start(arguments, format);
  vsnprintf(out->text + out->length, (size_t)length + 1, format, arguments);
  va_end(arguments);
  out->length += (size_t)length;
}

void pd__out_add_hex_escape(pd__out *out, char byte) {
  pd__out_add_format(out, "\\x%02x", (unsigned char)byte);
}

bool pd__out_try_add_escaped(pd__out *out, char byte, char quote) {
  static const char bytes[] = "\n\t\r\\", letters[] = "ntr\\";
  const char *named = strchr(bytes, byte);
  if (!named && byte != quote) return false;
  pd__out_add(out, (char[]){'\\', named ? letters[named - bytes] : quote}, 2);
  return true;
}

void pd__out_clear(pd__out *out) {
  out->length = 0;
  pd__out_add(out, "", 1); /* a cleared text is "", not NULL */
  out->length = 0;
}

pd_status pd__out_send_to_writer(const pd__out *out, pd__operation *operation, pd_writer write,
                                 void *context, pd_error *err) {
  if (operation->arena.failed) return pd__fail_memory(err);
  /* Pin the module of the writer while it is called. The caller's own module cannot be unloaded
   * meanwhile. */
  pd_module *module = pd__module_find_or_add((const void *)(uintptr_t)write);
  pd__operation_lock(operation);
  while (pd__pin_module(operation, module) == PD__UNPINNED) pd__pins_acquire(operation);
  pd__operation_unlock(operation);
  if (out->length > 0) write(out->text, out->length, context);
  return PD_OK;
}
