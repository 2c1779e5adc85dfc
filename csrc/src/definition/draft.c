/* The drafts of a stage. */
#include "draft.h"

#include "../registry/deferred.h"

pd_flag *pd__stage_find_node_to_define(const pd__stage *stage, const pd__cell *cell) {
  if (cell->def->kind != PD_KIND_DEFINE) return NULL;
  pd_flag *node = pd__resolve_alias(pd__cell_flag(cell));
  return pd__flag_def(node) && node != stage->replaced ? NULL : node;
}

/* Returns false if memory is out. */
static bool fill_draft(pd__draft *draft, pd__stage *stage, const pd__cell *cell, pd_flag *node) {
  draft->node = node;
  draft->cell = *cell;
  draft->flag = pd__draft_new(&stage->operation->arena, node, &draft->cell);
  if (!draft->flag) return false;
  draft->deferred = pd__flag_is_validation_deferred(draft->flag);
  pd__draft_describe_default(draft->flag, &draft->current_entry);
  draft->has_former = pd__flag_preview_former_values(draft->flag, node, 0, &stage->plan->refused,
                                                     &draft->former_entry, &draft->current_entry);
  return true;
}

static pd__draft *add_draft(pd__stage *stage, const pd__cell *cell, pd__known *known) {
  pd__draft *made = pd__arena_alloc(&stage->operation->arena, sizeof *made);
  if (!made || !fill_draft(made, stage, cell, pd__stage_find_node_to_define(stage, cell)))
    return NULL;
  made->known = known;
  *stage->plan->drafts_end = made;
  stage->plan->drafts_end = &made->next;
  return known->draft = made;
}

pd__draft *pd__draft_ensure_for_cell(pd__stage *stage, const pd__cell *cell) {
  pd__arena *arena = &stage->operation->arena;
  pd__known **known = &stage->plan->known[cell - stage->cells];
  if (!*known) *known = pd__arena_alloc(arena, sizeof **known);
  if (!*known) return NULL;
  return (*known)->draft ? (*known)->draft : add_draft(stage, cell, *known);
}

pd__draft *pd__draft_find_for_flag(pd__stage *stage, const pd_flag *node) {
  /* Without the mark, no definition of the stage has the name. */
  if (!pd__name_is_visited(node, stage->visit_mark)) return NULL;
  for (size_t i = 0; i < stage->count; i++) {
    const pd__cell *cell = &stage->cells[i];
    if (pd__stage_find_node_to_define(stage, cell) == node)
      return pd__draft_ensure_for_cell(stage, cell);
  }
  return NULL;
}
