/* Errors and warnings. */
#include "socket.h"

#include <stdarg.h>
#include <stdio.h>

pd_status pd__fail(pd_error *err, pd_status status, const char *format, ...) {
  if (!err) return status;
  va_list arguments;
  va_start(arguments, format);
  err->status = status;
  vsnprintf(err->message, sizeof err->message, format, arguments);
  va_end(arguments);
  return status;
}

pd_status pd__fail_memory(pd_error *err) {
  return pd__fail(err, PD_ERR_MEMORY, "%s", pd_status_text(PD_ERR_MEMORY));
}

pd_status pd__fail_errno(pd_error *err, const char *what, const char *path) {
  return pd__fail(err, PD_ERR_FILE, "%s: %.400s: %m", path, what);
}

void pd__warn(const char *format, ...) {
  char text[1400]; /* a message of an error, and where it comes from */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  pd_warning_report(text, NULL);
}
