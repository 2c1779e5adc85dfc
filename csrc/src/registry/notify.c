/* Notifies the watchers. Notices are collected before the commit; the watchers are called after the
 * operation has released the lock. */
#include <stdlib.h>

#include "change.h"
#include "deferred.h"
#include "flag.h"
#include "hook.h"
#include "loader.h"

/* A watcher to notify of a flag. */
struct pd__notice {
  pd_hook watcher;     /* 0: the watcher of the definition */
  uint32_t generation; /* of the definition */
  pd_flag *flag;
  pd_type type;
  pd_value before;
  pd__hook_reference hook_reference; /* while the watcher is called */
  pd__notice *next;
};

pd__notice **pd__notices_get_end(pd__operation *operation) {
  if (!operation->notices_end) operation->notices_end = &operation->notices;
  return operation->notices_end;
}

static void append_notice(pd__operation *operation, pd__notice *notice) {
  notice->next = NULL;
  *operation->notices_end = notice;
  operation->notices_end = &notice->next;
}

static bool add_notice(pd__operation *operation, pd_flag *flag, pd_hook watcher) {
  pd__notice *made = pd__arena_alloc(&operation->arena, sizeof *made);
  if (!made) return false;
  *made = (pd__notice){.watcher = watcher,
                       .generation = flag->generation,
                       .flag = flag,
                       .type = flag->type,
                       .before = pd__flag_value(flag)};
  append_notice(operation, made);
  return true;
}

bool pd__notices_add_deferred(pd__operation *operation, pd_flag *flag, pd_hook watcher) {
  pd__notices_get_end(operation);
  return add_notice(operation, flag, watcher);
}

static bool add_hook_notices(pd__operation *operation, pd_flag *flag, const pd__target *at) {
  bool whole = true;
  for (; whole && at; at = at->next) {
    if (at->hook->watches) whole = add_notice(operation, flag, at->hook->number);
  }
  return whole;
}

pd_status pd__notices_add(pd__changes *changes, pd_flag *flag, pd_error *err) {
  pd__operation *operation = changes->operation;
  const pd_flag_def *def = pd__flag_def(flag);
  bool whole = !def || !def->watch || add_notice(operation, flag, 0);
  whole = whole && add_hook_notices(operation, flag, pd__hooks_first(flag));
  whole = whole && add_hook_notices(operation, flag, pd__general_watchers.first);
  return whole ? PD_OK : pd__fail_memory(err);
}

void pd__notices_discard_from(pd__operation *operation, pd__notice **from) {
  *from = NULL;
  operation->notices_end = from;
}

void pd__notices_drop_unchanged(pd__operation *operation, pd__notice **from) {
  while (*from) {
    const pd__notice *notice = *from;
    const pd_flag *flag = notice->flag;
    bool same = flag->type == notice->type &&
                pd__value_is_equal(flag->type, pd__flag_value(flag), notice->before);
    if (same || !flag->defined) {
      *from = notice->next;
    } else {
      from = &(*from)->next;
    }
  }
  operation->notices_end = from;
}

/* ---- Calling ---- */

/* Returns what to call now: since the change, the hook may have been removed, or the definition may
 * have left. */
static pd__handler find_watcher(const pd__notice *notice) {
  const pd__hook *hook = pd__hook_find(notice->watcher);
  const pd_flag_def *def = pd__flag_def(notice->flag);
  if (hook) return hook->call;
  bool gone = notice->watcher || !def || notice->flag->generation != notice->generation;
  if (gone) return (pd__handler){.function = NULL};
  return (pd__handler){(pd__function *)def->watch, def->context,
                       pd__cell_module(notice->flag->cells)};
}

/* The caller holds the lock, which is released while the loader is asked. If memory for deferring a
 * watcher is out, it isn't notified: the change has already happened. */
static pd__handler pin_or_defer_watcher(pd__operation *operation, pd__notice *notice) {
  for (;;) {
    pd__handler found = find_watcher(notice);
    pd__hook *hook = pd__hook_find(notice->watcher);
    bool deferred = hook && hook->deferrable && pd__loader_is_entered();
    if (deferred) pd__deferred_add(operation, notice->flag, notice->watcher);
    if (deferred || !found.function) break;
    pd__pinning how = pd__pin_module(operation, found.module);
    if (how == PD__PINNED && hook) pd__hook_retain(operation, hook, &notice->hook_reference);
    if (how == PD__PINNED) return found;
    if (how == PD__LEAVING) break;
    pd__pins_acquire(operation);
  }
  return (pd__handler){.function = NULL};
}

/* ---- Notices of aborted operations ----
 *
 * A watcher may throw an exception or end its thread. The next operation then notifies the
 * remaining watchers. Any of these may abort that operation too, so it doesn't do this while its
 * thread holds the loader's lock. */

static pd__notice *left, **left_end = &left; /* copies from malloc */

void pd__notices_hand_over(pd__operation *operation) {
  for (; operation->notices; operation->notices = operation->notices->next) {
    pd__notice *made = malloc(sizeof *made);
    if (!made) continue;
    *made = *operation->notices;
    made->next = NULL;
    *left_end = made;
    left_end = &made->next;
  }
  operation->notices_end = &operation->notices;
  if (left) pd__set_pending_work(PD__WORK_NOTICES, true);
}

/* Puts a list before the operation's own notices, whose watchers may throw. */
static void prepend_notices(pd__operation *operation, pd__notice *list) {
  pd__notice *own = operation->notices, **own_end = operation->notices_end;
  operation->notices_end = &operation->notices;
  while (list) {
    pd__notice *taken = list;
    pd__notice *copy = pd__arena_alloc(&operation->arena, sizeof *copy);
    if (copy) *copy = *taken;
    if (copy && copy->flag->defined) append_notice(operation, copy);
    list = taken->next;
    free(taken);
  }
  *operation->notices_end = own;
  if (own) operation->notices_end = own_end;
}

/* The caller holds the lock. */
static void adopt_handed_over_notices(pd__operation *operation) {
  pd__notice *list = left;
  left = NULL;
  left_end = &left;
  prepend_notices(operation, list);
  pd__set_pending_work(PD__WORK_NOTICES, false);
}

void pd__notices_deliver(pd__operation *operation) {
  if (pd__has_pending_work(PD__WORK_NOTICES) && !pd__loader_is_entered()) {
    pd__operation_lock(operation);
    adopt_handed_over_notices(operation);
    pd__operation_unlock(operation);
  }
  while (operation->notices) {
    pd__notice *notice = operation->notices;
    operation->notices = notice->next;
    pd__operation_lock(operation);
    pd__handler due = pin_or_defer_watcher(operation, notice);
    if (due.function) pd__hooks_prepare_call(operation);
    pd__operation_unlock(operation);
    if (!due.function) continue;
    PD__IN_HOOK(operation);
    ((pd_watcher)due.function)(notice->flag, due.context);
  }
  operation->notices_end = &operation->notices;
}
