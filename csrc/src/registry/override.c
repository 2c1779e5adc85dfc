/* Overrides: values on top of a flag's own, removable in any order. */
#include <stdlib.h>

#include "../base/numbered.h"
#include "change.h"
#include "flag.h"

/* The flags that one override changes. */
typedef struct override {
  size_t used;
  bool temporary;
  pd__override_entry flags[]; /* `used` of them are filled */
} override;

static pd__numbered overrides;

pd_override pd__override_new(size_t count, bool temporary) {
  override *made = calloc(1, sizeof *made + count * sizeof *made->flags);
  if (made) made->temporary = temporary;
  pd_override number = made ? pd__numbered_add(&overrides, made) : 0;
  if (!number) free(made);
  return number;
}

/* Puts the override on top of the others of the flag. */
static pd__override_entry *push_flag_override(pd_flag *flag, pd_override number) {
  pd__extra *extra = pd__flag_ensure_extra(flag); /* can't fail: made before the commit */
  pd__override_entry *top = extra->overrides;
  override *one = pd__numbered_find(&overrides, number);
  pd__override_entry *fresh = &one->flags[one->used++];
  *fresh = (pd__override_entry){.flag = flag, .number = number, .below = top};
  fresh->temporary = one->temporary;
  if (top) top->above = fresh;
  if (!top) extra->base = pd__flag_value(flag);
  extra->overrides = fresh;
  return fresh;
}

bool pd__flag_assign_in_override(pd_flag *flag, pd_override number, pd_value value,
                                 const pd_origin *origin, bool resets) {
  pd_origin place = {PD_SOURCE_OVERRIDE, origin->line, origin->place, origin->column};
  if (resets && flag->optional) place.source = PD_SOURCE_DEFAULT; /* then it has no value */
  pd__override_entry *at = pd__flag_override(flag);
  if (!at || at->number != number) at = pd__flag_own_override(flag);
  if (!at || at->number != number) at = push_flag_override(flag, number);
  pd__entries_prepend_or_update(&at->values, pd__entry_take_from_pool(value, &place));
  if (at->values->next) at->values->next->replaced = true;
  return at == pd__flag_override(flag);
}

void pd__override_entry_drop(pd__override_entry *from) {
  pd_flag *flag = from->flag;
  pd__extra *extra = flag->extra;
  while (from->values) {
    pd__entry *entry = from->values;
    from->values = entry->next;
    pd__entry_return_to_pool(entry);
  }
  if (from->below) from->below->above = from->above;
  *(from->above ? &from->above->below : &extra->overrides) = from->below;
  from->flag = NULL;
  pd__values_revision++;
  if (extra->overrides || !flag->assigned) return; /* publishing uses the default */
  pd__cell_store(flag->type, pd__flag_address(flag, flag->type), extra->base);
}

pd__override_entry *pd__override_find_entries(pd_override number, size_t *count) {
  override *one = pd__numbered_find(&overrides, number);
  *count = one ? one->used : 0;
  return one ? one->flags : NULL;
}

bool pd__override_is_empty(pd_override number) {
  size_t count, i = 0;
  const pd__override_entry *flags = pd__override_find_entries(number, &count);
  while (flags && i < count && !flags[i].flag) i++;
  return !flags || i == count;
}

void pd__override_free_record(pd_override number) {
  free(pd__numbered_find(&overrides, number));
  pd__numbered_remove(&overrides, number);
}

/* ---- What an override hides ---- */

bool pd__flag_is_overridden(const pd_flag *flag) { return pd__flag_override(flag) != NULL; }

/* An optional flag whose override has its default has no value. */
bool pd__flag_find_value_below(const pd_flag *flag, pd_override number, bool drops_live,
                               pd_value *out) {
  const pd__override_entry *top = pd__flag_override(flag);
  while (top && (number ? top->number == number : top->temporary)) top = top->below;
  const pd__entry *entry = top ? top->values : flag->history;
  bool own = !top && flag->assigned && !(drops_live && flag->source == PD_SOURCE_LIVE);
  if (own) *out = pd__flag_value_without_overrides(flag);
  if (own) return true;
  while (!top && entry && (entry->replaced || entry->origin.source == PD_SOURCE_LIVE)) {
    entry = entry->next;
  }
  *out = entry ? entry->value : pd__flag_get_current_default(flag);
  bool is_default = !entry || (top && entry->origin.source == PD_SOURCE_DEFAULT);
  return !(flag->optional && is_default);
}
