/* A value for a flag that is being defined. */
#include "definition.h"

void pd__settle(pd__operation *operation, pd_flag *node, const char *text, const pd_origin *origin,
                uint32_t literal, pd__report *report) {
  pd_error err, wrong;
  pd__report own = {.list = report->list, .first = &err};
  pd__changes changes;
  pd__changes_begin(&changes, operation, &own);
  changes.early = true;
  if (pd__changes_try(&changes, node, text, (pd_value){0}, origin, literal, &wrong) != PD_OK) {
    pd__report_add(&own, &wrong);
  }
  if (pd__changes_finish(&changes) == PD_OK || report->status != PD_OK) return;
  report->status = own.status;
  if (report->first) *report->first = err;
}
