/* Snapshots: what all flags have, to be put back after a test. */
#include <stdlib.h>
#include <string.h>

#include "../registry/saved.h"
#include "definition.h"
#include "pending.h"

struct pd_snapshot {
  pd__arena arena; /* of `flags` */
  pd__saved flags;
  pd__pending *pending; /* prepared copies, in the order of arrival */
  pd__new_flag_source source;
};

/* ---- Taking ---- */

static int compare_pending_order(const void *a, const void *b) {
  uint64_t first = (*(pd__pending *const *)a)->order, second = (*(pd__pending *const *)b)->order;
  return first < second ? -1 : first > second;
}

/* Prepares a copy of each pending value of a list in order of arrival. */
static pd_status copy_pending_list(const pd__pending *const *from, size_t count, pd__pending **out,
                                   pd_error *err) {
  for (size_t i = 0; i < count; i++) {
    pd_status status = pd__pending_make_unlisted(from[i], out, err);
    if (status != PD_OK) return status;
    out = &(*out)->following;
    *out = NULL;
  }
  return PD_OK;
}

static pd_status copy_pending_to_snapshot(pd_snapshot *snapshot, pd__arena *arena, pd_error *err) {
  size_t count = 0;
  const pd__pending **all, *at = NULL;
  while ((at = pd__pending_next(at))) count++;
  all = pd__arena_alloc(arena, (count + 1) * sizeof *all);
  if (!all) return pd__fail_memory(err);
  count = 0;
  while ((at = pd__pending_next(at))) all[count++] = at;
  qsort(all, count, sizeof *all, compare_pending_order);
  return copy_pending_list(all, count, &snapshot->pending, err);
}

static void free_pending_copies(pd__pending *list) {
  while (list) {
    pd__pending *gone = list;
    list = gone->following;
    pd__pending_discard_unlisted(gone);
  }
}

static pd_status fill_snapshot(pd_snapshot *snapshot, pd__arena *arena, pd_error *err) {
  snapshot->source = pd__define_source;
  if (!pd__saved_capture(&snapshot->flags, &snapshot->arena)) return pd__fail_memory(err);
  return pd__has_pending() ? copy_pending_to_snapshot(snapshot, arena, err) : PD_OK;
}

static void free_snapshot(pd_snapshot *snapshot) {
  free_pending_copies(snapshot->pending);
  pd__arena_free(&snapshot->arena);
  free(snapshot);
}

pd_status pd_snapshot_take(pd_snapshot **out, pd_error *err) {
  if (!out) return pd__fail_null(err, "out");
  PD__LOCKED_OPERATION(operation);
  pd__flags_adopt_assigned_values(&operation);
  pd_snapshot *made = calloc(1, sizeof *made);
  pd_status status = made ? fill_snapshot(made, &operation.arena, err) : pd__fail_memory(err);
  if (status == PD_OK) *out = made;
  if (status != PD_OK && made) free_snapshot(made);
  return pd__operation_return(&operation, status);
}

void pd_snapshot_free(pd_snapshot *snapshot) {
  if (!snapshot) return;
  PD__LOCKED_OPERATION(operation);
  free_snapshot(snapshot);
  pd__operation_end(&operation);
}

/* ---- Comparing ---- */

typedef bool test(const pd__saved *saved, const pd_flag *flag);

static pd_flag *find_next_flag(const pd_snapshot *snapshot, const pd_flag *previous, test *suits) {
  pd_flag *flag = NULL;
  if (!snapshot) return NULL;
  PD__LOCKED_OPERATION(operation);
  while ((flag = pd__names_next_listed(flag ? flag : previous))) {
    if (pd__flag_adopt_and_check_defined(&operation, flag, NULL) != PD_OK) continue;
    if (suits(&snapshot->flags, flag)) break;
  }
  pd__operation_end(&operation);
  return flag;
}

pd_flag *pd_snapshot_next_change(const pd_snapshot *snapshot, const pd_flag *previous) {
  return find_next_flag(snapshot, previous, pd__saved_has_other_value);
}

pd_flag *pd_snapshot_next_definition(const pd_snapshot *snapshot, const pd_flag *previous) {
  return find_next_flag(snapshot, previous, pd__saved_has_other_definition);
}

/* ---- Restoring: first everything that can fail ---- */

typedef struct restore_run {
  const pd_snapshot *snapshot;
  pd__operation *operation;
  pd__pending *pending; /* prepared copies */
  pd__notice **notices;
} restore_run;

static pd_status copy_pending_from_snapshot(restore_run *run, pd_error *err) {
  pd__pending **out = &run->pending;
  for (const pd__pending *at = run->snapshot->pending; at; at = at->following) {
    pd_status status = copy_pending_list(&at, 1, out, err);
    if (status != PD_OK) return status;
    out = &(*out)->following;
  }
  return PD_OK;
}

static pd_status prepare_restore(restore_run *run, pd_error *err) {
  pd_status status = copy_pending_from_snapshot(run, err);
  run->notices = pd__notices_get_end(run->operation);
  return status == PD_OK ? pd__saved_prepare_restore(&run->snapshot->flags, run->operation, err)
                         : status;
}

/* ---- Then everything that takes effect ---- */

static void replace_all_pending(pd__pending *list) {
  pd__refusals_forget_dropped();
  if (pd__has_pending()) pd__pending_drop_of_source(PD_SOURCE_DEFAULT);
  while (list) {
    pd__pending *next = list->following;
    pd__pending_store(list);
    list = next;
  }
}

/* The environment has a value for the flag: it waits with the others. */
static void queue_environment_value(const restore_run *run, pd_flag *flag) {
  const pd__new_flag_source *source = &pd__define_source;
  pd__environment_value found = {.node = NULL};
  if (!source->find || pd__flag_is_frozen(flag)) return;
  source->find(run->operation, &source->rules, pd__flag_def(flag), flag, &found, NULL);
  if (found.node) pd__pending_add(pd__flag_name(found.node), found.text, &found.origin, NULL);
}

/* Gives flags that are defined anew what waits for their definition. */
static void apply_pending_to_redefined(const restore_run *run) {
  pd__report refused = {.first = NULL};
  if (!pd__define_source.find && !pd__has_pending()) return;
  for (pd_flag *flag = NULL; (flag = pd__names_next_listed(flag));) {
    bool defined_anew =
        pd__flag_def(flag) && pd__saved_has_other_definition(&run->snapshot->flags, flag);
    if (!defined_anew) continue;
    queue_environment_value(run, flag);
    pd__pending_apply_to_flag(run->operation, flag, &refused);
  }
}

static void commit_restore(const restore_run *run) {
  pd__saved_restore(&run->snapshot->flags);
  replace_all_pending(run->pending);
  pd__define_source = run->snapshot->source;
  pd__notices_drop_unchanged(run->operation, run->notices);
  apply_pending_to_redefined(run);
}

pd_status pd_snapshot_restore(const pd_snapshot *snapshot, pd_error *err) {
  if (!snapshot) return pd__fail_null(err, "snapshot");
  PD__LOCKED_OPERATION(operation);
  pd__flags_adopt_assigned_values(&operation);
  restore_run run = {.snapshot = snapshot, .operation = &operation};
  pd_status status = prepare_restore(&run, err);
  if (status == PD_OK) {
    commit_restore(&run);
  } else {
    free_pending_copies(run.pending);
    if (run.notices) pd__notices_discard_from(&operation, run.notices);
  }
  return pd__operation_return(&operation, status);
}
