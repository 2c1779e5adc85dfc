/* Errors of the module. */
#include "say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

pd_status pd__say(pd_error *err, pd_status status, const char *format, ...) {
  if (!err) return status;
  va_list arguments;
  va_start(arguments, format);
  err->status = status;
  vsnprintf(err->message, sizeof err->message, format, arguments);
  va_end(arguments);
  return status;
}

pd_status pd__say_errno(pd_error *err, const char *what, const char *path) {
  char text[128] = "";
  const char *reason = strerror_r(errno, text, sizeof text); /* GNU's */
  return pd__say(err, PD_ERR_FILE, "%s: %.400s: %s", path, what, reason);
}

void pd__warn(const char *format, ...) {
  char text[1400]; /* a message of an error, and where it comes from */
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  pd_warning_report(text, NULL);
}
