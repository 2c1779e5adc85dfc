/* Drafts of flags: the definition, and the values that a former one has left. */
#include "draft.h"

#include "../base/text.h"
#include "../registry/deferred.h"

/* ---- The values of a former definition ---- */

typedef struct former_search {
  pd__draft *draft;
  bool temporary;   /* the entries are those of a temporary override */
  bool has_lasting; /* draft->now is one of the former values */
} former_search;

static void consider_former(former_search *search, const pd__entry *entry) {
  pd__draft *draft = search->draft;
  pd_value value = entry->value;
  pd_flag_entry found;
  if (draft->has_former && (search->temporary || search->has_lasting)) return;
  if (pd__review_convert(&draft->flag, (pd_type)draft->node->type, &value) != PD_OK) return;
  pd__entry_describe(&draft->flag, value, &entry->origin, &found);
  if (!draft->has_former) draft->former = found;
  draft->has_former = true;
  if (search->temporary) return;
  draft->now = found;
  search->has_lasting = true;
}

/* Finds what will be in effect once the values that don't suit the definition are dropped. */
static void find_former(pd__draft *draft) {
  former_search search = {.draft = draft};
  const pd_flag *node = draft->node;
  for (const pd__override_entry *at = pd__flag_override(node); at; at = at->below) {
    search.temporary = at->temporary;
    for (const pd__entry *entry = at->values; entry; entry = entry->next) {
      if (!entry->replaced) consider_former(&search, entry);
    }
  }
  search.temporary = false;
  if (!node->assigned) return;
  pd__entry current = {.value = pd__flag_base(node), .origin = pd__flag_origin(node)};
  consider_former(&search, &current);
  for (const pd__entry *entry = node->history; entry; entry = entry->next) {
    consider_former(&search, entry);
  }
}

/* ---- Drafts of a stage ---- */

static void fill_draft(pd__draft *draft, const pd__cell *cell, pd_flag *node) {
  const pd_flag_def *def = cell->def;
  pd_flag *flag = &draft->flag;
  draft->node = node;
  draft->cell = *cell;
  draft->cell.next = NULL;
  *flag = *node;
  flag->cells = &draft->cell;
  pd__flag_describe(flag);
  flag->defined = true;
  flag->assigned = flag->assignable = flag->single = false;
  flag->variable = NULL;
  flag->history = NULL;
  draft->deferred = pd__flag_has_deferred_validator(flag);
  pd_origin origin = {PD_SOURCE_DEFAULT, def->line, pd__intern_text(def->file), 0};
  pd__entry_describe(flag, pd__def_default(def), &origin, &draft->now);
  draft->now.unset = flag->optional;
  if (node->assigned || pd__flag_override(node)) find_former(draft);
}

pd_flag *pd__draft_node(const pd__stage *stage, const pd__cell *cell) {
  if (cell->def->kind != PD_KIND_DEFINE) return NULL;
  pd_flag *node = pd__resolve_alias(pd__cell_flag(cell));
  return node->defined && node != stage->replaced ? NULL : node;
}

static pd__draft *add_draft(pd__stage *stage, const pd__cell *cell, pd__known *known) {
  pd__draft *made = pd__arena_alloc(&stage->operation->arena, sizeof *made);
  if (!made) return NULL;
  made->known = known;
  fill_draft(made, cell, pd__draft_node(stage, cell));
  *stage->plan->drafts_end = made;
  stage->plan->drafts_end = &made->next;
  return known->draft = made;
}

pd__draft *pd__draft_of_cell(pd__stage *stage, const pd__cell *cell) {
  pd__arena *arena = &stage->operation->arena;
  pd__known **known = &stage->plan->known[cell - stage->cells];
  if (!*known) *known = pd__arena_alloc(arena, sizeof **known);
  if (!*known) return NULL;
  return (*known)->draft ? (*known)->draft : add_draft(stage, cell, *known);
}

pd__draft *pd__draft_of_flag(pd__stage *stage, const pd_flag *node) {
  if (node->visit_mark != stage->visit_mark)
    return NULL; /* no definition of the stage has the name */
  for (size_t i = 0; i < stage->count; i++) {
    const pd__cell *cell = &stage->cells[i];
    if (pd__draft_node(stage, cell) == node) return pd__draft_of_cell(stage, cell);
  }
  return NULL;
}
