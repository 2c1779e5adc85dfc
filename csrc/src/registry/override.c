/* Overrides: values on top of a flag's own, removable in any order. */
#include <stdlib.h>

#include "change.h"

/* What one override does. */
typedef struct override {
  pd_override number;
  bool popped;
  size_t used;
  pd__overridden *flags; /* one for each that it was made for; `used` of them do something */
} override;

/* In the order of their numbers. Those that are popped stay until the array is tidied. */
static struct {
  override *items;
  size_t count, capacity, popped;
} overrides;

static override *find(pd_override number) {
  size_t low = 0, high = overrides.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    override *at = &overrides.items[middle];
    if (at->number == number) return at->popped ? NULL : at;
    if (at->number < number) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return NULL;
}

static bool make_room(void) {
  if (overrides.count < overrides.capacity) return true;
  size_t capacity = overrides.capacity ? 2 * overrides.capacity : 16;
  override *items = realloc(overrides.items, capacity * sizeof *items);
  if (!items) return false;
  overrides.items = items;
  overrides.capacity = capacity;
  return true;
}

pd_override pd__override_new(size_t count) {
  static pd_override last;
  pd__overridden *flags = calloc(count + 1, sizeof *flags);
  if (!flags || !make_room()) {
    free(flags);
    return 0;
  }
  overrides.items[overrides.count++] = (override){.number = ++last, .flags = flags};
  return last;
}

static void tidy(void) {
  size_t kept = 0;
  if (2 * ++overrides.popped <= overrides.count) return;
  for (size_t i = 0; i < overrides.count; i++) {
    if (!overrides.items[i].popped) overrides.items[kept++] = overrides.items[i];
  }
  overrides.count = kept;
  overrides.popped = 0;
}

static void forget(override *one) {
  free(one->flags);
  one->flags = NULL;
  one->popped = true;
  tidy();
}

void pd__override_give(pd_flag *flag, pd_override number, pd_value value, const pd_origin *origin) {
  pd_origin place = {PD_SOURCE_OVERRIDE, origin->line, origin->place, origin->column};
  pd__extra *extra = pd__flag_extra(flag); /* made when the change was prepared */
  pd__overridden *top = extra->overrides;
  if (!top || top->number != number) {
    override *one = find(number);
    pd__overridden *fresh = &one->flags[one->used++];
    *fresh = (pd__overridden){.flag = flag, .number = number, .below = top};
    if (top) top->above = fresh;
    if (!top) extra->base = pd__flag_value(flag);
    extra->overrides = top = fresh;
  }
  pd__entries_push(&top->values, pd__entry_take(value, &place));
}

void pd__override_drop(pd__overridden *from) {
  pd_flag *flag = from->flag;
  while (from->values) {
    pd__entry *entry = from->values;
    from->values = entry->next;
    pd__entry_free(entry);
  }
  if (from->below) from->below->above = from->above;
  if (from->above) {
    from->above->below = from->below;
  } else {
    flag->extra->overrides = from->below;
  }
  from->flag = NULL;
  /* The value below shows again; with nothing assigned there, publishing gives the default. */
  if (!flag->extra->overrides) {
    pd__cell_store(flag->type, pd__flag_address(flag, flag->type), flag->extra->base);
  }
}

/* ---- For hosts ---- */

pd_status pd__do_override_push(const pd_assignment *assignments, size_t count,
                               const pd_origin *origin, pd_error_list *errors, pd_override *out,
                               pd_error *err) {
  if (!assignments && count > 0) return pd__fail_null(err, "assignments");
  if (!out) return pd__fail_null(err, "out");
  pd_origin place = {PD_SOURCE_OVERRIDE, origin ? origin->line : 0, origin ? origin->place : NULL,
                     origin ? origin->column : 0};
  pd__report report = {.list = errors, .first = err};
  pd__changes changes;
  PD__OPERATION(operation);
  pd__operation_begin(&operation);
  pd__changes_begin(&changes, &operation, &report);
  changes.override = pd__override_new(count);
  if (!changes.override) pd__report_memory(&report);
  pd__changes_add_all(&changes, assignments, count, &place);
  pd_status status = pd__changes_finish(&changes);
  if (status == PD_OK) {
    *out = changes.override;
  } else if (changes.override) {
    forget(find(changes.override));
  }
  pd__operation_end(&operation);
  return status;
}

/* With the lock. */
static pd_status pop(pd__operation *operation, override *one, pd_error *err) {
  pd_override number = one->number;
  pd__report report = {.first = err};
  pd__changes changes;
  pd__changes_begin(&changes, operation, &report);
  changes.forced = true;
  for (size_t i = 0; i < one->used; i++) {
    if (one->flags[i].flag) pd__changes_pop(&changes, &one->flags[i]);
  }
  pd_status status = pd__changes_finish(&changes);
  if (status == PD_OK) forget(find(number));
  return status;
}

pd_status pd__do_override_pop(pd_override number, pd_error *err) {
  PD__OPERATION(operation);
  pd__operation_begin(&operation);
  override *one = find(number);
  pd_status status = one ? pop(&operation, one, err) : PD_ERR_ARGUMENT;
  pd__operation_end(&operation);
  if (one) return status;
  return pd__fail(err, PD_ERR_ARGUMENT, "no override has the number %llu, or it is popped already",
                  (unsigned long long)number);
}
