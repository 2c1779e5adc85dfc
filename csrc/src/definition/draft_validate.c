/* What validators and converters say of the values that a stage gives to its flags. */
#include <string.h>

#include "../base/text.h"
#include "draft.h"

pd__own_validator pd__stage_own_validator;

/* Give up if other threads have changed the values in this many rounds. */
#define ROUNDS 100

void pd__plan_add_rejection(pd__stage *stage, const pd_origin *origin, const pd_error *err) {
  if (origin->source != PD_SOURCE_FLEET || err->status == PD_ERR_MEMORY) {
    pd__report_add(&stage->plan->rejected, err);
  } else {
    pd__refusals_add(&stage->plan->refused, &stage->operation->arena, origin, err);
  }
}

/* ---- Questions ---- */

/* The value that the flag has now, or will have. */
static void fill_subject_from_flag(pd__stage *stage, pd_flag *flag, pd__subject *out) {
  pd__draft *draft = pd__draft_find_for_flag(stage, flag);
  out->flag = draft ? draft->flag : flag;
  out->generation = pd__flag_generation(out->flag);
  if (draft) out->entry = draft->current_entry;
  bool replaced = !draft;
  for (size_t i = 0; replaced && pd__history_describe_entry(flag, i, &out->entry); i++) {
    replaced = out->entry.replaced ||
               pd__refusals_is_hidden(&stage->plan->refused, flag, &out->entry.origin);
  }
}

/* Returns whether the validator is asked: all its flags are defined, or will be. */
static bool can_ask_hook(pd__stage *stage, const pd__hook *hook) {
  pd_flag *flag;
  pd_type type;
  for (size_t i = 0; i < stage->hooks_count; i++) {
    if (pd__hook_find(stage->hooks[i]) == hook) return false;
  }
  for (size_t i = 0; (flag = pd__hook_get_flag(hook, i, &type)); i++) {
    const pd__draft *draft = pd__draft_find_for_flag(stage, flag);
    const pd_flag_def *def = draft ? draft->cell.def : pd__flag_def(flag);
    if (!def || def->type != type) return false;
  }
  return true;
}

static pd__question *make_definition_question(pd__stage *stage, pd__draft *draft,
                                              const pd_flag_entry *proposed) {
  const pd_flag_def *def = draft->cell.def;
  pd__handler call = {(pd__function *)def->validate, def->context, pd__cell_module(&draft->cell)};
  pd__question *made = pd__question_new(stage->operation, NULL, call, 1);
  if (!made) return NULL;
  made->subjects[0] = (pd__subject){draft->flag, pd__flag_generation(draft->flag), *proposed};
  bool own = def->validate == pd__stage_own_validator.whole;
  if (!own) return made;
  made->answered = true;
  made->accepted =
      pd__stage_own_validator.locked(made->entries, def->context, made->why, sizeof made->why);
  return made;
}

static pd__question *make_hook_question(pd__stage *stage, pd__draft *draft, pd__hook *hook,
                                        const pd_flag_entry *proposed) {
  pd__question *made = pd__question_new_for_hook(stage->operation, hook);
  for (size_t i = 0; made && i < made->count; i++) {
    pd__subject *subject = &made->subjects[i];
    pd__flag_adopt_assigned_value(stage->operation, subject->flag);
    fill_subject_from_flag(stage, subject->flag, subject);
    if (subject->flag == draft->flag) subject->entry = *proposed;
  }
  return made;
}

/* ---- Answers ---- */

static bool is_same_subject(const pd__subject *a, const pd__subject *b) {
  return a->generation == b->generation && a->entry.type == b->entry.type &&
         a->entry.origin.source == b->entry.origin.source && a->entry.unset == b->entry.unset &&
         pd__value_is_equal(a->entry.type, a->entry.value, b->entry.value);
}

static bool is_same_question(const pd__question *a, const pd__question *b) {
  bool same = a->hook == b->hook && a->count == b->count;
  for (size_t i = 0; same && i < a->count; i++) {
    same = is_same_subject(&a->subjects[i], &b->subjects[i]);
  }
  return same;
}

static void add_unasked_question(pd__stage *stage, pd__question *question) {
  question->next = NULL;
  *stage->plan->questions_end = question;
  stage->plan->questions_end = &question->next;
}

/* Returns the question, or the same one of an earlier plan. The flags that it is about are those of
 * this plan. */
static pd__question *find_or_store_question(pd__known *known, pd__question *made) {
  pd__question *each = known->questions;
  while (each && !is_same_question(each, made)) each = each->following;
  if (each) {
    for (size_t i = 0; i < each->count; i++) each->subjects[i].flag = made->subjects[i].flag;
  } else if (!made->answered) {
    each = made;
    made->following = known->questions;
    known->questions = made;
  }
  return each ? each : made;
}

static pd__verdict answer_or_queue_question(pd__stage *stage, pd__draft *draft, pd__question *made,
                                            pd__verdict so_far) {
  if (!made) {
    pd__report_fail_memory(&stage->plan->rejected);
    return PD__REJECTED;
  }
  pd__question *asked = find_or_store_question(draft->known, made);
  if (!asked->answered && stage->plan->rounds >= ROUNDS) {
    pd__report_fail(&stage->plan->rejected, PD_ERR_REFUSED,
                    "values kept changing while validators checked them");
    return PD__REJECTED;
  }
  if (!asked->answered) {
    add_unasked_question(stage, asked);
    return so_far == PD__REJECTED ? so_far : PD__UNANSWERED;
  }
  if (asked->accepted) return so_far;
  asked->next = NULL;
  pd__questions_collect_fleet_refusals(asked, &stage->plan->refused, &stage->operation->arena);
  pd__questions_report_rejections(asked, &stage->plan->rejected);
  return PD__REJECTED;
}

pd__verdict pd__draft_validate(pd__stage *stage, pd__draft *draft, const pd_flag_entry *proposed) {
  pd__verdict verdict = PD__ACCEPTED;
  const pd_flag_def *def = draft->cell.def;
  if (def->validate && !def->retired) {
    verdict = answer_or_queue_question(stage, draft,
                                       make_definition_question(stage, draft, proposed), verdict);
  }
  for (pd__validator_walk walk = {0}; pd__validators_next(&walk, draft->node);) {
    if (!can_ask_hook(stage, walk.hook)) continue;
    verdict = answer_or_queue_question(
        stage, draft, make_hook_question(stage, draft, walk.hook, proposed), verdict);
  }
  return verdict;
}

/* ---- Converters ---- */

static pd__conversion *find_or_add_conversion(pd__stage *stage, pd__draft *draft,
                                              const char *text) {
  pd__conversion *each = draft->known->conversions;
  while (each && strcmp(each->text, text) != 0) each = each->following;
  if (each) return each;
  each = pd__conversion_new(stage->operation, draft->flag, text);
  if (!each) return NULL;
  each->following = draft->known->conversions;
  draft->known->conversions = each;
  return each;
}

pd__verdict pd__draft_convert_last_change(pd__stage *stage, pd__draft *draft) {
  pd__change *change = &stage->plan->changes.items[stage->plan->changes.count - 1];
  pd__conversion *found = find_or_add_conversion(stage, draft, change->value.str);
  pd_error err;
  if (!found) {
    pd__report_fail_memory(&stage->plan->rejected);
    return PD__REJECTED;
  }
  if (!found->answered && stage->plan->rounds >= ROUNDS) {
    pd__report_fail(&stage->plan->rejected, PD_ERR_REFUSED,
                    "values kept changing while converters were called");
    return PD__REJECTED;
  }
  if (!found->answered) {
    found->next = NULL;
    *stage->plan->conversions_end = found;
    stage->plan->conversions_end = &found->next;
    return PD__UNANSWERED;
  }
  if (pd__conversion_apply(found, change, &stage->plan->changes, &err) == PD_OK)
    return PD__ACCEPTED;
  pd__plan_add_rejection(stage, &change->origin, &err);
  return PD__REJECTED;
}
