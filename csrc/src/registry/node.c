/* What other layers know of a flag. */
#define PD__EXPANDED /* makes the functions whose bodies are in flag.h */
#include "flag.h"

const char *pd__flag_name(const pd_flag *node) { return node->name; }
uint32_t pd__flag_generation(const pd_flag *flag) { return flag->generation; }
const pd__cell *pd__flag_get_first_cell(const pd_flag *flag) { return flag->cells; }
pd_type pd__flag_type(const pd_flag *flag) { return (pd_type)flag->type; }
bool pd__flag_is_sensitive(const pd_flag *flag) { return flag->sensitive; }
bool pd__flag_is_frozen(const pd_flag *flag) { return flag->frozen; }

bool pd__flag_is_unset(const pd_flag *flag) {
  return flag->optional && flag->state & PD_STATE_UNSET;
}

pd_source pd__flag_get_effective_source(const pd_flag *flag) {
  const pd__override_entry *top = pd__flag_override(flag);
  if (top) return top->values->origin.source;
  return flag->assigned ? (pd_source)flag->source : PD_SOURCE_DEFAULT;
}

bool pd__name_is_old(const pd_flag *node) { return node->old_name; }
bool pd__name_has_been_defined(const pd_flag *node) { return node && node->known; }
uint32_t pd__name_index(const pd_flag *node) { return node->index; }

bool pd__name_mark_visited(pd_flag *node, uint32_t mark) {
  bool first = node->visit_mark != mark;
  node->visit_mark = mark;
  return first;
}

bool pd__name_is_visited(const pd_flag *node, uint32_t mark) { return node->visit_mark == mark; }

pd__pending **pd__name_get_pending_list(pd_flag *node) {
  return node && node->extra ? &node->extra->pending : NULL;
}
