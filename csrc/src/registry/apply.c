/* Batches for clients outside of the process: conditions, a trial, a say in the last moment, and
 * values that can be dropped again. */
#include <string.h>

#include "../base/sized.h"
#include "change.h"
#include "flag.h"
#include "journal.h"

typedef struct batch {
  const pd_batch_change *items;
  size_t count;
  const pd_batch_options *options;
  pd_origin origin;
  pd__changes changes;
  size_t *indexes; /* of each item's change + 1; 0: it has none, as that of a retired flag */
} batch;

/* ---- Conditions ---- */

/* Returns false after it has reported the flags that have changed. */
static bool check_flags_unchanged(const batch *all) {
  const pd_batch_options *options = all->options;
  pd__report *report = all->changes.report;
  if (options->unchanged_count > 0) pd__journal_record_missed_changes();
  for (size_t i = 0; i < options->unchanged_count; i++) {
    const pd_flag_revision *one = &options->unchanged[i];
    if (pd__journal_get_flag_revision(one->flag) <= one->revision) continue;
    report->flag = (pd_flag *)one->flag;
    pd__report_fail(report, PD_ERR_CONFLICT, "%s: has changed meanwhile", pd__flag_name(one->flag));
  }
  report->flag = NULL;
  return report->status == PD_OK;
}

/* ---- Preparing ---- */

static pd_status add_assignment_or_drop(batch *all, size_t index, pd_error *err) {
  const pd_batch_change *item = &all->items[index];
  pd__changes *changes = &all->changes;
  size_t before = changes->count;
  pd_value none = {.str = NULL};
  pd_status status = pd__flag_adopt_and_check_defined(changes->operation, item->flag, err);
  if (status == PD_OK && item->text) {
    status = pd__changes_stage_assignment(changes, item->flag, item->text, none, &all->origin,
                                          item->literal, err);
    if (status == PD_OK && changes->count > before) all->indexes[index] = changes->count;
  } else if (status == PD_OK) {
    pd__changes_add_drop(changes, item->flag, all->origin.source);
  }
  return status;
}

static void add_batch_changes(batch *all) {
  for (size_t i = 0; i < all->count; i++) {
    pd_error err;
    pd__override_entry *ended;
    const pd_batch_change *item = &all->items[i];
    all->changes.report->flag = item->flag;
    if (item->text || !item->override) {
      if (add_assignment_or_drop(all, i, &err) != PD_OK) pd__report_add(all->changes.report, &err);
    } else if ((ended = pd__flag_override_of(item->flag, item->override))) {
      pd__changes_add_pop(&all->changes, ended);
    }
  }
  all->changes.report->flag = NULL;
}

/* As when an override is popped, no validator is asked for values that were there before. */
static bool has_only_override_ends(const batch *all) {
  for (size_t i = 0; i < all->count; i++) {
    if (all->items[i].text || !all->items[i].override) return false;
  }
  return all->count > 0;
}

/* ---- Deciding ---- */

static const char *copy_value_text(batch *all, const pd_flag *flag, pd_value value) {
  char buffer[PD__NUMBER_SIZE];
  const char *text = pd__value_get_text(pd__flag_type(flag), value, buffer);
  return pd__arena_copy_text(&all->changes.operation->arena, text, strlen(text));
}

/* The value that a flag has left when its changes from `first` to `end` are made, which all drop
 * one. */
static const char *get_text_below(batch *all, size_t first, size_t end) {
  const pd_flag *flag = all->items[first].flag;
  pd_override popped = UINT64_MAX; /* no override has this number */
  bool drops = false;
  for (size_t i = first; i < end; i++) {
    if (!all->items[i].override) drops = true;
    if (all->items[i].override) popped = popped == UINT64_MAX ? all->items[i].override : 0;
  }
  pd_value value;
  return pd__flag_find_value_below(flag, popped, drops, &value) ? copy_value_text(all, flag, value)
                                                                : NULL;
}

/* Describes the changes of one flag, and returns the index behind them. A flag whose module has
 * gone has no value, before and after an override of it ends. */
static size_t describe_flag_effects(batch *all, pd_batch_effect *effects, size_t first) {
  const pd_flag *flag = all->items[first].flag;
  size_t end = first + 1;
  while (end < all->count && all->items[end].flag == flag) end++;
  const char *old = NULL, *left = NULL;
  if (flag->defined && !pd__flag_is_unset(flag))
    old = copy_value_text(all, flag, pd__flag_value(flag));
  if (flag->defined) left = get_text_below(all, first, end);
  bool hidden = !all->options->override && pd__flag_is_overridden(flag);
  for (size_t i = first; i < end; i++) {
    bool assigns = all->items[i].text != NULL;
    const char *fresh = left;
    if (assigns) fresh = old; /* of a retired flag */
    if (all->indexes[i])
      fresh = copy_value_text(all, flag, all->changes.items[all->indexes[i] - 1].value);
    effects[i] = (pd_batch_effect){sizeof *effects, old, fresh, assigns && hidden};
  }
  return end;
}

static bool call_decide_callback(batch *all) {
  const pd_batch_options *options = all->options;
  pd__arena *arena = &all->changes.operation->arena;
  if (!options->decide) return true;
  pd_batch_effect *effects = pd__arena_alloc(arena, all->count * sizeof *effects);
  for (size_t i = 0; effects && i < all->count;) i = describe_flag_effects(all, effects, i);
  if (arena->failed) {
    pd__report_fail_memory(all->changes.report);
    return false;
  }
  if (options->decide(effects, all->count, options->context)) return true;
  pd__report_fail(all->changes.report, PD_ERR_REFUSED, "the change was given up");
  return false;
}

/* ---- Committing ---- */

static void free_empty_overrides(const batch *all) {
  for (size_t i = 0; i < all->count; i++) {
    pd_override number = all->items[i].override;
    if (number && pd__override_is_empty(number)) pd__override_free_record(number);
  }
}

static pd_status apply_batch(batch *all) {
  pd__changes *changes = &all->changes;
  all->indexes =
      pd__arena_alloc(&changes->operation->arena, (all->count + 1) * sizeof *all->indexes);
  if (!all->indexes) pd__report_fail_memory(changes->report);
  if (!all->indexes || !check_flags_unchanged(all)) return changes->report->status;
  add_batch_changes(all);
  pd__changes_validate(changes);
  if (changes->report->status != PD_OK || !check_flags_unchanged(all) ||
      !call_decide_callback(all) || all->options->dry_run) {
    return changes->report->status;
  }
  pd__journal_mark = all->options->mark;
  pd_status status = pd__changes_commit(changes);
  pd__journal_mark = 0;
  if (status == PD_OK) free_empty_overrides(all);
  return status;
}

static pd_status check_batch_arguments(const pd_batch_change *items, size_t count,
                                       const pd_batch_options *options, pd_error *err) {
  if (!items && count > 0) return pd__fail_null(err, "changes");
  for (size_t i = 0; i < count; i++) {
    if (!items[i].flag) return pd__fail(err, PD_ERR_ARGUMENT, "changes[%zu].flag is NULL", i);
  }
  if (!options->unchanged && options->unchanged_count > 0) {
    return pd__fail_null(err, "options->unchanged");
  }
  for (size_t i = 0; i < options->unchanged_count; i++) {
    if (options->unchanged[i].flag) continue;
    return pd__fail(err, PD_ERR_ARGUMENT, "options->unchanged[%zu].flag is NULL", i);
  }
  return options->override ? PD_OK : pd__origin_check_settable(options->origin, err);
}

pd_status pd_batch_apply(const pd_batch_change *items, size_t count, const pd_batch_options *given,
                         pd_error *err) {
  pd_batch_options options = {.size = sizeof options};
  pd_status status = PD_OK;
  if (given) {
    status = pd__sized_copy_in(given, PD__SIZE_UP_TO(pd_batch_options, errors), &options,
                               sizeof options, "options", err);
  }
  if (status == PD_OK) status = check_batch_arguments(items, count, &options, err);
  if (status != PD_OK) return status;
  pd__report report = {.list = options.errors, .first = err};
  batch all = {.items = items, .count = count, .options = &options};
  all.origin = options.origin ? *options.origin : pd__at_run_time;
  if (options.override) all.origin.source = PD_SOURCE_OVERRIDE;
  PD__LOCKED_OPERATION(operation);
  pd__changes_begin(&all.changes, &operation, &report);
  all.changes.pushes = all.changes.temporary = options.override != NULL;
  all.changes.skips_validators = has_only_override_ends(&all);
  status = apply_batch(&all);
  if (status == PD_OK && options.override && !options.dry_run) {
    *options.override = all.changes.override;
  }
  return pd__operation_return(&operation, status);
}
