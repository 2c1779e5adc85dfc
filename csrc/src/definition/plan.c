/* The plan of a stage: which values its flags get, and how it is carried out. */
#include <string.h>

#include "../base/text.h"
#include "../registry/deferred.h"
#include "../registry/hook.h"
#include "draft.h"

pd__new_flag_source pd__define_source;

static const pd__stage *planned; /* while a plan is made */

void pd__stage_begin(pd__stage *stage, pd__operation *operation, pd__cell *cells, size_t count) {
  *stage = (pd__stage){.operation = operation, .cells = cells, .count = count};
}

void pd__stage_free_plan(pd__stage *stage) {
  if (stage->plan) pd_error_list_free(stage->plan->rejected.list);
  stage->plan = NULL;
}

bool pd__stage_is_defining(const pd_flag *node) {
  if (!planned || !pd__name_is_visited(node, planned->visit_mark)) return false;
  for (size_t i = 0; i < planned->count; i++) {
    if (pd__stage_find_node_to_define(planned, &planned->cells[i]) == node) return true;
  }
  return false;
}

/* ---- One value ---- */

static void report_missing_value(pd__stage *stage, const pd__draft *draft,
                                 const pd__pending *given) {
  const pd_flag_def *def = draft->cell.def;
  char expected[256], quoted[PD__ESCAPED_SIZE];
  pd__value_write_expected(def, expected, sizeof expected);
  pd__report_fail(&stage->plan->rejected, PD_ERR_ARGV,
                  "--%s: the value is missing, expected %s; before the flag is defined, only "
                  "--%s=%s is understood",
                  def->name, expected, def->name,
                  given->next && !pd__flag_is_sensitive(draft->flag)
                      ? pd__escape_text(quoted, given->next)
                      : "VALUE");
}

/* Returns what the flag would have in effect with the last change of the plan. */
static pd_flag_entry propose_plan_entry(const pd__stage *stage, const pd__draft *draft) {
  const pd__change *change = &stage->plan->changes.items[stage->plan->changes.count - 1];
  pd_flag_entry proposed = draft->current_entry;
  pd_source source = pd__change_get_effective_source(change);
  if (pd_source_rank(proposed.origin.source) > pd_source_rank(source)) return proposed;
  pd_origin origin = change->origin;
  origin.source = source;
  pd__entry_describe(draft->flag, change->value, &origin, &proposed);
  return proposed;
}

/* Judges the last change of the plan. One that isn't accepted, or not yet, is taken back. */
static bool accept_or_drop_last_change(pd__stage *stage, pd__draft *draft) {
  pd__verdict verdict = PD__ACCEPTED;
  if (draft->cell.def->convert) verdict = pd__draft_convert_last_change(stage, draft);
  pd_flag_entry proposed = propose_plan_entry(stage, draft);
  if (verdict == PD__ACCEPTED) verdict = pd__draft_validate(stage, draft, &proposed);
  if (verdict == PD__ACCEPTED) draft->current_entry = proposed;
  if (verdict == PD__UNANSWERED) draft->blocked = true;
  if (verdict != PD__ACCEPTED) stage->plan->changes.count--;
  return verdict == PD__ACCEPTED;
}

/* Adds a value to the plan. `node` is the flag or an alias of it. Returns whether it is accepted.
 * Texts of flags that somebody is asked about are copied: they may be freed meanwhile. */
static bool plan_value(pd__stage *stage, pd__draft *draft, pd_flag *node, const char *text,
                       const pd_origin *origin, uint32_t literal) {
  pd_error err;
  pd_origin kept = *origin;
  pd__arena *arena = &stage->operation->arena;
  size_t before = stage->plan->changes.count;
  if (pd__flag_has_hooks(draft->flag)) {
    text = pd__arena_copy_text(arena, text, strlen(text));
    if (kept.place) kept.place = pd__arena_copy_text(arena, kept.place, strlen(kept.place));
  }
  if (!text || arena->failed) {
    pd__report_fail_memory(&stage->plan->rejected);
    return false;
  }
  pd_status status = pd__changes_stage_assignment_to(&stage->plan->changes, draft->flag, node, text,
                                                     (pd_value){0}, &kept, literal, &err);
  if (status != PD_OK) {
    pd__plan_add_rejection(stage, &kept, &err);
    return false;
  }
  if (!draft->warns) draft->warned_origin = kept;
  draft->warns = true;
  if (stage->plan->changes.count == before) return true; /* the flag is retired */
  return accept_or_drop_last_change(stage, draft);
}

/* ---- The values of one flag ---- */

/* What the validators reject uncovers the value below, which they are asked about, too. */
static void skip_rejected_former_values(pd__stage *stage, pd__draft *draft) {
  if (!draft->cell.def->validate || draft->deferred) return;
  while (draft->has_former) {
    pd__verdict verdict = pd__draft_validate(stage, draft, &draft->former_entry);
    if (verdict == PD__UNANSWERED) draft->blocked = true;
    if (verdict != PD__REJECTED) return;
    draft->dropped++;
    pd__draft_describe_default(draft->flag, &draft->current_entry);
    draft->has_former = pd__flag_preview_former_values(draft->flag, draft->node, draft->dropped,
                                                       &stage->plan->refused, &draft->former_entry,
                                                       &draft->current_entry);
  }
}

/* A fleet publishes its values, so it gives no secrets. */
static bool is_value_ignored(const pd__stage *stage, const pd__draft *draft,
                             const pd_origin *given) {
  bool secret = pd__flag_is_sensitive(draft->flag) && given->source == PD_SOURCE_FLEET;
  return secret || pd__refusals_has_origin(&stage->plan->refused, given) ||
         pd__refusals_is_revision_dropped(given);
}

static void plan_pending_value(pd__stage *stage, pd__draft *draft, const pd__waiting *value) {
  const pd__pending *given = value->pending;
  const char *text = value->text;
  if (is_value_ignored(stage, draft, &given->origin) || value->continues) return;
  if (!text && draft->cell.def->type == PD_TYPE_bool) text = value->negated ? "false" : "true";
  if (!text) {
    report_missing_value(stage, draft, given);
    return;
  }
  pd_flag *node = value->negated ? draft->node : given->node;
  stage->plan->changes.merges = given->merges;
  plan_value(stage, draft, node, text, &given->origin, given->literal);
}

/* Plans the pending values of files, or the others. Without `merge` all are others. */
static void plan_waiting_values(pd__stage *stage, pd__draft *draft, bool files) {
  bool merge = draft->cell.def->merge;
  for (const pd__waiting *each = draft->waiting; each && !draft->blocked; each = each->next) {
    bool of_file = merge && each->pending->origin.source == PD_SOURCE_FILE;
    if (of_file == files) plan_pending_value(stage, draft, each);
  }
}

/* A value of a variable comes first: it may spare validators those of files. But if it adds to
 * them, it comes after them. */
static void plan_draft_values(pd__stage *stage, pd__draft *draft) {
  const pd__environment_value *late = &draft->environment;
  if (draft->blocked || draft->deferred) return;
  plan_waiting_values(stage, draft, true);
  if (late->node && !draft->blocked) {
    stage->plan->changes.merges = true;
    draft->environment_accepted =
        plan_value(stage, draft, late->node, late->text, &late->origin, 0);
  }
  plan_waiting_values(stage, draft, false);
}

/* ---- All values ---- */

/* Makes the draft of a flag that values wait for. */
static void make_draft_if_needed(pd__stage *stage, const pd__cell *cell) {
  const pd__new_flag_source *source = &pd__define_source;
  pd_flag *node = pd__stage_find_node_to_define(stage, cell);
  pd__environment_value late = {.node = NULL};
  pd_error err;
  if (!node) return;
  if (source->find &&
      !pd__flag_is_frozen(node)) { /* frozen: it keeps the value that it was frozen with */
    pd_status status = source->find(stage->operation, &source->rules, cell->def, node, &late, &err);
    if (status != PD_OK) pd__report_add(&stage->plan->rejected, &err);
  }
  const pd__waiting *waiting = pd__pending_list_for_definition(stage->operation, cell->def);
  pd__entry given;
  bool of_fleet =
      pd__history_find_source_entry(node, PD_SOURCE_FLEET, &given) && !pd__flag_is_frozen(node);
  bool is_reviewed = of_fleet || (cell->def->validate && pd__flag_has_values(node));
  if (!late.node && !waiting && !is_reviewed) return;
  pd__draft *draft = pd__draft_ensure_for_cell(stage, cell);
  if (!draft) return; /* the arena knows */
  draft->environment = late;
  draft->waiting = waiting;
  if (of_fleet && pd__draft_check_former_entry(draft->flag, node, &given, &err) != PD_OK) {
    pd__plan_add_rejection(stage, &given.origin, &err);
  }
}

/* Returns false if memory is out. */
static bool alloc_plan(pd__stage *stage) {
  pd__arena *arena = &stage->operation->arena;
  pd__plan *made = pd__arena_alloc(arena, sizeof *made);
  if (made) made->known = pd__arena_alloc(arena, (stage->count + 1) * sizeof *made->known);
  if (made && made->known) stage->plan = made;
  return stage->plan != NULL;
}

static void begin_plan_round(pd__stage *stage) {
  pd__plan *plan = stage->plan;
  plan->drafts = NULL;
  plan->drafts_end = &plan->drafts;
  plan->questions = NULL;
  plan->questions_end = &plan->questions;
  plan->conversions = NULL;
  plan->conversions_end = &plan->conversions;
  pd_error_list_free(plan->rejected.list);
  plan->rejected = (pd__report){.list = pd_error_list_new(), .first = &plan->first};
  pd__changes_begin(&plan->changes, stage->operation, &plan->rejected);
  plan->changes.is_defining = plan->changes.are_drafts = true;
  for (size_t i = 0; i < stage->count; i++) {
    if (plan->known[i]) plan->known[i]->draft = NULL;
  }
  plan->rounds++;
}

/* Again without the values of the fleet that turn out not to suit. */
static void run_plan_rounds(pd__stage *stage) {
  pd__plan *plan = stage->plan;
  size_t refused;
  planned = stage;
  do {
    refused = plan->refused.count;
    begin_plan_round(stage);
    for (size_t i = 0; i < stage->count; i++) make_draft_if_needed(stage, &stage->cells[i]);
    for (pd__draft *each = plan->drafts; each; each = each->next)
      skip_rejected_former_values(stage, each);
    for (pd__draft *each = plan->drafts; each; each = each->next) plan_draft_values(stage, each);
  } while (plan->refused.count > refused);
  planned = NULL;
}

bool pd__stage_try_complete_plan(pd__stage *stage) {
  bool waits = pd__define_source.find || pd__has_pending() || stage->plan;
  if (!waits && !stage->has_former) return true;
  if (!stage->plan && !alloc_plan(stage)) return true; /* the arena knows */
  pd__plan *plan = stage->plan;
  run_plan_rounds(stage);
  bool reported = plan->rejected.status == PD_ERR_MEMORY;
  if (stage->operation->arena.failed && !reported) pd__report_fail_memory(&plan->rejected);
  return !plan->questions && !plan->conversions;
}

pd_value pd__stage_get_planned_value(const pd__stage *stage) {
  const pd__known *known = stage->plan ? stage->plan->known[0] : NULL;
  return known && known->draft ? known->draft->current_entry.value
                               : stage->cells->def->default_value;
}

/* ---- Asking ---- */

bool pd__stage_ask_hooks(pd__stage *stage, pd__report *report) {
  pd__operation *operation = stage->operation;
  pd_error err;
  pd__stage_release_names(stage);
  if (pd__hooks_check_depth(&err) != PD_OK) {
    pd__report_add(report, &err);
    return false;
  }
  if (!pd__conversions_pin(operation, stage->plan->conversions)) return true;
  if (!pd__questions_pin_modules(operation, stage->plan->questions)) return true;
  if (stage->plan->conversions) pd__conversions_run(operation, stage->plan->conversions);
  if (stage->plan->questions) pd__questions_call_validators(operation, stage->plan->questions);
  return true;
}

/* ---- Carrying it out ---- */

/* What modules have assigned to their variables before is a value of its own. Returns false if
 * memory is out: then no value is given. */
static bool commit_plan(pd__stage *stage, pd__report *waiting) {
  pd_error err;
  pd__changes *plan = &stage->plan->changes;
  for (size_t i = 0; i < plan->count; i++) {
    pd__change *change = &plan->items[i];
    change->flag = pd__draft_get_published_node(change->flag);
    change->generation = pd__flag_generation(change->flag);
    pd__flag_adopt_assigned_value(stage->operation, change->flag);
  }
  if (plan->count == 0 || pd__commit_changes(plan, &err) == PD_OK) return true;
  pd__report_add(waiting, &err);
  return false;
}

/* Values that wait for a validator, or for memory, stay pending, now as values of this flag. */
static void defer_values(pd__stage *stage, const pd__draft *draft, pd__report *waiting) {
  const pd__environment_value *late = &draft->environment;
  pd_error err;
  if (!late->node && !draft->waiting) return;
  for (const pd__waiting *each = draft->waiting; each; each = each->next) {
    each->pending->negated = each->negated;
  }
  if (late->node &&
      pd__pending_add(pd__flag_name(late->node), late->text, &late->origin, &err) != PD_OK) {
    pd__report_add(waiting, &err);
  }
  if (!pd__deferred_add(stage->operation, draft->node, 0)) pd__report_fail_memory(waiting);
}

static void warn_and_remove_pending(const pd__draft *draft) {
  const pd__environment_value *late = &draft->environment;
  const pd_flag_def *def = draft->cell.def;
  if (draft->warns && (def->retired || def->deprecated)) {
    pd__warn_of_deprecated_flag(draft->node, &draft->warned_origin);
  }
  if (draft->environment_accepted && late->node != draft->node) {
    pd__warn_of_deprecated_name(late->node, draft->node);
  }
  for (const pd__waiting *each = draft->waiting; each; each = each->next) {
    pd__refusals_count_if_dropped(&each->pending->origin);
    pd__pending_remove(each->pending);
  }
}

static void publish_drafts(pd__stage *stage, pd__report *waiting) {
  pd__plan *plan = stage->plan;
  for (const pd__draft *each = plan->drafts; each; each = each->next) {
    if (each->dropped > 0) pd__flag_drop_top_values(each->node, each->dropped);
  }
  pd__report_add_error_list(waiting, plan->rejected.list);
  bool lacks = plan->rejected.status != PD_OK && pd_error_list_count(plan->rejected.list) == 0;
  if (lacks) pd__report_add(waiting, &plan->first); /* memory was out for the list */
  bool committed = commit_plan(stage, waiting);
  for (const pd__draft *each = plan->drafts; each; each = each->next) {
    if (committed && !each->deferred) {
      warn_and_remove_pending(each);
    } else {
      defer_values(stage, each, waiting);
    }
  }
}

void pd__stage_publish(pd__stage *stage, pd__report *waiting) {
  if (stage->plan) pd__refusals_commit(&stage->plan->refused, stage->operation);
  for (size_t i = 0; i < stage->count; i++) pd__cell_attach_to_flag(&stage->cells[i], waiting);
  if (stage->plan) publish_drafts(stage, waiting);
  if (!stage->plan && stage->operation->arena.failed) pd__report_fail_memory(waiting);
}
