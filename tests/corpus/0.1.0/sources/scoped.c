/* Flags with values of one thread, which this module opens and ends by the table of its host. */
#define PD_HEADER_ONLY
#include <pd_flags.h>
#include "export.h"

PD_DEFINE_SCOPED_int32(s_number, 5, "A number", .min = 0, .max = 9);
PD_DEFINE_SCOPED_string(s_text, "five", "A text");
PD_DEFINE_SCOPED_bool(s_bool, true, "A bool");
PD_DEFINE_SCOPED_double(s_double, 0.5, "A double");
PD_IMPORT_SCOPED_uint64(s_import, 7);

static pd_scope scope;
static pd_scope_context *context;

EXPORT int begin(void);
EXPORT int begin(void) {
  pd_assignment items[] = {{PD_SCOPED_FLAG(s_number), "8", PD_TYPE_int32, {0}},
                           {PD_SCOPED_FLAG(s_text), "eight", PD_TYPE_string, {0}}};
  return (int)pd_scope_push(items, 2, NULL, NULL, &scope, NULL);
}
EXPORT int end(void);
EXPORT int end(void) { return (int)pd_scope_pop(scope, NULL); }
EXPORT int attach(void);
EXPORT int attach(void) {
  pd_status status = pd_scope_capture(&context, NULL);
  if (status == PD_OK) status = pd_scope_pop(scope, NULL);
  if (status == PD_OK) status = pd_scope_attach(context, &scope, NULL);
  pd_scope_release(context);
  return (int)status;
}
EXPORT int detach(void);
EXPORT int detach(void) { return (int)pd_scope_detach(scope, NULL); }
EXPORT int number(void);
EXPORT int number(void) { return PD_SCOPED(s_number); }
EXPORT const char *text(void);
EXPORT const char *text(void) { return PD_SCOPED(s_text); }
EXPORT int others(void);
EXPORT int others(void) {
  return PD_SCOPED(s_bool) && PD_SCOPED(s_double) == 0.5 && PD_SCOPED(s_import) == 7;
}
