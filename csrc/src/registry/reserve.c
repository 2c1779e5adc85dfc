/* Names that are reserved for definitions under way. */
#include "define.h"
#include "flag.h"

bool pd__name_prepare_alias(pd_flag *node) { return pd__flag_ensure_extra(node) != NULL; }

bool pd__name_reserve(const pd__reservation *by, pd_flag *node, const pd_flag *flag) {
  const pd_flag *meant = pd__resolve_alias(node);
  bool is_free = !node->defined || node == by->replaced;
  bool suits = meant == node || meant == flag;
  if (!is_free || !suits || node->visit_mark == by->visit_mark) return false;
  node->visit_mark = by->visit_mark;
  return true;
}

bool pd__cell_link_and_reserve(pd__reservation *by, pd__cell *cell, pd_flag *node) {
  cell->flag = node->index + 1;
  by->has_former |= pd__flag_has_values(pd__resolve_alias(node));
  return cell->def->kind == PD_KIND_DEFINE && pd__name_reserve(by, node, node);
}

bool pd__name_is_reserved(const pd__reservation *by, const pd_flag *node) {
  const pd_flag *flag = pd__resolve_alias((pd_flag *)node);
  bool taken = flag != by->replaced && (node->defined || flag != node);
  return taken || node->visit_mark == by->visit_mark;
}
