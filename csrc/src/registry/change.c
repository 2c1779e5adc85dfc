/* A list of changes that are made together. */
#include "change.h"

#include <string.h>

#include "flag.h"
#include "hook.h"

void pd__changes_begin(pd__changes *changes, pd__operation *operation, pd__report *report) {
  memset(changes, 0, offsetof(pd__changes, single));
  changes->operation = operation;
  changes->report = report;
  changes->capacity = 1;
  changes->items = &changes->single;
}

void pd__changes_reserve(pd__changes *changes, size_t capacity) {
  if (capacity <= changes->capacity) return;
  pd__change *items = pd__arena_realloc(&changes->operation->arena, changes->items,
                                        changes->count * sizeof *items, capacity * sizeof *items);
  if (!items) return;
  changes->items = items;
  changes->capacity = capacity;
}

/* Returns room for one more change; NULL if memory is out. */
static pd__change *reserve_change(pd__changes *changes) {
  if (changes->count == changes->capacity) {
    pd__changes_reserve(changes, changes->capacity < 8 ? 8 : 2 * changes->capacity);
  }
  return changes->count < changes->capacity ? &changes->items[changes->count] : NULL;
}

/* Counts the change that reserve_change() returned. */
static void append_reserved_change(pd__changes *changes) {
  pd_flag *flag = changes->items[changes->count++].flag;
  changes->hooked |= pd__flag_has_hooks(flag);
}

/* ---- Lists that grow ---- */

/* Returns true if the value of `change` is added to that of `other`. */
static bool can_join_uses(const pd__change *change, const pd__change *other) {
  bool used = other->text && !other->literal && other->flag == change->flag;
  return used && pd__origin_is_same_input(&other->origin, &change->origin);
}

/* Takes over the items of the previous use, which then does nothing. Sets *joined if there is
 * one. */
static __attribute__((noinline)) pd_status join_with_previous_use(const pd__changes *changes,
                                                                  pd__change *change, bool *joined,
                                                                  pd_error *err) {
  if (!change->text || change->literal) return PD_OK;
  for (size_t i = changes->count; i > 0; i--) {
    pd__change *other = &changes->items[i - 1];
    if (!can_join_uses(change, other)) continue;
    size_t room = other->room;
    char *text =
        pd__list_join_comma_lists(&changes->operation->arena, other->text, change->text, &room);
    if (!text) return pd__fail_memory(err);
    other->action = PD__IDLE;
    change->text = change->value.str = text;
    change->room = room;
    *joined = true;
    break;
  }
  return PD_OK;
}

pd_value pd__changes_find_count_start(const pd__changes *changes, const pd_flag *flag,
                                      const pd_origin *origin) {
  for (size_t i = changes->count; i > 0; i--) {
    const pd__change *other = &changes->items[i - 1];
    bool used = other->flag == flag && other->action == PD__ASSIGN;
    if (used && pd__origin_is_same_input(&other->origin, origin)) return other->value;
  }
  return pd__flag_get_current_default(flag);
}

/* ---- Lists that add to those of sources below ---- */

/* Returns what a source gives the flag when the changes so far are made; NULL: nothing. */
static const char *find_text_of(const pd__changes *changes, const pd_flag *flag, pd_source source) {
  pd__entry given;
  for (size_t i = changes->count; i > 0; i--) {
    const pd__change *other = &changes->items[i - 1];
    if (other->flag != flag || other->origin.source != source) continue;
    if (other->action == PD__DROP) return NULL;
    if (other->action == PD__ASSIGN) return other->value.str;
  }
  return pd__history_find_source_entry(flag, source, &given) ? given.value.str : NULL;
}

/* Puts what files, and below a command line variables, give the flag in front of the value. */
static __attribute__((noinline)) pd_status merge_lower_values(const pd__changes *changes,
                                                              pd__change *change, pd_error *err) {
  pd_source source = change->origin.source;
  const char *below = NULL;
  if (!change->text || (source != PD_SOURCE_ARGV && source != PD_SOURCE_ENVIRONMENT)) return PD_OK;
  if (source == PD_SOURCE_ARGV) below = find_text_of(changes, change->flag, PD_SOURCE_ENVIRONMENT);
  if (!below) below = find_text_of(changes, change->flag, PD_SOURCE_FILE);
  if (!below) return PD_OK;
  size_t room = 0;
  char *text = pd__list_join_comma_lists(&changes->operation->arena, below, change->text, &room);
  if (!text) return pd__fail_memory(err);
  change->text = change->value.str = text;
  change->room = room;
  return PD_OK;
}

pd_status pd__changes_stage_assignment(pd__changes *changes, pd_flag *node, const char *text,
                                       pd_value value, const pd_origin *origin, uint32_t literal,
                                       pd_error *err) {
  return pd__changes_stage_assignment_to(changes, pd__resolve_alias(node), node, text, value,
                                         origin, literal, err);
}

static pd_status merge_with_earlier_values(const pd__changes *changes, pd__change *change,
                                           pd_error *err) {
  const pd_flag_def *def = pd__flag_def(change->flag);
  bool joined = false;
  pd_status status = PD_OK;
  if (def->multi && !changes->are_drafts)
    status = join_with_previous_use(changes, change, &joined, err);
  bool merges = changes->merges && def->merge && !joined && change->action == PD__ASSIGN;
  return status == PD_OK && merges ? merge_lower_values(changes, change, err) : status;
}

pd_status pd__changes_stage_assignment_to(pd__changes *changes, pd_flag *flag, pd_flag *node,
                                          const char *text, pd_value value, const pd_origin *origin,
                                          uint32_t literal, pd_error *err) {
  if (changes->previews && flag != changes->previewed_flag) return PD_OK;
  pd__change *change = reserve_change(changes);
  if (!change) return pd__fail_memory(err);
  *change = (pd__change){.flag = flag, .node = node, .text = text, .value = value};
  change->origin = *origin;
  change->literal = (uint8_t)literal;
  pd_status status = pd__prepare_change(change, changes, err);
  if (status == PD_OK && !flag->simple) status = merge_with_earlier_values(changes, change, err);
  if (status == PD_OK && change->action != PD__IDLE) append_reserved_change(changes);
  return status;
}

void pd__changes_stage_or_report(pd__changes *changes, pd_flag *node, const char *text,
                                 pd_value value, const pd_origin *origin, uint32_t literal) {
  pd_error err;
  pd_status status =
      pd__changes_stage_assignment(changes, node, text, value, origin, literal, &err);
  if (status != PD_OK) pd__report_add(changes->report, &err);
}

/* ---- Changes without a new value ---- */

static void add_change_without_value(pd__changes *changes, const pd__change *wanted) {
  pd__change *change = reserve_change(changes);
  if (!change) pd__report_fail_memory(changes->report);
  if (!change) return;
  *change = *wanted;
  change->node = change->flag;
  append_reserved_change(changes);
}

static bool check_flag_settable(pd__changes *changes, pd_flag *flag, const pd_origin *origin) {
  pd_error err;
  if (pd__flag_check_settable(changes->operation, flag, origin, &err) == PD_OK) return true;
  pd__report_add(changes->report, &err);
  return false;
}

static bool can_unset(const pd__changes *changes, const pd_flag *flag, const pd_origin *origin) {
  pd_source source = origin->source;
  bool now = changes->pushes || source == PD_SOURCE_RUNTIME || source == PD_SOURCE_LIVE ||
             source == PD_SOURCE_DEFAULT;
  return flag && flag->defined && flag->optional && now;
}

/* An override has the default then; without one, and below it for a live value, this is a reset. As
 * a default, it is that of the definition. */
static void add_unset(pd__changes *changes, pd_flag *flag, const pd_origin *origin) {
  if (origin->source == PD_SOURCE_DEFAULT) {
    pd__changes_add_drop(changes, flag, PD_SOURCE_DEFAULT);
    return;
  }
  pd_error err;
  if (!check_flag_settable(changes, flag, origin)) return;
  if (pd__flag_check_scopable(changes, flag, flag->name, &err) != PD_OK) {
    pd__report_add(changes->report, &err);
    return;
  }
  pd__change change = {.flag = flag, .origin = *origin, .resets = true};
  pd__prepare_reset(&change, changes->pushes);
  add_change_without_value(changes, &change);
}

void pd__changes_add_assignments(pd__changes *changes, const pd_assignment *items, size_t count,
                                 const pd_origin *origin) {
  pd__changes_reserve(changes, count);
  for (size_t i = 0; i < count; i++) {
    pd_error err;
    pd_flag *flag = items[i].flag;
    const char *text = items[i].text;
    if (!text && !items[i].type && can_unset(changes, flag, origin)) {
      add_unset(changes, flag, origin);
      continue;
    }
    pd_status status =
        pd__flag_check_text_or_type(changes->operation, flag, text, items[i].type, &err);
    if (status == PD_OK) {
      status = pd__changes_stage_assignment(changes, flag, text, items[i].value, origin, 0, &err);
    }
    if (status != PD_OK) pd__report_add(changes->report, &err);
  }
}

void pd__changes_add_drop(pd__changes *changes, pd_flag *flag, pd_source source) {
  pd__entry given;
  if (!pd__history_find_source_entry(flag, source, &given)) return;
  if (!check_flag_settable(changes, flag, &given.origin)) return;
  add_change_without_value(changes,
                           &(pd__change){.flag = flag, .action = PD__DROP, .origin = given.origin});
}

void pd__changes_add_reset(pd__changes *changes, pd_flag *flag, pd__action action) {
  if (action == PD__WIPE && flag->defined && !flag->sensitive) {
    pd__report_fail(changes->report, PD_ERR_ARGUMENT,
                    "%s: is not sensitive, and only sensitive values are wiped", flag->name);
  } else if (check_flag_settable(changes, flag, &pd__at_run_time)) {
    pd__change change = {.flag = flag, .action = (uint8_t)action, .origin = pd__at_run_time};
    change.resets = action == PD__RESET;
    pd__prepare_reset(&change, false);
    add_change_without_value(changes, &change);
  }
}

void pd__changes_add_pop(pd__changes *changes, pd__override_entry *override_entry) {
  add_change_without_value(changes, &(pd__change){.flag = override_entry->flag,
                                                  .action = PD__POP,
                                                  .override_entry = override_entry,
                                                  .popped = override_entry->number});
}

/* ---- The remaining stages ---- */

pd_status pd__changes_validate(pd__changes *changes) {
  pd__report *report = changes->report;
  pd_error err;
  bool asks = changes->hooked || (changes->ask_all && pd__hooks_can_have_validators());
  if (!asks || changes->skips_validators) return report->status;
  if (pd__hooks_check_depth(&err) != PD_OK) {
    pd__report_add(report, &err);
    return report->status;
  }
  if (changes->hooked)
    pd__convert_changes(changes); /* reports its errors together with earlier ones */
  if (report->status == PD_OK) pd__validate_changes(changes);
  return report->status;
}

pd_status pd__changes_commit(pd__changes *changes) {
  pd__report *report = changes->report;
  pd_error err;
  if (report->status == PD_OK) pd__refusals_commit(&changes->refusals, changes->operation);
  if (report->status == PD_OK && pd__commit_changes(changes, &err) != PD_OK)
    pd__report_add(report, &err);
  return report->status;
}

pd_status pd__changes_validate_and_commit(pd__changes *changes) {
  pd__changes_validate(changes);
  return pd__changes_commit(changes);
}

bool pd__flag_try_assign_directly(pd_flag *flag, const char *text, pd_value value,
                                  const pd_origin *origin) {
  if (!flag->simple || flag->frozen || flag->assignable || flag->extended) return false;
  if (flag->type == PD_TYPE_string || origin->place || pd__flag_has_hooks(flag)) return false;
  if (text && pd__value_parse(flag->type, text, &value) != PD_OK) return false;
  return pd__history_update_if_same_origin(flag, value, origin);
}

/* Apart from pd__assign_value, which is faster without the list on its stack. */
static __attribute__((noinline)) pd_status assign_through_changes(pd__operation *operation,
                                                                  pd_flag *node, const char *text,
                                                                  pd_value value,
                                                                  const pd_origin *origin,
                                                                  pd_error *err) {
  pd__report report = {.first = err};
  pd__changes changes;
  pd__changes_begin(&changes, operation, &report);
  pd_status status = pd__changes_stage_assignment(&changes, node, text, value, origin, 0, err);
  if (status != PD_OK) return status;
  return changes.hooked ? pd__changes_validate_and_commit(&changes)
                        : pd__commit_changes(&changes, err);
}

pd_status pd__assign_value(pd__operation *operation, pd_flag *node, const char *text,
                           pd_value value, const pd_origin *origin, pd_error *err) {
  if (pd__flag_try_assign_directly(node, text, value, origin)) return PD_OK;
  return assign_through_changes(operation, node, text, value, origin, err);
}
