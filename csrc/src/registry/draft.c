/* Drafts of flags, which a definition that isn't published yet will make. */
#include "../base/text.h"
#include "define.h"
#include "flag.h"

pd_flag *pd__draft_new(pd__arena *arena, const pd_flag *node, pd__cell *cell) {
  pd_flag *draft = pd__arena_alloc(arena, sizeof *draft);
  if (!draft) return NULL;
  *draft = *node;
  cell->next = NULL;
  draft->cells = cell;
  pd__flag_cache_definition(draft);
  draft->defined = true;
  draft->assigned = draft->assignable = draft->single = false;
  draft->variable = NULL;
  draft->history = NULL;
  return draft;
}

pd_flag *pd__draft_get_published_node(const pd_flag *draft) {
  return pd__names_get_node(draft->index);
}

void pd__draft_describe_default(const pd_flag *draft, pd_flag_entry *out) {
  const pd_flag_def *def = pd__flag_def(draft);
  pd_origin origin = {PD_SOURCE_DEFAULT, def->line, pd__intern_text(def->file), 0};
  pd__entry_describe(draft, pd__def_intern_default(def), &origin, out);
  out->unset = draft->optional;
}
