/* Overrides: values on top of a flag's own, removable in any order. */
#include <stdlib.h>

#include "../base/numbered.h"
#include "change.h"

/* What one override does. */
typedef struct override {
  size_t used;
  pd__overridden flags[]; /* one for each flag that it has values for; `used` of them count */
} override;

static pd__numbered overrides;

pd_override pd__override_new(size_t count) {
  override *made = calloc(1, sizeof *made + count * sizeof *made->flags);
  pd_override number = made ? pd__numbered_add(&overrides, made) : 0;
  if (!number) free(made);
  return number;
}

void pd__override_give(pd_flag *flag, pd_override number, pd_value value, const pd_origin *origin) {
  pd_origin place = {PD_SOURCE_OVERRIDE, origin->line, origin->place, origin->column};
  pd__extra *extra = pd__flag_extra(flag); /* made before the commit */
  pd__overridden *top = extra->overrides;
  if (!top || top->number != number) {
    override *one = pd__numbered_find(&overrides, number);
    pd__overridden *fresh = &one->flags[one->used++];
    *fresh = (pd__overridden){.flag = flag, .number = number, .below = top};
    if (top) top->above = fresh;
    if (!top) extra->base = pd__flag_value(flag);
    extra->overrides = top = fresh;
  }
  pd__entries_push(&top->values, pd__entry_take(value, &place));
}

/* The value below shows when it is published; while the flag has no definition that can't be. */
void pd__override_drop(pd__overridden *from) {
  pd_flag *flag = from->flag;
  pd__extra *extra = flag->extra;
  while (from->values) {
    pd__entry *entry = from->values;
    from->values = entry->next;
    pd__entry_free(entry);
  }
  if (from->below) from->below->above = from->above;
  *(from->above ? &from->above->below : &extra->overrides) = from->below;
  from->flag = NULL;
  if (extra->overrides) return;
  pd__cell_store(flag->type, pd__flag_address(flag, flag->type), extra->base);
}

/* ---- For hosts ---- */

pd_status pd__do_override_push(const pd_assignment *items, size_t count, const pd_origin *origin,
                               pd_error_list *errors, pd_override *out, pd_error *err) {
  if (!items && count > 0) return pd__fail_null(err, "items");
  if (!out) return pd__fail_null(err, "out");
  pd_origin place = {PD_SOURCE_OVERRIDE, 0, NULL, 0};
  if (origin) place = (pd_origin){place.source, origin->line, origin->place, origin->column};
  pd__report report = {.list = errors, .first = err};
  pd__changes changes;
  PD__OPERATION(operation);
  pd__operation_begin(&operation);
  pd__changes_begin(&changes, &operation, &report);
  changes.pushes = true;
  pd__changes_add_all(&changes, items, count, &place);
  pd_status status = pd__changes_finish(&changes);
  if (status == PD_OK) *out = changes.override;
  pd__operation_end(&operation);
  return status;
}

/* With the lock. */
static pd_status pop(pd__operation *operation, pd_override number, override *one, pd_error *err) {
  pd__report report = {.first = err};
  pd__changes changes;
  pd__changes_begin(&changes, operation, &report);
  changes.forced = true;
  for (size_t i = 0; i < one->used; i++) {
    if (one->flags[i].flag) pd__changes_pop(&changes, &one->flags[i]);
  }
  pd_status status = pd__changes_finish(&changes);
  if (status != PD_OK) return status;
  pd__numbered_remove(&overrides, number);
  free(one);
  return PD_OK;
}

pd_status pd__do_override_pop(pd_override number, pd_error *err) {
  PD__OPERATION(operation);
  pd__operation_begin(&operation);
  override *one = pd__numbered_find(&overrides, number);
  pd_status status = PD_OK;
  if (one) {
    status = pop(&operation, number, one, err);
  } else {
    status =
        pd__fail(err, PD_ERR_ARGUMENT, "no override has the number %llu, or it is popped already",
                 (unsigned long long)number);
  }
  pd__operation_end(&operation);
  return status;
}
